"""The perturbation page as a visitor meets it: slider moves, screens and themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dpcore.figures.style import Theme

from ..harness import Server
from .looks import Chart, NewPage, Screen, check_two_charts, on_every_screen
from .screens import check_in_the_dark, check_open_charts

pytestmark = pytest.mark.browser

# Few records: these tests look at the page, and every draw through the question is a minimisation.
STATE = "n=300"
SIDES = {"releases": "side=Releases", "valley": "side=λ", "work": "side=Gradient+count"}


def open_perturbation(page: Page, url: str, query: str = STATE, key: str = "perturbation") -> Chart:
    page.goto(f"{url}/perturbation?{query}")
    chart = Chart(page, key)
    chart.shown()
    return chart


def test_controls_change_the_charts_in_place_on_every_screen(server: Server, page: Page, complaints: list[str]):
    """One opening: the first screen and others, moves, and more curves with another picture beside them in the dark."""
    page.set_viewport_size({"width": 1366, "height": 768})
    chart = open_perturbation(page, server.url)
    releases = Chart(page, "releases")
    releases.shown()
    flag = f"{chart.where} .annotation-text:has-text('ε = 1')"
    for where, limit in ((".takeaway", 220), (f"{releases.where} .main-svg", 400), (flag, 768)):
        box = page.locator(where).first.bounding_box()
        assert box and box["y"] < limit
    check_open_charts(page, (chart, releases))
    chart.look("it.mark = 'same node'")
    zoomed = chart.zoom()
    for epsilon in (1.5, 2.0):
        chart.press("epsilon", "ArrowRight", f"it.layout.shapes.some(shape => shape.x0 === {epsilon})")
        expect(page.locator(".takeaway").first).to_contain_text(f"ε = {epsilon:g} ")
    assert chart.look(chart.ranges) == zoomed
    assert "epsilon=2" in page.url, "the address carries the state"

    page.emulate_media(color_scheme="dark")
    page.locator(".st-key-noise").get_by_role("radio", name="both").click()
    page.wait_for_url("**noise=both*")
    page.get_by_role("radio", name="λ", exact=True).click()
    valley = Chart(page, "valley")
    valley.shown()
    check_in_the_dark(page, (chart, valley))
    assert chart.look("it.mark") == "same node"
    assert complaints == []


@pytest.mark.nightly
def test_every_other_control_redraws_the_curves_in_place(server: Server, page: Page, complaints: list[str]):
    chart = open_perturbation(page, server.url)
    chart.look("it.mark = 'same node'")
    chart.zoom()
    zoomed = chart.look("it._fullLayout.xaxis.range")
    of = "it._fullData.find(t => t.name === 'output perturbation').y[12]"
    for key in ("n", "lam"):
        chart.look(f"it.before = {of}")
        chart.press(key, "ArrowRight", f"{of} !== it.before")
        assert chart.look("it.mark") == "same node"
        assert chart.look("it._fullLayout.xaxis.range") == zoomed, "the height follows the new curves"
    assert complaints == []


@pytest.mark.nightly  # tests/browser/test_refine.py has the same of a page of its own
def test_a_heavy_state_refines_in_place(server: Server, page: Page, complaints: list[str]):
    chart = open_perturbation(page, server.url, "n=10,000&noise=both&seed=92&side=No+noise")
    expect(page.get_by_text("4 of 50 releases, about")).to_be_visible()
    chart.look("it.mark = 'same node'")
    expect(page.get_by_text("from 50 draws").last).to_be_visible(timeout=180_000)  # 5 s, or 80 beside other work
    expect(page.get_by_text("more …")).to_have_count(0)
    assert chart.look("it.mark") == "same node"
    assert complaints == []


STATES = (
    ("", "releases"),
    ("noise=both&layers=upper+bound&layers=non-private&layers=published+rates", "valley"),
    ("lam=0.0001&epsilon=0.01", "valley"),
    ("noise=both&lam=0.05&epsilon=10", "releases"),
    ("epsilon=0.01&leak=a+classifier", "exact_vector"),
    ("leak=a+curve", "exact_curve"),
    ("epsilon=10", "work"),
)


@pytest.mark.nightly  # in every run: first state, and one in the dark, in the test of the controls
# As on a phone, the halves stand below one another in between.
@on_every_screen(STATES, STATES[1:3])
def test_no_label_is_cut_or_covered_and_charts_stand_beside_one_another_where_there_is_room(
    server: Server,
    new_page: NewPage,
    screens: tuple[Screen, ...],
    scheme: Theme,
    states: tuple[tuple[str, str], ...],
):
    def opened(page: Page, state: tuple[str, str]) -> tuple[Chart, Chart]:
        more, side = state
        hero = open_perturbation(page, server.url, f"{more}&{STATE}&{SIDES.get(side, 'side=No+noise')}")
        beside = Chart(page, side)
        beside.shown()
        return hero, beside

    check_two_charts(new_page, opened, screens, scheme, states)


@pytest.mark.nightly  # in every run: the landing page's, and each page's policy, under which all is taken
def test_data_table_and_download(server: Server, page: Page, complaints: list[str]):
    open_perturbation(page, server.url, f"{STATE}&behind=Data")
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    assert "objective_gaussian" in waiting.value.path().read_text()
    assert complaints == []
