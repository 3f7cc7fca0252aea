"""A browser, and a page that notes everything a visitor's console would complain about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    expect,
    sync_playwright,
)

from dpcore.figures.style import Theme

from ..harness import FLAGS, ROOT, Server, find_browser, fork, free_port
from ..light_app import write_light_app
from .looks import NewPage

PATIENCE = 120_000  # ms: a busy machine is no defect
expect.set_options(timeout=PATIENCE)


# For the package, not the session: while Playwright runs, no other test could use asyncio in this thread.
@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """One for all tests, with a profile on disk: the compiled scripts in it save each new page a second of work."""
    profile = tmp_path_factory.mktemp("profile")
    with sync_playwright() as playwright:
        start = playwright.chromium.launch_persistent_context
        with start(profile, executable_path=find_browser(), args=list(FLAGS)) as running:
            running.set_default_timeout(PATIENCE)
            yield running


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The dashboard, with short attacks, on one server for all tests here."""
    with fork(write_light_app(tmp_path_factory.mktemp("light"))) as running:
        yield running


@pytest.fixture(scope="package")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same below a base path, with pictures ahead, whoever else has just been there."""
    with fork(write_light_app(tmp_path_factory.mktemp("below"), crowd=100), base="/base") as running:
        yield running


@pytest.fixture
def fresh_server() -> Iterator[Server]:
    """The dashboard as it is, while nobody has asked it anything yet."""
    with fork(ROOT / "app.py") as running:
        yield running


@pytest.fixture(scope="package")
def port() -> int:
    """Where one small dashboard after another is served: the browser has compiled what it loads from this address."""
    return free_port()


@pytest.fixture(scope="package")
def tabs() -> list[Page]:
    """Those that are free: to open a page in one that has shown another halves its work."""
    return []


@pytest.fixture
def own_tab() -> None:
    """A test that asks for this has tabs that nobody had before it, and that nobody has after it.

    It leaves what cannot be taken back: something between page and server, a touch screen.
    """


@pytest.fixture
def new_page(request: pytest.FixtureRequest, browser: BrowserContext, tabs: list[Page]) -> Iterator[NewPage]:
    """Opens pages; whatever a test has opened is closed after it, or left empty for the next one."""
    own = "own_tab" in request.fixturenames
    taken: list[Page] = []

    def open_page(width: int = 1440, height: int = 900, scheme: Theme = "light") -> Page:
        opened = browser.new_page() if own or not tabs else tabs.pop()
        taken.append(opened)
        opened.bring_to_front()  # a tab that has been used stands behind those of later ones, where timers are slow
        opened.set_viewport_size({"width": width, "height": height})
        opened.emulate_media(color_scheme=scheme)
        return opened

    yield open_page
    for opened in taken:
        if not own and not opened.is_closed():
            opened.unroute_all(behavior="ignoreErrors")
            opened.mouse.move(0, 0)  # or it would point at something of the next page
            if opened.url != "about:blank":
                opened.goto("about:blank")
            tabs.append(opened)
    for opened in browser.pages[1:]:  # the first is the browser's own, which ends without any
        if opened not in tabs:
            opened.close()


@pytest.fixture
def complaints() -> list[str]:
    """Console errors, uncaught exceptions and requests that leave this computer; must end empty.

    A test that provokes one clears the list.
    """
    return []


@contextmanager
def watched(page: Page, complaints: list[str]) -> Iterator[Page]:
    """Until the block ends the page's complaints are added to the list."""

    def note_console(message: ConsoleMessage) -> None:
        # On a deep link Streamlit first looks for its server below the page's own address.
        probe = message.location["url"].endswith(("/_stcore/health", "/_stcore/host-config"))
        # Streamlit looks whether there is what a button would download, which the next runs may have replaced by then.
        replaced = "/media/" in message.location["url"] or message.text.startswith("Client Error: Download Button")
        if message.type == "error" and not probe and not replaced:
            complaints.append(message.text)

    def note_request(request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.hostname != "localhost":
            complaints.append(f"request to {request.url}")

    def note_error(error: Error) -> None:
        complaints.append(str(error))

    page.on("console", note_console)
    page.on("pageerror", note_error)
    page.on("request", note_request)
    yield page
    if not page.is_closed():
        page.goto("about:blank")
    page.remove_listener("console", note_console)
    page.remove_listener("pageerror", note_error)
    page.remove_listener("request", note_request)


@pytest.fixture
def page(new_page: NewPage, complaints: list[str]) -> Iterator[Page]:
    with watched(new_page(), complaints) as opened:
        yield opened
    assert not complaints
