"""Which pages there are, and how one of them is run."""

import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import CodeType

import streamlit as st

from pages.background import polling
from pages.server import prefetch
from pages.ui import share_link


def run_pages(
    folder: Path, scripts: Mapping[str, str], around: Callable[[str], AbstractContextManager[object]] = nullcontext
) -> None:
    """Draw the navigation and the page that the address asks for; called by the main script, once a run.

    scripts: title -> file below folder. The first is the landing page; the others' addresses are their titles in
    small letters.
    around: given the page's title, what is done before and after it.
    """
    landing, *_ = scripts
    pages = [
        st.Page(folder / script, title=title, url_path=title.lower(), default=title == landing)
        for title, script in scripts.items()
    ]
    chosen = st.navigation(pages, position="top").title
    prefetch.begin()
    polling.leave_other_pages(chosen)
    remarks = st.empty()
    share_link.begin(chosen, {page.title: page.url_path for page in pages})
    # A place for each page: what another page drew goes as soon as its place is empty, not when this page is complete.
    places = {title: st.container() if title == chosen else st.empty() for title in scripts}
    script = folder / scripts[chosen]
    # Not the page's own run(): its widgets would belong to the page. So they belong to the main script, and a control
    # that the next page draws too stays what it is, with its value and its place in the address. Streamlit would
    # carry a page's controls over one by one, each with an entry of its own in the browser's history.
    with places[chosen], around(chosen):
        exec(_compiled(script, script.stat().st_mtime_ns), {"__name__": "__main__", "__file__": str(script)})
    share_link.end(remarks)


@functools.lru_cache(maxsize=32)
def _compiled(script: Path, changed: int) -> CodeType:
    return compile(script.read_bytes(), script, "exec")
