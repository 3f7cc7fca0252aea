"""The sidebar goes along from page to page: values, defaults, grids that differ."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.controls import Drawn, fitted
from tests.two_pages import write_pages

GRID = (200, 500, 2000, 5000)


@pytest.fixture
def app(tmp_path: Path) -> AppTest:
    """The two pages, opened at start."""
    opened = AppTest.from_file(str(write_pages(tmp_path).with_name("main.py"))).run()
    assert not opened.exception
    return opened


def go(app: AppTest, page: str) -> None:
    app.switch_page(f"{page}.py").run()
    assert not app.exception


def said(app: AppTest) -> str:
    return app.main.markdown[-1].value


def notes(app: AppTest) -> list[str]:
    return [caption.value for caption in app.sidebar.caption if "this page's scale" in caption.value]


def test_every_shared_control_keeps_its_value_on_the_other_page_and_back(app):
    go(app, "doors")
    for key, value in {"epsilon": 0.1, "delta": 1e-5, "n": 500, "p": 16, "lam": 0.01, "m": 20, "seed": 11}.items():
        widget = app.number_input(key=key) if key == "seed" else app.select_slider(key=key)
        widget.set_value(value).run()
    state = "epsilon 0.1, delta 1e-05, n 500, p 16, lam 0.01, m 20, seed 11."
    assert said(app) == f"doors: {state}"
    go(app, "start")
    assert said(app) == f"start: {state}"
    go(app, "doors")
    assert said(app) == f"doors: {state}"
    assert notes(app) == []


def test_a_control_at_its_default_takes_the_next_page_s_default(app):
    assert "n 398," in said(app)
    go(app, "doors")
    assert "n 2000," in said(app)
    go(app, "start")
    assert "n 398," in said(app)
    assert notes(app) == []


def test_what_the_grid_lacks_is_replaced_by_the_nearest_with_a_note_and_comes_back(app):
    app.select_slider(key="n").set_value(5000).run()
    go(app, "doors")
    assert "n 2000," in said(app) and notes(app) == ["5,000 is not on this page's scale; 2,000 is the nearest."]
    app.select_slider(key="p").set_value(1024).run()
    assert len(notes(app)) == 1, "another move leaves the note"
    go(app, "start")
    assert "n 5000, p 32," in said(app) and notes(app) == ["1,024 is not on this page's scale; 32 is the nearest."]
    go(app, "doors")
    assert "n 2000, p 1024," in said(app)


def test_moving_the_slider_that_stood_in_ends_the_note(app):
    app.select_slider(key="n").set_value(5000).run()
    go(app, "doors")
    app.select_slider(key="n").set_value(500).run()
    assert "n 500," in said(app) and notes(app) == []
    go(app, "start")
    assert "n 500," in said(app), "what was asked for before is forgotten"


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
    go(app, "doors")
    assert "p 16," in said(app)
    go(app, "start")
    app.selectbox(key="records").set_value("people").run()
    assert "p 16," in said(app)


@pytest.mark.parametrize(
    "value, last, default, expected",
    [
        (500, None, 2000, (500, 500)),  # from the address
        (398, None, 2000, (398, 500)),  # from the address, and not on the grid
        (398, Drawn(398, 398, 398), 2000, (2000, 2000)),  # stood at the default
        (500, Drawn(398, 398, 398), 2000, (500, 500)),  # was moved
        (2000, Drawn(398, 500, 500), 200, (2000, 2000)),  # moved while the default changed
        (500, Drawn(2000, 450, 500), 2000, (450, 500)),  # stands in for 450
        (200, Drawn(2000, 450, 500), 2000, (200, 200)),  # stood in, and was moved
        (10**9, None, 200, (10**9, 5000)),
    ],
)
def test_what_a_slider_was_asked_for_and_what_it_shows(value, last, default, expected):
    assert fitted(value, last, GRID, default) == expected


def test_nearest_is_meant_in_ratio():
    assert fitted(1100, None, (500, 2000), 500)[1] == 2000, "nearer by ratio, although 500 is nearer by difference"
