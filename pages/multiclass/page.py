"""Multiclass: does the cost of privacy add up over classes?"""

from functools import partial
from typing import Any

from dpcore.core.cancel import Cancelled
from dpcore.data import CLASS_SOURCES
from dpcore.figures.figure import Figure
from dpcore.figures.multiclass import accuracy_figure, regions_figure
from dpcore.figures.style import FAMILIES, MUTED
from dpcore.studies.multiclass import curves, decision_regions
from pages.background.asking import ask, waiting, with_progress
from pages.multiclass import words
from pages.server import prefetch
from pages.ui import url_controls
from pages.ui.code import redrawn
from pages.ui.details import behind_nothing, table_of
from pages.ui.html import readable
from pages.ui.live_figure import captioned_figure, current_theme, small_print
from pages.ui.page import Page, or_reason
from pages.ui.pickers import switch
from pages.ui.proof import PROOF, show_proof
from pages.ui.sidebar import SAMPLE_SIZES, Controls, sidebar

HEIGHT, SIDE_HEIGHT = 420, 400
SIDES = ("Decisions", PROOF)
MOST_RECORDS, FIRST_N = 5_000, 2_000
DRAWN = next(iter(CLASS_SOURCES))

page = Page("Does the cost of privacy add up over classes?")
source, d, C = DRAWN, 2, words.FIRST_CLASSES
with page.pickers:
    view = switch("Against", words.VIEWS, "classes", key="price_against", wrap=True)
    if view == "epsilon":
        labels = {key: info.label for key, info in CLASS_SOURCES.items()}
        source = url_controls.select("class_records", "Records", labels, DRAWN, width=210)
    if source == DRAWN:
        C = url_controls.slider("C", "C classes", words.CLASSES, C, width=105)
        d = url_controls.slider("columns", "d dimension", words.COLUMNS, d, width=105)
info = CLASS_SOURCES[source]
size = info.size or FIRST_N
controls = sidebar(
    sample_sizes=tuple(sorted({*(n for n in SAMPLE_SIZES if n <= (info.size or MOST_RECORDS)), size})),
    default_n=size,
    max_columns=8,
    own={"delta": 1e-7},
    unused=("p", "m"),
)
theme = current_theme()


def state_at(controls: Controls) -> words.MulticlassState:
    own = {"d": d, "classes": C} if source == DRAWN else {}
    records = curves.Records(source, controls.n, controls.seed, **own)
    return words.MulticlassState(records, info, controls.epsilon, controls.delta, controls.lam)


def curves_of(state: words.MulticlassState) -> partial[Any]:
    """What computes the curves over the chosen axis."""
    return partial(curves.accuracy_against, **vars(words.question(view, state)))


def drawing(state: words.MulticlassState) -> partial[Figure]:
    """What draws them, with the cursor at the reader's state."""
    return partial(accuracy_figure, cursor=words.places(view, state)[1], height=HEIGHT)


def drawn(there: words.MulticlassState, found: curves.Accuracies) -> tuple[Figure, str]:
    return drawing(there)(found, theme=theme), words.takeaway(found, there)


def ahead(controls: Controls, cancelled: Cancelled) -> tuple[Figure, str]:
    there = state_at(controls)
    return drawn(there, prefetch.answered(words.question(view, there), cancelled).snapshot)


page.halves()
state = state_at(controls)
answer = ask(words.question(view, state))
found: curves.Accuracies | None = answer.snapshot
if found is None:
    page.headline(waiting(answer), colour=MUTED[theme])
else:
    figure, sentence = drawn(state, found)
    sentence = sentence if answer.complete else waiting(answer)
    page.headline(sentence, colour=FAMILIES[theme]["objective"])
    _, draws = words.effort(state)
    page.chart(
        figure,
        sentence,
        key="classes",
        height=HEIGHT,
        ahead=(ahead, controls) if answer.complete else None,
        verdict=words.verdict_of(found, state) if answer.complete else "",
        caption=with_progress(words.caption(found, draws, state), answer, words.counted(found, draws)),
    )
release, refusal = or_reason(
    partial(decision_regions.picture, state.records, epsilon=state.epsilon, delta=state.delta, lam=state.lam)
)
with page.right:
    side = switch("Beside the chart", SIDES, SIDES[0], key="beside_classes", wrap=True)
    if side == PROOF:
        show_proof(words.proof_question(state), theme, SIDE_HEIGHT)
    elif release is None:
        small_print(f"Nothing is released: {readable(refusal)}.")
    else:
        beside = regions_figure(release, theme=theme, height=SIDE_HEIGHT)
        captioned_figure(beside, words.picture_caption(release, state), key="beside_classes_chart", height=SIDE_HEIGHT)
if found is None:
    behind_nothing()
else:
    page.below(
        words.readouts(found, release, state),
        words.CHIPS,
        lambda: words.assumptions(state),
        words.FORMULA,
        lambda: redrawn(curves_of(state), drawing(state)),
        lambda: table_of(found),
    )
