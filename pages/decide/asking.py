"""The questions that a page has open: asked once, answered in the background, given up when others take their place."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping

import streamlit as st

from dpcore.decisions.background import Decision, Question, join
from pages.ui.refine import follow

# What a move may wait for something to show of every new question, and of the first, without which there is no picture.
AT_ONCE_SECONDS, FIRST_SECONDS = 0.05, 3.0
_LOOK_SECONDS = 0.01


class Open:
    """Several decisions that are watched together; `news` grows with what any of them has to show."""

    def __init__(self, decisions: Mapping[str, Decision]) -> None:
        self.decisions = decisions

    @property
    def news(self) -> int:
        return sum(decision.news for decision in self.decisions.values())

    @property
    def finished(self) -> bool:
        return all(decision.finished for decision in self.decisions.values())

    def watch(self, watcher: Hashable) -> None:
        for decision in self.decisions.values():
            decision.watch(watcher)


def ask(questions: Mapping[str, Question]) -> Open:
    """The page's open questions, each with what is known of it; those that are no longer asked are given up.

    The first of them is waited for until there is something to show. To be drawn with `keep_alive`.
    """
    watcher = st.session_state.setdefault(_WATCHER, object())
    before: Open | None = st.session_state.get(_NAME)
    known = {decision.question: decision for decision in before.decisions.values()} if before else {}
    for question, decision in known.items():
        if question not in questions.values() or decision.given_up:
            decision.leave(watcher)
    kept = {question: decision for question, decision in known.items() if not decision.given_up}
    held = Open({name: kept.get(question) or join(question, watcher) for name, question in questions.items()})
    held.watch(watcher)
    st.session_state[_NAME] = held
    first = next(iter(held.decisions.values()))
    started = time.monotonic()
    for decisions, seconds in ((held.decisions.values(), AT_ONCE_SECONDS), ((first,), FIRST_SECONDS)):
        while any(_is_silent(it) for it in decisions) and time.monotonic() - started < seconds:
            time.sleep(_LOOK_SECONDS)
    return held


def _is_silent(decision: Decision) -> bool:
    return decision.snapshot is None and not decision.finished


def keep_alive(held: Open, seen: int) -> None:
    """Run the page again when there is more to show than what has been `seen`."""
    if not held.finished:
        follow(_NAME, st.session_state[_WATCHER], seen)


_NAME, _WATCHER = "decisions in the background", "decisions watcher"
