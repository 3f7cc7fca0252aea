"""The page Survey: what it says of a simulated class and of the phones of a room, and that its lecture is true."""

from __future__ import annotations

import re

import pytest

from dpcore.studies.survey.coin import coin_for
from dpcore.studies.survey.estimates import central_bound, error_bound, people_needed, simulated, survey_of
from pages.lectures.stories import STORIES
from pages.rooms import room
from pages.rooms.room import Asked, Room
from pages.survey import words
from tests.page_driver import captions, charts, open_script, said, texts

from .test_lectures import answer, open_step, state

PAGE = "survey/page.py"


def answered(*, yes: int, no: int, keep: int) -> Room:
    held = room.open_room()
    held.ask(Asked("survey/1", "Have you ever?", ("Yes", "No"), None, keep))
    for phone in range(yes + no):
        held.vote("survey/1", str(phone), int(phone >= yes))
    return held


def test_without_phones_the_class_is_simulated_and_says_so():
    page = open_script(PAGE, n=100, share=60, epsilon=2.0, seed=3)
    found = simulated(100, 0.6, 2.0, 3)
    assert "Simulated class, without phones (seed 3): 100 people, 60% of whom would truly say yes." in captions(page)
    assert f"{found.yes} of 100 messages say yes: the estimate is {100 * found.estimate:.0f}%" in captions(page)
    assert "Your room" not in captions(page) and len(charts(page)) == 2


@pytest.mark.parametrize("n, epsilon", [(10, 0.01), (50, 0.1), (50, 1.0), (500, 3.0), (50, 10.0)])
def test_the_headline_has_both_error_bounds(n: int, epsilon: float):
    page = open_script(PAGE, n=n, epsilon=epsilon)
    coin = coin_for(epsilon)
    local, central = error_bound(n, coin), central_bound(n, epsilon)
    kept = float(re.search(r"with probability ([\d.]+)%", said(page))[1])  # type: ignore[index]
    assert kept == pytest.approx(100 * coin.p, rel=0.001) and kept < 100.0
    for bound in (local, central):
        assert (f"±{words.points(bound)}" in said(page)) == (bound < 0.5)
    assert ("no more than a guess" in said(page)) == (local >= 0.5)
    fewer = local < 0.5 and people_needed(local, epsilon) < n
    assert (f"needs only {people_needed(local, epsilon)} " in said(page)) == fewer


def test_the_phones_of_a_room_are_the_data_set_and_the_slider_leaves_their_coin_alone():
    held, coin = answered(yes=12, no=15, keep=coin_for(1.0).keep), coin_for(1.0)
    found = survey_of(12, 27, coin)
    for epsilon in (1.0, 3.0):
        page = open_script(PAGE, room=held, epsilon=epsilon)
        assert not page.exception
        told = captions(page)
        assert "Your room, which was asked “Have you ever?” with the coin of ε = 1 (" in told
        assert f"12 of 27 messages say yes: the estimate is {100 * found.estimate:.0f}%" in told
        assert "Simulated" not in told and "true share of the simulated class" not in str(charts(page))
        assert held.code in texts(page)
    page = open_script(PAGE, room=held, behind="Code")
    assert "survey_of(12, 27, Coin(keep=" in page.code[0].value
    exec(page.code[0].value.replace(".show()", ""), {})


def test_the_lecture_asks_with_the_coin_of_its_step_and_nobody_answers_by_hand():
    page = open_step("survey", "1")
    assert "the next step shows a simulated class" in texts(page)
    assert not [button for button in page.button if str(button.key).startswith("option_")]
    page.button("room_button").click().run()
    held = page.session_state["room"]
    assert held.asked.keep == coin_for(state("survey", 1)["epsilon"]).keep and held.asked.right is None
    for phone in range(9):
        held.vote("survey/1", str(phone), int(phone > 3))
    page.button("next").click().run()
    assert "4 of 9 messages say yes" in captions(page) and "The picture says" not in texts(page)
    assert "9 phones" in texts(page)


def test_the_lecture_is_true():
    small, large = (state("survey", step) for step in (4, 5))
    ratio = error_bound(large["n"], coin_for(1.0)) / error_bound(small["n"], coin_for(1.0))
    assert answer("survey", 4) == "about half as large" and 0.4 < ratio < 0.6
    asked = state("survey", 6)
    needed = people_needed(error_bound(asked["n"], coin_for(asked["epsilon"])), asked["epsilon"])
    assert answer("survey", 6) == "fewer than a fifth of them" and needed < asked["n"] / 5
    last = state("survey", 8)
    assert error_bound(last["n"], coin_for(last["epsilon"])) > 0.5 > central_bound(last["n"], last["epsilon"])
    private = STORIES["survey"].steps[0].question
    assert private and private.answer is None and private.options == ("Yes", "No")
