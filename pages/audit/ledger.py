"""The view "Ledger": what the steps of a run cost, by one accounting after another."""

from __future__ import annotations

import math
from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import EPSILON_GRID, Budget, NotApplicable
from dpcore.accounting.lecture import lecture_multiplier
from dpcore.accounting.ledger import NoiseSource, Run, last_of_lecture, ledger_of, noise_curves, tight_multiplier
from dpcore.accounting.subsampled_rdp import SAMPLINGS, subsampled_multiplier
from dpcore.figures.audit.ledger import ledger_figure, noise_figure
from dpcore.figures.style import FAMILIES
from pages.audit import ledger_words as words
from pages.ui import url_controls
from pages.ui.cards import cards
from pages.ui.details import behind
from pages.ui.html import emphasised, plain
from pages.ui.live_figure import current_theme, live_figure
from pages.ui.pickers import chips
from pages.ui.sidebar import PEOPLE, sidebar

HEIGHT, NOISE_HEIGHT = 400, 330
SHARED_COLUMNS = 2**20
GRID = tuple(m * 10**k for k in range(11) for m in (1, 2, 5))
STEPS: tuple[int | str, ...] = (words.SQUARE, *(steps for steps in GRID if steps <= 10**10))
BATCHES: tuple[int | str, ...] = (*(batch for batch in GRID if batch <= 50_000), words.ALL)


def prepare(headline: DeltaGenerator) -> Callable[[], None]:
    """Draw the pickers; the answer draws all the rest. headline: the place above the pickers."""
    noise_of = url_controls.segments(
        "noise_of", "Noise for the label ε", list(words.NOISES), "lecture", words.NOISES.__getitem__
    )
    with url_controls.block("steps", width=230):
        steps = url_controls.slider("steps", "T steps", STEPS, words.SQUARE, _count)
    with url_controls.block("batch", width=230):
        batch = url_controls.slider("batch", "batch, records a step", BATCHES, 1, _count)
        remark = st.empty()
    return lambda: _show(headline, remark, noise_of == "lecture", steps, batch)


def _count(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def _show(
    headline: DeltaGenerator, remark: DeltaGenerator, lecture: bool, chosen_steps: int | str, chosen_batch: int | str
) -> None:
    controls = sidebar(
        people=PEOPLE,
        default_people=2_000,
        columns=None,
        max_columns=SHARED_COLUMNS,
        unused={
            "p": "a ledger counts steps: p does not enter",
            "lam": "what a step optimises does not enter",
            "m": "batches have their own slider",
            "seed": "nothing is drawn on this page",
        },
    )
    # The chart with its labels needs its width.
    st.html(
        "<style>@media (max-width: 1300px) { .st-key-halves > * > [data-testid=stHorizontalBlock] { flex-wrap: wrap }"
        " .st-key-halves > * > [data-testid=stHorizontalBlock] > [data-testid=stColumn] { min-width: 100% } }</style>"
    )
    n, budget = controls.n, Budget(controls.epsilon, controls.delta)
    steps = n**2 if isinstance(chosen_steps, str) else chosen_steps
    batch = n if isinstance(chosen_batch, str) else min(chosen_batch, n)
    if not isinstance(chosen_batch, str) and chosen_batch > n:
        remark.caption(f"There are {n:,} records: a full batch.")
    needed = tight_multiplier(budget, n, batch, steps)
    refused = ""
    try:
        published = lecture_multiplier(n, budget)
    except NotApplicable as reason:
        published, refused = math.nan, str(reason)
    run = Run(n, batch, published if lecture and not refused else needed, budget.delta)

    longest = 3 * max(steps, n**2)
    grid = tuple(sorted({*(t for t in GRID if t < longest), steps, last_of_lecture(run), longest}))
    curves = ledger_of(run, grid)
    here: dict[NoiseSource, float] = {"published": published}
    for sampling in SAMPLINGS:
        here[sampling] = subsampled_multiplier(budget, 1 / n, n**2, sampling)
    theme = current_theme()

    sentence = words.takeaway(run, curves, steps, grid.index(steps), budget.epsilon, refused if lecture else "")
    headline.html(emphasised(sentence, FAMILIES[theme]["gradient"]))
    with st.container(key="halves"):
        left, right = st.columns([1.9, 1], gap="medium")
    with left:
        figure = ledger_figure(curves, grid, at=steps, label=budget.epsilon, theme=theme, height=HEIGHT)
        live_figure(figure, key="ledger", alt=plain(sentence), height=HEIGHT)
        st.caption(words.caption(run, curves))
    with right:
        st.markdown(f"**{words.NOISE_QUESTION}**")
        told = words.noise_takeaway(here, n, budget.epsilon, refused)
        noises = noise_curves(n, budget.delta, EPSILON_GRID[0], EPSILON_GRID[-1])
        drawn = noise_figure(noises, here, epsilon=budget.epsilon, theme=theme, height=NOISE_HEIGHT)
        live_figure(drawn, key="noise", alt=plain(told), height=NOISE_HEIGHT)
        st.caption(told)
    cards(words.readouts(run, curves, grid.index(steps), budget.epsilon, needed))
    chips(words.CHIPS)
    behind(
        lambda: words.assumptions(run, curves),
        words.FORMULA,
        lambda: words.snippet(run, grid, steps, budget),
        lambda: words.ledger_table(curves, grid, full=run.full),
    )
