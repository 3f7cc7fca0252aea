"""Whatever can be moved in the sidebar moves the page's pictures, and those drawn ahead are the ones the page draws."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.server import prefetch
from pages.ui import share_link
from pages.ui.share_link import Control
from tests.page_driver import SCRIPTS, open_app

from .test_links import finished, pictures
from .test_prefetch import everything, heroes

# What each view opens with: few people and columns; numbers where a rule would choose, so that they have neighbours.
VIEWS: dict[str, dict[str, Any]] = {
    "overview": {"n": 300},
    "perturbation": {"n": 300, "lam": 0.02},
    "dimension": {"n": 300, "p": 512, "lam": 0.02},
    "dimension, question": {"n": 300, "p": 512, "noise_in": "objective"},
    "dimension, sparse": {"topic": "sparse", "n": 300, "p": 512},
    "dimension, n": {"topic": "sparse", "n": 300, "p": 64, "against": "n"},
    "selection": {"n": 300, "p": 64, "tab": "simplex", "m": 20},
    "selection, streaming": {"p": 8, "tab": "streaming", "steps_of_stream": 200},  # where λ follows ε
    "geometry": {"p": 512},
    "geometry, n": {"p": 8, "view": "n"},
    "multiclass": {"n": 300, "C": 2, "lam": 0.02},
    "multiclass, epsilon": {"n": 300, "C": 2, "price_against": "epsilon"},
    "audit": {"runs": 2_000},
    "decide": {"n": 300},
    "composition, noisy SGD": {"repeated": "sgd", "steps": 1_000, "batch": 10},
}
# Several releases of each of several learners: too long for every run.
CASES = [pytest.param(view, marks=pytest.mark.nightly) if view == "multiclass, epsilon" else view for view in VIEWS]
KEYS = ("epsilon", "delta", "n", "p", "lam", "m", "seed")


def movable(app: AppTest) -> list[str]:
    """The controls of the sidebar that are not disabled, by their keys."""
    widgets = {widget.key: widget for widget in [*app.sidebar.select_slider, *app.sidebar.number_input]}
    return [key for key in KEYS if key in widgets and not widgets[key].disabled]


def figures(app: AppTest) -> list[Any]:
    return [picture["figure"] for picture in pictures(app) if "figure" in picture]


def control_of(app: AppTest, key: str) -> Control:
    control, _ = app.session_state[share_link.HELD].drawn[key]
    return control


def another(app: AppTest, key: str) -> Any:
    """A value beside the one that stands, a number where there is one."""
    options, value = list(control_of(app, key).options), app.session_state[key]
    if isinstance(value, str):
        return next(option for option in reversed(options) if not isinstance(option, str))
    at = options.index(value)
    return options[at - 1 if at else at + 1]


@pytest.mark.parametrize("view", CASES)
def test_what_can_be_moved_in_the_sidebar_moves_a_picture(view, few_runs, monkeypatch):
    """From its new place a slider has the picture at the old one ahead: the same as the page drew there."""
    app = finished(open_app(SCRIPTS[view.split(",")[0]], **VIEWS[view]))
    keys, before, drawn = movable(app), figures(app), heroes(app)
    assert {"decide": {"n", "p"}, "overview": {"epsilon", "n"}}.get(view, {"epsilon", "delta"}) <= set(keys) and before
    texts, beside = app.session_state.to_dict().get(prefetch._MOVED, ({},))[0], prefetch.beside
    monkeypatch.setattr(prefetch, "beside", lambda *at: [place for place in beside(*at) if place.state == texts])
    for key in keys:
        stands, moved = app.session_state[key], another(app, key)
        app.session_state[key] = moved
        assert figures(finished(app.run())) != before, f"{key} = {moved} changes nothing"
        if texts and key != "seed":  # which is no slider; and one view draws nothing ahead
            options = control_of(app, key).options
            assert app.session_state[prefetch._MOVED][1:] == (key, options.index(moved) > options.index(stands))
            (offer,) = app.session_state[prefetch.OFFERS].values()
            (ahead,) = everything(offer)
            assert ahead == {part: drawn[ahead["alt"]][part] for part in ahead}, key
            app.session_state[prefetch._MOVED] = texts, key, True  # as if it had moved back
        app.session_state[key] = stands
