"""A room as a class meets it: phones without a session, the teacher's screen, and the coin that a phone flips."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from ..harness import Server, fork
from ..light_app import write_light_app
from .looks import NewPage
from .test_accessibility import violations

pytestmark = pytest.mark.browser

# A teacher who has gone is missed after a moment.
HASTE = """
from pages.server import upload_lifetime
upload_lifetime.LEFT_SECONDS, upload_lifetime.CHECK_SECONDS = 0.5, 0.1
"""


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    script = write_light_app(tmp_path_factory.mktemp("room"))
    script.write_text(HASTE + script.read_text(encoding="utf-8"), encoding="utf-8")
    with fork(script) as running:
        yield running


def open_room(teacher: Page, address: str) -> str:
    """Open a lecture and a room in it; returns the room's code."""
    teacher.goto(address)
    teacher.get_by_role("button", name="Open a room").click()
    code = teacher.get_by_role("dialog").locator(".room-code").inner_text()
    expect(teacher.get_by_role("dialog")).to_contain_text("--server.address 0.0.0.0")
    teacher.keyboard.press("Escape")
    expect(teacher.get_by_role("dialog")).to_have_count(0)
    return code


def counts_are(teacher: Page, *counts: int) -> None:
    expect(teacher.locator(".room-answer b")).to_have_text([str(count) for count in counts])


def test_phones_vote_once_and_the_screen_counts_until_the_teacher_goes(
    hasty: Server, new_page: NewPage, complaints: list[str]
):
    teacher = new_page()
    code = open_room(teacher, f"{hasty.url}/?lecture=overview&step=1")
    phone = new_page(390, 844, "dark")
    phone.on("pageerror", lambda error: complaints.append(str(error)))
    sent: list[str] = []
    phone.on("request", lambda it: sent.append(it.post_data or "") if it.method == "POST" else None)
    phone.goto(f"{hasty.url}/join")
    phone.get_by_label("Code on the screen").fill(code.lower())
    phone.get_by_role("button", name="Join").click()
    answers = phone.locator("#answers button")
    expect(answers).to_have_count(3)
    assert violations(phone) == []
    answers.nth(1).click()
    expect(phone.get_by_role("status")).to_have_text("The server has counted it.")
    for again in (phone, new_page(390, 844)):  # of one browser, whose second tab knows what was sent
        again.bring_to_front()
        again.goto(f"{hasty.url}/join?room={code}")
        expect(again.locator(".sent")).to_have_text("Sent: more than 10 percentage points of accuracy")
        expect(again.get_by_role("status")).to_have_text("The server has counted it.")
    assert len(set(sent)) == 1 and re.fullmatch(
        r'\{"phone":"[0-9a-f]{32}","question":"overview/1","answer":1\}', sent[0]
    )
    assert violations(phone) == []

    teacher.bring_to_front()
    counts_are(teacher, 0, 1, 0)
    teacher.keyboard.press("PageDown")
    expect(teacher.locator(".room-right")).to_have_text("more than 10 percentage points of accuracy1")
    phone.bring_to_front()
    expect(phone.locator("#words")).to_contain_text("Look at the screen.")
    teacher.close()
    expect(phone.get_by_role("status")).to_contain_text("the room has ended")
    assert complaints == [] and "Traceback" not in hasty.log.read_text()
