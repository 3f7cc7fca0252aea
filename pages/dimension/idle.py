"""The view Useless columns: accuracy and the excess risk by noise against the number of columns that are zero."""

from functools import partial

import pandas as pd
import streamlit as st

import dpcore
from dpcore import data
from dpcore.core.cancel import Cancelled, never
from dpcore.figures.dimension import dimension_figure, orthant_figure
from dpcore.figures.figure import Figure
from dpcore.figures.style import FAMILIES
from dpcore.studies.dimension import noise_growth, orthant
from pages.background.pictures import made_once
from pages.dimension import idle_words as words
from pages.dimension.exponents import exponents_of, exponents_table
from pages.server import prefetch
from pages.ui.code import experiment_call, script, verbatim
from pages.ui.details import behind
from pages.ui.live_figure import captioned_figure, current_theme
from pages.ui.page import Page
from pages.ui.pickers import switch
from pages.ui.sidebar import DIMENSIONS, SAMPLE_SIZES, Controls, sidebar
from pages.ui.sources import axis_title

HEIGHT, ORTHANT_HEIGHT = 420, 316
# A sweep over p is computed at once.
MOST_RECORDS = 20_000
LARGEST = DIMENSIONS[-1]
# Every second power of two, and the last one instead of its neighbour.
SWEPT = (*DIMENSIONS[:-2:2], LARGEST)


def show(page: Page) -> None:
    """All of the page but its question and the picker of the view."""
    source = data.get_source("synthetic_padded")
    with page.pickers:
        noise_in = switch("Where the noise goes", words.PLACES, "output", key="noise_in")
    controls = sidebar(
        sample_sizes=tuple(n for n in SAMPLE_SIZES if n <= MOST_RECORDS),
        default_n=1_000,
        max_columns=LARGEST,
        unused=("m",),
        own={"p": LARGEST, "lam": 0.05},
    )
    page.halves(2.2)
    theme = current_theme()

    def columns_at(controls: Controls) -> tuple[int, ...]:
        return tuple(sorted({*SWEPT, controls.p}))

    def experiment_at(controls: Controls) -> dpcore.Experiment:
        return dpcore.Experiment(
            controls.problem(source.key, p=None, lam=words.one_lam(controls)),
            words.MECHANISMS[noise_in],
            epsilon=controls.epsilon,
            sweep=dpcore.Axis("p", columns_at(controls)),
            repetitions=20,
        )

    def drawn(
        controls: Controls, cancelled: Cancelled = never
    ) -> tuple[Figure, str, pd.DataFrame, dict[str, noise_growth.NoiseGrowth]]:
        """The chart there and its sentence; the numbers of both."""
        swept = experiment_at(controls)
        table = prefetch.whole(swept, cancelled)
        grown = made_once(source.key, ("noise growth", swept), lambda: noise_growth.growth_of(swept.cells()))
        title = axis_title(source)
        figure, sentence = made_once(
            source.key,
            ("dimension", swept, controls.p, theme),
            lambda: (
                dimension_figure(table, grown, p=controls.p, accuracy_title=title, theme=theme, height=HEIGHT),
                words.takeaway(table, controls.p, source),
            ),
        )
        return figure, sentence, table, grown

    experiment = experiment_at(controls)
    figure, sentence, table, grown = drawn(controls)
    page.headline(sentence, colour=FAMILIES[theme][noise_in])
    public = {"n": controls.n, "lam": words.one_lam(controls), **controls.budget}
    example_question = partial(orthant.example, columns_at(controls), **public)
    page.chart(
        figure,
        sentence,
        key="dimension",
        height=HEIGHT,
        ahead=(drawn, controls),
        verdict=words.verdict_of(table, grown, controls.p),
        caption=words.caption(experiment, controls.lam),
    )

    def held_in_the_orthant() -> tuple[Figure, str]:
        """The chart beside and its sentence."""
        example = example_question()
        beside = orthant_figure(example, p=controls.p, theme=theme, height=ORTHANT_HEIGHT)
        return beside, words.orthant_takeaway(example, controls.p)

    with page.right:
        st.markdown(f"**{words.ORTHANT_TITLE}**")
        beside, takeaway = made_once(source.key, ("orthant", experiment, controls, theme), held_in_the_orthant)
        captioned_figure(beside, takeaway, key="orthant", height=ORTHANT_HEIGHT)

    def code() -> str:
        made = {
            "experiment": experiment_call(experiment, epsilon=experiment.epsilon, sweep=experiment.sweep),
            "table": partial(dpcore.run, verbatim("experiment")),
            "growth": partial(noise_growth.growth_of, verbatim("experiment.cells()")),
            "example": example_question,
        }
        damage = partial(dimension_figure, verbatim("table"), verbatim("growth"), p=controls.p, height=HEIGHT)
        held = partial(orthant_figure, verbatim("example"), p=controls.p, height=ORTHANT_HEIGHT)
        return script(made, partial(damage, accuracy_title=axis_title(source)), held)

    def assumptions() -> str:
        exponents = exponents_table(exponents_of(table, grown, example_question()))
        return f"{words.assumptions(table, experiment, source)}\n\n{exponents}"

    behind(assumptions, words.FORMULA, code, lambda: table)
