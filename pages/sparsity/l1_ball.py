"""The tab LASSO: private Frank-Wolfe on the L1 ball against T, n and p."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dpcore.core.cancel import Cancelled, go_on, never
from dpcore.figures.figure import Figure
from dpcore.figures.sparsity.l1 import (
    excess_by_n_figure,
    path_figure,
    remark_figure,
    steps_figure,
    tracing_figure,
    width_figure,
)
from dpcore.figures.style import FAMILIES, Theme
from dpcore.studies.sparsity.l1 import curves, membership
from dpcore.studies.sparsity.l1.curves import Path, path
from dpcore.studies.sparsity.simplex import beside_others
from pages.background.pictures import made_once
from pages.sparsity import SOURCE
from pages.sparsity import l1_words as words
from pages.ui import url_controls
from pages.ui.code import redrawn
from pages.ui.details import table_of
from pages.ui.html import readable
from pages.ui.live_figure import current_theme
from pages.ui.page import Page, or_reason
from pages.ui.pickers import pick_layers, switch
from pages.ui.sidebar import sidebar

HEIGHT, SIDE_HEIGHT = 405, 380
FIRST_N, FIRST_COLUMNS, MOST_COLUMNS = 10_000, 256, 65_536
STEPS: tuple[int | str, ...] = ("auto", *curves.TS)
RADII = (0.25, 0.5, 1.0, 2.0, 4.0)
BESIDE_REPETITIONS = 8
TRACED_COLUMNS, TRACING_REPETITIONS = 256, 16
SIDES = ("Vertices", "On the simplex", "Tracing")


def show(page: Page) -> None:
    """All of the page but its question and the picker of the tab."""
    with page.pickers:
        against = switch("Excess risk against", words.AXES, "T", key="against")
        records = url_controls.select("lasso_data", "Records", words.RECORDS, "sparse", width=150)
        accounting = url_controls.select("vertex_noise", "Noise", words.ACCOUNTINGS, "tight", width=180)
        T = url_controls.slider("T", "T steps", STEPS, "auto", width=115)
        radius = url_controls.slider("radius", "C size", RADII, 1.0, "{:g}".format, width=105)
    controls = sidebar(default_n=FIRST_N, max_columns=MOST_COLUMNS, default_columns=FIRST_COLUMNS, unused=("lam", "m"))
    theme = current_theme()
    page.halves()
    with page.left:
        layers = pick_layers(*([] if against == "T" else ["plain"]))
    state = words.L1State(**vars(controls), accounting=accounting, T=T, radius=radius, hardest=records == "hardest")

    def drawn(
        state: words.L1State, cancelled: Cancelled = never
    ) -> tuple[Figure, str, words.Found, Path | None, str, Callable[[], str]]:
        """The chart there and its sentence; the curves, one run, or why there is none, and the chart's code."""
        walked, reason = or_reason(partial(path, state.setting, n=state.n, p=state.p, T=state.T))
        go_on(cancelled)
        question, draw = _main_chart(against, state, walked)
        found = question(cancelled=cancelled)
        figure, sentence = made_once(
            SOURCE,
            ("lasso", against, state, theme, *layers),
            lambda: (draw(found, theme=theme).showing(layers), words.takeaway(found, walked, state, reason)),
        )
        return figure, sentence, found, walked, reason, partial(redrawn, question, draw)

    figure, sentence, found, walked, reason, code = drawn(state)
    page.headline(sentence, colour=FAMILIES[theme]["frank_wolfe"])
    page.chart(
        figure,
        sentence,
        key="lasso",
        height=HEIGHT,
        ahead=(drawn, state),
        verdict=words.verdict_of(found, walked, state),
        caption=words.caption(found, state),
    )

    def beside(side: str) -> tuple[Figure, str] | str:
        made = made_once(SOURCE, ("beside LASSO", side, state, theme), lambda: _beside(side, state, walked, theme))
        return made or readable(reason)

    page.beside(SIDES, beside, key="beside_ball", chart="beside_lasso", height=SIDE_HEIGHT)
    page.below(
        words.readouts(found, walked, state),
        words.CHIPS,
        lambda: words.assumptions(state),
        words.FORMULA,
        code,
        lambda: table_of(found),
    )


def _main_chart(against: str, state: words.L1State, walked: Path | None) -> tuple[partial[Any], partial[Figure]]:
    """The computation of the curves over the chosen axis, and their figure with the cursor at the reader's state."""
    question: partial[Any]
    if against == "n":
        question = partial(curves.against_n, state.setting, p=state.p, T=state.T)
        return question, partial(excess_by_n_figure, n=state.n, height=HEIGHT)
    if against == "p":
        question = partial(
            curves.against_p, state.setting, n=state.n, T=state.T, ps=tuple(sorted({*curves.PS, state.p}))
        )
        return question, partial(width_figure, p=state.p, height=HEIGHT)
    T = words.steps_of(walked, state.T)
    question = partial(curves.against_T, state.setting, n=state.n, p=state.p, Ts=tuple(sorted({*curves.TS, T})))
    return question, partial(steps_figure, T=T, height=HEIGHT)


def _beside(side: str, state: words.L1State, walked: Path | None, theme: Theme) -> tuple[Figure, str] | None:
    """The chart beside and its sentence; None where there is no run to show."""
    if side == "On the simplex":
        beside = beside_others.beside_sampling(
            p=state.p, loss=words.SIMPLEX_LOSS, repetitions=BESIDE_REPETITIONS, **state.budget
        )
        return remark_figure(beside, theme=theme, height=SIDE_HEIGHT), words.remark_caption(beside, state)
    if side == "Tracing":
        traced = membership.tracing(seed=state.seed, p=TRACED_COLUMNS, repetitions=TRACING_REPETITIONS)
        figure = tracing_figure(traced, epsilon=state.epsilon, theme=theme, height=SIDE_HEIGHT)
        return figure, words.tracing_caption(traced)
    if walked:
        return path_figure(walked, theme=theme, height=SIDE_HEIGHT), words.path_caption(walked)
    return None
