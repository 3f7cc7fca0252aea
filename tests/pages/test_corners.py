"""Every control of every page at its ends: no error, and no number missing where a picture has one."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.share_link import Control
from tests.page_driver import SCRIPTS, open_app

from .test_links import STATES, cheap, drawn, settled, under_way

ENDLESS = ("runs",)  # a million runs of each version of a mechanism are played while one looks, for many minutes
WATCHED_SECONDS = 10.0
LONG = ("decide", "multiclass", "audit")  # seconds a corner, even of small problems


def ends(control: Control, *, all_of_them: bool) -> list[Any]:
    """The first and the last value; of switches that may all be on, none and all."""
    if control.many:
        return [[], list(control.options)]
    options = control.options if all_of_them and control.key not in ENDLESS else cheap(control)
    return [options[0], options[-1]]


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} in a picture")


def look_at(app: AppTest) -> None:
    """What a visitor sees is whole: pictures of finite numbers, and no error."""
    assert not app.exception and not app.error, (app.exception, app.error)
    for element in app.get("bidi_component"):
        if not element.proto.json:
            continue
        chart = json.loads(element.proto.json)
        figure = json.loads(chart["figure"], parse_constant=refuse)
        assert chart["alt"] and "nan" not in chart["alt"].lower().replace("finan", "").split(), chart["alt"]
        for name, axis in figure["layout"].items():
            if name.startswith(("xaxis", "yaxis")) and "range" in axis:
                low, high = axis["range"]
                assert low is not None and high is not None and low != high, (name, axis["range"])


def watch(app: AppTest) -> None:
    """Look at all that a page shows while its numbers come, a while at most: some of a corner's take many minutes."""
    deadline = time.monotonic() + WATCHED_SECONDS
    look_at(app)
    while under_way(app) and time.monotonic() < deadline:
        time.sleep(0.5)
        look_at(app.run())
    look_at(app.run())


def visit(app: AppTest, rng: random.Random, *, all_of_them: bool) -> None:
    """Take every control that the page has drawn to one of its ends."""
    for key, (control, _) in drawn(app).items():
        app.session_state[key] = rng.choice(ends(control, all_of_them=all_of_them))
    app.run()
    watch(app) if all_of_them else look_at(settled(app))


@pytest.mark.nightly
@pytest.mark.parametrize("page", STATES)
def test_every_page_stands_at_the_ends_of_its_controls(page):
    app, rng = open_app(SCRIPTS[page], n=300), random.Random(0)
    for _ in range(20):
        visit(app, rng, all_of_them=True)


@pytest.mark.parametrize("page", [page for page in STATES if page not in LONG])
def test_some_corners_of_small_problems(page):
    app, rng = open_app(SCRIPTS[page], n=300), random.Random(1)
    for _ in range(2):
        visit(app, rng, all_of_them=False)
