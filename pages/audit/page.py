"""Audit: can I believe a privacy guarantee? The real code runs on two data sets, correct and with injected bugs."""

import dataclasses as dc
from functools import partial

import numpy as np

from dpcore import Budget, list_mechanisms
from dpcore.audit.all_versions import AllVersions, TrialsQuestion
from dpcore.audit.attacks import attacks_of
from dpcore.audit.bugs import BUGS
from dpcore.core.cancel import Cancelled
from dpcore.figures.audit.attack import betting_figure, ink_of, plane_figure, ruler_figure, scores_figure
from dpcore.figures.figure import Figure
from dpcore.figures.style import MUTED, Theme
from pages.audit import words
from pages.audit.words import AttackState
from pages.background.asking import ask, with_progress
from pages.server import prefetch
from pages.ui import url_controls
from pages.ui.chips import chips
from pages.ui.details import behind_nothing
from pages.ui.html import plain, readable
from pages.ui.live_figure import current_theme
from pages.ui.page import Page
from pages.ui.sidebar import Controls, sidebar

HEIGHT, SIDE_HEIGHT = 370, 350
RUNS = (*(m * 10**k for k in (3, 4, 5) for m in (1, 2, 5)), 10**6)
SIDES = ("Trade-off curve", "Betting test", "Scores")
# What a move may wait for first runs of the correct code and of the picked version; the others arrive while one looks.
AT_ONCE_SECONDS = 0.15
# Shares of false alarms at which the claim is drawn.
FALSE = np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), np.geomspace(1e-4, 1e-2, 20)]))


def show(controls: Controls, question: TrialsQuestion) -> None:
    """The attack of all versions, the picked one marked."""
    theme, picked = current_theme(), question.wanted
    answer = ask(question)
    assert isinstance(answer.question, TrialsQuestion)
    answer.question.wanted = picked  # somebody else may have asked first
    if not answer.finished:
        answer = ask(question, AT_ONCE_SECONDS, partial(_have_begun, picked))
    if answer.snapshot is None:
        reason = readable(answer.reason) if answer.reason else "the first runs are still to come"
        page.headline(f"**No audit here**: {reason}.", colour=MUTED[theme])
        chips(words.CHIPS)
        behind_nothing()
        return
    state = AttackState(question, answer.snapshot, picked, answer.failed)

    def ahead(controls: Controls, cancelled: Cancelled) -> tuple[Figure, str]:
        there = dc.replace(question, budget=Budget(controls.epsilon, controls.delta))
        then = AttackState(there, prefetch.answered(there, cancelled).snapshot, picked)
        return _ruler(then, theme), plain(words.takeaway(then))

    sentence = words.takeaway(state)
    page.headline(sentence, colour=ink_of(state.verdict, theme))
    page.halves()
    page.chart(
        _ruler(state, theme),
        sentence,
        key="ruler",
        height=HEIGHT,
        ahead=(ahead, controls) if answer.complete else None,
        caption=with_progress(words.caption(state), answer, words.played(state)),
    )
    draw_beside = partial(_beside, state=state, theme=theme)
    page.beside(SIDES, draw_beside, key="beside_attack", chart="beside_attack_chart", height=SIDE_HEIGHT)
    page.below(
        words.readouts(state),
        words.CHIPS,
        lambda: words.assumptions(state),
        words.FORMULA,
        lambda: words.snippet(state),
        lambda: words.table(state),
    )


def _ruler(state: AttackState, theme: Theme) -> Figure:
    """What is certified of all versions."""
    picked = state.trials.versions.index(state.played)
    return ruler_figure(words.rows(state), claim=state.claim, picked=picked, theme=theme, height=HEIGHT)


def _have_begun(version: str | None, trials: AllVersions) -> bool:
    """Whether the correct code and this version, where it applies, have first runs to show."""
    return trials.standings.keys() >= {None, version} & trials.plans.keys()


def _beside(side: str, state: AttackState, theme: Theme) -> tuple[Figure, str] | str:
    """Errors, betting test or scores of the picked version, beside those of the correct code."""
    now, correct = state.standing, state.correct
    if now is None:
        return "Waiting for the first runs."
    if side == "Trade-off curve":
        figure = plane_figure(
            FALSE,
            state.trials.curves[state.played].missed(FALSE),
            (now.false, now.missed),
            (correct.false, correct.missed) if correct else None,
            words.errors(state),
            verdict=state.verdict,
            theme=theme,
            height=SIDE_HEIGHT,
        )
    elif side == "Betting test":
        figure = betting_figure(
            (2.0 * now.pairs, now.logs),
            (2.0 * correct.pairs, correct.logs) if correct else None,
            runs=state.asked.runs,
            verdict=state.verdict,
            theme=theme,
            height=SIDE_HEIGHT,
        )
    else:
        figure = scores_figure(now.edges, now.zeros, now.ones, theme=theme, height=SIDE_HEIGHT)
    return figure, words.beside_caption(side, state)


page = Page("Can I believe a privacy guarantee?")
with page.pickers:
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
controls = sidebar(default_n=2_000, max_columns=8, unused=("n", "p", "lam", "m"))
picked = None if version == words.CORRECT else version
budget = Budget(controls.epsilon, controls.delta)
show(controls, TrialsQuestion(mechanism, budget, runs, controls.seed, picked, term))
