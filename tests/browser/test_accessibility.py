"""Every page for who cannot see it, has no mouse, or holds a phone: axe-core, Tab and arrow keys, 390 px."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

import pytest
from playwright.sync_api import Locator, Page, expect

from dpcore.figures.style import BACKGROUND, INKS, PERTURBATIONS, Theme

from ..harness import Server
from ..nights import each
from .looks import BETWEEN, LARGE, OVERLAPS, PHONE, SETTLED, UNNAMED, UNTOLD, NewPage, until

pytestmark = pytest.mark.browser

PAGES = ("", "perturbation", "dimension", "sparsity", "geometry", "multiclass", "survey", "audit", "decide", "sources")
VIEWS = (
    "?behind=Data",
    "?behind=Code",
    "?behind=Assumptions",
    "?behind=Formula",
    "?place=output&proof=textbook",
    "perturbation?side=Descent+path",
    "perturbation?side=λ",
    "perturbation?side=Gradient+count",
    "perturbation?side=No+noise",
    "perturbation?side=Other+problems",
    "perturbation?side=Other+problems&example=a+polynomial",
    "sparsity?tab=Simplex+sampling",
    "sparsity?tab=Online",
    "geometry?view=sample+size+n",
    "geometry?beside_geometry=Rates",
    "geometry?beside_geometry=Noise+length",
    "geometry?beside_geometry=Tracing",
    "multiclass?classifier=as+published",
    "multiclass?beside_classes=Ellipses",
    "audit?check=Accounting",
    "audit?check=Published+guarantees",
    "audit?beside_attack=Betting+test",
    "audit?beside_attack=Scores",
    "decide?more=repeated+releases",
    "decide?more=all+mechanisms",
    "decide?more=deployments",
    "decide?more=download",
    "decide?behind=Link",
    "sources?about=Reproductions",
    "?lecture=overview&step=2",
    "perturbation?lecture=perturbation&step=3",
)
Screen = tuple[int, int, Theme]
SCREENS: tuple[Screen, ...] = ((1366, 768, "light"), (1366, 768, "dark"), (390, 844, "dark"))

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
# In words: what is wrong, where, and on what colours.
CHECK = """async () => {
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations.filter(it => ["serious", "critical"].includes(it.impact))
        .flatMap(it => it.nodes.map(node => `${it.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""


# Each chart is drawn in these colours and nothing is being computed.
DRAWN = """paper => {
    const charts = [...document.querySelectorAll(".live-figure")];
    const drawn = it => it.layout?.paper_bgcolor === paper && it.querySelector(".main-svg");
    return charts.length && charts.every(drawn)
        && !document.querySelector("[data-testid=stApp][data-test-script-state=running]");
}"""


def settled(page: Page, scheme: Theme) -> None:
    until(page, DRAWN, arg=BACKGROUND[scheme])


# What appears or goes, such as a slider's ends where it had the focus, is there or gone.
FADED = """Promise.all(document.getAnimations()
    .filter(it => it.effect.getTiming().iterations !== Infinity).map(it => it.finished.catch(() => 0)))"""


def violations(page: Page) -> list[str]:
    """What axe finds on a page that is there, with all that is folded unfolded."""
    page.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)")
    page.evaluate(FADED)
    page.evaluate(AXE)
    found: list[str] = page.evaluate(CHECK)
    return found


def check(new_page: NewPage, url: str, screens: Sequence[Screen]) -> None:
    page, size = new_page(), (0, 0)
    for width, height, scheme in screens:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        if size != (width, height):  # else the page that is open takes the system's new theme
            page.goto(url)
        size = width, height
        settled(page, scheme)
        assert violations(page) == [], (width, scheme)
        scroll = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert scroll <= 0, f"the page scrolls sideways at {width} px"


@pytest.mark.nightly  # in every run one screen of each page: test_policy.py
@pytest.mark.parametrize("address", (*VIEWS, *PAGES))
def test_every_view_is_free_of_serious_violations_and_fits_a_phone(server: Server, new_page: NewPage, address: str):
    check(new_page, f"{server.url}/{address}", SCREENS)


NAMES = """() => [...document.querySelectorAll("[aria-label]")].map(it => it.getAttribute("aria-label"))"""
# Labels that begin with a symbol, and how heavy it is.
SYMBOLS = """() => Object.fromEntries([...document.querySelectorAll("[data-testid=stWidgetLabel] p")]
    .filter(it => /^[^I\\s] /.test(it.innerText))
    .map(it => [it.innerText, getComputedStyle(it, "::first-letter").fontWeight]))"""


def unread(page: Page, address: str) -> list[str]:
    """What a screen reader would read with its markup, and symbols before labels that are not bold."""
    names, symbols = page.evaluate(NAMES), page.evaluate(SYMBOLS)
    assert len(names) > 5 or "lecture" in address
    assert symbols or address == "sources" or "lecture" in address
    light = [f"{label}: {weight}" for label, weight in symbols.items() if weight != "700"]
    return [name for name in names if re.search(r"[*_$`]", name)] + light


@pytest.mark.nightly  # in every run on each page: test_policy.py
@pytest.mark.parametrize(
    "address", (*PAGES, "sparsity?tab=Online", "audit?check=Accounting", "decide?more=repeated+releases")
)
def test_names_are_read_aloud_without_markup_and_symbols_are_bold(server: Server, page: Page, address: str):
    page.goto(f"{server.url}/{address}")
    settled(page, "light")
    assert unread(page, address) == []


@pytest.mark.nightly
def test_the_checks_see_what_is_wrong_and_no_page_is_forgotten(server: Server, page: Page):
    page.goto(server.url)
    settled(page, "light")
    links = page.locator("header a[href]").evaluate_all("all => all.map(it => new URL(it.href).pathname.slice(1))")
    assert sorted(links) == sorted(PAGES)
    chart = page.locator(".live-figure")
    until(page, "document.querySelector('.live-figure').data.some(t => t.name === 'output perturbation')")
    lower = chart.evaluate("""it => [...new Set(it.data
        .filter(t => t.yaxis === 'y2' && t.name && t.mode?.startsWith('lines') && !t.fill).map(t => t.name))]""")
    assert chart.evaluate(UNTOLD, INKS) == []
    chart.evaluate("it => Plotly.relayout(it, { annotations: it.layout.annotations.filter(a => a.yref !== 'y2') })")
    alone = [name for name in lower if name not in PERTURBATIONS.values()]  # those have labels above, too
    assert len(lower) == 7 and set(chart.evaluate(UNNAMED, INKS)) == {f"no label: {name}" for name in alone}
    chart.evaluate("it => Plotly.relayout(it, { 'yaxis2.range': [-9, -8] })")
    assert any(name in told for told in chart.evaluate(UNTOLD, INKS) for name in lower)

    page.set_viewport_size({"width": 1024, "height": 768})
    nav = page.get_by_test_id("stTopNav")
    until(page, "it => it.clientWidth < 724", arg=nav.element_handle())
    assert nav.evaluate("it => it.scrollWidth <= it.clientWidth"), "a page's name is cut"
    # Drawn anew at its width, the chart would take its role back.
    until(page, "it => it.drawnWidth === it.clientWidth", arg=chart.element_handle())
    settled(page, "light")
    page.evaluate("""() => {
        document.querySelector("[data-testid=stCaptionContainer]").style.setProperty("color", "#aaa", "important");
        document.querySelector(".live-figure").setAttribute("role", "img");
        document.querySelector(".modebar-btn").removeAttribute("aria-label");
    }""")
    page.evaluate(AXE)
    found = {line.split(":")[0] for line in page.evaluate(CHECK)}
    assert {"color-contrast", "nested-interactive", "button-name"} <= found


# What Tab must reach: of a group of radio buttons the chosen one, of a toolbar any, as arrows go on from there.
CONTROLS = """() => [...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
    .filter(it => !it.disabled && it.tabIndex >= 0 && it.checkVisibility({ visibilityProperty: true }))
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
    settled(page, "light")
    page.wait_for_timeout(300)  # what comes a moment later is reached, too
    expect(page.get_by_text("Our own attack is running")).to_have_count(0, timeout=60_000)  # it draws the page again
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
    headline = page.get_by_text("ε = 1.5,")
    expect(headline).to_be_visible()
    expect(page.locator(".live-figure")).to_have_attribute("aria-label", headline.inner_text())

    page.locator("summary", has_text="Numbers of this chart").press("Enter")
    row = page.locator("tr", has_text="objective perturbation").filter(has=page.locator("td:text-is('1')")).first
    value = float(row.locator("td").nth(1).inner_text())
    curve = "(t => t.y[[...t.x].indexOf(1)])(it._fullData.find(t => t.name === 'objective perturbation'))"
    assert value == pytest.approx(page.evaluate(f"(it => {curve})(document.querySelector('.live-figure'))"), rel=1e-3)
    assert page.locator(".live-figure-numbers caption").first.inner_text().startswith("tumours classified")
    pane = page.locator(".live-figure-numbers [role=region]")
    assert pane.evaluate("it => it.clientHeight < it.scrollHeight"), "it stays small"
    pane.press("End")
    until(page, "document.querySelector('.live-figure-numbers [role=region]').scrollTop > 0")


# Ends and middles of the sliders, each with all views that have charts of their own.
PLACES = ("", "epsilon=0.01", "epsilon=10", "delta=10⁻¹⁰", "n=200", "n=50,000", "lam=0.0001", "lam=0.005", "lam=1")
LABELLED = (*PAGES, *(it for it in VIEWS if not it.startswith(("?behind", "decide?behind")) and "lecture" not in it))
LABELLED += (
    "perturbation?noise=both",
    "dimension?below=excess+risk+and+theory",
    "sparsity?against=n",
    "sparsity?against=p",
)
LABELLED += ("multiclass?price_against=budget+ε", "multiclass?price_against=excess+risk")
# Ends of the sliders that stand on one page alone, and of those whose ends differ from page to page.
ENDS = (
    "audit?beside_attack=Scores&runs=1,000",
    "sparsity?T=2&radius=0.25",
    "sparsity?against=n&T=512&radius=0.25",
    "sparsity?against=p&T=2&radius=4",
    "sparsity?tab=Simplex+sampling&lam=0.0001",
    "sparsity?beside_ball=On+the+simplex&T=2&radius=4",
    "sparsity?beside_ball=Tracing&T=512&radius=4",
    "sparsity?tab=Simplex+sampling&on=fresh+records&beside=Dimension&m=10000",
    "sparsity?tab=Online&steps_of_stream=50&p=8",
    "sparsity?tab=Online&steps_of_stream=5,000&p=2,048",
    "audit?check=Accounting&steps=10,000,000,000&batch=1",
    "audit?check=Accounting&steps=1&batch=50,000",
    "audit?check=Accounting&steps=500&batch=all",
    "audit?beside_attack=Betting+test&runs=1,000,000",
    "audit?beside_attack=Trade-off+curve&runs=1,000,000",
    "dimension?p=8",
    "geometry?p_norm=∞&p=65,536",
    "dimension?p=1,024&below=excess+risk+and+theory&noise_in=both",
    "geometry?p_norm=1+%2B+1/ln+d&p=8",
    "geometry?view=sample+size+n&p_norm=1.5&p=64",
    "geometry?view=sample+size+n&p_norm=∞&p=8",
    "multiclass?C=10&columns=16",
    "decide?n=300&more=repeated+releases&releases=100&per_person=10",
    "multiclass?C=2&columns=2",
    "multiclass?price_against=budget+ε&C=10&columns=16&beside_classes=λ",
    "multiclass?price_against=excess+risk&columns=2",
    "multiclass?price_against=dimension&C=10",
    "decide?n=300&give_up=0.1",
    "decide?n=300&give_up=20",
    "decide?n=300&more=repeated+releases&releases=1&per_person=1",
)


# Read-outs with a number or a word that is wider than its card.
WIDER = """() => [...document.querySelectorAll('.readout')]
    .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => `wider than its card: ${e.innerText}`)"""


def wrong_labels(page: Page) -> list[str]:
    """Labels that cover one another or are cut or missing, in each chart that is there once it stands still, and
    read-outs that leave their cards."""
    found: list[str] = page.evaluate(WIDER)
    if page.locator(".live-figure:visible").count():
        until(page, SETTLED, arg=".live-figure")
    for chart in page.locator(".live-figure:visible").all():
        name = chart.evaluate("it => it.closest('[class*=st-key-]').className.match(/st-key-\\S+/)[0]")
        broken = chart.evaluate(OVERLAPS) + chart.evaluate(UNNAMED, INKS) + chart.evaluate(UNTOLD, INKS)
        found += [f"{name}: {it}" for it in broken]
    return found


@pytest.mark.nightly  # in every run on each page: test_policy.py
@pytest.mark.parametrize(
    "address", (*ENDS, *(f"{it}{'&' if '?' in it else '?'}{place}" for place in PLACES for it in LABELLED))
)
def test_each_curve_has_its_label_and_none_covers_another(server: Server, new_page: NewPage, address: str):
    page = new_page()
    page.goto(f"{server.url}/{address}")
    settled(page, "light")
    expect(page.get_by_text("more …")).to_have_count(0, timeout=60_000)
    for width, height, _ in (LARGE, BETWEEN, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        assert wrong_labels(page) == [], width
    assert address not in ENDS or page.locator(".st-key-ignored").all_inner_texts() == []


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
@pytest.mark.parametrize("address", each(9, (*PAGES[:-2], "decide?n=300")), ids=lambda it: it or "overview")
def test_on_a_phone_a_finger_scrolls_over_a_chart_and_moves_epsilon_beside_it_or_by_the_cursor(
    server: Server, new_page: NewPage, address: str
):
    page = new_page()
    finger = Finger(page)
    page.goto(f"{server.url}/{address}")
    settled(page, "light")
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
    settled(page, "light")
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
    settled(page, "light")
    assert page.evaluate(zoomed) == ranges
    scrolled, panel = main.evaluate("it => it.scrollTop"), page.locator(".nsewdrag").first.bounding_box()
    assert panel
    finger.swipe(page.evaluate(LINE), panel["y"] + panel["height"] / 2, 3, -150)
    until(page, "([it, was]) => it.scrollTop > was + 100", arg=[main.element_handle(), scrolled])
    expect(slider).to_have_attribute("aria-valuetext", epsilon)
    assert f"epsilon={epsilon}" in page.url
