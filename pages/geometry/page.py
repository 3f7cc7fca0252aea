"""Geometry: why is L1 so much kinder than L2?"""

import math
from collections.abc import Callable
from functools import partial

import pandas as pd

from dpcore.core.cancel import Cancelled, go_on, never
from dpcore.core.sets import dual_order
from dpcore.figures.figure import Figure
from dpcore.figures.geometry import (
    ball_figure,
    learners_figure,
    lengths_figure,
    members_figure,
    order_figure,
    private_mean_figure,
    rates_figure,
)
from dpcore.figures.style import FAMILIES
from dpcore.mechanisms import mechanism_class
from dpcore.studies.geometry import excess_by_n, excess_by_norm, hardest_data, noise, table_1
from dpcore.studies.geometry.excess_by_n import ExcessByN
from dpcore.studies.geometry.excess_by_norm import AgainstOrder
from pages.background.asking import ask, waiting, with_progress
from pages.background.pictures import made_once
from pages.geometry import words
from pages.server import prefetch
from pages.ui import url_controls
from pages.ui.code import redrawn, script, verbatim
from pages.ui.details import behind_nothing, table_of
from pages.ui.live_figure import current_theme
from pages.ui.page import Page
from pages.ui.pickers import pick_layers, switch
from pages.ui.sidebar import sidebar

HEIGHT, SIDE_HEIGHT = 400, 380
# Against n a model is learned for each n; larger tables are too slow to update live.
FIRST_COLUMNS, MOST_COLUMNS, LEARNED_COLUMNS = 65_536, 65_536, 64
OTHERS = (128, 1_024, 8_192, 65_536)  # whose curves stand beside the chosen one
REPETITIONS = 10
SOURCE = "synthetic"  # all records of the page are drawn
TRACED_COLUMNS = 1_000
# Norm orders at even distances of 1 - 1/p, and one just right of 1.
RATED = (1.0, 1.001, *(1.0 / (1.0 - k / 40.0) for k in range(1, 40)), math.inf)
MEAN_COLUMNS = (2, 8, 32, 128, 512, 2_048, 8_192, 32_768)
NOISES = (1.0, 1.05, 1.1, 1.25, 1.5, 2.0)

page = Page("Why is L1 so much kinder than L2?")
with page.pickers:
    view = switch("Excess risk against", words.VIEWS, "order", key="view")
    names = ["1", words.JUST_ABOVE, *list(words.ORDERS)[1:]]
    name = url_controls.slider("p_norm", "p norm order", names, "1", width=250)
    knobs, records = {}, "each"
    if view == "order":
        records = url_controls.select("geometry_data", "Records", words.RECORDS, "each", width=220)
    if view == "n" and words.learner(name) == "tree_frank_wolfe":
        knobs = {"noise": switch("Noise", words.LAWS, "gaussian", key="noise")}
controls = sidebar(
    sample_sizes=excess_by_n.SAMPLE_SIZES,
    default_n=2_000,
    max_columns=MOST_COLUMNS if view == "order" else LEARNED_COLUMNS,
    default_columns=FIRST_COLUMNS if view == "order" else LEARNED_COLUMNS,
    letter="d",
    unused=("lam", "m"),
)
theme = current_theme()
page.halves()
with page.left:
    layers = pick_layers("plain" if view == "order" else "lower")
state = words.GeometryState(**vars(controls), name=name, records=records)
row = table_1.table_row(state.p_norm, state.d, state.n, state.epsilon, state.delta)


def show_orders() -> None:
    """Excess risk against the norm order."""

    def drawn(
        state: words.GeometryState, cancelled: Cancelled = never
    ) -> tuple[Figure, str, AgainstOrder, Callable[[], str]]:
        """The chart there, its sentence, its curves for the reader's dimension, and its code."""
        columns = (state.d, *sorted({*OTHERS} - {state.d}))
        more = state.budget | {"repetitions": REPETITIONS, "records": state.records}
        questions = [partial(excess_by_norm.against_order, d, state.n, **more) for d in columns]
        curves = []
        for question in questions:
            go_on(cancelled)
            curves.append(question())
        found, *others = curves
        draw = partial(order_figure, p_norm=state.p_norm, height=HEIGHT)
        made = {"found": questions[0], "others": questions[1:]}
        code = partial(script, made, partial(draw, verbatim("found"), verbatim("others")))
        figure, sentence = made_once(
            SOURCE,
            ("order", state, theme, *layers),
            lambda: (draw(found, others, theme=theme).showing(layers), words.order_takeaway(found, state)),
        )
        return figure, sentence, found, code

    figure, sentence, found, code = drawn(state)
    page.headline(sentence, colour=FAMILIES[theme]["frank_wolfe"])
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
    end(words.order_readouts(found, row, state), code, lambda: table_of(found))


def show_sample_sizes() -> None:
    """Excess risk of one pass against n."""

    def drawing(there: words.GeometryState, found: ExcessByN) -> partial[Figure]:
        return partial(learners_figure, n=min(there.n, int(found.n[-1])), height=HEIGHT)

    def drawn(there: words.GeometryState, found: ExcessByN) -> tuple[Figure, str]:
        return drawing(there, found)(found, theme=theme).showing(layers), words.people_takeaway(found, there)

    def ahead(there: words.GeometryState, cancelled: Cancelled) -> tuple[Figure, str]:
        return drawn(there, prefetch.answered(words.people_question(there, knobs), cancelled).snapshot)

    question = words.people_question(state, knobs)
    answer = ask(question)
    found: ExcessByN | None = answer.snapshot
    if found is None:
        page.headline(waiting(answer), colour=FAMILIES[theme]["frank_wolfe"])
        show_beside()
        behind_nothing()
        return
    figure, sentence = drawn(state, found)
    page.headline(sentence, colour=FAMILIES[theme][mechanism_class(found.mechanism).family])
    page.chart(
        figure,
        sentence,
        key="geometry",
        height=HEIGHT,
        ahead=(ahead, state) if answer.finished else None,
        verdict=words.people_verdict(found, state),
        caption=with_progress(words.people_caption(found, state), answer, f"{found.runs} of {question.runs} runs"),
    )
    show_beside()
    code = partial(redrawn, words.people_call(question), drawing(state, found))
    end(words.people_readouts(found, row, state), code, lambda: table_of(found))


def beside(side: str) -> tuple[Figure, str]:
    """The chart beside, and its sentence."""
    if side == "Ball":
        ball = noise.ball_picture(state.p_norm, **state.budget)
        return ball_figure(ball, theme=theme, height=SIDE_HEIGHT), words.ball_caption(ball, state)
    if side == "Rates":
        rows = [table_1.table_row(p, state.d, state.n, state.epsilon, state.delta) for p in RATED]
        figure = rates_figure(rows, p_norm=state.p_norm, theme=theme, height=SIDE_HEIGHT)
        return figure, words.rates_caption(row, state)
    if side == "Private mean":
        columns = tuple(sorted({*MEAN_COLUMNS, state.d}))
        released = noise.private_mean(max(dual_order(state.p_norm), 2.0), columns, n=state.n, **state.budget)
        figure = private_mean_figure(released, d=state.d, theme=theme, height=SIDE_HEIGHT)
        return figure, words.mean_caption(released, state)
    if side == "Noise length":
        lengths = noise.noise_lengths(NOISES, d=state.d, **state.budget)
        figure = lengths_figure(lengths, p_norm=state.p_norm, theme=theme, height=SIDE_HEIGHT)
        return figure, words.noise_caption(lengths)
    order = state.p_norm if 1.0 < state.p_norm <= 2.0 else 1.5
    traced = hardest_data.hardest_tracing(p_norm=order, d=TRACED_COLUMNS, delta=state.delta, seed=state.seed)
    figure = members_figure(traced, epsilon=state.epsilon, theme=theme, height=SIDE_HEIGHT)
    return figure, words.tracing_caption(traced)


def show_beside() -> None:
    page.beside(
        words.SIDES,
        lambda side: made_once(SOURCE, ("beside geometry", side, state, theme), partial(beside, side)),
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
