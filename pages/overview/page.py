"""Overview: what does privacy cost, and what does it buy?"""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

import dpcore
from dpcore.core.cancel import Cancelled, never
from dpcore.experiments.metrics import smallest_epsilon
from dpcore.figures.figure import Figure
from dpcore.figures.overview import cost_figure
from dpcore.figures.style import FAMILIES, GRID
from pages.overview import words
from pages.server import prefetch
from pages.ui import url_controls
from pages.ui.cards import cards
from pages.ui.code import experiment_call, redrawn
from pages.ui.details import behind
from pages.ui.html import emphasised, plain
from pages.ui.icon_array import ODDS_QUESTION, icon_array
from pages.ui.live_figure import current_theme, live_figure
from pages.ui.pickers import chips, pick_layers, pick_source, switch
from pages.ui.sidebar import PEOPLE, Controls, sidebar
from pages.ui.sources import axis_title

HEIGHT = 420
MAX_COLUMNS = 32
PROOFS = {"tight": "exact noise", "published": "as published", "classical": "textbook"}
POINTS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)

# Controls first, wherever they stand: the first run already knows what the address says.
st.title("What does privacy cost, and what does it buy?", anchor=False)
headline = st.container()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    source, people = pick_source("breast_cancer", "source")
    proof = switch("Which proof sets the noise", PROOFS, "tight", key="proof")
    chips(words.chips(source), width="content")
controls = sidebar(
    people=tuple(sorted({*PEOPLE, people})),
    default_people=people,
    columns=source.p,
    max_columns=MAX_COLUMNS,
    unused={"m": "output perturbation draws no samples"},
)
chart, odds = st.columns([2.2, 1], gap="medium")
row = st.container()
question, answer = st.columns([1, 2.2], gap="medium", vertical_alignment="center")
with question:
    at_most = url_controls.slider("at_most", "I can give up at most (points)", POINTS, 5.0, "{:g}".format)


def experiment_at(controls: Controls) -> dpcore.Experiment:
    return dpcore.Experiment(
        controls.problem(source.key),
        mechanisms=(dpcore.make_mechanism("output_gaussian", accounting=proof),),
        repetitions=100 if controls.n <= 10_000 else 40,  # keeps a move of n within half a second
    )


def decision_of(table: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray, float | None]:
    """The rows about accuracy, the points that each loses, and the smallest epsilon that loses few enough."""
    accuracy = table[table.metric == "accuracy"]
    lost = 100 * (accuracy.reference - accuracy["mean"]).to_numpy(float)
    return accuracy, lost, smallest_epsilon(accuracy.x.to_numpy(float), lost, at_most)


def sentence_of(table: pd.DataFrame, controls: Controls) -> str:
    """What the chart shows with its cursor there."""
    at_cursor = table[table.x == controls.epsilon].set_index("metric")
    if "accuracy" not in at_cursor.index:
        return words.refusal(at_cursor.iloc[0], source)
    return words.takeaway(at_cursor.loc["accuracy"], source, by_hand=not isinstance(controls.lam, str))


def picture_at(controls: Controls, cancelled: Cancelled = never) -> tuple[Figure, str]:
    """The chart there, and its sentence."""
    asked = experiment_at(controls)
    found = table if asked == experiment else prefetch.whole(asked, cancelled)
    figure = cost_figure(
        found,
        epsilon=controls.epsilon,
        accuracy_title=axis_title(source),
        theme=theme,
        height=HEIGHT,
        decision=decision_of(found)[2],
    ).showing(layers)
    return figure, plain(sentence_of(found, controls))


experiment = experiment_at(controls)
table = dpcore.run(experiment)
accuracy, lost, enough = decision_of(table)
theme = current_theme()
colour = FAMILIES[theme]["output"]

# The chart first: the browser draws it while the attack is played.
with chart:
    drawn = st.container()
    layers = pick_layers()
    with drawn:
        figure, alt = picture_at(controls)
        live_figure(figure, key="cost", alt=alt, height=HEIGHT, ahead=(picture_at, controls))
    st.markdown(words.verdict_of(table, controls.epsilon))
    st.caption(words.caption(experiment))
sentences = [sentence_of(table, controls)]
here = accuracy[accuracy.x == controls.epsilon]
if len(here):
    cell = next(experiment.cells())
    plan = cell.problem.plan(cell.mechanism, controls.epsilon)
    found = dpcore.attack_success(plan, seed=controls.seed)
    sentences.append(words.answer(found))
    if told := words.larger_class(here.iloc[0], source):
        sentences.insert(1, told)
    text = words.odds(found)
    with odds, st.container(key="odds"):
        st.markdown(f"**{ODDS_QUESTION}**")
        st.html(icon_array(*found.of_100, colour=colour, rest=GRID[theme], alt=plain(text)))
        st.markdown(text)
    cards(words.readouts(here.iloc[0], source), row)
headline.html("".join(emphasised(line, colour) for line in sentences))
answer.markdown(words.decision(accuracy, lost, enough, source))

behind(
    lambda: words.assumptions(table, experiment, source, controls.epsilon),
    words.FORMULA,
    lambda: redrawn(
        partial(dpcore.run, experiment_call(experiment)),
        partial(cost_figure, epsilon=controls.epsilon, accuracy_title=axis_title(source), height=HEIGHT),
    ),
    lambda: table,
)
