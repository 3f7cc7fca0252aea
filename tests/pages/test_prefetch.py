"""Pictures ahead: the nearest first, the same that the page draws there, and none where nobody wants them."""

from __future__ import annotations

import asyncio
import dataclasses as dc
import gc
import json
import logging
import time
from concurrent.futures import CancelledError

import pytest
from starlette.requests import Request
from starlette.responses import Response

from dpcore import EPSILON_GRID, NotApplicable
from dpcore.data import Declared, UploadedRecords, get_source, read_table
from dpcore.figures.figure import Figure
from dpcore.studies.decide import loss_curve
from dpcore.studies.multiclass.curves import AccuracyQuestion, Records
from pages.background.jobs import SHARED
from pages.server import prefetch
from pages.ui.share_link import Control
from pages.ui.sidebar import DELTAS, Controls, delta_text
from tests.page_driver import finished, open_app
from tests.upload_page import people


def told(figure: Figure, alt: str, state: dict[str, str]) -> dict[str, object]:
    return {"figure": figure.to_json(), "alt": alt, "state": state}


HERE = Controls(epsilon=1.0, delta=1e-6, n=500, p=8, lam="auto", m="auto", seed=7)
EPSILON = Control("epsilon", "privacy budget", EPSILON_GRID, 1.0, "{:g}".format)
DELTA = Control("delta", "failure probability", DELTAS, 1e-6, delta_text)


def drawn(controls: Controls, cancelled: object) -> tuple[Figure, str]:
    return Figure([], {"template": {}}), f"at {controls.epsilon:g}"


def ahead(draw: prefetch.Draw = drawn, epsilon: str = "1") -> prefetch.Prefetch:
    here = dc.replace(HERE, epsilon=float(epsilon))
    return prefetch.Prefetch(draw, told, prefetch.beside(EPSILON, True, here, {"n": "500", "epsilon": epsilon}))


def asked(token: str, *, stays: bool = True) -> Response:
    """The server's answer to a browser that asks for these pictures, and stays or goes."""

    async def receive() -> dict[str, str]:
        if stays:
            await asyncio.sleep(60.0)
        return {"type": "http.disconnect"}

    return asyncio.run(prefetch.answer(Request({"type": "http", "path_params": {"token": token}}, receive)))


def everything(offer: prefetch.Prefetch) -> list[dict[str, object]]:
    found, more = [], True
    while more:
        pictures, more = offer.some()
        found += pictures
    return found


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch):
    prefetch._MOVES.clear()


@pytest.mark.parametrize(
    ("epsilon", "first"), [("1", ["1.5", "0.7", "2", "0.5"]), ("0.01", ["0.015", "0.02"]), ("10", ["7", "5"])]
)
def test_the_nearest_places_come_first_and_all_of_them_where_they_cost_little(epsilon, first):
    pictures = everything(ahead(epsilon=epsilon))
    said = [picture["state"]["epsilon"] for picture in pictures]
    assert said[: len(first)] == first
    assert sorted([*said, epsilon], key=float) == [f"{place:g}" for place in EPSILON_GRID]
    assert [picture["alt"] for picture in pictures] == [f"at {place}" for place in said]
    assert all(list(picture["state"]) == ["n", "epsilon"] for picture in pictures), "in the order of the page's own"


def test_where_pictures_are_costly_only_the_next_places_are_drawn(monkeypatch):
    monkeypatch.setattr(prefetch, "_SECONDS", 0.0)
    assert [picture["state"]["epsilon"] for picture in everything(ahead())] == ["1.5", "0.7"]


def test_an_answer_does_not_wait_for_slow_pictures(monkeypatch):
    monkeypatch.setattr(prefetch, "_ANSWER_SECONDS", 0.0)
    offer = ahead()
    assert [(len(pictures), more) for pictures, more in (offer.some() for _ in EPSILON_GRID)] == [
        *[(1, True)] * (len(EPSILON_GRID) - 1),
        (0, False),
    ]


def test_pictures_that_take_too_long_are_left_and_may_be_offered_again(monkeypatch):
    def draw(controls, cancelled):
        if controls.epsilon == 0.7:
            deadline = time.monotonic() + 120
            while not cancelled():
                assert time.monotonic() < deadline
                time.sleep(0.001)
            raise CancelledError
        return drawn(controls, cancelled)

    monkeypatch.setattr(prefetch, "_LONGEST_SECONDS", 0.01)
    offer = prefetch._OFFERED["secret"] = ahead(draw)
    found = json.loads(asked("secret").body)
    assert [picture["alt"] for picture in found["pictures"]] == ["at 1.5"] and found["more"] is True
    assert asked("secret").status_code == 204, "not the end: the browser does not take them for complete"
    assert offer.given_up


@pytest.mark.parametrize(("up", "first"), [(True, [1e-5, 1e-7, 1e-4, 1e-8]), (False, [1e-7, 1e-5, 1e-8, 1e-4])])
def test_the_next_place_in_the_direction_of_the_last_move_comes_first(up, first):
    places = prefetch.beside(DELTA, up, HERE, {"delta": delta_text(1e-6), "n": "500"})
    assert [place.controls for place in places][:4] == [dc.replace(HERE, delta=delta) for delta in first]
    assert [place.state for place in places][:4] == [{"delta": delta_text(delta), "n": "500"} for delta in first]
    assert len(places) == len(DELTAS) - 1


def test_the_next_places_of_other_sliders_come_before_further_ones_of_the_slider_that_was_moved():
    state = {"epsilon": "1", "delta": delta_text(1e-6)}
    places = list(prefetch.places(EPSILON, False, [DELTA], HERE, state))
    moved = [{"epsilon": 0.7}, {"epsilon": 1.5}, {"delta": 1e-5}, {"delta": 1e-7}, {"epsilon": 0.5}, {"epsilon": 2.0}]
    assert [place.controls for place in places][:6] == [dc.replace(HERE, **to) for to in moved]
    assert len(places) == len(EPSILON_GRID) - 1 + 2


def test_whoever_has_moved_on_gets_nothing_more():
    tried = []

    def draw(controls, cancelled):
        tried.append(controls.epsilon)
        offer.given_up = True
        if cancelled():
            raise CancelledError
        raise AssertionError

    offer = ahead(draw)
    assert offer.some() == ([], True)
    assert tried == [1.5]
    offer.some()
    assert tried == [1.5]


def test_a_place_without_a_release_is_left_out_and_an_error_is_told_to_the_log_alone(caplog):
    def draw(controls, cancelled):
        if controls.epsilon == 1.5:
            raise NotApplicable("too little noise")
        if controls.epsilon == 2.0:
            raise RuntimeError("out of order")
        return drawn(controls, cancelled)

    with caplog.at_level(logging.ERROR):
        assert [picture["state"]["epsilon"] for picture in everything(ahead(draw))] == ["0.7"]
    assert "out of order" in caplog.text


def test_the_server_answers_whoever_knows_the_address(monkeypatch):
    offer = prefetch._OFFERED["secret"] = ahead()
    monkeypatch.setattr(prefetch, "_ANSWER_SECONDS", 0.0)
    answer = asked("secret")
    assert answer.status_code == 200 and answer.headers["cache-control"] == "no-store"
    found = json.loads(answer.body)
    assert [picture["alt"] for picture in found["pictures"]] == ["at 1.5"] and found["more"] is True
    assert asked("public").status_code == 204
    offer.given_up = True
    assert asked("secret").status_code == 204
    del offer
    deadline = time.monotonic() + 120
    while "secret" in prefetch._OFFERED and time.monotonic() < deadline:  # the thread that drew lets it go in a moment
        gc.collect()  # an iterator holds it
        time.sleep(0.01)
    assert "secret" not in prefetch._OFFERED, "no longer than its session"


def test_a_closed_page_wants_nothing_more():
    def draw(controls, cancelled):
        deadline = time.monotonic() + 120
        while not cancelled():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        raise CancelledError

    offer = prefetch._OFFERED["secret"] = ahead(draw)
    assert asked("secret", stays=False).status_code == 204
    assert offer.given_up


def test_a_crowd_comes_first():
    offer = prefetch._OFFERED["secret"] = ahead()
    now = time.monotonic()
    soon = now + 3_600.0  # however long this test takes
    prefetch._MOVES.extend([(now - 60.0, "long ago"), (soon, "one"), (soon, "one"), (soon, "another")])
    assert asked("secret").status_code == 200
    prefetch._MOVES.append((soon, "a third"))
    assert asked("secret").status_code == 204
    assert not offer.given_up, "it may ask again"


def test_an_answer_in_the_background_is_waited_for_and_left():
    question = AccuracyQuestion("classes", (2,), Records("gaussian_classes", 150, 31), epsilon=1.0, delta=1e-5)
    with pytest.raises(CancelledError):
        prefetch.answered(question, lambda: True)
    assert SHARED.job_of(question).rests, "nobody waits for it any more"
    found = prefetch.answered(question, lambda: False).snapshot
    assert found.datasets == question.datasets, "the whole answer"


def heroes(app) -> dict[str, dict[str, object]]:
    """What the page shows, by the sentence and the place of epsilon's slider."""
    sent = [json.loads(element.proto.json) for element in app.get("bidi_component") if element.proto.json]
    return {picture["alt"]: picture for picture in sent if "figure" in picture}


def test_another_view_begins_with_the_pictures_beside_its_epsilon():
    app = finished(open_app("perturbation/page.py", n=300, place="output", delta=1e-5))

    def offered() -> str:
        _, slider, _ = app.session_state[prefetch._MOVED]
        return slider

    assert offered() == "epsilon"
    app.session_state["delta"] = 1e-6
    finished(app.run())
    assert offered() == "delta"
    app.session_state["seed"] = 8
    finished(app.run())
    assert offered() == "delta", "chance is no slider"
    texts, _, up = app.session_state[prefetch._MOVED]
    app.session_state[prefetch._MOVED] = texts | {"n": "12,345"}, "delta", up
    finished(app.run())
    assert offered() == "n", "from a place that the slider no longer has"
    app.switch_page("geometry/page.py")
    finished(app.run())
    assert offered() == "epsilon"


def test_records_that_a_visitor_has_brought_along_are_drawn_when_they_are_asked_for_and_only_then(monkeypatch):
    monkeypatch.setattr(loss_curve, "SPLITS", 2)
    said = Declared(("age", "dose"), (0.0, 0.0), (100.0, 1.0), "yes")
    held = UploadedRecords(read_table(people(), "people.csv", "sick"), said, "people.csv")
    monkeypatch.setattr("pages.ui.pickers.pick_source_or_file", lambda *_: get_source(held.key))
    app = finished(open_app("decide/page.py"))
    assert prefetch.OFFERS not in app.session_state
    found = heroes(app).values()
    assert found and {picture["ahead"] for picture in found} == {""}
