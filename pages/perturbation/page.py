"""Perturbation: where should the noise go, into the output, the objective, or every gradient?"""

from functools import partial

import streamlit as st

import dpcore
from dpcore.core.cancel import Cancelled, never
from dpcore.figures.figure import Figure
from dpcore.figures.perturbation import excess_figure
from dpcore.figures.style import FAMILIES
from dpcore.studies.perturbation.published_rates import rate_shape
from pages.background.pictures import made_once
from pages.background.tables import refined
from pages.perturbation import words
from pages.perturbation.beside import SIDES, first_repetitions, show_beside
from pages.server import prefetch
from pages.ui.code import verbatim
from pages.ui.details import behind, cards
from pages.ui.html import emphasised, framed, plain
from pages.ui.live_figure import current_theme, live_figure, paragraph, small_print
from pages.ui.pickers import chips, pick_layers, pick_source, switch
from pages.ui.sidebar import SAMPLE_SIZES, Controls, sidebar

HEIGHT = 370
# Every draw by objective or gradient perturbation passes all records many times: few records to begin with, never too
# many.
FIRST_N, MOST_RECORDS = 1_000, 10_000
MAX_COLUMNS = 32
REPETITIONS = 50

st.title("Where should the noise go: the output, the objective, or every gradient?", anchor=False)
headline = st.container()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    source, size = pick_source("synthetic", "records", FIRST_N, also=(words.HARDEST,))
    noise = switch("Noise", words.PICKED_NOISES, "gaussian", key="noise")
controls = sidebar(
    sample_sizes=tuple(sorted({*(n for n in SAMPLE_SIZES if n <= MOST_RECORDS), size})),
    default_n=size,
    columns=source.p,
    max_columns=MAX_COLUMNS,
    unused=("m",),
)
left, right = st.container(key="halves").columns([1.55, 1], gap="medium")
with left, st.container(horizontal=True, vertical_alignment="center", key="above"):
    badge = st.empty()
with left:
    drawn, layers = st.container(), pick_layers(rates="published rates")

noises = ("gaussian", "gamma") if noise == "both" else (noise,)
keys = [f"{family}_{law}" for law in noises for family in ("output", "objective")]
if "gaussian" in noises:
    keys.insert(2, "noisy_gd")
mechanisms = tuple(dpcore.make_mechanism(key) for key in keys)


def experiment_at(controls: Controls) -> dpcore.Experiment:
    drawn_here = source.key.startswith("synthetic")  # real records as on every page
    problem = controls.problem(source.key, theta_norm=words.NORM if drawn_here else source.theta_norm)
    return dpcore.Experiment(problem, mechanisms, repetitions=REPETITIONS)


chart = partial(excess_figure, height=HEIGHT)


def picture_at(controls: Controls, cancelled: Cancelled = never) -> tuple[Figure, str]:
    asked = experiment_at(controls)
    found = table if asked == experiment else prefetch.whole(asked, cancelled)
    rates = {words.RATE: rate_shape(next(asked.cells()))} if "rates" in layers else {}
    figure, sentence = made_once(
        source.key,
        ("excess", asked, controls.epsilon, theme, progress if found is table else None, *layers),
        lambda: (
            chart(found, epsilon=controls.epsilon, theme=theme, rates=rates).showing(layers),
            plain(words.takeaway(found[found.x == controls.epsilon], source)),
        ),
    )
    return figure, sentence


experiment = experiment_at(controls)
table, progress = refined(experiment, first=first_repetitions(experiment))
here = table[table.x == controls.epsilon]
theme = current_theme()

said = made_once(
    source.key,
    ("words", experiment, controls.epsilon, progress),
    lambda: words.said_of(experiment, table, controls.epsilon, source),
)
headline.html(emphasised(said.takeaway, FAMILIES[theme][said.winner]))
with left:
    same, guarantee = said.guarantee
    badge.html(framed(guarantee, strong=not same), width="content")
    with drawn:
        figure, alt = picture_at(controls)
        live_figure(
            figure, key="perturbation", alt=alt, height=HEIGHT, ahead=None if progress else (picture_at, controls)
        )
    paragraph(said.verdict)
    small_print(" ".join(filter(None, (said.caption, progress))))
with right:
    side = switch("Beside the chart", SIDES, SIDES[0], key="side", wrap=True)
    show_beside(side, experiment, controls, here, theme, HEIGHT)
cards(said.readouts)
chips(words.CHIPS)
behind(
    lambda: words.assumptions(table, experiment, source, MOST_RECORDS),
    words.FORMULA,
    lambda: words.snippet(experiment, layers, partial(chart, verbatim("table"), epsilon=controls.epsilon)),
    lambda: table,
)
