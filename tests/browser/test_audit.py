"""The trust page as a visitor meets it: slider moves, screens and themes."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from dpcore.audit.bugs import BUGS
from dpcore.figures.style import Theme

from ..harness import Server
from .looks import Chart, NewPage, Screen, check_two_charts, on_every_screen
from .screens import check_open_charts

pytestmark = pytest.mark.browser


def open_attack(page: Page, url: str, query: str = "") -> tuple[Chart, Chart]:
    page.goto(f"{url}/audit{query}")
    ruler, beside = Chart(page, "ruler"), Chart(page, "beside_attack_chart")
    ruler.shown()
    beside.shown()
    return ruler, beside


def open_ledger(page: Page, url: str, query: str = "") -> tuple[Chart, Chart]:
    page.goto(f"{url}/audit?check=Accounting&{query}")
    ledger, noise = Chart(page, "ledger"), Chart(page, "noise")
    ledger.shown()
    noise.shown()
    return ledger, noise


@pytest.mark.nightly
def test_controls_change_the_ledger_in_place_on_every_screen(server: Server, page: Page, complaints: list[str]):
    ledger, noise = charts = open_ledger(page, server.url, "steps=10%2C000")
    for where in (".takeaway", f"{ledger.where} .annotation-text:has-text('T = ')", noise.where):
        box = page.locator(where).first.bounding_box()
        assert box and box["y"] + box["height"] < 900
    check_open_charts(page, charts)
    for chart in charts:
        chart.look("it.mark = 'same node'")
    zoomed = ledger.zoom()
    said = page.locator(".takeaway").first
    ledger.press("steps", "ArrowRight", "it.layout.shapes[0].x0 === 20000")
    expect(said).to_contain_text(re.compile(r"20,000 steps.* one of 2,000"))
    assert ledger.look(ledger.ranges) == zoomed, "published noise does not change with the steps"
    ledger.press("batch", "ArrowRight", "it._fullData.some(t => t.name === 'basic composition')")
    expect(said).to_contain_text(re.compile(r"20,000 steps.* 2 of 2,000"))
    noise.press("epsilon", "ArrowRight", "it.layout.shapes[0].x0 === 1.5")
    page.get_by_role("radio", name="proved").click()
    expect(said).to_contain_text(re.compile(r"20,000 steps.*ε\s=\s1\.5"))
    for chart in charts:
        assert chart.look("it.mark") == "same node"
    assert "batch=2" in page.url and "noise_of=proved" in page.url, "the address carries the state"
    assert complaints == []


def test_controls_change_the_attack_in_place_on_every_screen(server: Server, page: Page, complaints: list[str]):
    """One opening: the first screen and others, the report, moves."""
    page.set_viewport_size({"width": 1366, "height": 768})
    ruler, beside = charts = open_attack(page, server.url, "?seed=3")
    said = page.locator(".takeaway").first
    expect(said).to_contain_text(f"“{BUGS['missing_factor_2'].label}” leaks")
    for where in (".takeaway", ruler.where, beside.where):
        box = page.locator(where).first.bounding_box()
        assert box and box["y"] + box["height"] < 768
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the report").click()
    facts = json.loads(waiting.value.path().read_text())
    assert waiting.value.suggested_filename == "audit_output_gaussian_missing_factor_2.json"
    assert (facts["verdict"], facts["seed"], facts["runs"]) == ("contradicted", 3, 20_000)

    check_open_charts(page, charts)
    for chart in charts:
        chart.look("it.mark = 'same node'")
    ruler.press("epsilon", "ArrowRight", "it.layout.shapes[1].x0 === 1.5")
    page.get_by_role("radio", name="Betting test").click()
    beside.wait("it.data.some(t => t.name === 'contradicted')")
    page.get_by_role("button", name=BUGS["fixed_seed"].label).click()
    expect(said).to_contain_text(f"“{BUGS['fixed_seed'].label}” leaks")
    for chart in charts:
        assert chart.look("it.mark") == "same node"
    assert "version=one+seed+for+all" in page.url and "beside_attack=Betting+test" in page.url
    assert complaints == []


@pytest.mark.nightly  # in every run, without a browser: tests/pages/test_attack_page.py
def test_runs_stream_in_while_one_looks_and_nothing_goes_away(server: Server, page: Page, complaints: list[str]):
    """The picked version alone takes seconds here."""
    query = "?mechanism=gradient+perturbation%2C+full+batch&version=correct+code&runs=50,000&beside_attack=Betting+test"
    charts = _, beside = open_attack(page, server.url, query)
    expect(page.get_by_text("of 50,000 runs")).to_be_visible()
    for chart in charts:
        chart.look("it.mark = 'same node'")
    last = "Math.max(...it._fullData[1].x)"
    first = beside.look(last)
    report = page.get_by_role("button", name="Download the report")
    expect(report).to_be_disabled()  # there are more runs to come
    beside.wait(f"{last} > {first}")
    expect(report).to_be_enabled(timeout=60_000)
    expect(page.locator(".takeaway").first).to_contain_text("50,000 runs")
    assert page.get_by_text("waiting").count() > 0, "the other versions are still to come"
    for chart in charts:
        assert chart.look("it.mark") == "same node"
    assert complaints == []


ATTACKS = ("", "?beside_attack=Betting+test&version=correct+code", "?beside_attack=Scores&epsilon=0.01")


@pytest.mark.nightly  # in every run: first state in the test of the controls
@on_every_screen(ATTACKS, ATTACKS[:1])
def test_no_label_of_the_attack_is_cut_or_covered(
    server: Server,
    new_page: NewPage,
    screens: tuple[Screen, ...],
    scheme: Theme,
    states: tuple[str, ...],
):
    def opened(page: Page, state: str) -> tuple[Chart, Chart]:
        return open_attack(page, server.url, state)

    check_two_charts(new_page, opened, screens, scheme, states)


STATES = (
    "",
    "noise_of=proved&batch=all&steps=500",
    "n=100%2C000&epsilon=0.01&batch=1%2C000",
    "steps=1&batch=50&noise_of=proved&epsilon=10",
)


@pytest.mark.nightly  # in every run: first state in the test of the controls
@on_every_screen(STATES, STATES[:1])
def test_no_label_is_cut_or_covered_and_charts_stand_beside_one_another_where_there_is_room(
    server: Server,
    new_page: NewPage,
    screens: tuple[Screen, ...],
    scheme: Theme,
    states: tuple[str, ...],
):
    def opened(page: Page, state: str) -> tuple[Chart, Chart]:
        return open_ledger(page, server.url, state)

    check_two_charts(new_page, opened, screens, scheme, states)


@pytest.mark.nightly  # in every run: the landing page's, and each page's policy, under which all is taken
def test_data_table_and_download(server: Server, page: Page, complaints: list[str]):
    open_ledger(page, server.url, "behind=Data")
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0] == "accounting,proved,steps,epsilon"
    assert sum(line.startswith("basic composition,True,4000000,") for line in lines) == 1
    assert complaints == []
