"""A room as a class meets it: phones without a session, the teacher's screen, and the coin that a phone flips."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from playwright.sync_api import BrowserContext, Page, Route, expect
from scipy.stats import binomtest
from starlette.applications import Starlette

from dpcore.studies.survey.coin import coin_for
from pages.rooms import room, routes
from pages.rooms.room import Asked, Room
from pages.server.host_guard import HostGuard

from ..harness import Server, free_port
from .looks import NewPage
from .readable import violations

pytestmark = pytest.mark.browser

COIN = coin_for(1.0)
PRIVATE = Asked("survey/1", "Have you ever?", ("Yes", "No"), None, COIN.keep)


@pytest.fixture(scope="module")
def phones() -> Iterator[str]:
    """The address of a server that has rooms and nothing else."""
    port = free_port()
    app = HostGuard(Starlette(routes=routes.routes("/")))
    serving = uvicorn.Server(uvicorn.Config(app, "localhost", port, log_level="error"))
    thread = threading.Thread(target=serving.run, daemon=True)
    thread.start()
    while not serving.started:
        time.sleep(0.01)
    yield f"http://localhost:{port}"
    serving.should_exit = True
    thread.join()


@pytest.fixture
def opened() -> Iterator[Room]:
    held = room.open_room()
    held.ask(PRIVATE)
    yield held


def joined(page: Page, address: str, code: str) -> None:
    page.goto(f"{address}/join?room={code}")
    expect(page.locator("#words")).not_to_be_empty()


def is_counted(page: Page) -> None:
    expect(page.get_by_role("status")).to_have_text("The server has counted it.")


# The teacher and a phone.


def open_room(teacher: Page, address: str) -> str:
    """Open a lecture and a room in it; returns the room's code."""
    teacher.goto(address)
    teacher.get_by_role("button", name="Open a room").click()
    code = teacher.get_by_role("dialog").locator(".room-code").inner_text()
    expect(teacher.get_by_role("dialog")).to_contain_text("--server.address 0.0.0.0")
    teacher.keyboard.press("Escape")
    expect(teacher.get_by_role("dialog")).to_have_count(0)
    return code


def test_a_phone_votes_once_and_the_screen_counts_and_shows_what_is_right(
    server: Server, new_page: NewPage, complaints: list[str]
):
    teacher = new_page()
    code = open_room(teacher, f"{server.url}/?lecture=overview&step=4")
    phone, sent = new_page(390, 844, "dark"), list[str]()
    phone.on("pageerror", lambda error: complaints.append(str(error)))
    phone.on("request", lambda it: sent.append(it.post_data or "") if it.method == "POST" else None)
    phone.goto(f"{server.url}/join")
    phone.get_by_label("Code on the screen").fill(code.lower())
    phone.get_by_role("button", name="Join").click()
    answers = phone.locator("#answers button")
    expect(answers).to_have_count(3)
    assert violations(phone) == []
    answers.nth(1).click()
    is_counted(phone)
    assert violations(phone) == []
    joined(phone, server.url, code)  # again, as another tab of the same browser would
    expect(phone.locator(".sent")).to_have_text("Sent: about a fifth as large")
    is_counted(phone)
    assert len(sent) > 1 and len(set(sent)) == 1
    assert re.fullmatch(r'\{"phone":"[0-9a-f]{32}","question":"overview/4","answer":1\}', sent[0])

    teacher.bring_to_front()
    expect(teacher.locator(".room-answer b")).to_have_text(["0", "1", "0"])
    teacher.keyboard.press("PageDown")
    expect(teacher.locator(".room-right")).to_have_text("about a twenty-fifth as large0")
    phone.bring_to_front()
    expect(phone.locator("#words")).to_contain_text("Look at the screen.")
    teacher.bring_to_front()
    teacher.get_by_role("button", name=f"Room {code}").click()
    teacher.get_by_role("button", name="Close the room").click()
    expect(teacher.get_by_role("button", name="Open a room")).to_be_visible()
    expect(teacher.get_by_role("dialog")).to_have_count(0)
    phone.bring_to_front()
    expect(phone.get_by_role("status")).to_contain_text("the room has ended")
    assert complaints == [] and "Traceback" not in server.log.read_text()


# The coin.

COIN_FILE = f"/{routes.ASSETS}/coin.js"
FLIPS = """async ([file, keep, runs]) => {
    const { randomised } = await import(file);
    const yes = answer => {
        let count = 0;
        for (let k = 0; k < runs; k++) count += randomised(answer, keep) === 0;
        return count;
    };
    return [yes(0), yes(1)];
}"""
EDGES = """async ([file, keep]) => {
    const { randomised } = await import(file);
    const sent = draw => {
        crypto.getRandomValues = words => words.fill(draw);
        return [randomised(0, keep), randomised(1, keep)];
    };
    const found = [0, keep - 1, keep, 2 ** 32 - 1].map(sent);
    delete crypto.getRandomValues;
    return found;
}"""
SAID = """async ([file, keep]) => {
    const { isFair, epsilonOf, percentKept } = await import(file);
    const unfair = [2 ** 31 - 1, 2 ** 32, 2 ** 31 + 0.5, null, "3"].map(isFair);
    return [epsilonOf(keep), percentKept(keep), unfair, isFair(keep)];
}"""


@pytest.mark.parametrize("epsilon", [0.5, pytest.param(3.0, marks=pytest.mark.nightly)])
def test_the_coin_of_a_phone_has_the_law_that_is_claimed(phones: str, new_page: NewPage, epsilon: float):
    """Exact at its threshold, and audited: runs neither refute epsilon nor leave room for a coin with less noise."""
    coin, page, runs = coin_for(epsilon), new_page(390, 844), 100_000
    page.goto(f"{phones}/join")
    assert page.evaluate(EDGES, [COIN_FILE, coin.keep]) == [[0, 1], [0, 1], [1, 0], [1, 0]]
    yes, no = page.evaluate(FLIPS, [COIN_FILE, coin.keep, runs])
    for count, p in ((yes, coin.p), (no, 1.0 - coin.p)):
        assert binomtest(count, runs, p).pvalue > 1e-6
    true, false = (binomtest(count, runs).proportion_ci(1 - 1e-6, "exact") for count in (yes, no))
    assert math.log(true.low / false.high) <= epsilon <= math.log(true.high / false.low)
    assert math.log(true.high / false.low) - math.log(true.low / false.high) < 0.2 * max(1.0, epsilon)
    loss, percent, unfair, fair = page.evaluate(SAID, [COIN_FILE, coin.keep])
    assert loss == pytest.approx(coin.epsilon) and percent == pytest.approx(100 * coin.p)
    assert unfair == [False] * 5 and fair


ALWAYS_FLIP = "() => { crypto.getRandomValues = words => words.fill(2 ** 32 - 1) }"
NEVER_FLIP = "() => { crypto.getRandomValues = words => words.fill(0) }"
KEPT = "Object.fromEntries(Object.entries(localStorage))"


def test_a_true_answer_stays_on_the_phone_and_what_is_sent_is_drawn_once(
    phones: str, opened: Room, browser: BrowserContext, new_page: NewPage
):
    page, sent, broken = new_page(390, 844), list[str](), [True]

    def on_vote(route: Route) -> None:
        sent.append(route.request.post_data or "")
        route.abort() if broken[0] else route.continue_()

    page.route("**/vote", on_vote)
    joined(page, phones, opened.code)
    expect(page.locator("#coin")).to_contain_text("with probability 73.1%")
    page.evaluate(ALWAYS_FLIP)
    page.get_by_role("button", name="Yes").click()
    expect(page.locator(".sent")).to_have_text("Sent: No")
    expect(page.get_by_role("status")).to_contain_text("No connection.")
    kept = page.evaluate(KEPT)
    key = f"answer {opened.code} {PRIVATE.name}"
    assert kept == {f"phone {opened.code}": kept[f"phone {opened.code}"], key: "1"}, "and not what was tapped"
    assert opened.counts(PRIVATE.name) == (0, 0), "stored, and not sent yet"

    broken[0] = False
    joined(page, phones, opened.code)  # a new page, that would draw otherwise
    page.evaluate(NEVER_FLIP)
    expect(page.locator(".sent")).to_have_text("Sent: No")
    is_counted(page)
    assert opened.counts(PRIVATE.name) == (0, 1) and len(sent) > 1 and len(set(sent)) == 1
    assert json.loads(sent[0])["answer"] == 1

    # Whoever makes the phone forget its message draws again, and the room refuses the second.
    page.evaluate(f"localStorage.removeItem({key!r})")
    joined(page, phones, opened.code)
    page.evaluate(NEVER_FLIP)
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_role("status")).to_have_text("The first answer of this phone counts already.")
    assert opened.counts(PRIVATE.name) == (0, 1)
    expect(page.locator("#rule")).to_contain_text("a private window or another browser")


def test_a_phone_that_keeps_nothing_or_gets_an_unfair_coin_sends_nothing(phones: str, opened: Room, new_page: NewPage):
    page = new_page(390, 844)
    page.goto(f"{phones}/join")
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error() } }")
    page.get_by_label("Code on the screen").fill(opened.code)
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("status")).to_contain_text("This browser keeps nothing")
    assert page.locator("#answers button").count() == 0
    opened.ask(Asked("survey/2", "And this?", ("Yes", "No"), None, 2**32))
    joined(page, phones, opened.code)
    expect(page.locator("#coin")).to_have_text("The coin of this question is not fair: this phone does not answer it.")
    assert page.locator("#answers button").count() == 0
