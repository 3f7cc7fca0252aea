"""Tables that arrive in two steps: few releases at once, all of them while the reader looks."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import streamlit as st

from dpcore import Experiment, refinement

if TYPE_CHECKING:
    import pandas as pd

POLL_SECONDS = 0.4
_BACKGROUND = " in the background"  # ends the names of all such work in the session


def refined(experiment: Experiment, *, first: int = 10, key: str = "refined") -> tuple[pd.DataFrame, str | None]:
    """The experiment's table, and a sentence to show beside it while it is not the full one (else None).

    A table that is cached or cheap is full at once. Else it has `first` repetitions, the others are computed in the
    background, and the page runs again when they are there. Asking for another experiment under the same key gives
    the old one up. Not to be called in the sidebar or in a fragment.
    """
    name = f"{key}{_BACKGROUND}"
    held: refinement.Refinement | None = st.session_state.get(name)
    if held is not None and held.experiment != experiment:
        held.leave(watcher())
        del st.session_state[name]
        held = None
    if held is not None and held.table is not None:
        return held.table.copy(), None

    table, full = refinement.first_table(experiment, first)
    if full:
        return table, None
    so_far = f"{first} of {experiment.repetitions} releases"
    if held is not None and held.failed:
        return table, f"{so_far}; an error, noted in the server's log, keeps the others away."
    st.session_state[name] = refinement.join(experiment, watcher())
    follow(name)
    return table, f"{so_far}, refining …"


def watcher() -> Hashable:
    """Whoever looks at this session's pages, to those who work in the background."""
    return st.session_state.setdefault("watcher", object())


def leave_other_pages(page: str) -> None:
    """Give up what is computed for a page that the reader has just left; to be called by every run, before its page.

    It stays in the session, so a reader who comes back finds what is complete, and asks for the rest again.
    """
    last, st.session_state["page of the last run"] = st.session_state.get("page of the last run", page), page
    if last != page:
        for name in filter(lambda name: str(name).endswith(_BACKGROUND), list(st.session_state)):
            st.session_state[name].leave(watcher())


def follow(name: str, seen: int = 0) -> None:
    """Keep the work that the session holds under this name alive while the page is open, and run the page again when
    it has more to show than what has been `seen`."""
    # In a block of its own: where Streamlit answers a move and a question at once, it drops the block that asks and
    # draws it again in the place where it was, over whatever has moved up to there.
    with st.container():
        _poll(name, seen)


@st.fragment(run_every=POLL_SECONDS)
def _poll(name: str, seen: int = 0) -> None:
    """A question that was on its way when the reader moved on must not call back what the move has given up."""
    held: refinement.Watched | None = st.session_state.get(name)
    if held is None:
        return
    held.watch(watcher())
    if held.news > seen:
        st.rerun()
