"""Start: what does privacy cost, and what does it buy?"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

import dpcore
from dpcore import figures
from dpcore.cells import never, spec_of
from dpcore.evaluate import smallest_epsilon
from pages.start import words
from pages.ui import bound
from pages.ui.behind import behind
from pages.ui.controls import PEOPLE, sidebar
from pages.ui.live_figure import live_figure
from pages.ui.odds import icon_array
from pages.ui.pickers import chips, pick_source, switch
from pages.ui.readout import readout
from pages.ui.text import emphasised, plain

HEIGHT = 420
MAX_COLUMNS = 32
PROOFS = {"tight": "exact noise", "published": "as published", "classical": "textbook"}
POINTS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)

# Controls first, wherever they stand: the first run already knows what the address says.
st.title("What does privacy cost, and what does it buy?", anchor=False)
headline = st.empty()
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
cards = st.columns(3)
question, answer = st.columns([1, 2.2], gap="medium", vertical_alignment="center")
with question:
    at_most = bound.slider("at_most", "I can give up at most (points)", POINTS, 5.0, "{:g}".format)

experiment = dpcore.Experiment(
    source=source.key,
    mechanisms=(dpcore.make_mechanism("output_gaussian", accounting=proof),),
    n=controls.n,
    p=controls.p,
    delta=controls.delta,
    lam=controls.lam,
    repetitions=100 if controls.n <= 10_000 else 40,  # keeps a move of n within half a second
    seed=controls.seed,
)
table = dpcore.run(experiment)
accuracy = table[table.metric == "accuracy"]
lost = 100 * (accuracy.reference - accuracy["mean"]).to_numpy(float)
enough = smallest_epsilon(accuracy.x.to_numpy(float), lost, at_most)
theme: figures.Theme = "dark" if st.context.theme.type == "dark" else "light"
colour = figures.FAMILIES[theme]["output"]



def sentence_at(epsilon: float) -> str:
    """What the chart shows with its cursor there."""
    at_cursor = table[table.x == epsilon].set_index("metric")
    if "accuracy" not in at_cursor.index:
        return words.refusal(at_cursor.iloc[0])
    return words.takeaway(at_cursor.loc["accuracy"], source, by_hand=not isinstance(controls.lam, str))


def picture_at(epsilon: float, cancelled: Callable[[], bool] = never) -> tuple[figures.Figure, str]:
    """The chart with its cursor there, and its sentence."""
    title = words.axis_title(source)
    figure = figures.cost_figure(
        table, epsilon=epsilon, accuracy_title=title, theme=theme, height=HEIGHT, decision=enough
    )
    return figure, plain(sentence_at(epsilon))


# The chart first: the browser draws it while the attack is played.
with chart:
    figure, alt = picture_at(controls.epsilon)
    live_figure(figure, key="cost", alt=alt, height=HEIGHT, ahead=picture_at)
    st.caption(words.caption(table, experiment, source))
sentences = [sentence_at(controls.epsilon)]
here = accuracy[accuracy.x == controls.epsilon]
if len(here):
    cell = next(experiment.cells())
    plan = cell.mechanism.calibrate(spec_of(cell), dpcore.Budget(controls.epsilon, controls.delta))
    found = dpcore.odds_of(plan, seed=controls.seed)
    sentences.append(words.answer(found))
    text = words.odds(found)
    with odds, st.container(key="odds"):
        st.markdown(f"**{words.ODDS_QUESTION}**")
        st.html(icon_array(*found.of_100, colour=colour, rest=figures.GRID[theme], alt=plain(text)))
        st.markdown(text)
    for card, (value, label) in zip(cards, words.readouts(here.iloc[0], source), strict=True):
        card.container(border=True, height="stretch").html(readout(value, label))
headline.html("".join(emphasised(line, colour) for line in sentences))
answer.markdown(words.decision(accuracy, lost, enough, source))

behind(
    lambda: words.assumptions(table, experiment, source, controls.epsilon),
    words.FORMULA,
    lambda: words.snippet(experiment, proof, controls.epsilon, source),
    lambda: table,
)
