"""The questions that a page has open: asked once, answered in the background, given up when others take their place."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping

import streamlit as st

from dpcore.inquiries import Inquiry, Question, join
from pages.ui.refine import follow

# What a move may wait for something to show of every new question, and of the first, without which there is no picture.
AT_ONCE_SECONDS, FIRST_SECONDS = 0.05, 3.0
_LOOK_SECONDS = 0.01
_NAME, _WATCHER = "inquiries in the background", "inquiries watcher"


class Open:
    """Several inquiries that are watched together; `news` grows with what any of them has to show."""

    def __init__(self, inquiries: Mapping[str, Inquiry]) -> None:
        self.inquiries = inquiries

    @property
    def news(self) -> int:
        return sum(inquiry.news for inquiry in self.inquiries.values())

    @property
    def finished(self) -> bool:
        """Whether nothing more will come, however often the page asks again."""
        return all(inquiry.complete or inquiry.failed for inquiry in self.inquiries.values())

    def watch(self, watcher: Hashable) -> None:
        for inquiry in self.inquiries.values():
            inquiry.watch(watcher)


def ask(questions: Mapping[str, Question]) -> Open:
    """The page's open questions, each with what is known of it; those that are no longer asked are given up.

    The first of them is waited for until there is something to show. To be drawn with `keep_alive`. Without questions
    all are given up.
    """
    watcher = st.session_state.setdefault(_WATCHER, object())
    before: Open | None = st.session_state.get(_NAME)
    known = {inquiry.question: inquiry for inquiry in before.inquiries.values()} if before else {}
    for question, inquiry in known.items():
        if question not in questions.values() or inquiry.given_up:
            inquiry.leave(watcher)
    kept = {question: inquiry for question, inquiry in known.items() if not inquiry.given_up}
    held = Open({name: kept.get(question) or join(question, watcher) for name, question in questions.items()})
    held.watch(watcher)
    st.session_state[_NAME] = held
    asked = list(held.inquiries.values())
    started = time.monotonic()
    for inquiries, seconds in ((asked, AT_ONCE_SECONDS), (asked[:1], FIRST_SECONDS)):
        while any(_is_silent(it) for it in inquiries) and time.monotonic() - started < seconds:
            held.watch(watcher)  # a server under load may be slow to look again
            time.sleep(_LOOK_SECONDS)
    return held


def _is_silent(inquiry: Inquiry) -> bool:
    return inquiry.snapshot is None and not inquiry.finished


def keep_alive(held: Open, seen: int) -> None:
    """Run the page again when there is more to show than what has been `seen`.

    To be the last thing on a page: a block that comes and goes above a chart would have the browser make it anew.
    """
    # A page may be long in the making: the answer came meanwhile, or was given up since nobody looked.
    if held.news > seen or not held.finished:
        follow(_NAME, st.session_state[_WATCHER], seen)
