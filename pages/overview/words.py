"""The words of the page Overview. Every number comes out of the table or of a plan."""

import math
from collections.abc import Sequence
from decimal import ROUND_UP
from functools import partial

import pandas as pd

import dpcore
from dpcore import Experiment, NotApplicable, Plan, Problem
from dpcore.core.facts import text_beside
from dpcore.core.losses import get_loss
from dpcore.core.privacy import added_up
from dpcore.data import Source
from dpcore.experiments.metrics import risk
from dpcore.experiments.tuning_gap import regret_at
from dpcore.figures.figure import Figure
from dpcore.figures.style import PERTURBATIONS
from dpcore.mechanisms.api import release_once
from dpcore.mechanisms.base import Mechanism
from pages.ui.code import experiment_call, redrawn
from pages.ui.html import readable
from pages.ui.numbers import cost, points, safely, tenths
from pages.ui.sidebar import delta_text
from pages.ui.sources import (
    assumed,
    certified,
    comparison_of,
    infimum_of,
    learner_line,
    neighbours_line,
    records_line,
)

FORMULA = text_beside(__file__, "formula.md")
_NOTHING = 0.001  # excess of learning nothing below which there is nothing to learn
RELEASE_HELP = "Draw one private model with fresh noise, as a real deployment would"


def _mechanism(experiment: Experiment) -> Mechanism:
    (mechanism,) = experiment.mechanisms
    assert isinstance(mechanism, Mechanism)
    return mechanism


def plan_at(experiment: Experiment, epsilon: float) -> Plan | None:
    """The plan of one release, or None where nothing is released."""
    try:
        return experiment.problem.plan(_mechanism(experiment), epsilon)
    except NotApplicable:
        return None


def takeaway(table: pd.DataFrame, experiment: Experiment, epsilon: float, source: Source) -> str:
    """What privacy costs at the cursor and what it buys, in one sentence."""
    row = table[(table.x == epsilon) & (table.metric != "accuracy")].iloc[0]
    plan = plan_at(experiment, epsilon)
    if row.status != "ok" or plan is None:
        enough = table[(table.status == "ok") & (table.x > epsilon)].x
        rest = f"it begins at ε = {enough.min():g}" if len(enough) else readable(str(row.reason))
        return f"At ε = {epsilon:g} there is **no guarantee** with {source.drawn(row.n)}: {rest}."
    times = of_100(_mechanism(experiment).attack_limit(plan))
    if row.nothing_learned < _NOTHING:
        return f"These {source.drawn(row.n)} teach a model **nothing**, with privacy or without."
    attacked = f"an attacker is right at most **{times} times in 100**"
    if row["mean"] >= row.nothing_learned:
        return f"At ε = {epsilon:g} the model is **worse than one that learns nothing**; {attacked}."
    both, noise, floor = (
        cost(each, row.nothing_learned) for each in (row["mean"], row["mean"] - row.noiseless, row.noiseless)
    )
    parts = f"noise {noise}, floor {floor}"
    return f"At ε = {epsilon:g} privacy costs **{both} of what can be learned** ({parts}); {attacked}."


def of_100(limit: float) -> int:
    """How often of 100 times an attacker is right at most, rounded up."""
    return math.ceil(100 * limit - 1e-9)


def attacker(limit: float, cap: float) -> str:
    """What the bells show, below them; cap: of any mechanism with the guarantee."""
    return (
        f"With this noise an attacker is right at most {of_100(limit)} times in 100, as the bells show; with any noise "
        f"of this guarantee {of_100(cap)}, and a coin 50."
    )


def caption(experiment: Experiment) -> str:
    """What the curves are."""
    return (
        f"Thick: mean of {experiment.repetitions} releases by {PERTURBATIONS[_mechanism(experiment).place]}. Dashed: "
        "proved for all records. Floor: regularisation alone."
    )


def release(problem: Problem, plan: Plan) -> float:
    """Excess risk of one private model with fresh noise."""
    train = problem.load().train
    theta = release_once(plan, train).theta[: train.stored]
    return risk(get_loss(problem.loss), theta, train) - problem.reference().risk


def released(made: Sequence[tuple[float, float]], delta: float) -> str:
    """What all releases of these records have spent, by basic composition; "" before the first."""
    if not made:
        return ""
    count, spent = len(made), added_up(epsilon for epsilon, _ in made)
    times = "One release has" if count == 1 else f"{count} releases have together"
    return f"{times} spent ε = {safely(spent, ROUND_UP)}, δ = {count} × {delta_text(delta)}."


def readouts(rows: pd.DataFrame, source: Source) -> list[tuple[str, str, str]]:
    """(noun, value, rest) of the cards below the chart; rows: at the cursor, by metric."""
    if "accuracy" not in rows.index:
        return []
    row = rows.loc["accuracy"]
    return [
        (
            f"{source.things.capitalize()} {source.outcome}",
            f"{tenths(100 * row['mean'])}%",
            f"without privacy {tenths(100 * row.reference)}%, always the larger class "
            f"{tenths(100 * row.nothing_learned)}%",
        ),
        (
            "Privacy spent",
            f"({row.spent_epsilon:.3g}, {delta_text(row.spent_delta)})",
            f"(ε, δ) when any one {source.record} is replaced",
        ),
    ]


def snippet(experiment: Experiment, chart: partial[Figure]) -> str:
    """Python that redraws the chart from an empty file and prints the headline's numbers."""
    return redrawn(partial(dpcore.run, experiment_call(experiment)), chart) + (
        f"rows = found.query(\"metric == 'excess_empirical_risk' and x == {chart.keywords['epsilon']}\")\n"
        "# What privacy costs, and what can be learned\n"
        "print(rows[['mean', 'nothing_learned']].to_string(index=False))\n"
    )


def assumptions(experiment: Experiment, source: Source, epsilon: float) -> str:
    """What must be true for the curves, the bound and the guarantee, and what the choice of λ costs at epsilon."""
    problem = experiment.problem
    test = problem.load().test
    return assumed(
        __file__,
        "assumptions.md",
        records=records_line(source),
        neighbours=neighbours_line(source),
        tested=test.n,
        of=source.records,
        larger=100 * max((test.y > 0).mean(), (test.y <= 0).mean()),
        learner=learner_line(problem),
        comparison=comparison_of(problem),
        infimum=infimum_of(problem),
        certified=certified(problem),
        repetitions=experiment.repetitions,
        lam=lam_line(experiment, epsilon),
    )


def lam_line(experiment: Experiment, epsilon: float) -> str:
    """Where λ comes from, and how much accuracy the best λ of a grid would gain."""
    told = "**λ** is a public number."
    if experiment.problem.lam == "auto":
        told = (
            "**λ = auto** gives the noise in a prediction one size for all ε and n. It is chosen without looking at "
            "the data."
        )
    try:
        lost = regret_at(experiment, epsilon)
    except NotApplicable:
        return told
    if lost < 0.05:
        return f"{told} At ε = {epsilon:g} no λ of a grid does better."
    gain = points(lost).replace(" ", " percentage ")
    return f"{told} At ε = {epsilon:g} the best λ of a grid would gain {gain}, but searching for it costs privacy."
