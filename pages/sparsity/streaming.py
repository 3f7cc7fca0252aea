"""The tab Online: private FTRL draws an arm in every step, against costs that an adversary picks."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.core.cancel import Cancelled, never
from dpcore.figures.figure import Figure
from dpcore.figures.sparsity.streaming import play_figure, regret_figure
from dpcore.figures.style import FAMILIES
from dpcore.studies.sparsity.streaming import regret
from dpcore.studies.sparsity.streaming.adversaries import ADVERSARIES
from pages.background.pictures import made_once
from pages.sparsity import SOURCE, or_reason
from pages.sparsity import streaming_words as words
from pages.ui import url_controls
from pages.ui.code import script, verbatim
from pages.ui.details import behind, cards
from pages.ui.html import emphasised, plain, readable
from pages.ui.live_figure import captioned_figure, current_theme, live_figure, paragraph, small_print
from pages.ui.pickers import chips, pick_layers, switch
from pages.ui.sidebar import SAMPLE_SIZES, sidebar

HEIGHT = 405
LENGTHS = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
FIRST_LENGTH, MOST_ARMS = 2_000, 2_048


def prepare(headline: DeltaGenerator) -> Callable[[], None]:
    """Draw the pickers; the answer draws all the rest. headline: the place above the pickers."""
    offered = {key: f"costs: {each.label}" for key, each in ADVERSARIES.items()}
    adversary = url_controls.select("adversary", "Costs", offered, next(iter(offered)), width=240)
    accounting = switch("λ", words.ACCOUNTINGS, "tight", key="stream_lam")
    steps = url_controls.slider("steps_of_stream", "T steps", LENGTHS, FIRST_LENGTH, "{:,}".format, width=150)
    return lambda: _show(headline, {"adversary": adversary, "steps": steps, "accounting": accounting})


def _show(headline: DeltaGenerator, own: dict[str, Any]) -> None:
    controls = sidebar(
        default_n=SAMPLE_SIZES[-1],
        max_columns=MOST_ARMS,
        unused=("n", "m"),
        rules=("auto",),  # the other rule is for fresh records
    )
    theme = current_theme()
    left, right = st.container(key="halves").columns([1.6, 1], gap="medium")
    with left:
        chart, layers = st.container(), pick_layers()
    here = words.StreamingState(**vars(controls), **own)

    def curves_at(here: words.StreamingState) -> list[partial[regret.RegretCurve]]:
        return [partial(regret.regret_curve, here.adversary, p, LENGTHS, **here.shared) for p in here.arms]

    def plain_at(here: words.StreamingState) -> partial[regret.RegretCurve]:
        return partial(regret.regret_curve, here.adversary, here.p, LENGTHS, **here.shared | words.NON_PRIVATE)

    def play_at(here: words.StreamingState) -> partial[regret.Play]:
        return partial(regret.play, here.adversary, here.p, here.steps, **here.shared)

    def played(
        here: words.StreamingState, cancelled: Cancelled = never
    ) -> tuple[Figure, str, Sequence[regret.RegretCurve], regret.Play | None, str]:
        """The chart there and its sentence; its curves, one play, or the reason why there is none."""
        play, reason = or_reason(play_at(here))
        curves = [curve(cancelled=cancelled) for curve in curves_at(here)]
        free = plain_at(here)(cancelled=cancelled)
        figure, sentence = made_once(
            SOURCE,
            ("regret", here, theme, *layers),
            lambda: (
                regret_figure(curves, free, steps=here.steps, theme=theme, height=HEIGHT).showing(layers),
                words.takeaway(play, free, here, reason),
            ),
        )
        return figure, sentence, curves, play, reason

    figure, sentence, curves, play, reason = played(here)
    headline.html(emphasised(sentence, FAMILIES[theme]["sampling"]))
    with chart:
        live_figure(figure, key="regret", alt=plain(sentence), height=HEIGHT, ahead=(played, here))
    with left:
        paragraph(words.verdict_of(curves, here))
        small_print(words.caption(curves, here))
    with right:
        if play:
            said = words.play_caption(play, here)
            captioned_figure(play_figure(play, theme=theme, height=HEIGHT), said, key="play", height=HEIGHT)
        else:
            small_print(readable(reason))
    if play:
        cards(words.readouts(play, here))
    chips(words.CHIPS)
    behind(
        lambda: words.assumptions(here),
        words.FORMULA,
        lambda: script(
            {"curves": curves_at(here), "non_private": plain_at(here), "play": play_at(here)},
            partial(regret_figure, verbatim("curves"), verbatim("non_private"), steps=here.steps, height=HEIGHT),
            partial(play_figure, verbatim("play"), height=HEIGHT),
        ),
        lambda: words.table(curves),
    )
