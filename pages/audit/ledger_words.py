"""The words of the trust page. Every number comes out of a ledger."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpcore import Budget
from dpcore.accounting.ledger import EpsilonCurve, Kind, NoiseSource, Run
from dpcore.core.facts import text_beside
from dpcore.figures.audit.ledger import accounting_name
from pages.ui.html import readable
from pages.ui.numbers import rounded
from pages.ui.sidebar import delta_text

SQUARE, ALL = "n²", "all"
NOISES = {"lecture": "published", "proved": "proved"}
CHIPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("the lecture's run", {"noise_of": "lecture", "steps": SQUARE, "batch": 1, "epsilon": 1.0}),
    ("only the noise it needs", {"noise_of": "proved", "steps": SQUARE, "batch": 1, "epsilon": 1.0}),
    ("batches of 100", {"noise_of": "proved", "steps": 1_000, "batch": 100}),
    ("full batches", {"noise_of": "proved", "steps": 500, "batch": ALL}),
    ("ε too large for the lecture", {"noise_of": "lecture", "epsilon": 10.0}),
)
NOISE_QUESTION = "How much noise does the label need?"
NOT_COUNTED = (
    "No curve counts what came before this run: trying step sizes on the same records, or drawing the noise again "
    "until the model pleases, are releases of their own."
)
FORMULA = text_beside(__file__, "ledger_formula.md")


def best(run: Run) -> Kind:
    """The tightest accounting on the chart."""
    return "exact" if run.full else "poisson"


def value_at(curves: Sequence[EpsilonCurve], kind: Kind, index: int) -> float:
    """One accounting's epsilon after the steps at this index."""
    return float(next(curve for curve in curves if curve.kind == kind).epsilon[index])


def takeaway(run: Run, curves: Sequence[EpsilonCurve], at: int, index: int, label: float, refused: str) -> str:
    """What the ledger says at the cursor; refused: why there is no published noise, where it was asked for."""
    spent = value_at(curves, best(run), index)
    booked = f"basic composition would book {amount(value_at(curves, 'basic', index))}"
    where = f"one step on {_batch(run)}" if at == 1 else f"{at:,} steps, each on {_batch(run)}"
    costs = "costs" if at == 1 else "cost"
    if refused:
        instead = f"With the noise that is proved, {where}, {costs} **{_epsilon(spent)}**"
        return f"**No published noise here**: {readable(refused)}. {instead}; {booked}."
    if math.isclose(spent, label, rel_tol=1e-6):
        kept = f"keeps **ε = {label:g}** over {where}"
        return f"Noise of **{rounded(run.z)}** times one record's part {kept}; {booked}."
    ratio = f"{times(label / spent)} less" if spent < label else f"{times(spent / label)} more"
    return (
        f"With the lecture's noise for ε = {label:g}, {where}, {costs} **{_epsilon(spent)}**: **{ratio}** than the "
        f"label says; {booked}."
    )


def _batch(run: Run) -> str:
    if run.full:
        return f"all {run.n:,} records"
    return f"{'one' if run.batch == 1 else f'{run.batch:,}'} of {run.n:,} records"


def times(ratio: float) -> str:
    """
    >>> times(12.49), times(1.26), times(12490.0)
    ('12 times', '1.3 times', '12,000 times')
    """
    digits = float(f"{ratio:.2g}")
    return f"{digits:,.0f} times" if digits >= 10 else f"{digits:g} times"


def amount(epsilon: float) -> str:
    """An epsilon of any size, in three digits.

    >>> amount(0.07779), amount(217.4), amount(4_928.1), amount(2e14), amount(3e-9)
    ('0.0778', '217', '4,930', 'over a million', 'next to 0')
    """
    if epsilon > 1e6:
        return "over a million"
    if epsilon < 1e-6:
        return "next to 0"
    return rounded(epsilon) if epsilon < 1000 else f"{float(f'{epsilon:.3g}'):,.0f}"


def _epsilon(value: float) -> str:
    shown = amount(value)
    return f"ε = {shown}" if shown[0].isdigit() else f"ε {shown}"


def caption(run: Run, curves: Sequence[EpsilonCurve]) -> str:
    """What the curves share, and where and why one ends."""
    lecture = next(curve for curve in curves if curve.kind == "lecture")
    where = "ends" if np.isfinite(lecture.epsilon).any() else "is not drawn"
    return (
        f"**Same promise:** δ = {delta_text(run.delta)}, one record replaced; noise z = {rounded(run.z)}. All curves "
        f"are proved but the lecture's claim (dotted), which {where}: {readable(lecture.reason)}. {NOT_COUNTED}"
    )


def noise_takeaway(here: Mapping[NoiseSource, float], n: int, epsilon: float, refused: str) -> str:
    """The published noise over what is proved, at the cursor."""
    run = f"n² = {n**2:,} steps on one record each"
    if refused:
        return (
            f"At ε = {epsilon:g} nothing is published: {readable(refused)}. For {run} "
            f"z = {rounded(here['uniform'])} is proved, with Poisson batches {rounded(here['poisson'])}."
        )
    ratios = [rounded(here["published"] / here[kind]) for kind in ("uniform", "poisson")]
    return (
        f"At ε = {epsilon:g} the published noise for {run} is **{ratios[0]} times** what a random index needs, "
        f"and **{ratios[1]} times** what Poisson batches need."
    )


def readouts(
    run: Run, curves: Sequence[EpsilonCurve], index: int, label: float, needed: float
) -> list[tuple[str, str]]:
    """Three (value, label) pairs. needed: the smallest noise that is proved to keep the label at the cursor."""
    kind = best(run)
    how = f"{accounting_name(kind, full=run.full)}{'' if run.full else 'es'}"
    enough = math.isclose(run.z, needed, rel_tol=1e-6)
    return [
        (_epsilon(value_at(curves, kind, index)), f"proved for this run ({how}); the label says {label:g}"),
        (
            _epsilon(value_at(curves, "advanced", index)),
            f"by advanced composition; {amount(value_at(curves, 'basic', index))} by basic composition",
        ),
        (
            f"z = {rounded(run.z)}",
            "noise of a step over one record's part: as little as the label needs"
            if enough
            else f"noise of a step over one record's part; the label needs {rounded(needed)}",
        ),
    ]


def ledger_table(curves: Sequence[EpsilonCurve], steps: Sequence[int], *, full: bool) -> pd.DataFrame:
    """One row for each accounting and number of steps."""
    return pd.concat(
        pd.DataFrame(
            {
                "accounting": accounting_name(curve.kind, full=full),
                "proved": curve.proved,
                "steps": steps,
                "epsilon": curve.epsilon,
            }
        )
        for curve in curves
    )


def assumptions(run: Run, curves: Sequence[EpsilonCurve]) -> str:
    """What must be true for each curve."""
    lecture = next(curve for curve in curves if curve.kind == "lecture")
    lines = [
        f"**Neighbours:** any one of {run.n:,} records replaced by another; all curves promise (ε, δ) with "
        f"δ = {delta_text(run.delta)}. An attacker may see the model after every step, not which records were drawn.",
        "**The noise** is Gaussian, and no record's part of a step is longer than C: gradients of a Lipschitz loss, or "
        "clipped ones.",
        f"**Random subset:** exactly {run.batch:,} of {run.n:,} records, drawn uniformly. **Poisson batch:** every "
        f"record enters on its own with chance {rounded(run.rate)}. The two compositions hold for both.",
        "**Rényi** curves are the best of many orders, each a theorem; the integrals behind them are accurate to 9 "
        "digits, not interval arithmetic.",
        "**The lecture's claim is not proved.** Lemma 3 is for pure privacy, and a Gaussian step has a failure chance; "
        "and advanced composition has another factor of √2 and a second term. "
        f"It stops here because {readable(lecture.reason)}.",
        f"**Not counted:** {NOT_COUNTED}",
    ]
    return "\n".join(f"- {line}" for line in lines)


def snippet(run: Run, steps: Sequence[int], at: int, budget: Budget) -> str:
    """Python that redraws the chart from an empty file."""
    return f"""from dpcore.accounting.ledger import Run, ledger_of
from dpcore.figures.audit.ledger import ledger_figure

run = Run(n={run.n}, batch={run.batch}, z={run.z!r}, delta={run.delta!r})
steps = {tuple(steps)!r}
curves = ledger_of(run, steps)
ledger_figure(curves, steps, at={at}, label={budget.epsilon!r}, theme="light", height=500).show()
"""
