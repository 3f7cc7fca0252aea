"""What a visitor chose last is what is shown, in whatever order messages meet and however busy the machine is."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, expect

from ..harness import ROOT, Server
from ..page_driver import LIVE
from .looks import NewPage, until
from .test_live_figure import Line

pytestmark = pytest.mark.browser

SLIDER = ".st-key-{} input[type=range]"
# The controls as the server understood them when it drew the page's first chart.
UNDERSTOOD = "document.querySelector('.live-figure')?.latest?.state ?? {}"
AS_ASKED = f"""wanted => {{
    const now = {UNDERSTOOD};
    return "epsilon" in now && Object.entries(wanted).every(([key, said]) => !(key in now) || now[key] === said);
}}"""
AT_REST = """document.querySelector("[data-testid=stApp]").dataset.testScriptState === "notRunning"
    && !("ahead" in document.documentElement.dataset)"""


def open_page(page: Page, server: Server, path: str) -> None:
    page.goto(f"{server.url}/{'' if path == 'overview' else path}")
    page.locator(".live-figure .main-svg").first.wait_for(timeout=120_000)
    until(page, AT_REST, seconds=120.0)


def chips_of(path: str) -> dict[str, dict[str, object]]:
    """label -> control -> value, of the chips that a page reads from a file."""
    found: dict[str, dict[str, object]] = {}
    for file in sorted((ROOT / "pages" / path).glob("*chips.json")):
        found |= json.loads(file.read_text(encoding="utf-8"))
    return found


class Reader:
    """Presses chips and moves sliders, and knows what the page must show in the end.

    meanings: chip -> control -> how the address says what the chip sets, as a page at rest has shown it.
    """

    def __init__(self, page: Page, path: str, chance: random.Random) -> None:
        self.page, self.path, self.chance = page, path, chance
        self.meanings: dict[str, dict[str, str]] = {}
        self.wanted: dict[str, str] = {}

    def learn(self) -> None:
        """Press each chip once, and look at what it sets."""
        for label, values in chips_of(self.path).items():
            chip = self.page.get_by_role("button", name=label, exact=True)
            if chip.count() != 1:  # of another view
                continue
            chip.click()
            self.page.wait_for_timeout(500)
            until(self.page, AT_REST, seconds=120.0)
            state = self.page.evaluate(UNDERSTOOD)
            # Not p, for which another view may have to take the nearest that its scale has.
            self.meanings[label] = {key: state[key] for key in values if key in state and key != "p"}

    def act(self) -> None:
        self.page.bring_to_front()  # behind another tab timers are slow
        sliders = [
            key for key in ("epsilon", "delta", "n") if self.page.locator(f"{SLIDER.format(key)}:enabled").count()
        ]
        chips = [label for label, meaning in self.meanings.items() if meaning]
        if chips and self.chance.random() < 0.5:
            label = self.chance.choice(chips)
            self.page.get_by_role("button", name=label, exact=True).click()
            self.wanted |= self.meanings[label]
        else:
            key = self.chance.choice(sliders)
            slider = self.page.locator(SLIDER.format(key))
            before = slider.get_attribute("aria-valuetext")
            slider.press(self.chance.choice(("ArrowRight", "ArrowLeft")))
            said = slider.get_attribute("aria-valuetext")
            if said != before:  # else it stood at its end, or a chip that is not shown yet has moved it
                self.wanted[key] = str(said)

    def check(self) -> None:
        """Chart, controls, headline and address say what was asked for, of the controls that the view has."""
        self.page.bring_to_front()
        until(self.page, AS_ASKED, arg=self.wanted, seconds=120.0)
        until(self.page, AT_REST, seconds=120.0)
        self.page.wait_for_timeout(1_500)  # what would undo it comes within two polls
        until(self.page, AT_REST, seconds=120.0)
        understood = self.page.evaluate(UNDERSTOOD)
        there = self.wanted.keys() & understood.keys()
        assert {key: understood[key] for key in there} == {key: self.wanted[key] for key in there}
        for key in there & {"epsilon", "delta", "n"}:
            expect(self.page.locator(SLIDER.format(key))).to_have_attribute("aria-valuetext", self.wanted[key])
        if self.path == "overview":
            expect(self.page.locator(".takeaway").first).to_contain_text(f"ε = {understood['epsilon']}")


@contextmanager
def busy_loops(each_core: int) -> Iterator[None]:
    """So many processes a core that do nothing but work, as long as the block runs."""
    loops = [multiprocessing.Process(target=_loop, daemon=True) for _ in range(each_core * (os.cpu_count() or 1))]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()


def _loop() -> None:
    until = time.monotonic() + 3_600.0
    while time.monotonic() < until:
        pass


@pytest.mark.usefixtures("own_tab")
@pytest.mark.parametrize(
    ("path", "key", "labels"),
    [
        ("audit", "epsilon", ("80% of the noise, few runs", "a factor 2 is missing")),
        ("survey", "n", ("ten people at ε = 0.1", "nobody says yes")),
    ],
)
def test_a_chip_stays_whose_answer_comes_after_the_next_move(
    server: Server, page: Page, path: str, key: str, labels: tuple[str, ...]
):
    """The browser's next messages still say what the controls showed before the chip, which sets the slider, too."""
    line = Line(page)
    open_page(page, server, path)
    reader = Reader(page, path, random.Random(1))
    reader.learn()
    for chip in labels:
        line.hold()
        page.get_by_role("button", name=chip, exact=True).click()
        reader.wanted |= reader.meanings[chip]
        line.answered(page)
        slider = page.locator(SLIDER.format(key))
        slider.press("ArrowRight")
        reader.wanted[key] = said = str(slider.get_attribute("aria-valuetext"))
        # The slider tells the server, and the address, a moment later.
        until(page, "([key, said]) => new URLSearchParams(location.search).get(key) === said", arg=[key, said])
        line.let_go(page)
        reader.check()
        address = parse_qs(page.evaluate("location.search.slice(1)"))
        assert key in address
        assert all(said == [reader.wanted.get(name, *said)] for name, said in address.items()), address


@pytest.mark.usefixtures("own_tab")
def test_a_chip_counts_whose_message_is_lost(server: Server, page: Page):
    """As it is where the next one comes before the page has begun to run."""
    line = Line(page)
    open_page(page, server, "audit")
    reader = Reader(page, "audit", random.Random(1))
    reader.learn()
    line.lost = chip = "80% of the noise, few runs"
    page.get_by_role("button", name=chip, exact=True).click()
    while line.lost:
        page.wait_for_timeout(20)
    reader.wanted |= reader.meanings[chip]
    slider = page.locator(SLIDER.format("epsilon"))
    slider.press("ArrowRight")
    reader.wanted["epsilon"] = str(slider.get_attribute("aria-valuetext"))
    reader.check()


@pytest.mark.parametrize("path", ["perturbation"])
def test_ten_quick_picks_end_in_what_was_asked_for_last(server: Server, page: Page, path: str):
    open_page(page, server, path)
    reader = Reader(page, path, random.Random(2))
    reader.learn()
    for _ in range(10):
        reader.act()
        page.wait_for_timeout(reader.chance.choice((0, 50, 300)))
    reader.check()


@pytest.mark.nightly
def test_two_hundred_picks_beside_a_busy_machine(server: Server, page: Page, new_page: NewPage):
    chance = random.Random(int(time.time()))
    other = new_page()
    readers = [Reader(page, path, chance) for path in LIVE if path != "survey"]
    done = 0
    for reader in readers:
        open_page(page, server, reader.path)
        reader.learn()
        open_page(other, server, reader.path)
        beside = Reader(other, reader.path, chance)
        beside.meanings = reader.meanings
        with busy_loops(4):
            for _ in range(-(-200 // len(readers))):
                reader.act()
                beside.act()
                page.wait_for_timeout(chance.choice((0, 200, 1_000)))
                if chance.random() < 0.3:
                    reader.check()
                done += 1
            reader.check()
            beside.check()
    assert done >= 200
