"""Doors: where should the noise go, into the answer or into the question?"""

from __future__ import annotations

import streamlit as st

import dpcore
from dpcore import figures
from dpcore.clouds import Scene, clouds
from dpcore.rates import rate_shape
from pages.doors import words
from pages.doors.zero import show_door_zero
from pages.ui.behind import behind
from pages.ui.controls import LAMBDAS, PEOPLE, sidebar
from pages.ui.live_figure import live_figure
from pages.ui.pickers import pick_source, preset
from pages.ui.readout import readout
from pages.ui.refine import refined
from pages.ui.text import emphasised, framed, plain

HEIGHT = 390
# Every draw through the question is a minimisation over all records: few people to begin with, and never too many.
FIRST_PEOPLE, MOST_PEOPLE = 2_000, 10_000
MAX_COLUMNS = 32
FIRST_REPETITIONS, REPETITIONS, VALLEY_REPETITIONS = 10, 50, 20
LAYERS = {"bounds": "proved bounds", "bias": "regularisation", "rates": "earlier rates"}
SIDES = ("Cloud", "λ valley", "Door zero")

st.title("Where should the noise go: into the answer, or into the question?", anchor=False)
headline = st.empty()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    source, people = pick_source("synthetic", "records", FIRST_PEOPLE)
    noise = st.segmented_control(
        "Noise",
        list(words.PICKED_NOISES),
        default="gaussian",
        format_func=words.PICKED_NOISES.__getitem__,
        key="noise",
        required=True,
        label_visibility="collapsed",
        bind="query-params",
    )
controls = sidebar(
    people=tuple(sorted({*(n for n in PEOPLE if n <= MOST_PEOPLE), people})),
    default_people=people,
    columns=source.p,
    max_columns=MAX_COLUMNS,
    unused={"m": "neither door draws samples"},
)
# Narrow main columns: the chart with its labels needs its width, so the two halves stand below one another.
st.html("<style>.st-key-halves .stColumn { min-width: min(100%, 22rem) }</style>")
with st.container(key="halves"):
    left, right = st.columns([1.55, 1], gap="medium")
with left, st.container(horizontal=True, vertical_alignment="center", key="above"):
    badge = st.empty()
    layers = st.pills(
        "Also show",
        list(LAYERS),
        selection_mode="multi",
        default=["bounds", "bias"],
        format_func=LAYERS.__getitem__,
        key="layers",
        label_visibility="collapsed",
        wrap=True,
        bind="query-params",
    )
cards = st.columns(3)

noises = ("gaussian", "gamma") if noise == "both" else (noise,)
mechanisms = tuple(dpcore.make_mechanism(f"{family}_{law}") for law in noises for family in ("output", "objective"))
experiment = dpcore.Experiment(
    source=source.key,
    mechanisms=mechanisms,
    n=controls.n,
    p=controls.p,
    delta=controls.delta,
    lam=controls.lam,
    repetitions=REPETITIONS,
    seed=controls.seed,
)
table, progress = refined(experiment, first=FIRST_REPETITIONS, key="doors")
here = table[table.x == controls.epsilon]
theme: figures.Theme = "dark" if st.context.theme.type == "dark" else "light"

sentence = words.takeaway(here, source)
headline.html(emphasised(sentence, figures.FAMILIES[theme][words.winner(here)]))
with left:
    same, promise = words.promise(here)
    badge.html(framed(promise, strong=not same), width="content")
    rates = {words.RATE: rate_shape(next(experiment.cells()))[1]} if "rates" in layers else {}
    figure = figures.doors_figure(
        table,
        epsilon=controls.epsilon,
        theme=theme,
        height=HEIGHT,
        bounds="bounds" in layers,
        bias="bias" in layers,
        rates=rates,
    )
    live_figure(figure, key="doors", alt=plain(sentence), height=HEIGHT)
    st.caption(words.caption(experiment, table, controls.epsilon, progress))
with right:
    side = st.segmented_control(
        "Beside the chart",
        SIDES,
        default=SIDES[0],
        key="side",
        required=True,
        label_visibility="collapsed",
        bind="query-params",
    )
    if side == "Cloud":
        scene = Scene(mechanisms, controls.n, controls.epsilon, controls.delta, controls.lam, controls.seed)
        made = clouds(scene)
        said = words.cloud_caption(made, controls.n)
        live_figure(figures.cloud_figure(made, theme=theme, height=HEIGHT), key="cloud", alt=said, height=HEIGHT)
        st.caption(said)
    elif side == "λ valley":
        numbers = tuple(lam for lam in LAMBDAS if not isinstance(lam, str))
        swept = dpcore.Experiment(
            source=source.key,
            mechanisms=mechanisms,
            n=controls.n,
            p=controls.p,
            epsilon=controls.epsilon,
            delta=controls.delta,
            sweep=dpcore.Axis("lam", numbers),
            repetitions=VALLEY_REPETITIONS,
            seed=controls.seed,
        )
        valley, valley_progress = refined(swept, first=FIRST_REPETITIONS, key="valley")
        lam = words.lam_at(here) if isinstance(controls.lam, str) else controls.lam
        said = words.valley_caption(valley, here, valley_progress)
        picture = figures.valley_figure(valley, lam=lam, theme=theme, height=HEIGHT)
        live_figure(picture, key="valley", alt=said, height=HEIGHT)
        st.caption(said)
    else:
        show_door_zero(controls.seed, theme)
for card, (value, label) in zip(cards, words.readouts(here, source), strict=True):
    card.container(border=True, height="stretch").html(readout(value, label))
with st.container(horizontal=True, vertical_alignment="center", key="chips"):
    st.markdown("Try:", width="content")
    for label, state in words.CHIPS:
        st.button(label, on_click=preset, kwargs=state, key=f"chip_{label}")
behind(
    lambda: words.assumptions(table, experiment, source, MOST_PEOPLE),
    words.FORMULA,
    lambda: words.snippet(experiment, controls.epsilon, layers),
    table,
)
