"""The questions that a page has open: asked once, answered in the background, given up when others take their place."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence

import streamlit as st

from dpcore.inquiries import Inquiry, Question, join
from pages.ui.refine import follow, watcher

# What a move may wait for something to show: of the first question, without which there is no picture; of the others.
FIRST_SECONDS, AT_ONCE_SECONDS = 3.0, 0.05
_LOOK_SECONDS = 0.01
# How much longer than usual nobody may look at the answers while a page is drawn, which is not to be doubted.
_DRAWING_SECONDS = 60.0
_NAME = "inquiries in the background"


class Open:
    """Several inquiries that are watched together; `news` grows with what any of them has to show.

    seen: what of each the page shows.
    """

    def __init__(self, inquiries: dict[str, Inquiry]) -> None:
        self.inquiries = inquiries
        self.seen: dict[str, int] = {}

    @property
    def news(self) -> int:
        return sum(inquiry.news for inquiry in self.inquiries.values())

    @property
    def finished(self) -> bool:
        """Whether nothing more will come, however often the page asks again."""
        return all(inquiry.complete or inquiry.failed for inquiry in self.inquiries.values())

    def watch(self, watcher: Hashable, longer: float = 0.0) -> None:
        for inquiry in self.inquiries.values():
            inquiry.watch(watcher, longer)

    def leave(self, watcher: Hashable) -> None:
        for inquiry in self.inquiries.values():
            inquiry.leave(watcher)


def ask(questions: Mapping[str, Question]) -> Open:
    """The page's open questions, each with what is known of it; those that are no longer asked are given up.

    The first of them is waited for until there is something to show. To end with `keep_alive`. Without questions all
    are given up.
    """
    me = watcher()
    before: Open | None = st.session_state.get(_NAME)
    known = {inquiry.question: inquiry for inquiry in before.inquiries.values()} if before else {}
    kept = {it: known[it] for it in questions.values() if it in known and not known[it].given_up}
    for question, inquiry in known.items():
        if question in kept:
            inquiry.watch(me, _DRAWING_SECONDS)
        else:
            inquiry.leave(me)
    held = st.session_state[_NAME] = Open({})
    for name, question in questions.items():
        inquiry = held.inquiries[name] = kept.get(question) or join(question, me)
        inquiry.watch(me, _DRAWING_SECONDS)
        if len(held.inquiries) == 1:
            _wait([inquiry], FIRST_SECONDS)  # the others begin when it has something to show
    held.seen = {name: inquiry.news for name, inquiry in held.inquiries.items()}
    return held


def glance(held: Open) -> None:
    """Wait a little for something to show of the other questions; the first one's picture is drawn by now."""
    others = dict(list(held.inquiries.items())[1:])
    _wait(list(others.values()), AT_ONCE_SECONDS)
    held.seen |= {name: inquiry.news for name, inquiry in others.items()}


def _wait(inquiries: Sequence[Inquiry], seconds: float) -> None:
    started = time.monotonic()
    while any(it.snapshot is None and not it.finished for it in inquiries) and time.monotonic() - started < seconds:
        time.sleep(_LOOK_SECONDS)


def keep_alive(held: Open) -> None:
    """Run the page again when there is more to show than what has been seen.

    To be the last thing on a page: a block that comes and goes above a chart would have the browser make it anew.
    """
    seen = sum(held.seen.values())
    if held.news > seen or not held.finished:  # an answer may have come while the page was drawn
        follow(_NAME, seen)
