"""The sidebar goes along from page to page: values, defaults, grids that differ."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest

from pages.ui import set_controls, sidebar
from pages.ui.sidebar import Drawn, wanted
from tests.harness import ROOT
from tests.page_driver import SCRIPTS, open_app, turn_to
from tests.two_pages import write_pages


@pytest.fixture
def app(tmp_path: Path) -> AppTest:
    """The two pages, opened at start."""
    opened = AppTest.from_file(str(write_pages(tmp_path, slow=0.0).with_name("main.py"))).run()
    assert not opened.exception
    return opened


def go(app: AppTest, page: str) -> None:
    app.switch_page(f"{page}.py").run()
    assert not app.exception


def said(app: AppTest) -> str:
    return app.main.markdown[-1].value


def notes(app: AppTest) -> list[str]:
    return [caption.value for caption in app.sidebar.caption if "this page's scale" in caption.value]


def test_a_control_at_its_default_takes_the_next_page_s_default(app):
    assert "n 398," in said(app)
    go(app, "perturbation")
    assert "n 2000," in said(app)
    go(app, "overview")
    assert "n 398," in said(app)
    assert notes(app) == []


def test_what_the_grid_lacks_is_replaced_by_the_nearest_with_a_note_and_comes_back(app):
    app.select_slider(key="n").set_value(5000).run()
    go(app, "perturbation")
    assert "n 2000," in said(app) and [re.findall(r"[\d,]+\d", note) for note in notes(app)] == [["5,000", "2,000"]]
    app.select_slider(key="p").set_value(1024).run()
    assert len(notes(app)) == 1, "another move leaves the note"
    go(app, "overview")
    assert "n 5000, p 32," in said(app) and [re.findall(r"[\d,]*\d", note) for note in notes(app)] == [["1,024", "32"]]
    go(app, "perturbation")
    assert "n 2000, p 1024," in said(app)


def test_a_control_that_has_just_moved_does_not_send_the_address_as_it_was(app):
    """The browser may say the value before the address has it; what it is sent back would undo what moves meanwhile."""
    for key, value in {"epsilon": 0.1, "seed": 11}.items():
        widget = app.number_input(key=key) if key == "seed" else app.select_slider(key=key)
        widget.set_value(value).run()
        assert f"{key} {value}" in said(app) and key not in app.query_params
    app.run()  # where it is still missing, it is lost
    assert app.query_params == {"epsilon": "0.1", "seed": "11"}


def test_columns_that_a_data_set_fixes_leave_the_free_slider_alone(app):
    app.select_slider(key="p").set_value(16).run()
    app.selectbox(key="records").set_value("patients").run()
    assert "p 31," in said(app)
    go(app, "perturbation")
    assert "p 16," in said(app)
    go(app, "overview")
    app.selectbox(key="records").set_value("people").run()
    assert "p 16," in said(app)


@pytest.mark.parametrize(
    "value, last, default, expected",
    [
        (500, None, 2000, (500, True)),  # from the address
        (2000, None, 2000, (2000, False)),
        (398, Drawn(398, 398, by_hand=False), 2000, (2000, False)),  # nobody set it
        (398, Drawn(398, 398, by_hand=True), 2000, (398, True)),  # set to what is a page's default
        (500, Drawn(398, 398, by_hand=False), 2000, (500, True)),  # moved
        (2000, Drawn(398, 500, by_hand=True), 2000, (2000, True)),  # moved to the default
        (500, Drawn(450, 500, by_hand=True), 2000, (450, True)),  # stands in for 450
        (700, Drawn(450, 500, by_hand=True), 2000, (700, True)),  # stood in, and was moved
    ],
)
def test_what_a_control_is_asked_for_and_by_whom(value, last, default, expected):
    assert wanted(value, last, default) == expected


# Every page and tab: what its address says.
TABS = {
    "overview": ({},),
    "perturbation": ({},),
    "dimension": ({"topic": "idle"}, {"topic": "sparse"}),
    "selection": ({"tab": "simplex"}, {"tab": "streaming"}),
    "geometry": ({"view": "order"}, {"view": "n"}),
    "multiclass": ({},),
    "audit": ({},),
    "composition": ({"repeated": "gaussian"}, {"repeated": "sgd"}),
    "survey": ({},),
    "decide": ({},),
    "papers": ({"about": "errata"}, {"about": "algorithms"}),
}
# Each the default of another page, where there are several: what an address without it cannot tell from "not set".
BY_HAND = {"epsilon": 0.5, "delta": 1e-5, "n": 3_000, "p": 256, "lam": 0.01, "m": 20, "seed": 11}
FREE = {"source": "synthetic", "records": "synthetic", "at_hand": "synthetic"}  # records that leave n and p open


def walk(app: AppTest) -> Iterator[tuple[str, AppTest]]:
    """Turn to each page and tab; a page begins with its first tab, which is where "Reset all" leads."""
    for page, tabs in TABS.items():
        app.switch_page(SCRIPTS[page])
        for tab in tabs:
            for key, value in tab.items():
                app.session_state[key] = value
            yield page, app.run()
            assert not app.exception


@pytest.fixture
def sidebars(monkeypatch) -> AppTest:
    """The app, whose pages end below their sidebars: what they compute is not asked for here."""
    whole = sidebar._anew
    monkeypatch.setattr(sidebar, "_anew", lambda unused: (whole(unused), set_controls.end(), st.stop()))
    return AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=60).run()


def shown(app: AppTest) -> dict[str, Any]:
    """What the sidebar shows: key -> value, with the captions beside it where it is not what was asked for."""
    return {key: app.session_state[key] for key in BY_HAND if key in app.session_state}


def test_what_is_set_by_hand_is_the_same_on_every_page_or_the_page_says_why_not(sidebars):
    app = sidebars
    for key, value in (FREE | BY_HAND).items():
        if key != "p":  # of which the first page has no use
            app.session_state[key] = value
    app.run()
    app.switch_page("dimension/page.py").run()
    app.session_state["p"] = BY_HAND["p"]
    app.run()
    for _ in range(2):  # and back at the first page
        for place, _ in walk(app):
            told = [caption.value for caption in app.sidebar.caption]
            for key, value in shown(app).items():
                replaced = f"{value:,} is the nearest." if key in ("n", "p") else "takes its place."
                assert value == BY_HAND[key] or any(text.endswith(replaced) for text in told), (place, key, value)


def test_reset_all_stands_on_every_page_and_sets_all_to_what_a_fresh_session_shows(sidebars):
    app = sidebars
    fresh: dict[str, dict[str, Any]] = {}
    for page, _ in walk(app):
        fresh.setdefault(page, shown(app))
    for page, _ in walk(app):
        for key in fresh[page]:
            app.session_state[key] = BY_HAND[key] if key != "p" else 16
        app.run()
        next(button for button in app.sidebar.button if button.label == "Reset all").click().run()
        assert {key: app.session_state[key] for key in fresh[page]} == fresh[page], page


def test_reset_all_sets_the_controls_of_the_page_itself_too():
    moved = {"n": 300, "noise": "gamma", "side": "λ", "records": "breast_cancer"}
    fresh, app = open_app("perturbation/page.py"), open_app("perturbation/page.py", **moved)
    assert {key: app.session_state[key] for key in moved} == moved
    next(button for button in app.sidebar.button if button.label == "Reset all").click().run()
    assert {key: app.session_state[key] for key in moved} == {key: fresh.session_state[key] for key in moved}


def test_other_records_set_n_to_theirs_and_are_not_set_by_hand():
    app = open_app(n=2_000)
    app.selectbox(key="source").select("iris").run()
    assert app.session_state["n"] == 105 and not app.session_state["drawn"]["n"].by_hand


def test_a_page_that_is_turned_before_the_browser_has_said_what_it_shows_has_its_own_defaults():
    app = open_app()
    late = app._tree.get_widget_states()  # the browser says it after it was asked for the next page
    turn_to(app, SCRIPTS["dimension"])
    for message in (WidgetStates(), late):
        app._run(message)
        assert not app.exception
        assert (app.session_state["delta"], app.session_state["lam"], app.session_state["p"]) == (1e-6, 0.05, 2**20)
