"""Controls that the server sets, and messages that the browser sent before it showed them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from pages.ui import set_controls
from pages.ui.set_controls import RUN

from ..page_driver import open_source, press, pressed

PAGE = """
import streamlit as st
from pages.ui import chips, set_controls, share_link, url_controls

chips.begin()
set_controls.begin()
share_link.begin("")
chips.chips(CHIPS.items())
st.button("next", key="next", on_click=set_controls.set_address, args=({"step": "2"},))
epsilon = url_controls.slider("epsilon", "budget", (1, 2, 3, 4), 1)
noise = url_controls.select("noise", "noise", ("gaussian", "gamma", "laplace"), "gaussian")
st.caption(f"{epsilon} {noise}{st.query_params.get('step', '')}")
set_controls.end()
"""
CHIPS = {"gamma": {"noise": "gamma"}, "both": {"noise": "laplace", "epsilon": 4}, "first": {"epsilon": 1}}


class Browser:
    """What a browser shows and says, which may be behind the server's last answer."""

    def __init__(self) -> None:
        self.page = open_source(f"CHIPS = {CHIPS}\n{PAGE}")
        self.presses: list[Any] = []
        self.lost = False  # the next message, since the one after it comes before the page has begun to run
        self.says: dict[str, WidgetState] = {}
        self.answers = [self._answer()]  # that are on their way: what each sets
        self.hear()

    def _answer(self) -> dict[str, WidgetState]:
        states = {state.id: state for state in self.page._tree.get_widget_states().widgets}
        controls = [*self.page.select_slider, *self.page.selectbox, *self.page.number_input]
        return {it.id: states[it.id] for it in controls if it.proto.set_value or it.id not in self.says}

    def hear(self, answers: int = 1) -> None:
        """Show answers that come together: the last one."""
        *_, last = self.answers[:answers]
        del self.answers[:answers]
        self.says |= last

    def catch_up(self) -> None:
        """Show the server's last answer."""
        while self.answers:
            self.hear()

    @property
    def shows(self) -> dict[str, str]:
        """What the slider shows."""
        return {"epsilon": self.says[self.page.select_slider(key="epsilon").id].string_array_value.data[0]}

    def press(self, chip: str) -> None:
        self.presses = [*self.presses, press(chip, **self.shows)]
        self._send(pressed(self.page, *self.presses))

    def turn_step(self) -> None:
        self._send(self.page.button(key="next").click()._widget_state)

    def move(self, epsilon: int) -> None:
        self._send(self.page.select_slider(key="epsilon").set_value(epsilon)._widget_state)

    def pick(self, noise: str) -> None:
        self._send(self.page.selectbox(key="noise").set_value(noise)._widget_state)

    def say_the_number(self, run: int) -> None:
        self._send(self.page.number_input(key=RUN).set_value(run)._widget_state)

    def poll(self) -> None:
        self._send()

    def _send(self, *done: WidgetState) -> None:
        """A message: what the browser shows, and what the reader does to it."""
        self.says |= {state.id: state for state in done}
        if not self.lost:
            self.page._run(WidgetStates(widgets=list(self.says.values())))
            assert not self.page.exception
            self.answers.append(self._answer())
        self.lost = False
        self.says = {key: state for key, state in self.says.items() if not state.trigger_value}

    @property
    def told(self) -> str:
        return self.page.caption[-1].value


@pytest.fixture
def browser() -> Browser:
    """One that says which run it has shown: the first run sends 0."""
    made = Browser()
    made.poll()
    made.catch_up()
    return made


def test_a_chip_is_not_undone_by_a_message_that_was_sent_before_it_was_shown(browser):
    browser.press("gamma")
    browser.move(3)
    assert browser.told == "3 gamma"
    browser.poll()
    browser.catch_up()
    browser.poll()
    assert browser.told == "3 gamma"


@pytest.mark.parametrize("before", [1, 2])
def test_what_the_reader_moves_while_a_chip_is_on_its_way_stays(browser, before):
    """The chip's answer sets the slider once more, also to what it showed when the chip was pressed."""
    if before != 1:
        browser.move(before)
        browser.catch_up()
    browser.press("first")
    browser.move(3)
    assert browser.told == "3 gaussian"
    browser.catch_up()
    assert browser.shows == {"epsilon": "3"}
    browser.poll()
    assert browser.told == "3 gaussian"


def test_what_the_reader_picks_after_a_chip_counts_also_before_the_chip_is_shown(browser):
    browser.press("gamma")
    browser.pick("laplace")
    assert browser.told == "1 laplace"


def test_a_chip_counts_whose_message_is_lost(browser):
    browser.lost = True
    browser.press("both")
    browser.move(3)
    assert browser.told == "3 laplace"


def test_a_chip_counts_for_a_slider_that_was_moved_before_it(browser):
    browser.lost = True
    browser.move(3)
    browser.press("both")
    assert browser.told == "4 laplace"


def test_what_a_control_showed_before_an_earlier_chip_can_be_picked_again(browser):
    browser.move(2)
    browser.press("both")
    browser.catch_up()
    browser.press("first")
    browser.move(2)
    assert browser.told == "2 laplace"


def test_the_number_of_the_run_is_what_tells(browser):
    """Without it the same message undoes the chip."""
    browser.press("gamma")
    browser.say_the_number(1_000)
    assert browser.told == "1 gaussian"


def test_a_run_that_was_cut_off_before_it_said_its_number_does_not_count_as_shown(browser, monkeypatch):
    monkeypatch.setattr(set_controls, "is_drawn", lambda key: None)
    monkeypatch.setattr(set_controls, "end", lambda: None)
    browser.press("gamma")
    monkeypatch.undo()
    browser.catch_up()
    browser.says = {key: state for key, state in browser.says.items() if "noise" not in key}
    browser.poll()
    assert browser.told == "1 gamma"


def test_a_browser_that_has_shown_no_run_to_its_end_is_not_taken_to_have_shown_one(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(set_controls, "end", lambda: None)  # the reader moves on before the first run ends
        browser = Browser()
    browser.press("gamma")
    browser.poll()
    assert browser.told == "1 gamma"


ONE_BY_ONE = """
import streamlit as st
from pages.ui import set_controls, share_link, url_controls

set_controls.begin()
share_link.begin("")
turned = st.checkbox("turned", key="turned")
if turned:
    set_controls.set_controls({"epsilon": 4})
epsilon = url_controls.slider("epsilon", "budget", (1, 2, 3, 4), 1)
if turned:
    set_controls.set_controls({"noise": "laplace"})
noise = url_controls.select("noise", "noise", ("gaussian", "gamma", "laplace"), "gaussian")
st.caption(f"{epsilon} {noise}")
set_controls.end()
"""


def test_the_number_of_a_run_says_nothing_about_what_is_set_after_it_was_sent():
    page = open_source(ONE_BY_ONE)
    page.checkbox(key="turned").check().run()
    assert page.caption[-1].value == "4 laplace"
    page.checkbox(key="turned").uncheck()
    page.selectbox(key="noise").set_value("gaussian").run()  # as the browser shows that has heard half of the run
    assert page.caption[-1].value == "4 laplace"


@pytest.mark.parametrize("seed", range(40))
def test_in_every_order_what_was_asked_for_last_is_shown(seed):
    chance, browser, wanted = random.Random(seed), Browser(), {"epsilon": 1, "noise": "gaussian"}
    for _ in range(12):
        heard = True
        match chance.choice(("press", "move", "move", "poll", "hear", "hear")):
            case "press":
                chip = chance.choice(list(CHIPS))
                heard = chance.random() > 0.3
                browser.lost = not heard
                browser.press(chip)
                wanted |= CHIPS[chip]
            case "move":
                epsilon = chance.choice([place for place in (2, 3) if str(place) != browser.shows["epsilon"]])
                wanted["epsilon"] = epsilon
                browser.move(epsilon)
            case "poll":
                browser.poll()
            case "hear":
                if browser.answers:
                    browser.hear(chance.randint(1, 3))
                heard = False
        if heard:
            assert browser.told == "{epsilon} {noise}".format(**wanted)
    browser.poll()
    browser.catch_up()
    browser.poll()
    assert browser.told == "{epsilon} {noise}".format(**wanted)
    assert browser.shows == {"epsilon": str(wanted["epsilon"])}


def test_a_step_of_a_lecture_is_not_taken_back_by_an_older_address(browser):
    browser.turn_step()
    assert browser.told == "1 gaussian2"
    browser.page.query_params.clear()  # as the browser says that has not heard of it
    browser.poll()
    assert browser.told == "1 gaussian2"
    browser.catch_up()
    browser.page.query_params.clear()  # and as it says when the reader has left
    browser.poll()
    assert browser.told == "1 gaussian"
