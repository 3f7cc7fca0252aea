"""Noisy SGD with the noise that Kamath's lecture sets: what its steps cost, by one accounting method after another.

Every number of its words comes out of a ledger.
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget
from dpcore.accounting.kamath import kamath_multiplier
from dpcore.accounting.ledger import (
    EpsilonCurve,
    Kind,
    Run,
    kamath_last_step,
    ledger_of,
    tight_multiplier,
)
from dpcore.core.facts import text_beside
from dpcore.figures.composition import accounting_name, ledger_figure
from dpcore.figures.style import FAMILIES
from pages.composition.releases import CHIPS
from pages.ui import url_controls
from pages.ui.code import script, verbatim
from pages.ui.html import readable
from pages.ui.live_figure import current_theme, small_print
from pages.ui.numbers import rounded
from pages.ui.page import Page, or_reason
from pages.ui.sidebar import delta_text, sidebar
from pages.ui.sources import assumed

SQUARE, ALL = "n²", "all"
NOT_COUNTED = (
    "No curve counts earlier work on the same records. Trying step sizes, or drawing the noise again until you like "
    "the model, costs extra privacy: each is another release."
)
FORMULA = text_beside(__file__, "descent_formula.md")
HEIGHT = 360
SHARED_COLUMNS = 2**20
GRID = tuple(m * 10**k for k in range(11) for m in (1, 2, 5))
LONGEST = 10**10
COUNTS = tuple(steps for steps in GRID if steps <= LONGEST)
STEPS: tuple[int | str, ...] = (SQUARE, *COUNTS)
BATCHES: tuple[int | str, ...] = (*(batch for batch in GRID if batch <= 50_000), ALL)


def show(page: Page) -> None:
    """All of the page but its question and the picker of the view."""
    with page.pickers:
        chosen_steps = url_controls.slider("steps", "T steps", STEPS, SQUARE, _count, width=200)
        with url_controls.block("batch", width=200):
            chosen_batch = url_controls.slider("batch", "batch size", BATCHES, 1, _count)
            remark = st.empty()
    controls = sidebar(default_n=2_000, max_columns=SHARED_COLUMNS, unused=("p", "lam", "m", "seed"))
    n, budget = controls.n, Budget(controls.epsilon, controls.delta)
    steps = n**2 if isinstance(chosen_steps, str) else chosen_steps
    batch = n if isinstance(chosen_batch, str) else min(chosen_batch, n)
    if not isinstance(chosen_batch, str) and chosen_batch > n:
        remark.caption(f"n is {n:,}: a full batch.")
    needed = tight_multiplier(budget, n, batch, steps)
    published, refused = or_reason(partial(kamath_multiplier, n, budget))
    run = Run(n, batch, needed if published is None else published, budget.delta)
    grid = tuple(sorted({*COUNTS, steps, kamath_last_step(run)}))
    curves = ledger_of(run, grid)
    theme = current_theme()

    sentence = takeaway(run, curves, steps, grid.index(steps), budget.epsilon, refused)
    page.headline(sentence, colour=FAMILIES[theme]["gradient"])
    chart = partial(ledger_figure, at=steps, span=(1, LONGEST), target=budget.epsilon, height=HEIGHT)
    page.wide_chart(chart(curves, grid, theme=theme), sentence, key="ledger", height=HEIGHT)
    small_print(caption(run, curves))
    page.below(
        readouts(run, curves, grid.index(steps), budget.epsilon, needed),
        CHIPS,
        lambda: assumptions(run, curves),
        FORMULA,
        lambda: script(
            {"steps": grid, "curves": partial(ledger_of, run, verbatim("steps"))},
            partial(chart, verbatim("curves"), verbatim("steps")),
        ),
        lambda: ledger_table(curves, grid, full=run.full),
    )


def _count(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def best(run: Run) -> Kind:
    """The tightest accounting on the chart."""
    return "exact" if run.full else "poisson"


def value_at(curves: Sequence[EpsilonCurve], kind: Kind, index: int) -> float:
    """One accounting's epsilon after the steps at this index."""
    return float(next(curve for curve in curves if curve.kind == kind).epsilon[index])


def takeaway(run: Run, curves: Sequence[EpsilonCurve], at: int, index: int, target: float, refused: str) -> str:
    """Privacy spent at the cursor; refused: why there is no published noise, where it was asked for."""
    spent = value_at(curves, best(run), index)
    booked = f"Basic composition would give {_epsilon(value_at(curves, 'basic', index))}."
    where = f"One step on {_batch(run)} costs" if at == 1 else f"{at:,} steps, each on {_batch(run)}, cost"
    if refused:
        instead = f"{where} **{_epsilon(spent)}** with the proved noise, z = {rounded(run.z)}"
        return f"**No published noise here**: {readable(refused)}. {instead}. {booked}"
    if math.isclose(spent, target, rel_tol=1e-6):
        return f"{where} **ε = {target:g}** with noise multiplier z = {rounded(run.z)}. {booked}"
    ratio = f"{rounded(100 * spent / target, 2)}% of" if spent < target else f"{rounded(spent / target, 2)} times"
    noise = f"with the noise that Kamath's lecture sets for ε = {target:g}"
    return f"{where} **{_epsilon(spent)}**, **{ratio} the target**, {noise}. {booked}"


def _batch(run: Run) -> str:
    if run.full:
        return f"all {run.n:,} records"
    return f"{'one' if run.batch == 1 else f'{run.batch:,}'} of {run.n:,} records"


def amount(epsilon: float) -> str:
    """An epsilon of any size, in three digits.

    >>> amount(0.07779), amount(217.4), amount(4_928.1), amount(2e14), amount(3e-9)
    ('0.0778', '217', '4,930', 'over a million', 'next to 0')
    """
    if epsilon > 1e6:
        return "over a million"
    if epsilon < 1e-6:
        return "next to 0"
    return rounded(epsilon)


def _epsilon(value: float) -> str:
    shown = amount(value)
    return f"ε = {shown}" if shown[0].isdigit() else f"ε {shown}"


def caption(run: Run, curves: Sequence[EpsilonCurve]) -> str:
    """What the curves share, and where and why one ends."""
    claim = next(curve for curve in curves if curve.kind == "kamath")
    where = "ends here" if np.isfinite(claim.epsilon).any() else "is not drawn"
    return (
        f"**Same guarantee:** δ = {delta_text(run.delta)}; noise multiplier z = {rounded(run.z)}. "
        f"Kamath's claim (dotted) is not proved; it {where}: {readable(claim.reason)}."
    )


def readouts(
    run: Run, curves: Sequence[EpsilonCurve], index: int, target: float, needed: float
) -> list[tuple[str, str, str]]:
    """Three (noun, value, rest). needed: the smallest noise that is proved to keep the target at the cursor."""
    kind = best(run)
    how = f"{accounting_name(kind, full=run.full)}{'' if run.full else 'es'}"
    enough = math.isclose(run.z, needed, rel_tol=1e-6)
    return [
        ("Privacy spent", _epsilon(value_at(curves, kind, index)), f"accounting: {how}; target: ε = {target:g}"),
        (
            "Advanced composition",
            _epsilon(value_at(curves, "advanced", index)),
            f"basic composition: {_epsilon(value_at(curves, 'basic', index))}",
        ),
        (
            "Noise multiplier",
            f"z = {rounded(run.z)}",
            "the least that the target needs" if enough else f"the target needs {rounded(needed)}",
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
    claim = next(curve for curve in curves if curve.kind == "kamath")
    facts = {"delta": delta_text(run.delta), "rate": rounded(run.rate), "reason": readable(claim.reason)}
    return assumed(__file__, "descent_assumptions.md", run=run, not_counted=NOT_COUNTED, **facts)
