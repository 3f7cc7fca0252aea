"""What holds of every page, a row each: its code draws its picture, its chips set what there is, its ends are whole."""

from __future__ import annotations

import json
import random
import re
import time
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.figures.figure import Figure
from pages.background.asking import SHOWN
from pages.ui.share_link import Control
from tests.harness import ROOT
from tests.page_driver import LIVE, SCRIPTS, charts, chips, finished, open_app, press_chip, said, texts

from .test_links import STATES, cheap, drawn

# A page's view -> what it opens with; each bound, noise and set of records that has a chart of its own.
VIEWS: dict[str, dict[str, Any]] = {
    "overview": {"source": "synthetic", "n": 500, "epsilon": 0.1},
    "perturbation": {"n": 300, "lam": 0.01},
    "perturbation, λ": {"n": 300, "side": "λ"},
    "dimension": {"noise_in": "objective", "p": 64},
    "dimension, T": {"topic": "sparse", "against": "T", "n": 2_000, "p": 64},
    "dimension, n": {"topic": "sparse", "against": "n", "T": 12},
    "dimension, p": {"topic": "sparse", "n": 2_000, "p": 128},
    "selection": {"tab": "simplex", "p": 64, "lam": 0.05, "m": 20, "on": "fresh"},
    "selection, streaming": {"tab": "streaming", "p": 8},
    "geometry": {"p": 1_024},
    "geometry, n": {"view": "n", "p_norm": "1.5", "p": 8},
    "geometry, box": {"view": "n", "p_norm": "∞", "p": 8},
    "multiclass": {"n": 500},
    "multiclass, epsilon": {"price_against": "epsilon", "class_records": "iris"},
    "survey": {},
    "composition": {"repeated": "sgd", "batch": 100, "steps": 1_000, "epsilon": 0.5},
    "decide": {"n": 500},
}


def chips_of(page: str) -> dict[str, dict[str, Any]]:
    """label -> control -> value, of the chips that a page reads from files."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((ROOT / "pages" / page).glob("*chips.json")):
        found |= json.loads(file.read_text(encoding="utf-8"))
    return found


def traces(figure: str) -> list[dict[str, Any]]:
    """What a figure draws."""
    found: list[dict[str, Any]] = json.loads(figure)["data"]
    return found


@pytest.mark.parametrize("view", VIEWS)
def test_the_code_draws_a_picture_that_is_shown_and_chips_set_values_that_there_are(view, few_runs, monkeypatch):
    page = view.partition(",")[0]
    app = finished(open_app(SCRIPTS[page], behind="Code", **VIEWS[view]))  # asked for before there is a chart
    shown: list[str] = []
    monkeypatch.setattr(Figure, "show", lambda self: shown.append(self.to_json()))
    exec(app.code[0].value, {})
    pictures = [traces(chart["figure"]) for chart in charts(app).values()]
    assert shown and all(traces(picture) in pictures for picture in shown)

    controls = {key: control for key, (control, _) in drawn(app).items()}
    offered = chips_of(page)
    assert chips(app).keys() & offered.keys() or not offered or page == "overview"
    for label in chips(app):
        values = {key: value for key, value in offered.get(label, {}).items() if key in controls}
        for key, value in values.items():
            here = all(app.session_state[other] == values[other] for other in values if other != key)
            assert not here or value in controls[key].options, (label, key)


CURSOR_AT_10 = Figure([], {"shapes": [{"name": "cursor", "x0": 10.0}]})
# A page's view -> the control under its cursor; the controls that it opens with; the axis in its data.
AXES: dict[str, tuple[str, dict[str, Any], str]] = {
    "overview": ("epsilon", {"n": 500, "epsilon": 2.0}, "epsilon"),
    "perturbation": ("epsilon", {"n": 300, "lam": 0.01, "epsilon": 2.0}, "epsilon"),
    "dimension": ("p", {"p": 512}, "p"),
    "dimension, T": ("T", {"topic": "sparse", "against": "T", "n": 2_000, "T": 12}, "T"),
    "dimension, p": ("p", {"topic": "sparse", "n": 2_000, "p": 128}, "p"),
    "selection": ("m", {"tab": "simplex", "m": 20}, "m"),
    "selection, streaming": ("steps_of_stream", {"tab": "streaming", "steps_of_stream": 500}, "steps"),
    "geometry": ("p_norm", {"p": 1_024, "p_norm": "1.5"}, "p norm"),
    "geometry, n": ("n", {"view": "n", "n": 5_000, "p": 8}, "n"),
    "multiclass": ("C", {"n": 500, "C": 4}, "classes"),
    "survey": ("n", {"n": 100, "figures": {"of a run that was cut off": CURSOR_AT_10}}, "people"),
    "composition": ("times", {"times": 50}, "releases"),
}


@pytest.mark.parametrize("view", AXES)
def test_data_have_one_row_a_place_the_cursor_s_first_and_the_others_in_order(view):
    control, opened, axis = AXES[view]
    page = finished(open_app(SCRIPTS[view.partition(",")[0]], behind="Data", **opened))
    table = page.dataframe[0].value
    first, *others = table[axis]
    assert table.columns[0] == axis and first == float(opened[control])
    assert others == sorted({*others} - {first}) and len(others) > 3
    assert table.iloc[0].notna().all() and table.any().all(), "no column that says nothing"


def test_a_chip_sets_its_controls():
    page = finished(press_chip(finished(open_app("survey/page.py")), "ten people at ε = 0.1"))
    assert page.session_state["epsilon"] == 0.1 and page.session_state["n"] == 10 and "ε = 0.1" in said(page)


ENDLESS = ("runs",)  # a million runs of each version of a mechanism are played while one looks, for many minutes
WATCHED_SECONDS = 10.0
LONG = ("decide", "multiclass", "audit")  # seconds a corner, even of small problems


def ends(control: Control, *, all_of_them: bool) -> list[Any]:
    """The first and the last value."""
    options = control.options if all_of_them and control.key not in ENDLESS else cheap(control)
    return [options[0], options[-1]]


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} in a picture")


def look_at(app: AppTest) -> None:
    """What a visitor sees is whole: pictures of finite numbers, no error, and no number missing in a sentence."""
    assert not app.exception and not app.error, (app.exception, app.error)
    assert not re.search(r"\bnan\b|\binf\b", re.sub(r"<[^>]+>", "", texts(app)).lower())
    for element in app.get("bidi_component"):
        chart = json.loads(element.proto.json or "{}")
        if "figure" not in chart:
            continue
        figure = json.loads(chart["figure"], parse_constant=refuse)
        assert chart["alt"] and "nan" not in chart["alt"].lower().replace("finan", "").split(), chart["alt"]
        for name, axis in figure["layout"].items():
            if name.startswith(("xaxis", "yaxis")) and "range" in axis:
                low, high = axis["range"]
                assert low is not None and high is not None and low != high, (name, axis["range"])


def under_way(app: AppTest) -> bool:
    jobs = app.session_state[SHOWN].values() if SHOWN in app.session_state else ()
    return any(not job.answer.finished for job, _ in jobs)


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
    watch(app) if all_of_them else look_at(finished(app))


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


def test_no_page_is_forgotten():
    assert {view.partition(",")[0] for view in VIEWS} == set(LIVE) - {"audit"}, "its code prints, and draws nothing"
