"""Whatever can be moved in the sidebar moves the page's pictures: no page takes a control and ignores it."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.page_driver import SCRIPTS, open_app

from .test_foreseen import SMALL, control_of
from .test_links import pictures, settled

VIEWS: dict[str, Any] = SMALL | {"trust, ledger": {"check": "ledger", "steps": 1_000, "batch": 10}}
# Several releases of each of several learners: too long for every run.
CASES = [pytest.param(view, marks=pytest.mark.nightly) if view == "classes, epsilon" else view for view in VIEWS]
KEYS = ("epsilon", "delta", "n", "p", "lam", "m", "seed")


def movable(app: AppTest) -> list[str]:
    """The controls of the sidebar that are not disabled, by their keys."""
    widgets = {widget.key: widget for widget in [*app.sidebar.select_slider, *app.sidebar.number_input]}
    return [key for key in KEYS if key in widgets and not widgets[key].disabled]


def figures(app: AppTest) -> list[Any]:
    return [picture["figure"] for picture in pictures(app) if "figure" in picture]


def another(app: AppTest, key: str) -> Any:
    """A value beside the one that stands, a number where there is one."""
    options, value = list(control_of(app, key).options), app.session_state[key]
    if isinstance(value, str):
        return next(option for option in reversed(options) if not isinstance(option, str))
    at = options.index(value)
    return options[at - 1 if at else at + 1]


@pytest.mark.parametrize("view", CASES)
def test_what_can_be_moved_in_the_sidebar_moves_a_picture(view, few_runs):
    app = settled(open_app(SCRIPTS[view.split(",")[0]], **VIEWS[view]))
    keys, before = movable(app), figures(app)
    assert {"epsilon", "delta"} <= set(keys) and before
    for key in keys:
        stands = app.session_state[key]
        app.session_state[key] = another(app, key)
        assert figures(settled(app.run())) != before, f"{key} = {app.session_state[key]} changes nothing"
        app.session_state[key] = stands
