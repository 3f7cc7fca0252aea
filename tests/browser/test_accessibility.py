"""Every page for who has no mouse, or holds a phone: Tab and arrow keys, and a finger; test_views.py has the rest."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from ..harness import Server
from ..nights import each
from .looks import ANSWERED, NewPage, until
from .readable import PAGES, drawn

pytestmark = pytest.mark.browser

# What Tab must reach: of a group of radio buttons the chosen one, of a toolbar any, as arrows go on from there.
CONTROLS = """() => [...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
    .filter(it => !it.disabled && it.tabIndex >= 0 && it.checkVisibility({ visibilityProperty: true }))
    .filter(it => it.type !== "radio" || it.checked)
    .filter(it => it.getAttribute("role") !== "radio" || it.getAttribute("aria-checked") === "true")
    .filter(it => !it.closest("details:not([open]) > :not(summary)"))
    .map(it => it.closest("[role=toolbar], [role=radiogroup]") ?? it)
    .map(it => it.dataset.stop ??= String(Math.random()))"""
HERE = """() => {
    const here = document.activeElement;
    const place = here.closest("[role=toolbar], [role=radiogroup]") ?? here;
    return place.dataset.stop ??= String(Math.random());
}"""


def stop(page: Page) -> Locator:
    return page.locator(":focus")


EACH_RUN = ("",)  # by Tab alone; the other pages by night


@pytest.mark.parametrize(
    "address",
    [it if it in EACH_RUN else pytest.param(it, marks=pytest.mark.nightly) for it in PAGES],
    ids=lambda address: address or "overview",
)
def test_tab_reaches_every_control_shows_where_it_is_and_is_not_trapped_and_arrows_move_a_slider(
    server: Server, page: Page, address: str
):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{server.url}/{address}")
    drawn(page, "light")
    page.wait_for_timeout(300)  # what comes a moment later is reached, too
    expect(page.get_by_text("Our own attack is running")).to_have_count(0)  # it draws the page again
    wanted: set[str] = set(page.evaluate(CONTROLS))
    seen: set[str] = set()
    page.locator("body").press("Tab")
    for _ in range(3 * len(wanted)):  # a trap ends here too, with the rest missed
        if page.evaluate("document.activeElement === document.body") and seen:
            break
        here = page.evaluate(HERE)
        seen.add(here)
        assert page.evaluate(LOOKS_FOCUSED), page.evaluate("document.activeElement.outerHTML.slice(0, 300)")
        page.keyboard.press("Tab")
    stayed = wanted & set(page.evaluate(CONTROLS))  # what was drawn anew on the way could not be met
    assert len(stayed) > 0.8 * len(wanted)
    missed = [page.locator(f"[data-stop='{it}']").evaluate("it => it.outerHTML") for it in stayed - seen]
    assert missed == []
    if address == "":
        check_arrows(page)


# Whether the element with the focus, or what is drawn for it, looks different without the focus.
LOOKS_FOCUSED = """async () => {
    const frames = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const style = document.createElement("style");
    style.textContent = "* { transition: none !important }";
    document.head.append(style);
    await frames();
    const it = document.activeElement;
    const near = [it, it.parentElement, it.parentElement.parentElement, it.parentElement.parentElement.parentElement];
    const drawn = near.flatMap(e => [e, ...e.children]).filter(e => e.checkVisibility({ opacityProperty: true }));
    const look = () => drawn.map(e => {
        const s = getComputedStyle(e);
        const outline = s.outlineStyle === "none" ? "" : s.outline;
        return [s.boxShadow, outline, s.backgroundColor, s.borderColor, s.opacity].join();
    }).join(";");
    const focused = look();
    it.blur();
    await frames();
    const blurred = look();
    it.focus({ focusVisible: true });
    style.remove();
    return focused !== blurred;
}"""


def check_arrows(page: Page) -> None:
    """A slider of the first page moves by arrows, and chart and numbers follow."""
    page.get_by_role("link", name="Skip").focus()
    page.keyboard.press("Tab")
    assert "budget" in (stop(page).get_attribute("aria-label") or "")
    page.keyboard.press("ArrowRight")
    headline = page.locator(".takeaway", has_text="ε = 1.5 ")
    expect(headline).to_be_visible()
    expect(page.locator(".live-figure").first).to_have_attribute("aria-label", headline.inner_text())

    page.locator(".st-key-cost summary").press("Enter")
    row = page.locator(".st-key-cost .live-figure-numbers tbody tr").first
    expect(row.locator("th")).to_have_text("1.5")  # the cursor's
    column = page.locator(".st-key-cost .live-figure-numbers thead th").all_inner_texts().index("measured")
    value = float(row.locator("td").nth(column - 1).inner_text())
    curve = "(t => t.y[[...t.x].indexOf(1.5)])(it._fullData.find(t => t.name === 'measured'))"
    assert value == pytest.approx(page.evaluate(f"(it => {curve})(document.querySelector('.live-figure'))"), rel=1e-3)
    assert page.locator(".live-figure-numbers caption").first.inner_text().startswith("excess risk")
    pane = page.locator(".st-key-cost .live-figure-numbers [role=region]")
    assert pane.evaluate("it => it.clientHeight < it.scrollHeight"), "it stays small"
    pane.press("End")
    until(page, "document.querySelector('.live-figure-numbers [role=region]').scrollTop > 0")


def test_tab_enters_a_picker_at_what_is_chosen_arrows_move_in_it_and_tab_leaves_it(server: Server, page: Page):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{server.url}/perturbation")
    drawn(page, "light")
    before = page.get_by_role("combobox", name="Records")
    after = page.get_by_role("radiogroup", name="Noise").get_by_role("radio", name="Gaussian")
    place = {it: page.get_by_role("radio", name=it, exact=True) for it in ("output", "objective", "gradient")}

    def enter(chosen: str) -> None:
        before.focus()
        page.keyboard.press("Tab")
        expect(place[chosen]).to_be_focused()

    enter("objective")
    page.keyboard.press("ArrowRight")
    expect(place["gradient"]).to_be_focused()
    page.keyboard.press("Tab")
    expect(after).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(place["objective"]).to_be_focused()  # to look at another is not to choose it
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(place["gradient"]).to_have_attribute("aria-checked", "true")
    expect(page).to_have_url(re.compile("place=gradient"))
    page.locator(".st-key-epsilon input").press("ArrowRight")
    expect(page.locator(".takeaway").first).to_contain_text("ε = 1.5")
    until(page, ANSWERED)
    enter("gradient")
    place["output"].click()
    expect(place["output"]).to_have_attribute("aria-checked", "true")

    expect(page.locator(".live-figure-numbers")).to_have_count(1)  # of the chart beside it for screen readers alone
    aside = page.get_by_test_id("stMain").locator(".announced")
    expect(aside.locator("table").first).to_be_attached()
    assert aside.locator("summary, [tabindex]").count() == 0


class Finger:
    """Makes a page that of a phone, and touches it; Playwright's own phones cannot share the browser of all tests."""

    def __init__(self, page: Page) -> None:
        self.page, self.session = page, page.context.new_cdp_session(page)
        screen = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        self.session.send("Emulation.setDeviceMetricsOverride", screen)
        self.session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def swipe(self, x: float, y: float, right: float, down: float) -> None:
        for k in range(11):
            kind, at = ("touchMove" if k else "touchStart"), {"x": x + right * k / 10, "y": y + down * k / 10}
            self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [at]})
        self.session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


CHART_ON_A_PHONE = "document.querySelector('.live-figure')"
LINE = f"""(it => it.getBoundingClientRect().x + it._fullLayout.xaxis._offset
    + it._fullLayout.xaxis.d2p(it.layout.shapes[0].x0))({CHART_ON_A_PHONE})"""
RANGES = f"(it => JSON.stringify([it.xaxis.range, it.yaxis.range]))({CHART_ON_A_PHONE}._fullLayout)"


@pytest.mark.usefixtures("own_tab")
@pytest.mark.parametrize("address", each(9, PAGES[:-2]), ids=lambda it: it or "overview")
def test_on_a_phone_a_finger_scrolls_over_a_chart_and_moves_epsilon_beside_it_or_by_the_cursor(
    server: Server, new_page: NewPage, address: str
):
    page = new_page()
    finger = Finger(page)
    page.goto(f"{server.url}/{address}")
    drawn(page, "light")
    main, slider = page.get_by_test_id("stMain"), page.locator(".st-key-epsilon [data-testid=stSlider]")
    assert page.locator(".modebar-btn").count() == 0, "tools would lie over the titles"

    page.evaluate(f"{CHART_ON_A_PHONE}.scrollIntoView({{ block: 'end' }})")
    ranges, scrolled = page.evaluate(RANGES), main.evaluate("it => it.scrollTop")
    panel = page.locator(".nsewdrag").first.bounding_box()
    assert panel
    for x in (panel["x"] + panel["width"] / 2, panel["x"] - 10):  # on the curves, and on the ticks of their axis
        finger.swipe(x, panel["y"] + panel["height"] / 2, 60, -150)
        until(page, "([it, was]) => it.scrollTop > was + 100", arg=[main.element_handle(), scrolled])
        main.evaluate("(it, to) => it.scrollTo(0, to)", scrolled)
    for _ in range(2):  # plotly, which sees no finger move, takes two quick swipes for this
        finger.swipe(panel["x"] - 10, panel["y"] + panel["height"] / 2, 0, 0)
    page.wait_for_timeout(500)
    assert page.evaluate(RANGES) == ranges, "and zooms nothing"

    track, bottom = slider.bounding_box(), main.evaluate("it => it.getBoundingClientRect().bottom")
    assert track and track["y"] >= bottom and track["y"] + track["height"] <= 844, "below the chart, on the screen"
    value = slider.locator("input").get_attribute("aria-valuetext")
    thumb = slider.get_by_role("slider").locator("..").bounding_box()
    assert value == "1" and thumb
    finger.swipe(thumb["x"] + thumb["width"] / 2, thumb["y"] + thumb["height"] / 2, -80, 0)
    expect(slider.locator("input")).not_to_have_attribute("aria-valuetext", value)
    expect(page).to_have_url(re.compile("epsilon=0"))
    if address.partition("?")[0] in ("", "decide"):
        check_cursor(page, finger)


def check_cursor(page: Page, finger: Finger) -> None:
    """A finger drags the cursor, and still scrolls the page from there."""
    main, slider = page.get_by_test_id("stMain"), page.locator(".st-key-epsilon [data-testid=stSlider] input")
    before, said = str(slider.get_attribute("aria-valuetext")), page.locator(".takeaway").first
    expect(said).to_contain_text(f"ε = {before}")
    drawn(page, "light")
    page.evaluate(f"{CHART_ON_A_PHONE}.scrollIntoView({{ block: 'center' }})")
    panel = page.locator(".nsewdrag").first.bounding_box()
    assert panel
    zoomed = f"String({CHART_ON_A_PHONE}._fullLayout.xaxis.range)"
    y, ranges = panel["y"] + panel["height"] / 2, page.evaluate(zoomed)
    finger.swipe(page.evaluate(LINE) + 10, y, -60, 5)  # near the line, and not quite level
    expect(slider).not_to_have_attribute("aria-valuetext", before)
    epsilon = str(slider.get_attribute("aria-valuetext"))
    assert float(epsilon) < float(before)
    expect(said).to_contain_text(f"ε = {epsilon}")
    expect(page).to_have_url(re.compile(f"epsilon={epsilon}"))
    drawn(page, "light")
    assert page.evaluate(zoomed) == ranges
    scrolled, panel = main.evaluate("it => it.scrollTop"), page.locator(".nsewdrag").first.bounding_box()
    assert panel
    finger.swipe(page.evaluate(LINE), panel["y"] + panel["height"] / 2, 3, -150)
    until(page, "([it, was]) => it.scrollTop > was + 100", arg=[main.element_handle(), scrolled])
    expect(slider).to_have_attribute("aria-valuetext", epsilon)
    assert f"epsilon={epsilon}" in page.url
