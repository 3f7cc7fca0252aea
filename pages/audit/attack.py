"""The view "Attack": runs of the real code on two data sets, correct and with injected bugs, against its guarantee."""

import dataclasses as dc
from collections.abc import Callable
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import Budget, list_mechanisms
from dpcore.audit.all_versions import AllVersions, TrialsQuestion
from dpcore.audit.attacks import attacks_of
from dpcore.audit.bugs import BUGS
from dpcore.core.cancel import Cancelled
from dpcore.figures.audit.attack import betting_figure, ink_of, plane_figure, ruler_figure, scores_figure
from dpcore.figures.figure import Figure
from dpcore.figures.style import MUTED, Theme
from pages.audit import attack_words as words
from pages.audit.attack_words import AttackState
from pages.background.asking import ask
from pages.server import prefetch
from pages.ui import url_controls
from pages.ui.details import behind, behind_nothing, cards
from pages.ui.html import emphasised, plain, readable
from pages.ui.live_figure import captioned_figure, current_theme, live_figure, small_print
from pages.ui.pickers import chips, switch
from pages.ui.sidebar import Controls, sidebar

HEIGHT, SIDE_HEIGHT = 370, 350
RUNS = (*(m * 10**k for k in (3, 4, 5) for m in (1, 2, 5)), 10**6)
SIDES = ("Trade-off curve", "Betting test", "Scores")
# What a move may wait for first runs of the correct code and of the picked version; the others arrive while one looks.
AT_ONCE_SECONDS = 0.15
# Shares of false alarms at which the claim is drawn.
FALSE = np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), np.geomspace(1e-4, 1e-2, 20)]))


def prepare(headline: DeltaGenerator) -> Callable[[], None]:
    """Draw the pickers; the answer draws all the rest. headline: the place above the pickers."""
    offered = list_mechanisms()
    mechanism = url_controls.select("mechanism", "Mechanism", offered, offered[0], words.name_of, width=275)
    versions = (words.CORRECT, *BUGS)
    version = url_controls.select(
        "version", "Injected bug", versions, "missing_factor_2", words.version_name, width=180
    )
    runs = url_controls.slider("runs", "runs", RUNS, 20_000, "{:,}".format, width=105)
    terms = [known.term for known in attacks_of(mechanism)]
    term = terms[0]
    if len(terms) > 1:
        term = url_controls.select(f"attack_{mechanism}", "Attack", terms, term, words.attack_name, width=150)
    return lambda: _show(headline, mechanism, None if version == words.CORRECT else version, runs, term)


def _show(headline: DeltaGenerator, mechanism: str, version: str | None, runs: int, term: str) -> None:
    controls = sidebar(default_n=2_000, max_columns=8, unused=("n", "p", "lam", "m"))
    theme = current_theme()
    asked = TrialsQuestion(mechanism, Budget(controls.epsilon, controls.delta), runs, controls.seed, version, term)
    answer = ask(asked)
    assert isinstance(answer.question, TrialsQuestion)
    answer.question.wanted = version  # somebody else may have asked first
    if not answer.finished:
        answer = ask(asked, AT_ONCE_SECONDS, partial(_have_begun, version))
    if answer.snapshot is None:
        reason = readable(answer.reason) if answer.reason else "the first runs are still to come"
        headline.html(emphasised(f"**No audit here**: {reason}.", MUTED[theme]))
        chips(words.CHIPS)
        behind_nothing()
        return
    here = AttackState(asked, answer.snapshot, version, answer.failed)

    def picture_at(controls: Controls, cancelled: Cancelled) -> tuple[Figure, str]:
        there = dc.replace(asked, budget=Budget(controls.epsilon, controls.delta))
        then = AttackState(there, prefetch.answered(there, cancelled).snapshot, version)
        return _ruler(then, theme), plain(words.takeaway(then))

    sentence = words.takeaway(here)
    headline.html(emphasised(sentence, ink_of(here.verdict, theme)))
    left, right = st.container(key="halves").columns([1.5, 1], gap="medium")
    with left:
        ahead = (picture_at, controls) if answer.complete else None
        live_figure(_ruler(here, theme), key="ruler", alt=plain(sentence), height=HEIGHT, ahead=ahead)
        small_print(words.caption(here))
    with right:
        side = switch("Beside the chart", SIDES, SIDES[0], key="beside_attack", wrap=True)
        _show_beside(side, here, theme)
    cards(words.readouts(here))
    with st.container(horizontal=True, vertical_alignment="center", key="below"):
        chips(words.CHIPS, width="content")
        report = here.standing.report if here.standing else None
        st.download_button(
            "Download the report",
            report.to_json() if report else "",
            words.file_name(here),
            "application/json",
            on_click="ignore",
            disabled=report is None,
            help="JSON with everything needed to repeat the audit.",
            key="report",
        )
    behind(
        lambda: words.assumptions(here),
        words.FORMULA,
        lambda: words.snippet(here),
        lambda: words.table(here),
    )


def _ruler(here: AttackState, theme: Theme) -> Figure:
    """What is certified of all versions."""
    picked = here.trials.versions.index(here.played)
    return ruler_figure(words.rows(here), claim=here.claim, picked=picked, theme=theme, height=HEIGHT)


def _have_begun(version: str | None, trials: AllVersions) -> bool:
    """Whether the correct code and this version, where it applies, have first runs to show."""
    return trials.standings.keys() >= {None, version} & trials.plans.keys()


def _show_beside(side: str, here: AttackState, theme: Theme) -> None:
    """Errors, betting test or scores of the picked version, beside those of the correct code."""
    now, correct = here.standing, here.correct
    if now is None:
        st.caption("Waiting for the first runs.")
        return
    if side == "Trade-off curve":
        picture = plane_figure(
            FALSE,
            here.trials.curves[here.played].missed(FALSE),
            (now.false, now.missed),
            (correct.false, correct.missed) if correct else None,
            words.errors(here),
            verdict=here.verdict,
            theme=theme,
            height=SIDE_HEIGHT,
        )
    elif side == "Betting test":
        picture = betting_figure(
            (2.0 * now.pairs, now.logs),
            (2.0 * correct.pairs, correct.logs) if correct else None,
            runs=here.asked.runs,
            verdict=here.verdict,
            theme=theme,
            height=SIDE_HEIGHT,
        )
    else:
        picture = scores_figure(now.edges, now.zeros, now.ones, theme=theme, height=SIDE_HEIGHT)
    said = words.beside_caption(side, here)
    captioned_figure(picture, said, key="beside_attack_chart", height=SIDE_HEIGHT)
