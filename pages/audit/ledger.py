"""The view "Accounting": what the steps of a run cost, by one accounting method after another.

Every number of its words comes out of a ledger.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import EPSILON_GRID, Budget, NotApplicable
from dpcore.accounting.kamath import kamath_multiplier
from dpcore.accounting.ledger import (
    EpsilonCurve,
    Kind,
    NoiseSource,
    Run,
    kamath_last_step,
    ledger_of,
    noise_curves,
    tight_multiplier,
)
from dpcore.accounting.subsampled_rdp import SAMPLINGS, subsampled_multiplier
from dpcore.core.facts import text_beside
from dpcore.figures.audit.ledger import accounting_name, ledger_figure, noise_figure
from dpcore.figures.style import FAMILIES
from pages.ui import url_controls
from pages.ui.code import script, verbatim
from pages.ui.details import behind, cards
from pages.ui.html import emphasised, plain, readable
from pages.ui.live_figure import current_theme, live_figure, small_print
from pages.ui.numbers import rounded
from pages.ui.pickers import chips, chips_beside
from pages.ui.sidebar import delta_text, sidebar
from pages.ui.sources import assumed

SQUARE, ALL = "n²", "all"
NOISES = {"published": "published", "proved": "proved"}
CHIPS = chips_beside(__file__, "ledger_chips.json")
NOISE_QUESTION = "How much noise does the target ε need?"
NOT_COUNTED = (
    "No curve counts earlier work on the same records. Trying step sizes, or drawing the noise again until you like "
    "the model, costs extra privacy: each is another release."
)
FORMULA = text_beside(__file__, "ledger_formula.md")
HEIGHT, NOISE_HEIGHT = 360, 330
SHARED_COLUMNS = 2**20
GRID = tuple(m * 10**k for k in range(11) for m in (1, 2, 5))
STEPS: tuple[int | str, ...] = (SQUARE, *(steps for steps in GRID if steps <= 10**10))
BATCHES: tuple[int | str, ...] = (*(batch for batch in GRID if batch <= 50_000), ALL)


def prepare(headline: DeltaGenerator) -> Callable[[], None]:
    """Draw the pickers; the answer draws all the rest. headline: the place above the pickers."""
    noise_of = url_controls.segments("noise_of", "Noise for the target ε", [*NOISES], "published", NOISES.__getitem__)
    steps = url_controls.slider("steps", "T steps", STEPS, SQUARE, _count, width=200)
    with url_controls.block("batch", width=200):
        batch = url_controls.slider("batch", "batch size", BATCHES, 1, _count)
        remark = st.empty()
    return lambda: _show(headline, remark, noise_of == "published", steps, batch)


def _count(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def _show(
    headline: DeltaGenerator, remark: DeltaGenerator, claimed: bool, chosen_steps: int | str, chosen_batch: int | str
) -> None:
    controls = sidebar(
        default_n=2_000,
        max_columns=SHARED_COLUMNS,
        unused=("p", "lam", "m", "seed"),
    )
    n, budget = controls.n, Budget(controls.epsilon, controls.delta)
    steps = n**2 if isinstance(chosen_steps, str) else chosen_steps
    batch = n if isinstance(chosen_batch, str) else min(chosen_batch, n)
    if not isinstance(chosen_batch, str) and chosen_batch > n:
        remark.caption(f"n is {n:,}: a full batch.")
    needed = tight_multiplier(budget, n, batch, steps)
    refused = ""
    try:
        published = kamath_multiplier(n, budget)
    except NotApplicable as reason:
        published, refused = math.nan, str(reason)
    run = Run(n, batch, published if claimed and not refused else needed, budget.delta)

    longest = 3 * max(steps, n**2)
    grid = tuple(sorted({*(t for t in GRID if t < longest), steps, kamath_last_step(run), longest}))
    curves = ledger_of(run, grid)
    here: dict[NoiseSource, float] = {"published": published}
    for sampling in SAMPLINGS:
        here[sampling] = subsampled_multiplier(budget, 1 / n, n**2, sampling)
    theme = current_theme()

    sentence = takeaway(run, curves, steps, grid.index(steps), budget.epsilon, refused if claimed else "")
    headline.html(emphasised(sentence, FAMILIES[theme]["gradient"]))
    left, right = st.container(key="halves").columns([1.9, 1], gap="medium")
    with left:
        chart = partial(ledger_figure, at=steps, target=budget.epsilon, height=HEIGHT)
        live_figure(chart(curves, grid, theme=theme), key="ledger", alt=plain(sentence), height=HEIGHT)
        small_print(caption(run, curves))
    with right:
        st.markdown(f"**{NOISE_QUESTION}**")
        told = noise_takeaway(here, n, budget.epsilon, refused)
        noises = noise_curves(n, budget.delta, EPSILON_GRID[0], EPSILON_GRID[-1])
        drawn = noise_figure(noises, here, epsilon=budget.epsilon, theme=theme, height=NOISE_HEIGHT)
        live_figure(drawn, key="noise", alt=plain(told), height=NOISE_HEIGHT)
        small_print(told)
    cards(readouts(run, curves, grid.index(steps), budget.epsilon, needed))
    chips(CHIPS)
    behind(
        lambda: assumptions(run, curves),
        FORMULA,
        lambda: script(
            {"steps": grid, "curves": partial(ledger_of, run, verbatim("steps"))},
            partial(chart, verbatim("curves"), verbatim("steps")),
        ),
        lambda: ledger_table(curves, grid, full=run.full),
    )


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
    ratio = f"{rounded(100 * spent / target, 2)}% of" if spent < target else times(spent / target)
    noise = f"with the noise that Kamath's lecture sets for ε = {target:g}"
    return f"{where} **{_epsilon(spent)}**, **{ratio} the target**, {noise}. {booked}"


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
    return rounded(epsilon)


def _epsilon(value: float) -> str:
    shown = amount(value)
    return f"ε = {shown}" if shown[0].isdigit() else f"ε {shown}"


def caption(run: Run, curves: Sequence[EpsilonCurve]) -> str:
    """What the curves share, and where and why one ends."""
    claim = next(curve for curve in curves if curve.kind == "kamath")
    where = "ends here" if np.isfinite(claim.epsilon).any() else "is not drawn"
    return (
        f"**Same guarantee:** δ = {delta_text(run.delta)}, one record replaced; noise multiplier z = {rounded(run.z)}. "
        f"Every curve but Kamath's claim (dotted) is proved. The claim {where}: {readable(claim.reason)}. "
        f"{NOT_COUNTED}"
    )


def noise_takeaway(here: Mapping[NoiseSource, float], n: int, epsilon: float, refused: str) -> str:
    """The published noise over what is proved, at the cursor."""
    run = f"n² = {n**2:,} steps on one record each"
    if refused:
        return (
            f"At ε = {epsilon:g} no noise is published: {readable(refused)}. The proved multiplier for {run} is "
            f"{rounded(here['uniform'])} with a random index and {rounded(here['poisson'])} with Poisson batches."
        )
    ratios = [rounded(here["published"] / here[kind]) for kind in ("uniform", "poisson")]
    return (
        f"At ε = {epsilon:g} the published noise for {run} is **{ratios[0]} times** the noise that a random index "
        f"needs, and **{ratios[1]} times** the noise that Poisson batches need."
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
    return assumed(__file__, "ledger_assumptions.md", run=run, not_counted=NOT_COUNTED, **facts)
