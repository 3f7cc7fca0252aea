"""Multiclass: does the cost of privacy add up over classes?"""

from functools import partial
from typing import Any

import streamlit as st

from dpcore import EPSILON_GRID, NotApplicable
from dpcore.core.cancel import Cancelled
from dpcore.data import CLASS_SOURCES
from dpcore.figures.figure import Figure
from dpcore.figures.multiclass import (
    accuracy_figure,
    classes_excess_figure,
    ellipses_figure,
    regions_figure,
    tuning_figure,
)
from dpcore.figures.style import FAMILIES, MUTED
from dpcore.studies.multiclass import curves, decision_regions
from pages.background.asking import ask, waiting
from pages.multiclass import as_published, words
from pages.server import prefetch
from pages.ui import url_controls
from pages.ui.code import redrawn
from pages.ui.details import behind, behind_nothing, cards
from pages.ui.html import emphasised, plain, readable
from pages.ui.live_figure import captioned_figure, current_theme, live_figure, paragraph, small_print
from pages.ui.pickers import chips, pick_layers, switch
from pages.ui.sidebar import ALL_BUT_SEED, SAMPLE_SIZES, Controls, sidebar

HEIGHT, SIDE_HEIGHT = 380, 400
MOST_RECORDS, FIRST_N = 5_000, 2_000
DRAWN = next(iter(CLASS_SOURCES))
TUNED = (1.0, 10.0, 30.0)

st.title("Does the cost of privacy add up over classes?", anchor=False)
headline = st.container()
source, d, C = DRAWN, 2, words.FIRST_CLASSES
with st.container(horizontal=True, vertical_alignment="center", key="pickers"):
    proof = switch("Which mechanism", words.PROOFS, "repaired", key="classifier")
    if proof == "repaired":
        view = switch("Against", words.VIEWS, "classes", key="price_against", wrap=True)
        if view in ("epsilon", "excess"):
            labels = {key: info.label for key, info in CLASS_SOURCES.items()}
            source = url_controls.select("class_records", "Records", labels, DRAWN, width=210)
        if source == DRAWN:
            C = url_controls.slider("C", "C classes", words.CLASSES, C, width=105)
            d = url_controls.slider("columns", "d dimension", words.COLUMNS, d, width=105)
theme = current_theme()


def show_repaired() -> None:
    """All of the page below its pickers, for the repaired mechanism."""
    info = CLASS_SOURCES[source]
    size = info.size or FIRST_N
    controls = sidebar(
        sample_sizes=tuple(sorted({*(n for n in SAMPLE_SIZES if n <= MOST_RECORDS), size})),
        default_n=size,
        max_columns=8,
        unused=("p", "m"),
    )
    own = {"d": d, "classes": C} if source == DRAWN else {}

    def here_at(controls: Controls) -> words.MulticlassState:
        records = curves.Records(source, controls.n, controls.seed, **own)
        return words.MulticlassState(records, info, controls.epsilon, controls.delta, controls.lam)

    left, right = st.container(key="halves").columns([1.5, 1], gap="medium")
    with left:
        chart, layers = st.container(), pick_layers("lower", "plain" if view == "excess" else "upper")
    here = here_at(controls)
    answer = None if view == "excess" else ask(words.question(view, here))
    found = answer.snapshot if answer else _asked(here)()
    colour = MUTED[theme] if found is None else FAMILIES[theme]["objective"]
    sentence = waiting(answer) if answer and found is None else words.takeaway(found, here)
    headline.html(emphasised(sentence, colour))

    def picture_at(controls: Controls, cancelled: Cancelled) -> tuple[Figure, str]:
        there = here_at(controls)
        if view == "excess":
            found = _asked(there)(cancelled=cancelled)
        else:
            found = prefetch.answered(words.question(view, there), cancelled).snapshot
        return _drawn(there)(found, theme=theme).showing(layers), plain(words.takeaway(found, there))

    if found is not None:
        ahead = (picture_at, controls) if answer is None or answer.complete else None
        with chart:
            picture = _drawn(here)(found, theme=theme).showing(layers)
            live_figure(picture, key="classes", alt=plain(sentence), height=HEIGHT, ahead=ahead)
        with left:
            if view == "excess":
                paragraph(words.verdict_of(found, here))
            small_print(words.caption(found, words.effort(view, here)[1], here))
    with right:
        side = switch("Beside the chart", words.SIDES, words.SIDES[0], key="beside_classes", wrap=True)
        release = _show_beside(side, here)
    if found is not None:
        cards(words.readouts(found, release, here))
        chips(words.CHIPS)
        behind(
            lambda: words.assumptions(here),
            words.FORMULA,
            lambda: redrawn(_asked(here), _drawn(here)),
            lambda: words.table(found),
        )
    else:
        behind_nothing()


def _asked(here: words.MulticlassState) -> partial[Any]:
    """What computes the curves over the chosen axis."""
    if view != "excess":
        return partial(curves.accuracy_against, **vars(words.question(view, here)))
    repetitions, _ = words.effort(view, here)
    asked = partial(curves.excess_against_epsilon, EPSILON_GRID, here.records, repetitions=repetitions)
    return partial(asked, delta=here.delta, lam=here.lam)


def _drawn(here: words.MulticlassState) -> partial[Figure]:
    """What draws them, with the cursor at the reader's state."""
    if view == "excess":
        return partial(classes_excess_figure, epsilon=here.epsilon, height=HEIGHT)
    return partial(accuracy_figure, cursor=words.places(view, here)[1], height=HEIGHT)


def _show_beside(side: str, here: words.MulticlassState) -> decision_regions.Picture | None:
    """One release, or the effect of another lam. The answer is the release, None where there is no guarantee."""
    picture, refusal = None, ""
    try:
        picture = decision_regions.picture(here.records, epsilon=here.epsilon, delta=here.delta, lam=here.lam)
    except NotApplicable as error:
        refusal = readable(str(error))
    if side == "λ":
        tuning = curves.accuracy_against_lam(TUNED, here.records, delta=here.delta, repetitions=2 if here.heavy else 6)
        beside, said = tuning_figure(tuning, theme=theme, height=SIDE_HEIGHT), words.tuning_caption(tuning)
    elif picture is None:
        small_print(f"Nothing is released: {refusal}.")
        return None
    else:
        draw = regions_figure if side == "Decision regions" else ellipses_figure
        beside, said = draw(picture, theme=theme, height=SIDE_HEIGHT), words.picture_caption(side, picture, here)
    captioned_figure(beside, said, key="beside_classes_chart", height=SIDE_HEIGHT)
    return picture


if proof == "published":
    seed = sidebar(default_n=FIRST_N, max_columns=8, unused=ALL_BUT_SEED).seed
    as_published.show(headline, seed, theme)
else:
    show_repaired()
