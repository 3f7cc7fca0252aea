"""The tab Simplex sampling: m random draws from a mixture, and the valley between too few and too many."""

from collections.abc import Callable
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.core.cancel import Cancelled, go_on, never
from dpcore.figures.figure import Figure
from dpcore.figures.sparsity.simplex import columns_figure, draws_figure, published_draws_figure, support_figure
from dpcore.figures.style import FAMILIES, Theme
from dpcore.studies.sparsity.simplex import beside_others, excess_by_draws, published_draws
from dpcore.studies.sparsity.simplex.single_release import Support, support
from pages.background.pictures import made_once
from pages.sparsity import SOURCE, or_reason
from pages.sparsity import simplex_words as words
from pages.ui.code import redrawn
from pages.ui.details import behind, cards
from pages.ui.html import emphasised, plain
from pages.ui.live_figure import captioned_figure, current_theme, live_figure, paragraph, small_print
from pages.ui.pickers import chips, pick_layers, switch
from pages.ui.sidebar import SAMPLE_SIZES, Controls, sidebar

HEIGHT, SIDE_HEIGHT = 430, 380
FIRST_N, MOST_RECORDS, FIRST_COLUMNS, MOST_COLUMNS = 5_000, 20_000, 64, 65_536
REPETITIONS, COLUMN_REPETITIONS = 50, 8
SIDES = ("Draws", "Dimension", "Draws as published")


def prepare(headline: DeltaGenerator) -> Callable[[], None]:
    """Draw the pickers; the answer draws all the rest. headline: the place above the pickers."""
    chosen = switch("Measured on", words.ON, "training", key="on")
    on: excess_by_draws.On = "fresh" if chosen == "fresh" else "training"
    return lambda: _show(headline, on)


def _show(headline: DeltaGenerator, on: excess_by_draws.On) -> None:
    controls = sidebar(
        sample_sizes=tuple(n for n in SAMPLE_SIZES if n <= MOST_RECORDS),
        default_n=FIRST_N,
        max_columns=MOST_COLUMNS,
        default_columns=FIRST_COLUMNS,
        unused=(),
    )
    theme = current_theme()
    left, right = st.container(key="halves").columns([1.5, 1], gap="medium")
    with left:
        chart, layers = st.container(), pick_layers("lower")

    def drawn(
        here: Controls, cancelled: Cancelled = never
    ) -> tuple[Figure, str, excess_by_draws.Valley, Support | None, Callable[[], str]]:
        """The chart there and its sentence; its numbers, one release, and the chart's code."""
        release, reason = or_reason(partial(support, lam=here.lam, m=here.m, **words.asked(here)))  # type: ignore[arg-type]
        go_on(cancelled)
        m = words.cursor(release, here.m)
        # A rule for lam has its number once m is known; "auto" gives each m its own.
        lam = float(release.plan.spec.lam) if release and here.lam == "population" else here.lam
        asked = partial(
            excess_by_draws.valley,
            lam="auto" if lam == "population" else lam,  # type: ignore[arg-type]
            repetitions=REPETITIONS,
            ms=tuple(sorted({*excess_by_draws.MS, m})),
            **words.asked(here),
        )
        draw, made = partial(draws_figure, m=m, on=on, height=HEIGHT), asked(cancelled=cancelled)
        figure, sentence = made_once(
            SOURCE,
            ("draws", here, on, theme, *layers),
            lambda: (draw(made, theme=theme).showing(layers), words.takeaway(made, release, reason, on)),
        )
        return figure, sentence, made, release, partial(redrawn, asked, draw)

    figure, sentence, made, release, code = drawn(controls)
    headline.html(emphasised(sentence, FAMILIES[theme]["sampling"]))
    with chart:
        live_figure(figure, key="draws", alt=plain(sentence), height=HEIGHT, ahead=(drawn, controls))
    with left:
        paragraph(words.verdict_of(made, on, words.cursor(release, controls.m)))
        small_print(words.caption(made, on))
    with right:
        side = switch("Beside the chart", SIDES, SIDES[0], key="beside", wrap=True)
        _show_beside(side, controls, release, theme)
    if release:
        cards(words.readouts(made, release, on))
    chips(words.CHIPS)
    behind(lambda: words.assumptions(made, controls), words.FORMULA, code, lambda: words.table(made))


def _show_beside(side: str, here: Controls, release: Support | None, theme: Theme) -> None:
    if side == "Dimension":
        by_p = beside_others.excess_against_columns(
            ps=tuple(sorted({*beside_others.PS, here.p})), repetitions=COLUMN_REPETITIONS, **words.asked(here, "p")
        )
        picture = columns_figure(by_p, p=here.p, theme=theme, height=SIDE_HEIGHT)
        said = words.columns_caption(by_p, here)
    elif side == "Draws as published":
        allowed = published_draws.published_draws(**words.asked(here, "n", "seed"))
        picture = published_draws_figure(allowed, n=here.n, theme=theme, height=SIDE_HEIGHT)
        said = words.published_caption(allowed, here)
    elif release:
        picture = support_figure(release, theme=theme, height=SIDE_HEIGHT)
        said = words.support_caption(release)
    else:
        st.caption("Nothing is drawn: the budget allows no sample. Choose a larger ε, λ or n.")
        return
    captioned_figure(picture, said, key="beside_chart", height=SIDE_HEIGHT)
