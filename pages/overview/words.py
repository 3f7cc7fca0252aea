"""The words of the page Overview. Every number comes out of the table or of an audit."""

import dataclasses as dc
import math
import re
from functools import partial
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd

import dpcore
from dpcore import AttackSuccess, Experiment, NotApplicable, Plan, Problem
from dpcore.accounting.attack_limits import attack_cap
from dpcore.core.facts import text_beside
from dpcore.data import Source
from dpcore.experiments.tuning_gap import regret_at
from dpcore.figures.figure import Figure
from dpcore.figures.style import PERTURBATIONS
from dpcore.mechanisms import mechanism_class
from dpcore.mechanisms.api import release_once
from pages.ui.code import experiment_call, redrawn
from pages.ui.html import readable
from pages.ui.numbers import points, tenths
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import (
    assumed,
    certified,
    comparison_of,
    infimum_of,
    learner_line,
    neighbours_line,
    records_line,
)
from pages.ui.verdict import proved_line, verdict

FORMULA = text_beside(__file__, "formula.md")
PROOFS = {"tight": "tight", "published": "as published", "classical": "textbook"}
_NOTHING = 0.05  # points that are shown as 0.0
_NEAR = 5.0  # points above the larger class below which its accuracy is named
RELEASE_HELP = "Draw one private model with fresh noise, as a real deployment would"


def name_of(mechanism: str) -> str:
    """Of a mechanism's key, the perturbation."""
    return PERTURBATIONS[mechanism_class(mechanism).place]


def takeaway(row: pd.Series, source: Source, *, by_hand: bool) -> str:
    """What the chart shows at the cursor, in one sentence.

    by_hand: the reader chose λ, and its cost is not the price of privacy. A rule sets λ as the noise needs it.
    """
    now, best = 100 * row["mean"], 100 * row.reference
    lost, by_noise = best - now, 100 * (row.noiseless - row["mean"])
    price = "as many as the best model without privacy"
    if lost >= 0.05:
        price = f"**{percentage_points(lost)} fewer** than the best model without privacy"
    elif lost <= -0.05:
        price = f"**{percentage_points(-lost)} more** than the model without privacy"
    if lost >= 0.05 and by_hand and by_noise < 0.1 * lost:
        price += "; almost all of the loss comes from the λ you chose, not from the noise"
    return (
        f"With {source.drawn(row.n)} and ε = {row.epsilon:g}, **{name_of(row.mechanism)}** classifies **{now:.1f}%** "
        f"of {source.things} correctly, {price}."
    )


def percentage_points(value: float) -> str:
    """A difference in accuracy: "18.5 percentage points"."""
    return points(value).replace(" ", " percentage ")


def larger_class(row: pd.Series, source: Source) -> str:
    """How that stands to always answering with the larger class, or "" where it is far above."""
    lost, learnable, floor = _points(row), _learnable(row), f"{tenths(100 * row.nothing_learned)}%"
    if learnable < _NOTHING:
        return (
            f"**Nothing to learn** from {source.drawn(row.n)}: always predicting the larger class has an accuracy of "
            f"{floor}, the best model without privacy {tenths(100 * row.reference)}%."
        )
    above = learnable - lost
    if above > _NEAR:
        return ""
    if above < _NOTHING:
        return (
            f"That is **no better** than always predicting the larger class ({floor}): all of the {points(learnable)} "
            "above it are lost."
        )
    gone = "none is lost" if lost < _NOTHING else f"{tenths(lost)} are lost ({lost / learnable:.0%})"
    return (
        f"Always predicting the larger class has an accuracy of {floor}: of the {points(learnable)} above it, {gone}."
    )


def _points(row: pd.Series) -> float:
    """Points of accuracy lost."""
    return 100.0 * (row.reference - row["mean"])


def _learnable(row: pd.Series) -> float:
    """Points of accuracy that learning without privacy gains over the larger class."""
    return 100.0 * (row.reference - row.nothing_learned)


def _share(row: pd.Series) -> str:
    """Share of those points that is lost, to stand after a loss; "" where there are none."""
    lost, learnable = _points(row), _learnable(row)
    if learnable < _NOTHING or lost < _NOTHING:
        return ""
    told = "all" if lost >= learnable else f"{lost / learnable:.0%}"
    return f"; {told} of the {points(learnable)} that learning gains over the larger class"


def answer(found: AttackSuccess) -> str:
    """The attack success that the mechanism allows, in one sentence beside the takeaway; the share is rounded up."""
    return (
        "An attacker who guesses whether your record or a substitute was used is right at most "
        f"**{found.of_100[1]} times in 100**; a coin is right 50 times."
    )


def unattacked(plan: Plan) -> AttackSuccess:
    """The limits of the attack success before our own attack has run."""
    return AttackSuccess(attack_cap(plan.spent), plan.mechanism.attack_limit(plan), 0.5, 0.5, 0)


def caption(experiment: Experiment, table: pd.DataFrame) -> str:
    """What the curves are, in small print below the chart, and which of them are missing; table: of all mechanisms."""
    text = (
        f"Excess risk: training loss above {infimum_of(experiment.problem)}. Averages over "
        f"{experiment.repetitions} releases on one split into training and test records; gradient perturbation is "
        "noisy SGD."
    )
    for key, rows in table.groupby("mechanism", sort=False):
        if (rows.status != "ok").all():
            text += f" {name_of(str(key)).capitalize()} is not drawn: {_reason(rows.iloc[0])}."
    return f"{text} {comparison_of(experiment.problem)}"


def decide_link(source: Source, controls: Controls) -> str:
    """The way to the page that answers the opposite question, with these records."""
    asked = {"at_hand": source.label} | ({"n": f"{controls.n:,}"} if source.size is None else {})
    return f"[Decide](./decide?{urlencode(asked)}) finds the smallest ε that keeps what learning gains."


def release(problem: Problem, plan: Plan) -> float:
    """Accuracy of one private model with fresh noise, a share of the test records."""
    split = problem.load()
    theta = release_once(plan, split.train).theta[: split.test.stored]
    return float(np.mean((split.test.X @ theta > 0) == (split.test.y > 0)))


def released(accuracies: list[float], plan: Plan) -> str:
    """What the last release shows, and what all of them spend by basic composition."""
    count, spent = len(accuracies), plan.spent
    return (
        f"**One release:** {100 * accuracies[-1]:.1f}% correct. A real deployment shows only this model. Each further "
        f"release costs again. Spent so far on {'1 release' if count == 1 else f'{count} releases'}, by basic "
        f"composition: ε = {count * spent.epsilon:.3g} and δ = {count} × {delta_text(spent.delta)}."
    )


def verdict_of(table: pd.DataFrame, epsilon: float) -> str:
    """What the upper bound says; table: swept over epsilon."""
    rows = table[table.metric == "excess_empirical_risk"]
    if rows.empty:
        return ""
    text = verdict(rows.x, [("", rows["mean"], rows.bound)], rows.nothing_learned.iloc[0], epsilon, "ε")
    return f"{text} {proved_line(rows[rows.x == epsilon])}".strip()


def refusal(row: pd.Series, source: Source) -> str:
    """Why nothing is released at the cursor, and what helps."""
    return (
        f"**{name_of(row.mechanism).capitalize()} gives no guarantee** with {source.drawn(row.n)} at "
        f"ε = {row.epsilon:g}: {_reason(row)}. Choose another mechanism, ε or λ."
    )


def _reason(row: pd.Series) -> str:
    return readable(re.sub(f"^{row.mechanism}", "it", row.reason))


def attack_success(found: AttackSuccess, played: int, runs: int) -> str:
    """The attack success that our attack reached, and what the best can: against this mechanism, and against any with
    its guarantee. played: runs of our attack by now, of `runs`."""
    certified, limit, cap = found.of_100
    ours = f"Our own attack is running: {played:,} of {runs:,} tries …"
    if found.runs:
        luck = 196.0 * math.sqrt(found.measured * (1.0 - found.measured) / found.runs)
        ours = (
            f"Our own attack on the worst data sets we know was right {100 * found.measured:.1f} ± {luck:.1f} times in "
            f"100 ({found.runs:,} tries, 95% confidence); certified: at least {certified} (solid, 99.9% confidence)."
        )
    return (
        f"**At most {limit} times in 100** against this mechanism (pale). {ours} Another mechanism with the same "
        f"guarantee could allow {cap} (ringed)."
    )


def readouts(row: pd.Series, source: Source) -> list[tuple[str, str, str]]:
    """(noun, value, rest) of the cards below the chart."""
    early = mechanism_class(row.mechanism).family == "gradient"
    # As they are shown: the parts make the whole.
    lost, by_noise = round(_points(row), 1), round(100 * (row.noiseless - row["mean"]), 1)
    split = _split(by_noise, lost - by_noise, early=early)
    return [
        (
            "Accuracy loss, percentage points",
            tenths(100 * (row.reference - row["mean"])),
            split + _share(row),
        ),
        (
            "Privacy spent",
            f"({row.spent_epsilon:.3g}, {delta_text(row.spent_delta)})",
            f"(ε, δ) when any one {source.record} is replaced",
        ),
    ]


def _split(by_noise: float, by_rule: float, *, early: bool = False) -> str:
    """Which part of the loss is the noise's; noise can also win some back.

    early: the rest comes from stopping early, not from λ.

    >>> _split(1.0, 2.0), _split(-1.2, 28.3, early=True)
    ('1.0 from noise, 2.0 from regularisation', '28.3 from stopping early, 1.2 won back by noise')
    """
    rest = f"{tenths(by_rule)} from {'stopping early' if early else 'regularisation'}"
    if by_noise <= -0.05:
        return f"{rest}, {tenths(-by_noise)} won back by noise"
    return f"{tenths(by_noise)} from noise, {rest}"


def chips(source: Source) -> list[tuple[str, dict[str, Any]]]:
    """Presets: (label, control values)."""
    more = [(f"{n:,} {source.records}", {"n": n}) for n in (5_000, 50_000) if source.size is None]
    return [("ε = 0.1", {"epsilon": 0.1}), *more]


def snippet(experiment: Experiment, chart: partial[Figure]) -> str:
    """Python that redraws the chart from an empty file and prints the headline's numbers."""
    key, epsilon = chart.keywords["mechanism"], chart.keywords["epsilon"]
    return redrawn(partial(dpcore.run, experiment_call(experiment)), chart) + (
        f"rows = found.query(\"metric == 'accuracy' and mechanism == '{key}' and x == {epsilon}\")\n"
        "# % correct with privacy and without\n"
        "print((100 * rows[['mean', 'reference']]).round(1).to_string(index=False))\n"
    )


def assumptions(experiment: Experiment, source: Source, epsilon: float) -> str:
    """What must be true for the curves, the bound and the guarantee, and what the choice of λ costs at epsilon."""
    problem, mine = experiment.problem, experiment.mechanisms[0]
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
        lam=lam_line(dc.replace(experiment, mechanisms=(mine,), proved=""), epsilon),
    )


def lam_line(experiment: Experiment, epsilon: float) -> str:
    """Where λ comes from, and how much accuracy the best λ of a grid would gain (one mechanism)."""
    told = {
        "auto": "**λ = auto** gives the noise in a prediction one size for all ε and n; noisy SGD uses λ = 0. It is "
        "chosen without looking at the data.",
        "population": "**λ = theory** minimises the proved bound for fresh records and models of that norm. It is "
        "chosen without looking at the data.",
    }.get(
        str(experiment.problem.lam),
        "**λ** is a public number. Under auto the noise keeps its size at every ε and n, and privacy is paid for in "
        "bias.",
    )
    try:
        lost = regret_at(experiment, epsilon)
    except NotApplicable:
        return told
    if lost < 0.05:
        return f"{told} At ε = {epsilon:g} no λ of a grid does better."
    gain = percentage_points(lost)
    return f"{told} At ε = {epsilon:g} the best λ of a grid would gain {gain}, but searching for it costs privacy."
