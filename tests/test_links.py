"""Links: a page's link leads a fresh session to identical charts, and what a link says in vain is told."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from dpcore import __version__
from pages.ui import links
from pages.ui.links import Control
from tests.harness import ROOT
from tests.pages import open_app

# Random states of each page; together 200.
STATES = {
    "start": 20,
    "doors": 25,
    "dimension": 20,
    "sparse": 55,
    "geometry": 25,
    "classes": 20,
    "trust": 35,
}
# What makes a state slow to compute is drawn up to here; every value of every control is read back below.
AT_MOST = {"n": 1_000, "p": 512, "runs": 2_000, "T": 32, "steps_of_stream": 200, "steps": 10_000, "C": 8, "columns": 4}
SEEDS = (7, 0, 10**6)
LASTING = 120.0


def script(page: str) -> str:
    return f"{page}/{page}.py"


def drawn(app: AppTest) -> dict[str, tuple[Control, Any]]:
    """The controls that the page has drawn, with their values."""
    return app.session_state[links._DRAWN]


def settled(app: AppTest) -> AppTest:
    """Wait for what is computed in the background, as a browser does by asking."""
    deadline = time.monotonic() + LASTING
    while True:
        assert not app.exception, app.exception
        held = [value for key, value in app.session_state.to_dict().items() if key.endswith("in the background")]
        if all(each.finished for each in held):
            return app.run() if held else app
        assert time.monotonic() < deadline
        time.sleep(0.02)
        app.run()


def follow(link: str, page: str) -> AppTest:
    """A fresh session at this link."""
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=LASTING)
    app.query_params.update(parse_qs(urlsplit(link).query, keep_blank_values=True))
    return settled(app.switch_page(script(page)).run())


def pictures(app: AppTest) -> list[str]:
    return [element.proto.json for element in app.get("bidi_component") if element.proto.json]


def cheap(control: Control) -> list[Any]:
    """The legal values to draw from."""
    if isinstance(control.options, range):
        return [seed for seed in SEEDS if seed in control.options]
    most = AT_MOST.get(control.key, math.inf)
    allowed = [option for option in control.options if isinstance(option, str) or option <= most]
    return allowed or list(control.options[:1])


def some_value(control: Control, draw: random.Random) -> Any:
    """A legal value; half of the time the default, if that is cheap: links write both kinds."""
    if control.many:
        return [option for option in control.options if draw.random() < 0.5]
    allowed = cheap(control)
    return control.default if control.default in allowed and draw.random() < 0.4 else draw.choice(allowed)


def walk(app: AppTest, draw: random.Random, states: int, visit: Callable[[AppTest, str], None]) -> None:
    """Take one session through random states and visit each with its link; what a state brings, the next one moves."""
    for _ in range(states):
        for key, (control, _) in drawn(app).items():
            app.session_state[key] = "Link" if key == links.BEHIND else some_value(control, draw)
        settled(app.run())
        visit(app, app.code[-1].value)


@pytest.mark.parametrize("page", STATES)
def test_every_link_leads_to_identical_charts(page):
    seen = set()

    def visit(app: AppTest, link: str) -> None:
        fresh = follow(link, page)
        assert pictures(fresh) == pictures(app), link
        assert {key: value for key, (_, value) in drawn(fresh).items() if key != links.BEHIND} == {
            key: value for key, (_, value) in drawn(app).items() if key != links.BEHIND
        }
        assert remarks(fresh) == "", link
        seen.add(link)

    walk(open_app(script(page), n=500), random.Random(page), STATES[page], visit)
    assert len(seen) > 0.9 * STATES[page]


def remarks(app: AppTest) -> str:
    """The note at the top of the page."""
    found = [e.proto.body for e in app.get("html") if e.proto.body.startswith("<small>This link")]
    assert len(found) <= 1
    return found[0] if found else ""
