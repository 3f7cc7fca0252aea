"""Each view once: all that is on it works under the pages' policy, can be read by all, and fits the screen."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from dpcore.figures.style import FAMILIES, INKS, PERTURBATIONS, Theme

from ..harness import Server
from .conftest import watched
from .looks import BETWEEN, CUT, LARGE, PHONE, UNNAMED, UNTOLD, Chart, Screen, until
from .readable import AXE, CHECK, NO_SYMBOLS, PAGES, SYMBOLS, drawn, unread, violations, wrong_labels

pytestmark = pytest.mark.browser

# The last term that can be asked for has the focus, and its meaning is shown in whole: asked again where the texts have
# changed.
ASKED = """() => {
    const last = [...document.querySelectorAll("dfn.term[tabindex]")].filter(it => it.checkVisibility()).at(-1);
    last.focus();
    const meaning = document.querySelector("#meaning"), box = meaning.getBoundingClientRect();
    return meaning.checkVisibility() && meaning.textContent === last.dataset.meaning
        && box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
}"""
# Each page once, in its view with most to be read or taken away, with the ends of sliders of its own: one look serves
# all that can be told. Neighbours are different pages.
EACH_RUN = (
    "?behind=Data&epsilon=0.1",
    "perturbation?epsilon=0.01&n=300",
    "dimension?p=8",
    "selection?tab=Online&steps_of_stream=50&p=8",
    "geometry?p_norm=2&p=65,536",
    "multiclass?C=4&columns=16&n=300",
    "survey?n=500&share=0%25",
    "audit?runs=2,000",
    "composition?repeated=noisy+SGD&delta=10⁻¹⁰",
    "decide?n=300&more=records+needed",
    "papers",
    "?lecture=overview&step=2",
)
# Every other view, at ends of its sliders where a label has least room.
BY_NIGHT = (
    "?behind=Code&epsilon=0.01&source=synthetic+people",
    "?behind=Assumptions&epsilon=10&n=50,000",
    "?behind=Formula&lam=0.0001",
    "perturbation?n=300&noise=Gamma&side=λ",
    "perturbation?n=300&side=Releases&epsilon=10",
    "perturbation?n=300&side=Releases&leak=classifier&epsilon=0.01",
    "perturbation?n=300&side=Releases&leak=curve",
    "perturbation?n=300&side=Releases&leak=a+private+median",
    "perturbation?lecture=perturbation&step=3",
    "dimension?p=1,024",
    "dimension?noise_in=objective&epsilon=0.01",
    "dimension?topic=Sparse+model&against=T&T=2",
    "dimension?topic=Sparse+model&beside_vertices=Where+the+bound+loses",
    "dimension?topic=Sparse+model&against=T&T=512&epsilon=0.1",
    "dimension?topic=Sparse+model&against=n&T=512&lasso_data=hardest+data",
    "dimension?topic=Sparse+model&T=2",
    "selection?tab=Simplex+sampling&lam=0.0001",
    "selection?tab=Simplex+sampling&on=fresh+records&beside=Dimension&m=10000",
    "selection?tab=Simplex+sampling&beside=Where+the+bound+loses",
    "selection?tab=Online&steps_of_stream=5,000&p=2,048&beside_stream=Where+the+bound+loses",
    "selection?tab=Online&adversary=costs:+hardest+data+(fair+coins)&p=64",
    "selection?tab=Online&adversary=costs:+refutes+equation+(12)&p=64",
    "geometry?p_norm=2&geometry_data=hard+for+each+p",
    "geometry?p_norm=1+%2B+1/ln+d&p=8&beside_geometry=Rates&epsilon=0.1",
    "geometry?view=sample+size+n&p_norm=1.5&p=64&n=5,000",
    "geometry?view=sample+size+n&p_norm=∞&p=8&n=20,000",
    "geometry?view=sample+size+n&p_norm=1&p=16&beside_geometry=Where+the+bound+loses",
    "multiclass?C=10&columns=16",
    "multiclass?price_against=budget+ε&C=10&columns=16",
    "multiclass?price_against=budget+ε&class_records=iris,+three+species+(real)",
    "multiclass?price_against=budget+ε&columns=2&epsilon=0.1",
    "audit?beside_attack=Betting+test&version=correct+code&runs=1,000,000",
    "audit?beside_attack=Trade-off+curve&runs=1,000",
    "audit?beside_attack=Scores&runs=1,000&epsilon=0.01",
    "audit?runs=2,000",
    "composition?repeated=noisy+SGD&steps=10,000,000,000&batch=1",
    "audit?runs=2,000",
    "composition?repeated=Laplace+mechanism&times=1&epsilon=10",
    "audit?runs=2,000",
    "composition?repeated=noisy+SGD&steps=500&batch=all&n=100,000",
    "papers?evidence=certified+by+runs",
    "decide?n=300&more=other+mechanisms",
    "decide?n=300&keep=50%25&more=deployments",
    "decide?n=300&releases=100",
    "decide?at_hand=iris,+virginica+or+not+(real)&keep=50%25&behind=Link",
    "papers?about=Reproductions",
)
# Two widths take turns: a view is looked at first on the one and then on the other, on which the next one begins. By
# night each view is made narrower and narrower.
WIDE, NARROW = (1366, 768, True), PHONE
VIEWS = [
    pytest.param(
        view, (WIDE, NARROW)[:: -1 if k % 2 else 1], "dark" if k < len(EACH_RUN) / 2 else "light", id=view or "overview"
    )
    for k, view in enumerate(EACH_RUN)
]
NIGHTS = [
    pytest.param(
        view, (LARGE, BETWEEN, PHONE), "dark" if k % 2 else "light", id=view or "overview", marks=pytest.mark.nightly
    )
    for k, view in enumerate((*BY_NIGHT, *PAGES[:-1]))  # the last has one view
]


# As by the browser's back button.
TURN = "address => { history.pushState({}, '', address); dispatchEvent(new PopStateEvent('popstate')) }"


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    return []


@pytest.fixture(scope="module")
def page(browser: BrowserContext, tabs: list[Page], complaints: list[str]) -> Iterator[Page]:
    """One that goes from view to view."""
    with watched(tabs.pop() if tabs else browser.new_page(), complaints) as opened:
        yield opened
    tabs.append(opened)


def turn_to(page: Page, address: str) -> None:
    """Another page replaces the one that is there, at half the work of opening it."""
    here, there = urlsplit(page.url), urlsplit(address)
    if here.netloc != there.netloc or here.path == there.path:
        page.goto(address)
    else:
        page.evaluate("document.querySelectorAll('.live-figure').forEach(it => it.left = true)")
        page.evaluate(TURN, address)
        until(page, "[...document.querySelectorAll('.live-figure')].every(it => !it.left)")


@pytest.mark.parametrize("view, screens, scheme", [*VIEWS, *NIGHTS])
def test_pages_keep_to_the_policy_can_be_read_by_all_and_fit(
    server: Server, page: Page, complaints: list[str], view: str, screens: tuple[Screen, ...], scheme: Theme
):
    complaints.clear()  # of the view before
    page.set_viewport_size({"width": screens[0][0], "height": screens[0][1]})
    page.emulate_media(color_scheme=scheme)
    turn_to(page, f"{server.url}/{view}")
    drawn(page, scheme)
    if not view.startswith(NO_SYMBOLS) and "lecture" not in view:
        until(page, f"Object.keys(({SYMBOLS})()).length > 0")  # the labels of the sidebar are there
    assert unread(page, view) == []
    assert page.locator(".st-key-ignored").all_inner_texts() == []
    expect(page.get_by_text("more …")).to_have_count(0, timeout=180_000)  # of many releases on a busy machine
    taken = page.get_by_test_id("stDownloadButton").get_by_role("button", disabled=False)
    if fewest := 2 if "download" in view else "Data" in view:
        expect(taken.nth(fewest - 1)).to_be_visible()
    for button in taken.all():
        with page.expect_download() as download:
            button.click()
        assert download.value.path().stat().st_size > 0
    assert "lecture" not in view or page.locator("dfn.term:visible").count() == 0
    terms = page.locator("dfn.term[tabindex]:visible")
    if terms.count():
        until(page, ASKED)
    assert violations(page) == []
    for width, height, _ in screens if "lecture" not in view else ():  # of which test_lectures.py tells
        page.set_viewport_size({"width": width, "height": height})
        assert wrong_labels(page) == [], width
    assert complaints == []


@pytest.mark.nightly  # in every run that of charts: test_pages.py
def test_a_page_without_a_chart_takes_the_system_s_new_theme(server: Server, page: Page):
    page.emulate_media(color_scheme="light")
    turn_to(page, f"{server.url}/papers?about=Algorithms")
    count = page.locator(".takeaway b")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        red, green, blue = bytes.fromhex(FAMILIES[scheme]["frank_wolfe"][1:])
        expect(count).to_have_css("color", f"rgb({red}, {green}, {blue})")


def test_no_page_is_forgotten():
    assert {view.partition("?")[0] for view in EACH_RUN} == set(PAGES)


@pytest.mark.nightly
def test_the_checks_see_what_is_wrong_and_no_page_is_forgotten(server: Server, page: Page):
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(server.url)
    drawn(page, "light")
    links = page.locator("header a[href]").evaluate_all("all => all.map(it => new URL(it.href).pathname.slice(1))")
    assert sorted(links) == sorted(PAGES)
    nav = page.get_by_test_id("stTopNav")
    until(page, "it => it.clientWidth < 724", arg=nav.element_handle())
    assert nav.evaluate("it => it.scrollWidth <= it.clientWidth"), "a page's name is cut"

    chart = Chart(page, "cost")
    chart.wait("it.data.some(t => t.name === 'output perturbation')")
    chart.settled()
    node = page.locator(chart.where)
    lower = node.evaluate("""it => [...new Set(it.data
        .filter(t => t.yaxis === 'y2' && t.name && t.mode?.startsWith('lines') && !t.fill).map(t => t.name))]""")
    assert node.evaluate(UNTOLD, INKS) == []
    node.evaluate("it => Plotly.relayout(it, { annotations: it.layout.annotations.filter(a => a.yref !== 'y2') })")
    alone = [name for name in lower if name not in PERTURBATIONS.values()]  # those have labels above, too
    assert len(lower) == 7 and set(node.evaluate(UNNAMED, INKS)) == {f"no label: {name}" for name in alone}
    node.evaluate("it => Plotly.relayout(it, { 'yaxis2.range': [-9, -8] })")
    assert any(name in told for told in node.evaluate(UNTOLD, INKS) for name in lower)
    chart.look("Plotly.relayout(it, {'annotations[0].x': 0.5, 'annotations[0].y': 0, 'annotations[0].yshift': -22})")
    assert chart.broken_labels() != []

    chart.settled()
    page.evaluate("""() => {
        document.querySelector("[data-testid=stCaptionContainer]").style.setProperty("color", "#aaa", "important");
        document.querySelector(".live-figure").setAttribute("role", "img");
        document.querySelector(".modebar-btn").removeAttribute("aria-label");
    }""")
    page.evaluate(AXE)
    found = {line.split(":")[0] for line in page.evaluate(CHECK)}
    assert {"color-contrast", "nested-interactive", "button-name"} <= found
    page.add_style_tag(content=".stMarkdown { width: 60px !important; overflow: hidden; white-space: nowrap }")
    assert any("Without privacy" in text or "times in 100" in text for text in page.evaluate(CUT))
