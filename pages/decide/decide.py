"""Decide: which budget can we sign, and what does it cost?"""

from __future__ import annotations

from typing import cast

import streamlit as st

from dpcore import Budget, NotApplicable, figures
from dpcore.cells import spec_of
from dpcore.decisions.attack import OddsQuestion
from dpcore.decisions.background import Question
from dpcore.decisions.curves import Setting
from dpcore.decisions.people import PeopleQuestion
from dpcore.decisions.price import ERRORS, Error, PriceQuestion
from pages.decide import background, comparing, views, words
from pages.decide.asking import ask, keep_alive
from pages.decide.state import State
from pages.ui.behind import behind
from pages.ui.controls import PEOPLE, sidebar
from pages.ui.live_figure import live_figure
from pages.ui.pickers import chips, pick_source, switch
from pages.ui.readout import cards
from pages.ui.text import emphasised, plain

HEIGHT = 390
MAX_COLUMNS = 32
MOST_PEOPLE = 20_000
POINTS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)

st.title("Which privacy budget can we sign?", anchor=False)
headline = st.empty()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    source, people = pick_source("synthetic", "at_hand", MOST_PEOPLE)
    way = st.selectbox(
        "How privacy is kept",
        list(words.MECHANISMS),
        list(words.MECHANISMS).index("output_gaussian"),
        format_func=words.MECHANISMS.__getitem__,
        key="way",
        width=290,
        label_visibility="collapsed",
        bind="query-params",
    )
    with st.container(width=300, key="block_give_up"):
        at_most = st.select_slider(
            "I can give up at most (points)", POINTS, 2.0, key="give_up", format_func="{:g}".format, bind="query-params"
        )
controls = sidebar(
    people=tuple(sorted({*(n for n in PEOPLE if n <= MOST_PEOPLE), people})),
    default_people=people,
    columns=source.p,
    max_columns=MAX_COLUMNS,
    unused={"m": "nothing here draws samples"},
)
theme: figures.Theme = "dark" if st.context.theme.type == "dark" else "light"
st.html("<style>.st-key-halves .stColumn { min-width: min(100%, 20rem) }</style>")
with st.container(key="halves"):
    chart, beside = st.columns([1.9, 1], gap="medium")
row = st.container()
view = switch("More", words.VIEWS, "people", key="more", wrap=True)
below = st.container()

setting = Setting(
    source=source.key,
    mechanism=way,
    n=controls.n,
    p=controls.p,
    delta=controls.delta,
    lam=controls.lam,
    seed=controls.seed,
)
with below:
    error = cast(Error, switch("Error", words.ERRORS, ERRORS[0], key="error") if view == "people" else ERRORS[0])
questions: dict[str, Question] = {"curve": setting}
cell = setting.cell(0)
try:
    plan = cell.mechanism.calibrate(spec_of(cell), Budget(controls.epsilon, controls.delta))
    questions["odds"] = OddsQuestion(plan, controls.seed)
except NotApplicable:
    pass  # the curve ends above the cursor
questions["needed"] = PeopleQuestion(setting, controls.epsilon, at_most)
no_price = ""
try:
    questions["price"] = PriceQuestion(setting)
except NotApplicable as reason:
    no_price = str(reason)
if view == "compare":
    questions[comparing.NAME] = comparing.question(setting, controls)
held = ask(questions)
seen = held.news
state = State(held, source, setting, controls, at_most, error, no_price, theme)
keep_alive(held, seen)

colour = figures.FAMILIES[theme][state.family]
sentence = words.takeaway(state)
headline.html(emphasised(sentence, colour))
if state.curve is None:
    st.stop()
with chart:
    live_figure(background.budget_picture(state, HEIGHT), key="budget", alt=plain(sentence), height=HEIGHT)
    st.caption(words.caption(state))
with beside:
    views.odds(state)
cards(words.readouts(state), row)
with below:
    views.SHOW[view](state)
chips(words.CHIPS)
behind(
    lambda: background.assumptions(state),
    background.FORMULA,
    lambda: background.snippet(state),
    background.table(state),
)
