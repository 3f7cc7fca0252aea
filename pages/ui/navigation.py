"""Which pages there are, and how one of them is run."""

import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import CodeType
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.background import asking
from pages.server import prefetch
from pages.ui import chips, set_controls, share_link

_PLACE = "place of the page"  # in the session: the page that was drawn last, and whether in the second place


def run_pages(
    folder: Path, scripts: Mapping[str, str], around: Callable[[str], AbstractContextManager[object]] = nullcontext
) -> None:
    """Draw the navigation and the page that the address asks for; called by the main script, once a run.

    scripts: title -> file below folder. The first is the landing page; the others' addresses are their titles in
    small letters.
    around: given the page's title, what is done before and after it.
    """
    pages = _pages(folder, tuple(scripts.items()))
    page = st.navigation(pages, position="top")
    chosen = page.title
    asking.begin()
    chips.begin()
    set_controls.begin()
    prefetch.begin()
    remarks = st.empty()
    share_link.begin(page.url_path)
    script = folder / scripts[chosen]
    # Not the page's own run(): its widgets would belong to the page. So they belong to the main script, and a control
    # that the next page draws too stays what it is, with its value and its place in the address. Streamlit would
    # carry a page's controls over one by one, each with an entry of its own in the browser's history.
    try:
        with _place(chosen), around(chosen):
            exec(_compiled(script, script.stat().st_mtime_ns), {"__name__": "__main__", "__file__": str(script)})
        share_link.end(remarks)
    except Exception:
        set_controls.end()  # so that the reader can move on from a page that met an error
        raise
    set_controls.end()
    asking.end()


@functools.cache
def _pages(folder: Path, scripts: tuple[tuple[str, str], ...]) -> list[Any]:
    """The pages as Streamlit's navigation takes them: the same in every run."""
    return [
        st.Page(folder / script, title=title, url_path=title.lower(), default=k == 0)
        for k, (title, script) in enumerate(scripts)
    ]


def _place(page: str) -> DeltaGenerator:
    """Where the page is drawn: of two places, the one that the page before was not in.

    So what another page drew goes as soon as its place is empty, not when this page is complete.
    """
    last, second = st.session_state.get(_PLACE, (page, False))
    second ^= page != last
    places = [st.container() if here else st.empty() for here in (not second, second)]
    st.session_state[_PLACE] = page, second
    return places[second]


@functools.lru_cache(maxsize=32)
def _compiled(script: Path, changed: int) -> CodeType:
    return compile(script.read_bytes(), script, "exec")
