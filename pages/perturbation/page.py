"""Perturbation: where should the noise go, into the output, the objective, or every gradient?"""

from functools import partial

import streamlit as st

import dpcore
from dpcore.core.cancel import Cancelled, never
from dpcore.figures.figure import Figure
from dpcore.figures.perturbation import excess_figure
from dpcore.figures.style import FAMILIES, NOISES
from dpcore.studies.hardest.excess import HardestQuestion
from pages.background.hardest import hardest_call, hardest_known, hardest_question, hardest_so_far
from pages.background.pictures import made_once
from pages.background.tables import refined
from pages.perturbation import words
from pages.perturbation.beside import SIDES, first_repetitions, show_beside
from pages.server import prefetch
from pages.ui.code import verbatim
from pages.ui.html import plain
from pages.ui.live_figure import current_theme
from pages.ui.page import Page
from pages.ui.pickers import DEFAULT_PLACE, OVERVIEW, defaults_of, norm_of, pick_source, sizes_of, switch
from pages.ui.set_controls import set_controls
from pages.ui.sidebar import Controls, sidebar
from pages.ui.verdict import hardest_line

HEIGHT = 370
# Every draw by objective or gradient perturbation passes all records many times: few records to begin with, never too
# many.
MOST_RECORDS = 10_000
MAX_COLUMNS = 32
REPETITIONS = 50

page = Page("Where should the noise go: the output, the objective, or every gradient?")
with page.pickers:
    source, size = pick_source("records", also=(words.HARDEST,))
    bounds = st.empty()
    noise = switch("Noise", NOISES, "gaussian", key="noise")
places = [place for place in OVERVIEW if place != "gradient" or noise == "gaussian"]
if st.session_state.get("place", DEFAULT_PLACE) not in places:
    set_controls({"place": DEFAULT_PLACE})
with bounds:
    place = switch("Bounds of", places, DEFAULT_PLACE, key="place")
controls = sidebar(
    sample_sizes=sizes_of(source, size, MOST_RECORDS),
    default_n=size,
    columns=source.p,
    max_columns=MAX_COLUMNS,
    unused=("m",),
    own=defaults_of(source),
)
page.halves(1.55)

keys = [f"output_{noise}", f"objective_{noise}", *(["noisy_gd"] if noise == "gaussian" else [])]
mechanisms = tuple(dpcore.make_mechanism(key) for key in keys)
chosen = {"output": keys[0], "objective": keys[1], "gradient": "noisy_gd"}[place]


def experiment_at(controls: Controls) -> dpcore.Experiment:
    return dpcore.Experiment(
        controls.problem(source.key, theta_norm=norm_of(source)), mechanisms, repetitions=REPETITIONS, proved=chosen
    )


def question_at(controls: Controls) -> HardestQuestion | None:
    return hardest_question(experiment_at(controls).problem, dpcore.make_mechanism(chosen))


chart = partial(excess_figure, mechanism=chosen, height=HEIGHT)


def picture_at(controls: Controls, cancelled: Cancelled = never) -> tuple[Figure, str]:
    there = experiment_at(controls)
    found = table if there == experiment else prefetch.whole(there, cancelled)
    worst = hardest_known(question_at(controls))
    figure, sentence = made_once(
        source.key,
        ("excess", there, chosen, controls.epsilon, theme, progress if found is table else None, worst is None),
        lambda: (
            chart(found, epsilon=controls.epsilon, theme=theme, hardest=worst),
            plain(words.takeaway(found[found.x == controls.epsilon])),
        ),
    )
    return figure, sentence


experiment = experiment_at(controls)
table, progress = refined(experiment, first=first_repetitions(experiment))
question = question_at(controls)
hard = None if progress else hardest_so_far(question)
at_cursor = table[table.x == controls.epsilon]
theme = current_theme()
told = made_once(
    source.key,
    ("words", experiment, chosen, controls.epsilon, progress),
    lambda: words.words_of(experiment, table, chosen, controls.epsilon, source),
)
lower = hardest_line(hard, controls.epsilon, controls.n) or told.lower
page.headline(f"Computing: {progress}" if progress else told.takeaway, colour=FAMILIES[theme][told.winner])
figure, sentence = picture_at(controls)
page.chart(
    figure,
    sentence,
    key="perturbation",
    height=HEIGHT,
    ahead=None if progress else (picture_at, controls),
    verdict="" if progress else f"{told.verdict} {lower}".strip(),
    caption=" ".join(filter(None, (told.caption, progress))),
)
with page.right:
    side = switch("Beside the chart", SIDES, SIDES[0], key="side", wrap=True)
    show_beside(side, experiment, dpcore.make_mechanism(chosen), controls, at_cursor, theme, HEIGHT)
page.below(
    told.readouts,
    words.CHIPS,
    lambda: words.assumptions(experiment, source, MOST_RECORDS),
    words.FORMULA,
    lambda: words.snippet(
        experiment, partial(chart, verbatim("table"), epsilon=controls.epsilon, **hardest_call(question, hard))
    ),
    lambda: table,
)
