"""Geometry: why is L1 so much kinder than L2?"""

import math
from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from dpcore.core.cancel import Cancelled, never
from dpcore.core.sets import dual_order
from dpcore.figures.figure import Figure
from dpcore.figures.geometry import (
    ball_figure,
    learners_figure,
    members_figure,
    order_figure,
    rates_figure,
)
from dpcore.figures.style import FAMILIES, TEXT
from dpcore.mechanisms import mechanism_class
from dpcore.studies.geometry import excess_by_n, excess_by_norm, hardest_data, noise, table_1
from dpcore.studies.geometry.excess_by_n import ExcessByN, ExcessQuestion
from dpcore.studies.geometry.excess_by_norm import AgainstOrder
from dpcore.studies.geometry.proof_by_n import ProofByN
from pages.background.asking import ask, waiting, with_progress
from pages.background.pictures import made_once
from pages.geometry import words
from pages.server import prefetch
from pages.ui import url_controls
from pages.ui.code import redrawn
from pages.ui.details import behind_nothing, table_of
from pages.ui.live_figure import current_theme
from pages.ui.page import Page
from pages.ui.pickers import switch
from pages.ui.proof import PROOF, asked_proof
from pages.ui.set_controls import set_controls
from pages.ui.sidebar import sidebar

HEIGHT, SIDE_HEIGHT = 440, 440
# Against n a model is learned for each n; larger tables are too slow to update live.
FIRST_COLUMNS, MOST_COLUMNS, LEARNED_COLUMNS = 65_536, 65_536, 64
REPETITIONS = 10
SOURCE = "synthetic"  # all records of the page are drawn
TRACED_COLUMNS = 1_000
# Norm orders at even distances of 1 - 1/p, and one just right of 1.
RATED = (1.0, 1.001, *(1.0 / (1.0 - k / 40.0) for k in range(1, 40)), math.inf)

page = Page("Why is L1 so much kinder than L2?")
with page.pickers:
    view = switch("Excess risk against", words.VIEWS, "order", key="view")
    names = ["1", words.JUST_ABOVE, *list(words.ORDERS)[1:]]
    if view == "order":
        names = [name for name in names if name not in words.BEYOND]
        if st.session_state.get("p_norm") in words.BEYOND:
            set_controls({"p_norm": "2"})
    name = url_controls.slider("p_norm", "p norm order", names, "1", width=200)
    knobs, records = {}, "all"
    if view == "order":
        records = url_controls.select("geometry_data", "Records", words.RECORDS, "all", width=180)
    if view == "n" and words.learner(name) == "tree_frank_wolfe":
        knobs = {"noise": switch("Noise", words.LAWS, "gaussian", key="noise")}
page.halves(1.3)
controls = sidebar(
    sample_sizes=excess_by_n.SAMPLE_SIZES,
    default_n=10_000,
    max_columns=MOST_COLUMNS if view == "order" else LEARNED_COLUMNS,
    own={"delta": 1e-8, "p": FIRST_COLUMNS if view == "order" else LEARNED_COLUMNS},
    letter="d",
    unused=("lam", "m"),
)
theme = current_theme()
state = words.GeometryState(**vars(controls), name=name, records=records)
row = table_1.table_row(state.p_norm, state.d, state.n, state.epsilon, state.delta)


def show_orders() -> None:
    """Excess risk against the norm order."""

    def drawn(
        state: words.GeometryState, cancelled: Cancelled = never
    ) -> tuple[Figure, str, AgainstOrder, Callable[[], str]]:
        """The chart there, its sentence, its curves, and its code."""
        p_norms = [p for p in excess_by_norm.orders(state.d) if p <= 2.0]
        more = state.budget | {"repetitions": REPETITIONS, "p_norms": p_norms, "records": state.records}
        question = partial(excess_by_norm.against_order, state.d, state.n, **more)
        found = question()
        draw = partial(order_figure, p_norm=state.p_norm, height=HEIGHT)
        figure, sentence = made_once(
            SOURCE,
            ("order", state, theme),
            lambda: (draw(found, theme=theme), words.order_takeaway(found, state)),
        )
        return figure, sentence, found, partial(redrawn, question, draw)

    figure, sentence, found, code = drawn(state)
    page.headline(sentence, colour=TEXT[theme])
    page.chart(
        figure,
        sentence,
        key="geometry",
        height=HEIGHT,
        ahead=(drawn, state),
        verdict=words.order_verdict(found, state),
        caption=words.order_caption(found),
    )
    show_beside()

    def data() -> pd.DataFrame:
        """The cursor's row first: on the chart's axis an order stands elsewhere."""
        return table_of(found).sort_values("p_norm", key=lambda orders: orders != state.p_norm, kind="stable")

    end([], code, data)


def show_sample_sizes() -> None:
    """Excess risk of one pass against n."""

    def drawing(there: words.GeometryState, found: ExcessByN) -> partial[Figure]:
        return partial(learners_figure, n=min(there.n, int(found.n[-1])), height=HEIGHT)

    def drawn(there: words.GeometryState, found: ExcessByN) -> tuple[Figure, str]:
        return drawing(there, found)(found, theme=theme), words.people_takeaway(found, there)

    def ahead(there: words.GeometryState, cancelled: Cancelled) -> tuple[Figure, str]:
        return drawn(there, prefetch.answered(words.people_question(there, knobs), cancelled).snapshot)

    question = words.people_question(state, knobs)
    answer = ask(question)
    found: ExcessByN | None = answer.snapshot
    if found is None:
        page.headline(waiting(answer), colour=FAMILIES[theme]["frank_wolfe"])
        show_beside(question)
        behind_nothing()
        return
    figure, sentence = drawn(state, found)
    headline = sentence if answer.finished else waiting(answer)
    page.headline(headline, colour=FAMILIES[theme][mechanism_class(found.mechanism).family])
    page.chart(
        figure,
        sentence,
        key="geometry",
        height=HEIGHT,
        ahead=(ahead, state) if answer.finished else None,
        verdict=words.people_verdict(found, state) if answer.finished else "",
        caption=with_progress(words.people_caption(found, state), answer, f"{found.runs} of {question.runs} runs"),
    )
    show_beside(question)
    code = partial(redrawn, words.people_call(question), drawing(state, found))
    end(words.people_readouts(found, row, state), code, lambda: table_of(found))


def beside(side: str) -> tuple[Figure, str]:
    """The chart beside, and its sentence."""
    if side == words.BALL:
        ball = noise.ball_picture(state.p_norm, **state.budget)
        return ball_figure(ball, theme=theme, height=SIDE_HEIGHT), words.ball_caption(ball, state)
    if side == words.RATES:
        rows = [table_1.table_row(p, state.d, state.n, state.epsilon, state.delta) for p in RATED]
        figure = rates_figure(rows, p_norm=state.p_norm, theme=theme, height=SIDE_HEIGHT)
        errors = noise.mean_errors(max(dual_order(state.p_norm), 2.0), state.d, state.n, **state.budget)
        return figure, words.rates_caption(row, errors, state)
    order = state.p_norm if 1.0 < state.p_norm <= 2.0 else 1.5
    traced = hardest_data.hardest_tracing(p_norm=order, d=TRACED_COLUMNS, delta=state.delta, seed=state.seed)
    figure = members_figure(traced, epsilon=state.epsilon, theme=theme, height=SIDE_HEIGHT)
    return figure, words.tracing_caption(traced, state.epsilon)


def show_beside(curve: ExcessQuestion | None = None) -> None:
    """curve: where the chart is one against n, whose bound can be taken apart."""

    def drawn(side: str) -> tuple[Figure, str] | str:
        if side == PROOF and curve:
            return asked_proof(ProofByN(curve, min(state.n, curve.ns[-1])), theme, SIDE_HEIGHT)
        return made_once(SOURCE, ("beside geometry", side, state, theme), partial(beside, side))

    page.beside(
        (words.BALL, PROOF) if curve else words.SIDES,
        drawn,
        key="beside_geometry",
        chart="beside_geometry_chart",
        height=SIDE_HEIGHT,
    )


def end(readouts: list[tuple[str, str, str]], code: Callable[[], str], data: Callable[[], pd.DataFrame]) -> None:
    page.below(readouts, words.CHIPS, lambda: words.assumptions(state), words.FORMULA, code, data)


if view == "order":
    show_orders()
else:
    show_sample_sizes()
