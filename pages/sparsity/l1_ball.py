"""The tab LASSO: private Frank-Wolfe on the L1 ball against T, n and p."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

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
from pages.sparsity import SOURCE, or_reason
from pages.sparsity import l1_words as words
from pages.ui import url_controls
from pages.ui.code import redrawn
from pages.ui.details import behind, cards
from pages.ui.html import emphasised, plain, readable
from pages.ui.live_figure import captioned_figure, current_theme, live_figure, paragraph, small_print
from pages.ui.pickers import chips, pick_layers, switch
from pages.ui.sidebar import sidebar

HEIGHT, SIDE_HEIGHT = 405, 380
FIRST_N, FIRST_COLUMNS, MOST_COLUMNS = 10_000, 256, 65_536
STEPS: tuple[int | str, ...] = ("auto", *curves.TS)
RADII = (0.25, 0.5, 1.0, 2.0, 4.0)
BESIDE_REPETITIONS = 8
TRACED_COLUMNS, TRACING_REPETITIONS = 256, 16
SIDES = ("Vertices", "On the simplex", "Tracing")


def prepare(headline: DeltaGenerator) -> Callable[[], None]:
    """Draw the pickers; the answer draws all the rest. headline: the place above the pickers."""
    against = switch("Excess risk against", words.AXES, "T", key="against")
    chosen = url_controls.select("lasso_data", "Records", words.RECORDS, "sparse", width=150)
    accounting = url_controls.select("vertex_noise", "Noise", words.ACCOUNTINGS, "tight", width=180)
    T = url_controls.slider("T", "T steps", STEPS, "auto", width=115)
    radius = url_controls.slider("radius", "C size", RADII, 1.0, "{:g}".format, width=105)
    own = {"accounting": accounting, "T": T, "radius": radius, "hardest": chosen == "hardest"}
    return lambda: _show(headline, against, own)


def _show(headline: DeltaGenerator, against: str, own: dict[str, Any]) -> None:
    controls = sidebar(
        default_n=FIRST_N,
        max_columns=MOST_COLUMNS,
        default_columns=FIRST_COLUMNS,
        unused=("lam", "m"),
    )
    theme = current_theme()
    left, right = st.container(key="halves").columns([1.5, 1], gap="medium")
    with left:
        chart, layers = st.container(), pick_layers(*([] if against == "T" else ["plain"]))
    here = words.L1State(**vars(controls), **own)

    def drawn(
        here: words.L1State, cancelled: Cancelled = never
    ) -> tuple[Figure, str, words.Found, Path | None, str, Callable[[], str]]:
        """The chart there and its sentence; the curves, one run, or why there is none, and the chart's code."""
        walked, reason = or_reason(partial(path, here.setting, n=here.n, p=here.p, T=here.T))
        go_on(cancelled)
        asked, draw = _hero(against, here, walked)
        found = asked(cancelled=cancelled)
        figure, sentence = made_once(
            SOURCE,
            ("lasso", against, here, theme, *layers),
            lambda: (draw(found, theme=theme).showing(layers), words.takeaway(found, walked, here, reason)),
        )
        return figure, sentence, found, walked, reason, partial(redrawn, asked, draw)

    picture, sentence, found, walked, reason, code = drawn(here)
    headline.html(emphasised(sentence, FAMILIES[theme]["frank_wolfe"]))
    with chart:
        live_figure(picture, key="lasso", alt=plain(sentence), height=HEIGHT, ahead=(drawn, here))
    with left:
        paragraph(words.verdict_of(found, walked, here))
        small_print(words.caption(found, here))
    with right:
        side = switch("Beside the chart", SIDES, SIDES[0], key="beside_ball", wrap=True)
        beside = made_once(SOURCE, ("beside LASSO", side, here, theme), lambda: _beside(side, here, walked, theme))
        if beside is None:
            small_print(readable(reason))
        else:
            captioned_figure(*beside, key="beside_lasso", height=SIDE_HEIGHT)
    cards(words.readouts(found, walked, here))
    chips(words.CHIPS)
    behind(lambda: words.assumptions(here), words.FORMULA, code, lambda: words.table(found))


def _hero(against: str, here: words.L1State, walked: Path | None) -> tuple[partial[Any], partial[Figure]]:
    """The computation of the curves over the chosen axis, and their figure with the cursor at the reader's state."""
    asked: partial[Any]
    if against == "n":
        asked = partial(curves.against_n, here.setting, p=here.p, T=here.T)
        return asked, partial(excess_by_n_figure, n=here.n, height=HEIGHT)
    if against == "p":
        asked = partial(curves.against_p, here.setting, n=here.n, T=here.T, ps=tuple(sorted({*curves.PS, here.p})))
        return asked, partial(width_figure, p=here.p, height=HEIGHT)
    T = words.steps_of(walked, here.T)
    asked = partial(curves.against_T, here.setting, n=here.n, p=here.p, Ts=tuple(sorted({*curves.TS, T})))
    return asked, partial(steps_figure, T=T, height=HEIGHT)


def _beside(side: str, here: words.L1State, walked: Path | None, theme: Theme) -> tuple[Figure, str] | None:
    """The chart beside and its sentence; None where there is no run to show."""
    if side == "On the simplex":
        beside = beside_others.beside_sampling(
            p=here.p, loss=words.SIMPLEX_LOSS, repetitions=BESIDE_REPETITIONS, **here.budget
        )
        return remark_figure(beside, theme=theme, height=SIDE_HEIGHT), words.remark_caption(beside, here)
    if side == "Tracing":
        traced = membership.tracing(seed=here.seed, p=TRACED_COLUMNS, repetitions=TRACING_REPETITIONS)
        figure = tracing_figure(traced, epsilon=here.epsilon, theme=theme, height=SIDE_HEIGHT)
        return figure, words.tracing_caption(traced)
    if walked:
        return path_figure(walked, theme=theme, height=SIDE_HEIGHT), words.path_caption(walked)
    return None
