"""Pages without a browser: open one in a chosen state, and read what it says."""

from __future__ import annotations

import functools
import html
import json
import os
import re
import time
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any
from unittest import mock

import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner
from streamlit.util import calc_hash

from dpcore.studies.decide import loss_curve
from pages.background.asking import SHOWN
from pages.background.jobs import Job
from tests.harness import ROOT

# Each AppTest would look through all installed packages for components, and compile the page anew in each run.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
_compile = ScriptCache.get_bytecode
_compiled = functools.cache(lambda path, written: _compile(ScriptCache(), path))
mock.patch.object(ScriptCache, "get_bytecode", lambda cache, path: _compiled(path, os.stat(path).st_mtime_ns)).start()


def _wait(runner: LocalScriptRunner, timeout: float = 60) -> None:
    """Streamlit looks each millisecond, and the page that runs must wait for that."""
    assert runner._script_thread
    runner._script_thread.join(timeout)
    if not runner.script_stopped():
        runner.request_stop()
        runner.join()
        raise TimeoutError(f"the page ran for more than {timeout} s")


local_script_runner.require_widgets_deltas = _wait

_MAIN = ROOT / "pages" / "main.py"
# The script of each page below pages/, by the page's address; the first is the landing page's.
SCRIPTS = {
    title.lower(): script
    for title, script in re.findall(r'"(\w+)": "(\w+/page\.py)"', _MAIN.read_text(encoding="utf-8"))
}

LIVE = tuple(page for page in SCRIPTS if page != "papers")  # those on which sliders move something


# As pages/ui/navigation.py runs a page's script.
_ALONE = """
from pages.background import asking
from tests.page_driver import compiled
asking.begin()
exec(compiled({script!r}), {{"__name__": "__main__", "__file__": {script!r}}})
asking.end()
"""


@functools.cache
def compiled(script: str) -> CodeType:
    return compile(Path(script).read_bytes(), script, "exec")


def open_script(script: str, **state: Any) -> AppTest:
    """A page by itself: its script below pages/, with these controls."""
    return _run(AppTest.from_string(_ALONE.format(script=str(ROOT / "pages" / script)), default_timeout=180), state)


def open_source(source: str) -> AppTest:
    """A page that is written out."""
    return AppTest.from_string(source, default_timeout=180).run()


def open_app(script: str = "", **state: Any) -> AppTest:
    """The app at the page of this script below pages/, the first one by default, with these controls."""
    page = AppTest.from_file(str(_MAIN), default_timeout=180)
    if script:
        turn_to(page, script)
    return _run(page, state)


def turn_to(page: AppTest, script: str) -> AppTest:
    """As `AppTest.switch_page`, for an app that has not run yet: Streamlit does not know the pages' addresses then."""
    landing, *others = SCRIPTS
    address = {SCRIPTS[landing]: "", **{SCRIPTS[other]: other for other in others}}[script]
    page._page_hash = calc_hash(address)
    return page


def _run(page: AppTest, state: dict[str, Any]) -> AppTest:
    for key, value in state.items():
        page.session_state[key] = value
    return page.run()


def finished(page: AppTest) -> AppTest:
    """A page once all questions that it shows are answered; it asks some only when others are."""
    assert not page.exception
    deadline = time.monotonic() + 90
    while any(job.answer.news > seen or not job.answer.finished for job, seen in _shown(page)):
        assert time.monotonic() < deadline
        while not all(job.answer.finished for job, _ in _shown(page)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        page.run()
        assert not page.exception
    return page


def _shown(page: AppTest) -> list[tuple[Job, int]]:
    """The jobs of the page's questions, each with the news that the page shows."""
    return list(page.session_state[SHOWN].values()) if SHOWN in page.session_state else []


def shown(script: str, theme: str = "light", **state: Any) -> AppTest:
    """A page by itself with these controls, complete: opened once for all tests of a process, which only read it."""
    return opened_once(script, theme, loss_curve.SPLITS, tuple(sorted(state.items())))


@functools.lru_cache(32)
def opened_once(script: str, theme: str, _splits: int, state: tuple[tuple[str, Any], ...]) -> AppTest:
    with mock.patch.object(type(st.context), "theme", SimpleNamespace(type=theme)):
        return finished(open_script(script, **dict(state)))


def spaced(text: str) -> str:
    """A text of a page with plain spaces, as tests write it."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def texts(page: AppTest) -> str:
    every = [*page.markdown, *page.caption, *page.get("html")]
    return spaced("\n".join(str(element.proto.body) for element in every))


def headline(page: AppTest) -> str:
    return spaced(next(e.proto.body for e in page.get("html") if e.proto.body.startswith('<p style="font-size')))


def said(page: AppTest) -> str:
    """The headline as a reader sees it."""
    return html.unescape(re.sub(r"<[^>]+>", "", headline(page)))


def charts(page: AppTest) -> dict[str, dict[str, Any]]:
    """The live figures by their sentence for screen readers."""
    found = [json.loads(element.proto.json) for element in page.get("bidi_component") if element.proto.json]
    return {spaced(chart["alt"]): chart | {"alt": spaced(chart["alt"])} for chart in found if "figure" in chart}


def chips(page: AppTest) -> dict[str, list[str]]:
    """The page's chips, each with the controls that it sets."""
    row = _chips_row(page)
    return json.loads(row.proto.json) if row else {}


def pressed(page: AppTest, *presses: Any) -> WidgetState:
    """What a browser says of the row of chips once some were `press`ed, and from then on."""
    row = _chips_row(page)
    assert row
    return WidgetState(id=row.proto.id, json_value=json.dumps({"pressed": presses}))


def press(chip: str, **sliders: str) -> dict[str, Any]:
    """sliders: what they showed at that moment."""
    return {"chip": chip, "at": time.time(), "shown": sliders}


def press_chip(page: AppTest, chip: str) -> AppTest:
    """Press a chip, and run the page."""
    states = page._tree.get_widget_states().widgets
    return page._run(WidgetStates(widgets=[*states, pressed(page, press(chip))]))


def _chips_row(page: AppTest) -> Any:
    return next((it for it in page.get("bidi_component") if it.proto.component_name.endswith("chips")), None)


def tells(text: str, *parts: str) -> bool:
    """Whether a text says these numbers and names, in this order, whatever its other words are."""
    return re.search(".*".join(map(re.escape, parts)), text, re.DOTALL) is not None


def captions(page: AppTest) -> str:
    return spaced("\n".join(caption.value for caption in page.caption))
