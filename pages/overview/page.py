"""Overview: what does privacy cost, and what does it buy?"""

from functools import partial

import pandas as pd
import streamlit as st

import dpcore
from dpcore.accounting.attack_limits import attack_cap
from dpcore.core.cancel import Cancelled, never
from dpcore.figures.figure import Figure
from dpcore.figures.overview import bells_figure, price_figure
from dpcore.figures.style import FAMILIES
from pages.background.pictures import made_once
from pages.background.tables import refined
from pages.lectures.lecture import tour_button
from pages.overview import words
from pages.overview.definition import definition
from pages.server import prefetch
from pages.ui.html import plain
from pages.ui.live_figure import captioned_figure, current_theme
from pages.ui.page import Page
from pages.ui.pickers import DEFAULT_PLACE, OVERVIEW, defaults_of, norm_of, pick_source, sizes_of
from pages.ui.sidebar import DEFAULTS, SAMPLE_SIZES, Controls, sidebar

HEIGHT, BELLS_HEIGHT = 430, 250
# As on Perturbation, whose numbers are the same; beyond, where single releases differ less, a move stays short.
REPETITIONS, MANY_RECORDS, FEWER_REPETITIONS = 50, 10_000, 10
FIRST_REPETITIONS = 4
RELEASED = "released models"  # in the session: the problem, and (epsilon, excess risk) of each

page = Page("What does privacy cost, and what does it buy?")
with page.pickers:
    source, size = pick_source("source")
    place_of_release = st.empty()
    tour_button()
controls = sidebar(
    sample_sizes=sizes_of(source, size, SAMPLE_SIZES[-1]),
    default_n=size,
    columns=source.p,
    max_columns=8,
    unused=("delta", "p", "lam", "m"),
)
page.halves(1.7)
mechanism = dpcore.make_mechanism(OVERVIEW[DEFAULT_PLACE])
public = {"p": source.p or 8, "delta": DEFAULTS["delta"], "lam": DEFAULTS["lam"]} | defaults_of(source)


def experiment_at(controls: Controls) -> dpcore.Experiment:
    return dpcore.Experiment(
        controls.problem(source.key, theta_norm=norm_of(source), **public),
        (mechanism,),
        repetitions=REPETITIONS if controls.n <= MANY_RECORDS else FEWER_REPETITIONS,
        proved=mechanism.key,
    )


experiment, at = experiment_at(controls), controls.epsilon
table, progress = refined(experiment, first=FIRST_REPETITIONS)
plan = words.plan_at(experiment, at)
theme = current_theme()
colour = FAMILIES[theme][mechanism.family]

last, released = st.session_state.get(RELEASED, (None, []))
if last != experiment.problem:
    released = []
if place_of_release.button("Release once", key="release", help=words.RELEASE_HELP, disabled=plan is None) and plan:
    released = [*released, (at, words.release(experiment.problem, plan))]
st.session_state[RELEASED] = experiment.problem, released

drawing = partial(price_figure, height=HEIGHT)


def picture_at(controls: Controls, cancelled: Cancelled = never) -> tuple[Figure, str]:
    """The chart there and its sentence."""
    there = experiment_at(controls)
    found = table if there == experiment else prefetch.whole(there, cancelled)
    dots = released if there == experiment else []

    def make() -> tuple[Figure, str]:
        figure = drawing(found, epsilon=controls.epsilon, theme=theme, released=dots)
        return figure, plain(words.takeaway(found, there, controls.epsilon, source))

    state = ("price", there, controls.epsilon, theme, tuple(dots), there == experiment and progress)
    return made_once(source.key, state, make)


figure, sentence = picture_at(controls)
page.headline(words.takeaway(table, experiment, at, source), colour=colour)
page.chart(
    figure,
    sentence,
    key="cost",
    height=HEIGHT,
    ahead=None if progress else (picture_at, controls),
    verdict=words.released(released, experiment.problem.delta),
    caption=" ".join(filter(None, (words.caption(experiment), progress))),
)
if plan is not None:
    with page.right:
        st.markdown("**What an attacker sees: your record, or a substitute?**")
        limit = mechanism.attack_limit(plan)
        bells = bells_figure(limit, family=mechanism.family, theme=theme, height=BELLS_HEIGHT)
        captioned_figure(bells, words.attacker(limit, attack_cap(plan.spent)), key="bells", height=BELLS_HEIGHT)


def rows_at_cursor() -> pd.DataFrame:
    return table[(table.x == at) & (table.status == "ok")].set_index("metric")


page.below(
    words.readouts(rows_at_cursor(), source),
    (),
    lambda: words.assumptions(experiment, source, at),
    words.FORMULA,
    lambda: words.snippet(experiment, partial(drawing, epsilon=at)),
    lambda: table,
)
definition(at, public["delta"], height=HEIGHT)
