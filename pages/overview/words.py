"""The words of the start page. Every number comes out of the table or of an audit."""

import math
from typing import Any

import numpy as np
import pandas as pd

from dpcore import AttackSuccess, Experiment, NotApplicable
from dpcore.core.facts import text_beside
from dpcore.data import Source
from dpcore.experiments.tuning_gap import regret_at
from pages.decide.briefing import words as briefings
from pages.ui.html import readable
from pages.ui.numbers import points, tenths
from pages.ui.sidebar import delta_text
from pages.ui.sources import assumed, neighbours_line, records_line
from pages.ui.verdict import verdict

FORMULA = text_beside(__file__, "formula.md")


def takeaway(row: pd.Series, source: Source, *, by_hand: bool) -> str:
    """What the chart shows at the cursor, in one sentence.

    by_hand: λ was set by hand; then what it costs is not the price of privacy. A rule sets λ as the noise needs it.
    """
    now, best = 100 * row["mean"], 100 * row.reference
    lost, by_noise = best - now, 100 * (row.noiseless - row["mean"])
    if lost < 0.05:
        price = "privacy is **free** here"
    elif by_hand and by_noise < 0.1 * lost:
        price = f"of the **{points(lost)}** lost nearly all go to the λ set by hand, not to noise"
    else:
        price = f"privacy costs **{points(lost)}**"
    return (
        f"With {source.drawn(row.n)} and ε = {row.epsilon:g}, **{now:.1f}** of 100 {source.things} are "
        f"{source.outcome} instead of {best:.1f}: {price}."
    )


def _learned(row: pd.Series, source: Source) -> briefings.Document:
    found = briefings.learned(row["mean"], row.reference, row.nothing_learned)
    return found | {"source": {"drawn": source.drawn(row.n)}}


def larger_class(row: pd.Series, source: Source) -> str:
    """How that stands to always answering with the larger class, or "" where it is far above."""
    told = _learned(row, source)
    return briefings.fill(briefings.nothing(told) or briefings.floor(told), told)


def answer(found: AttackSuccess) -> str:
    """How often an attacker could be right, in one sentence beside the takeaway; the share is rounded up."""
    return (
        "Asked “your record, or another in its place?”, an attacker is right at most "
        f"**{found.of_100[1]} times of 100**; a coin, 50."
    )


def caption(experiment: Experiment) -> str:
    """What the curves are, in small print below the chart."""
    said = (
        f"Best model, without privacy: the smallest training loss with ‖θ‖ ≤ {experiment.problem.theta_norm:g}. "
        f"Averages are exact; the band holds the middle 80% of {experiment.repetitions} releases."
    )
    if isinstance(experiment.problem.lam, str):
        said += " λ is set without a look at the records; *Assumptions* says what the best λ would win."
    return said


def verdict_of(table: pd.DataFrame, epsilon: float) -> str:
    """What the upper bound says; table: swept over epsilon."""
    rows = table[table.metric == "excess_empirical_risk"]
    if rows.empty:
        return ""
    return verdict(rows.x, [("", rows["mean"], rows.bound)], rows.nothing_learned.iloc[0], epsilon, "ε")


def refusal(row: pd.Series, source: Source) -> str:
    """Why nothing is released at the cursor."""
    return f"**No release** with {source.drawn(row.n)} at ε = {row.epsilon:g}: {readable(row.reason)}."


def odds(found: AttackSuccess) -> str:
    """What our attack reached, and what the best can: against this noise, and against any mechanism with this label."""
    certified, limit, cap = found.of_100
    return (
        f"**At most {limit} times of 100** against this noise (pale). A coin is right 50 times. "
        f"Our own attack on the worst data sets we know: {100 * found.right:.1f} in {found.runs:,} tries, "
        f"surely {certified} (solid, 99.9%). Another mechanism with this label could allow {cap} (ringed)."
    )


def readouts(row: pd.Series, source: Source) -> list[tuple[str, str]]:
    """Three (value, label) pairs below the chart."""
    return [
        (
            points(100 * (row.reference - row["mean"])),
            _split(100 * (row.noiseless - row["mean"]), 100 * (row.reference - row.noiseless))
            + briefings.share(_learned(row, source)),
        ),
        (f"{100 * row.q10:.0f} to {100 * row.q90:.0f} of 100", f"{source.outcome} in 8 of 10 releases"),
        (
            f"({row.spent_epsilon:.3g}, {delta_text(row.spent_delta)})",
            f"really spent; any one {source.record} replaced",
        ),
    ]


def _split(by_noise: float, by_lam: float) -> str:
    """Where the points went; noise can win some back, where it frees a model from a bad habit.

    >>> _split(1.0, 2.0), _split(-1.2, 28.3)
    ('lost: 1.0 to noise, 2.0 to regularisation', 'lost: 28.3 to regularisation, 1.2 won back by noise')
    """
    if by_noise <= -0.05:
        return f"lost: {tenths(by_lam)} to regularisation, {tenths(-by_noise)} won back by noise"
    return f"lost: {tenths(by_noise)} to noise, {tenths(by_lam)} to regularisation"


def decision(accuracy: pd.DataFrame, lost: np.ndarray, enough: float | None, source: Source) -> str:
    """The answer of the budget question."""
    if accuracy.empty:
        return "**Not reachable:** this proof releases nothing here."
    if enough is None:
        last = accuracy.iloc[-1]
        return (
            f"**Not reachable** up to ε = {last.epsilon:g} with {source.drawn(last.n)}: "
            f"there privacy still costs {points(lost[-1])}."
        )
    row = accuracy[accuracy.x == enough].iloc[0]
    return (
        f"Smallest good ε: **{enough:g}**. It costs {points(100 * (row.reference - row['mean']))}; "
        f"an attacker is right at most {math.ceil(100 * row.attack_limit)} times of 100. "
        f"{larger_class(row, source)}"
    ).strip()


def chips(source: Source) -> list[tuple[str, dict[str, Any]]]:
    """Presets: (label, control values)."""
    return [
        *((f"{n:,} {source.records}", {"n": n}) for n in (5_000, 50_000)),
        ("ε = 0.1", {"epsilon": 0.1}),
    ]


def assumptions(table: pd.DataFrame, experiment: Experiment, source: Source, epsilon: float) -> str:
    """What must be true for the curves, the bound and the promise, and what the choice of λ costs at epsilon."""
    row = table[table.status == "ok"].iloc[0]
    measured = table[table.metric == "excess_empirical_risk"]
    below = int((measured.q10 < 0).sum())
    told = assumed(
        __file__,
        "assumptions.md",
        records=records_line(source),
        neighbours=neighbours_line(source),
        tested=row.test_records,
        of=source.records,
        larger=100 * table[table.metric == "accuracy"].nothing_learned.max(),
        theta_norm=experiment.problem.theta_norm,
        gap=max(row.reference_gap, 1e-15),
        repetitions=experiment.repetitions,
        lam=lam_line(experiment, epsilon),
    )
    if below:
        told += (
            f"\n- At {below} of {len(measured)} budgets at least 1 release of 10 beats the reference on the training "
            "records; a logarithmic axis cannot show that, the data table does."
        )
    return told


def lam_line(experiment: Experiment, epsilon: float) -> str:
    """Where λ comes from, and how many points the best λ would win: what only a look at the records could find."""
    told = {
        "auto": "**λ = auto** gives the noise in a prediction one size, whatever ε and n are; no record is seen.",
        "population": "**λ = theory** minimises the proved bound for fresh records at that norm; no record is seen.",
    }.get(str(experiment.problem.lam), "**λ** is set by hand.")
    try:
        lost = regret_at(experiment, epsilon)
    except NotApplicable:
        return told
    if lost < 0.05:
        return f"{told} At ε = {epsilon:g} no λ of a grid does better."
    return f"{told} At ε = {epsilon:g} the best λ of a grid, which one may not look for, would win {points(lost)}."
