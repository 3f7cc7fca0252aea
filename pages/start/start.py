"""Start: what does privacy cost, and what does it buy?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

import dpcore
from dpcore import data, figures
from dpcore.evaluate import smallest_epsilon
from pages.start import words
from pages.ui.controls import PEOPLE, sidebar
from pages.ui.live_figure import live_figure
from pages.ui.odds import icon_array

REPETITIONS = 100
MAX_COLUMNS = 64
HEIGHT = 500
PROOFS = {"tight": "exact", "published": "as published", "classical": "textbook"}
POINTS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)

state = st.session_state
state.setdefault("source", "breast_cancer")
state.setdefault("accounting", "tight")
state.setdefault("at_most", 5.0)


def preset(**values: object) -> None:
    """Set controls from a chip; runs before the next script run, when widgets may still be set."""
    state.update(values)


def reset_people() -> None:
    state.n = data.get_source(state.source).size or 5_000


source = data.get_source(state.source)
controls = sidebar(
    people=tuple(sorted({*PEOPLE, source.size or 5_000})),
    default_people=source.size or 5_000,
    columns=source.p,
    max_columns=MAX_COLUMNS,
    unused={"m": "output perturbation draws no samples"},
)
experiment = dpcore.Experiment(
    source=source.key,
    mechanisms=(dpcore.make_mechanism("output_gaussian", accounting=state.accounting),),
    n=controls.n,
    p=controls.p,
    delta=controls.delta,
    lam=controls.lam,
    repetitions=REPETITIONS,
    seed=controls.seed,
)
table = dpcore.run(experiment)
theme: figures.Theme = "dark" if st.context.theme.type == "dark" else "light"
colour = figures.FAMILIES[theme]["output"]
here = table[(table.x == controls.epsilon) & (table.status == "ok")].set_index("metric")
accuracy = table[table.metric == "accuracy"]
lost = 100 * (accuracy.reference - accuracy["mean"]).to_numpy(float)
enough = smallest_epsilon(accuracy.x.to_numpy(float), lost, state.at_most)

st.title("What does privacy cost, and what does it buy?", anchor=False)
if here.empty:
    reason = table[table.x == controls.epsilon].reason.iloc[0]
    sentence = f"No release at ε = {controls.epsilon:g}: {reason}."
    st.markdown(sentence)
else:
    sentence = words.takeaway(here.loc["accuracy"], source)
    st.html(words.emphasised(sentence, colour))

with st.container(horizontal=True, vertical_alignment="bottom", key="pickers"):
    st.segmented_control(
        "Records",
        list(data.SOURCES),
        format_func=lambda key: data.SOURCES[key].label,
        key="source",
        required=True,
        on_change=reset_people,
    )
    st.segmented_control("Noise set by the proof", list(PROOFS), format_func=PROOFS.get, key="accounting", required=True)

chart, odds = st.columns([2.6, 1], gap="medium")
with chart:
    figure = figures.cost_figure(
        table,
        epsilon=controls.epsilon,
        accuracy_title=f"{source.things} {source.outcome}, % (a coin: 50)",
        theme=theme,
        height=HEIGHT,
        decision=enough,
    )
    live_figure(figure, key="cost", alt=words.plain(sentence), height=HEIGHT)
with odds:
    st.markdown("**Your record, or another in its place? An attacker is right**")
    if not here.empty:
        row = here.loc["accuracy"]
        limit, cap = round(100 * row.attack_limit), round(100 * row.attack_cap)
        st.html(icon_array(limit, cap, colour=colour, rest=figures.GRID[theme], alt=words.plain(words.odds(row))))
        st.markdown(words.odds(row))
    st.select_slider("I can give up at most (points)", POINTS, key="at_most", format_func=lambda t: f"{t:g}")
    st.markdown(words.decision(accuracy, lost, enough, state.at_most, source))

if not here.empty:
    for column, (value, label) in zip(st.columns(3), words.readouts(here.loc["accuracy"], source), strict=True):
        column.metric(label, value, border=True)

with st.container(horizontal=True, vertical_alignment="center", key="chips"):
    st.markdown("Try:")
    for label, values in words.chips(source):
        st.button(label, on_click=preset, kwargs=values, key=f"chip_{label}")

behind = st.pills(
    "Behind this picture", ["Assumptions", "Formula", "Code", "Data"], label_visibility="collapsed", key="behind"
)
if behind == "Assumptions":
    st.markdown(words.assumptions(table, experiment, source))
elif behind == "Formula":
    st.markdown(words.FORMULA)
elif behind == "Code":
    st.code(words.snippet(experiment, controls.epsilon, source), language="python")
elif behind == "Data":
    shown: pd.DataFrame = table.drop(columns=["label", "axis", "x", "seconds"]).dropna(axis="columns", how="all")
    st.dataframe(shown, hide_index=True)
    st.download_button(
        "Download CSV", lambda: table.to_csv(index=False), "price_of_privacy.csv", "text/csv", on_click="ignore"
    )
