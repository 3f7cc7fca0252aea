"""Geometry: why is L1 so much kinder than L2?"""

import math
from collections.abc import Callable
from functools import partial

import streamlit as st

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
from pages.background.asking import ask, waiting
from pages.background.pictures import made_once
from pages.geometry import words
from pages.server import prefetch
from pages.ui import url_controls
from pages.ui.code import redrawn, script, verbatim
from pages.ui.details import behind, behind_nothing, cards
from pages.ui.html import emphasised, plain
from pages.ui.live_figure import captioned_figure, current_theme, live_figure, paragraph, small_print
from pages.ui.pickers import chips, pick_layers, switch
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

st.title("Why is L1 so much kinder than L2?", anchor=False)
headline = st.container()
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    view = switch("Excess risk against", words.VIEWS, "order", key="view")
    names = ["1", words.JUST_ABOVE, *list(words.ORDERS)[1:]]
    name = url_controls.slider("p_norm", "p norm order", names, "1", width=250)
    knobs, records = {}, "each"
    if view == "order":
        records = url_controls.select("geometry_data", "Records", words.RECORDS, "each", width=220)
    if view == "n" and words.learner(name) == "tree_frank_wolfe":
        knobs = {
            "noise": switch("Noise", words.LAWS, "gaussian", key="noise"),
            "scales": switch("Scaled to", words.SCALES, "displacement", key="scales"),
        }
    elif view == "n" and words.learner(name) == "polyhedral_frank_wolfe":
        knobs = words.variant_knobs(switch("Records in", words.VARIANTS, "minibatch", key="variant"))
controls = sidebar(
    sample_sizes=excess_by_n.SAMPLE_SIZES,
    default_n=2_000,
    max_columns=MOST_COLUMNS if view == "order" else LEARNED_COLUMNS,
    default_columns=FIRST_COLUMNS if view == "order" else LEARNED_COLUMNS,
    letter="d",
    unused=("lam", "m"),
)
theme = current_theme()
left, right = st.container(key="halves").columns([1.5, 1], gap="medium")
with left:
    chart, layers = st.container(), pick_layers("plain" if view == "order" else "lower")

here = words.GeometryState(**vars(controls), name=name, records=records)
row = table_1.table_row(here.p_norm, here.d, here.n, here.epsilon, here.delta)


def order_picture(
    here: words.GeometryState, cancelled: Cancelled = never
) -> tuple[Figure, str, AgainstOrder, Callable[[], str]]:
    """The chart there, its sentence, its curves for the reader's dimension, and its code."""
    columns = (here.d, *sorted({*OTHERS} - {here.d}))
    more = here.budget | {"repetitions": REPETITIONS, "records": here.records}
    asked = [partial(excess_by_norm.against_order, d, here.n, **more) for d in columns]
    curves = []
    for curve in asked:
        go_on(cancelled)
        curves.append(curve())
    found, *others = curves
    draw = partial(order_figure, p_norm=here.p_norm, height=HEIGHT)
    made = {"found": asked[0], "others": asked[1:]}
    code = partial(script, made, partial(draw, verbatim("found"), verbatim("others")))
    figure, sentence = made_once(
        SOURCE,
        ("order", here, theme, *layers),
        lambda: (draw(found, others, theme=theme).showing(layers), words.order_takeaway(found, here)),
    )
    return figure, sentence, found, code


def drawing(here: words.GeometryState, found: ExcessByN) -> partial[Figure]:
    return partial(learners_figure, n=min(here.n, int(found.n[-1])), height=HEIGHT)


def people_picture(here: words.GeometryState, found: ExcessByN) -> tuple[Figure, str]:
    return drawing(here, found)(found, theme=theme).showing(layers), words.people_takeaway(found, here)


def people_ahead(here: words.GeometryState, cancelled: Cancelled) -> tuple[Figure, str]:
    return people_picture(here, prefetch.answered(words.people_question(here, knobs), cancelled).snapshot)


asked = words.people_question(here, knobs)
answer = None if view == "order" else ask(asked)
learned: ExcessByN | None = answer.snapshot if answer else None
family, drawn = "frank_wolfe", view == "order" or learned is not None
ahead: prefetch.Draw | None = None
if view == "order":
    picture, sentence, found, code = order_picture(here)
    caption, judged, ahead = words.order_caption(found), words.order_verdict(found, here), order_picture
    readouts, table = words.order_readouts(found, row, here), partial(words.order_table, found)
elif learned is not None:
    picture, sentence = people_picture(here, learned)
    family = mechanism_class(learned.mechanism).family
    caption, judged = words.people_caption(learned, asked, here), words.people_verdict(learned, here)
    readouts, table = words.people_readouts(learned, row, here), partial(words.people_table, learned)
    ahead = people_ahead if answer and answer.finished else None
    code = partial(redrawn, words.people_call(asked), drawing(here, learned))
elif answer is not None:
    sentence = waiting(answer)

headline.html(emphasised(sentence, FAMILIES[theme][family]))
if drawn:
    with chart:
        live_figure(picture, key="geometry", alt=plain(sentence), height=HEIGHT, ahead=ahead and (ahead, here))
    with left:
        paragraph(judged)
        small_print(caption)


def beside(side: str) -> tuple[Figure, str]:
    """The chart beside, and its sentence."""
    if side == "Ball":
        ball = noise.ball_picture(here.p_norm, **here.budget)
        return ball_figure(ball, theme=theme, height=SIDE_HEIGHT), words.ball_caption(ball, here)
    if side == "Rates":
        rows = [table_1.table_row(p, here.d, here.n, here.epsilon, here.delta) for p in RATED]
        return rates_figure(rows, p_norm=here.p_norm, theme=theme, height=SIDE_HEIGHT), words.rates_caption(row, here)
    if side == "Private mean":
        columns = tuple(sorted({*MEAN_COLUMNS, here.d}))
        released = noise.private_mean(max(dual_order(here.p_norm), 2.0), columns, n=here.n, **here.budget)
        figure = private_mean_figure(released, d=here.d, theme=theme, height=SIDE_HEIGHT)
        return figure, words.mean_caption(released, here)
    if side == "Noise length":
        lengths = noise.noise_lengths(NOISES, d=here.d, **here.budget)
        figure = lengths_figure(lengths, p_norm=here.p_norm, theme=theme, height=SIDE_HEIGHT)
        return figure, words.noise_caption(lengths)
    order = here.p_norm if 1.0 < here.p_norm <= 2.0 else 1.5
    traced = hardest_data.hardest_tracing(p_norm=order, d=TRACED_COLUMNS, delta=here.delta, seed=here.seed)
    figure = members_figure(traced, epsilon=here.epsilon, theme=theme, height=SIDE_HEIGHT)
    return figure, words.tracing_caption(traced)


with right:
    side = switch("Beside the chart", words.SIDES, words.SIDES[0], key="beside_geometry", wrap=True)
    picture, said = made_once(SOURCE, ("beside geometry", side, here, theme), partial(beside, side))
    captioned_figure(picture, said, key="beside_geometry_chart", height=SIDE_HEIGHT)
if drawn:
    cards(readouts)
    chips(words.CHIPS)
    behind(lambda: words.assumptions(here), words.FORMULA, code, table)
else:
    behind_nothing()
