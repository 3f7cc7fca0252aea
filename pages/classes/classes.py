"""Classes: does the price of privacy add up over classes?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpcore import EPSILON_GRID, NotApplicable, classes, figures
from dpcore.data import CLASS_SOURCES
from pages.classes import as_printed, words
from pages.ui.behind import behind
from pages.ui.controls import PEOPLE, sidebar
from pages.ui.live_figure import live_figure
from pages.ui.pickers import chips, switch
from pages.ui.readout import cards
from pages.ui.text import emphasised, plain, readable

HEIGHT, SIDE_HEIGHT = 430, 430
MOST_PEOPLE, FIRST_PEOPLE = 5_000, 2_000
SIDES = ("Decisions", "Ellipses")

st.title("Does the price add up over classes?", anchor=False)
headline = st.empty()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    proof = switch("Which mechanism", words.PROOFS, "repaired", key="classifier")
    if proof == "repaired":
        view = switch("Against", words.VIEWS, "classes", key="price_against")
        drawn = True
        if view in ("epsilon", "excess"):
            source = st.selectbox(
                "Records",
                list(CLASS_SOURCES),
                format_func=lambda key: CLASS_SOURCES[key].label,
                key="class_records",
                label_visibility="collapsed",
                width=250,
                bind="query-params",
            )
            drawn = CLASS_SOURCES[source].size is None
        if drawn:
            source = next(iter(CLASS_SOURCES))
            with st.container(width=150, key="class_count"):
                C = st.select_slider("**C** classes", words.CLASSES, 3, key="C", bind="query-params")
            with st.container(width=150, key="column_count"):
                d = st.select_slider("**d** columns", words.COLUMNS, 2, key="columns", bind="query-params")
theme: figures.Theme = "dark" if st.context.theme.type == "dark" else "light"
# Two charts need room side by side; Streamlit itself stacks columns on phones only.
st.html("<style>.st-key-halves .stColumn { min-width: min(100%, 22rem) }</style>")

if proof == "printed":
    reason = "an exhibit, drawn at the printed ε = λ = 1"
    unused = dict.fromkeys(("epsilon", "delta", "n", "p", "lam"), reason) | {"m": "no samples are drawn here"}
    controls = sidebar(
        people=PEOPLE, default_people=FIRST_PEOPLE, columns=None, max_columns=8, letter="d", unused=unused
    )
    as_printed.show(headline, controls.seed, theme)
else:
    info = CLASS_SOURCES[source]
    size = info.size or FIRST_PEOPLE
    controls = sidebar(
        people=tuple(sorted({*(n for n in PEOPLE if n <= MOST_PEOPLE), size})),
        default_people=size,
        columns=None,
        max_columns=8,
        letter="d",
        unused={
            "p": "its slider is above the chart, or the records have columns of their own",
            "m": "no samples are drawn",
        },
    )
    records = classes.Records(source, controls.n, controls.seed, *((d, C) if drawn else ()))
    here = words.Here(records, info, controls.epsilon, controls.delta, controls.lam)
    shared: dict[str, Any] = {"delta": here.delta, "lam": here.lam}
    try:
        picture, refusal = classes.picture(records, epsilon=here.epsilon, **shared), ""
    except NotApplicable as error:
        picture, refusal = None, readable(str(error))
    found: classes.Accuracies | classes.Excesses
    if view == "excess":
        found = classes.excess_against_epsilon(EPSILON_GRID, records, repetitions=words.EXCESS_REPETITIONS, **shared)
        chart = figures.classes_excess_figure(found, epsilon=here.epsilon, theme=theme, height=HEIGHT)
    else:
        values, cursor = words.places(view, here)
        found = classes.accuracy_against(
            view,
            values,
            records,
            epsilon=here.epsilon,
            learners=words.LEARNERS[view],
            **words.effort(view, here),
            **shared,
        )
        chart = figures.accuracy_figure(found, cursor=cursor, theme=theme, height=HEIGHT)
    sentence = words.takeaway(found, here)
    headline.html(emphasised(sentence, figures.FAMILIES[theme]["objective"]))
    with st.container(key="halves"):
        left, right = st.columns([1.5, 1], gap="medium")
    with left:
        live_figure(chart, key="classes", alt=plain(sentence), height=HEIGHT)
        st.caption(words.caption(found, here))
    with right:
        side = switch("Beside the chart", SIDES, SIDES[0], key="beside_classes", wrap=True)
        if picture is None:
            st.caption(refusal)
        else:
            draw = figures.regions_figure if side == "Decisions" else figures.ellipses_figure
            said = words.picture_caption(side, picture, here)
            live_figure(
                draw(picture, theme=theme, height=SIDE_HEIGHT), key="beside_classes_chart", alt=said, height=SIDE_HEIGHT
            )
            st.caption(said)
    cards(words.readouts(found, picture, here))
    chips(words.CHIPS)
    behind(lambda: words.assumptions(here), words.FORMULA, lambda: words.snippet(found, here), words.table(found))
