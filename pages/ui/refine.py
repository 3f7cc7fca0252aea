"""Tables that arrive in two steps: few releases at once, all of them while the reader looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore import Experiment, refinement

if TYPE_CHECKING:
    import pandas as pd

POLL_SECONDS = 0.4


def refined(experiment: Experiment, *, first: int = 10, key: str = "refined") -> tuple[pd.DataFrame, str | None]:
    """The experiment's table, and a sentence to show beside it while it is not the full one (else None).

    A table that is cached or cheap is full at once. Else it has `first` repetitions, the others are computed in the
    background, and the page runs again when they are there. Asking for another experiment under the same key gives
    the old one up. Not to be called in the sidebar or in a fragment.
    """
    name = f"{key} in the background"
    held: refinement.Refinement | None = st.session_state.get(name)
    watcher = st.session_state.setdefault(f"{key} watcher", object())
    if held is not None and held.experiment != experiment:
        held.leave(watcher)
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
    if held is None or held.finished:
        held = st.session_state[name] = refinement.join(experiment, watcher)
    _poll(name, held, watcher)
    return table, f"{so_far}, refining …"


def _poll(name: str, held: refinement.Refinement, watcher: object) -> None:
    """Let the browser ask every now and then, which keeps the computation alive, and run the page when it is done."""
    drawing = True

    @st.fragment(run_every=POLL_SECONDS)
    def poll() -> None:
        if st.session_state.get(name) is not held:
            return  # the page has moved on
        held.watch(watcher)
        if held.finished and not drawing:  # not in the middle of the page's own run
            st.rerun()

    poll()
    drawing = False
