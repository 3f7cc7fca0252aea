"""Doors: where should the noise go, into the answer, the question, or every step?"""

from __future__ import annotations

import dataclasses as dc

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
# Every draw through the question or by steps passes all records many times: few people to begin with, never too many.
FIRST_PEOPLE, MOST_PEOPLE = 2_000, 10_000
MAX_COLUMNS = 32
REPETITIONS, VALLEY_REPETITIONS = 50, 20
# Where one move of a slider would take longer than a reader waits, a few releases come first.
FIRST_REPETITIONS, QUICK, STEPPING = 10, 10_000, 5  # QUICK: people times curves, of which one by steps counts so often
LAYERS = {"bounds": "proved bounds", "bias": "without noise", "rates": "earlier rates", "lemma": "n-fold noise"}
SIDES = ("Cloud", "λ valley", "Door zero")

st.title("Where should the noise go: the answer, the question, or every step?", anchor=False)
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
    unused={"m": "no door draws samples"},
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
cards = st.container()

noises = ("gaussian", "gamma") if noise == "both" else (noise,)
keys = [f"{family}_{law}" for law in noises for family in ("output", "objective")]
if "gaussian" in noises:
    keys.insert(2, "noisy_gd")
mechanisms = tuple(dpcore.make_mechanism(key) for key in keys)
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
quick = controls.n * (len(mechanisms) + STEPPING * ("noisy_gd" in keys)) <= QUICK
table, progress = refined(experiment, first=REPETITIONS if quick else FIRST_REPETITIONS)
here = table[table.x == controls.epsilon]
theme: figures.Theme = "dark" if st.context.theme.type == "dark" else "light"

sentence = words.takeaway(here, source)
headline.html(emphasised(sentence, figures.FAMILIES[theme][words.winner(here)]))
with left:
    same, promise = words.promise(here)
    badge.html(framed(promise, strong=not same), width="content")
    rates = {words.RATE: rate_shape(next(experiment.cells()))[1]} if "rates" in layers else {}
    exhibits = {words.LEMMA: dpcore.run(words.lemma(experiment))} if "lemma" in layers else {}
    figure = figures.doors_figure(
        table,
        epsilon=controls.epsilon,
        theme=theme,
        height=HEIGHT,
        bounds="bounds" in layers,
        bias="bias" in layers,
        rates=rates,
        exhibits=exhibits,
    )
    live_figure(figure, key="doors", alt=plain(sentence), height=HEIGHT)
    st.caption(" ".join(filter(None, (words.caption(experiment, table, controls.epsilon), progress))))
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
        sweep = dpcore.Axis("lam", numbers)
        swept = dc.replace(
            experiment, epsilon=controls.epsilon, sweep=sweep, repetitions=VALLEY_REPETITIONS, lam="auto"
        )
        valley, progress = refined(swept, first=VALLEY_REPETITIONS if quick else FIRST_REPETITIONS, key="valley")
        lam = words.lam_at(here) if isinstance(controls.lam, str) else controls.lam
        said = words.valley_caption(valley, here)
        picture = figures.valley_figure(valley, lam=lam, theme=theme, height=HEIGHT)
        live_figure(picture, key="valley", alt=said, height=HEIGHT)
        st.caption(" ".join(filter(None, (said, progress))))
    else:
        show_door_zero(controls.seed, theme)
found = words.readouts(here, source)
for card, (value, label) in zip(cards.columns(len(found)), found, strict=True):
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
