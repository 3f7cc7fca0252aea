"""A browser, and a page that notes everything a visitor's console would complain about."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from ..harness import FLAGS, find_browser

expect.set_options(timeout=20_000)  # a busy machine is no defect


# For the package, not the session: while Playwright runs, no other test could use asyncio in this thread.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=find_browser(), args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture
def complaints() -> list[str]:
    """Console errors, uncaught exceptions and requests that leave this computer; must end empty.

    A test that provokes one clears the list.
    """
    return []


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    def note_console(message: ConsoleMessage) -> None:
        # On a deep link Streamlit first looks for its server below the page's own address.
        probe = message.location["url"].endswith(("/_stcore/health", "/_stcore/host-config"))
        if message.type == "error" and not probe:
            complaints.append(message.text)

    def note_request(request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.hostname != "localhost":
            complaints.append(f"request to {request.url}")

    context = browser.new_context(viewport={"width": 1440, "height": 900})
    opened = context.new_page()
    opened.on("console", note_console)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", note_request)
    yield opened
    context.close()
    assert not complaints
