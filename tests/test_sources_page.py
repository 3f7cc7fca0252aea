"""The page Sources: what it says first, that its links lead where they say, and no second truth beside the code."""

import html
import re
from urllib.parse import unquote_plus

import pytest

from dpcore import errata, list_mechanisms
from dpcore.mechanisms import mechanism_class
from dpcore.reproductions import REPRODUCTIONS
from dpcore.traces import traces
from pages.sources import words
from pages.sources.table import link, table, text
from tests.harness import ROOT
from tests.pages import charts, open_script, said, texts
from tests.test_links import follow, remarks

SCRIPT = "sources/sources.py"
ADDRESSES = sorted({*words.SHOWN.values(), *(each.page for each in errata.ERRATA.values())})

# Seconds each; the others are opened in every run.
SLOW = (
    *("geometry?view=people", "geometry?view=people&p_norm=1.5", "geometry?view=people&p_norm=4"),
    *("trust?check=as+printed", "geometry?view=people&variant=as+published", "classes", "sparse"),
    *("sparse?tab=Streaming", "sparse?tab=Simplex", "doors"),
)


def cells(page) -> str:
    return html.unescape(texts(page))


def test_the_default_state_leads_with_the_worst_erratum():
    page = open_script(SCRIPT)
    assert not page.exception
    worst = errata.recompute("objective_gaussian")
    assert f"6 break a promise: the worst has {errata.three_digits(worst.times)} times the failure chance" in said(page)
    assert f"Of {len(errata.ERRATA)} printed statements" in said(page) and "4,220 times smaller" in said(page)
    (chart,) = charts(page).values()
    assert chart["alt"] == said(page)
    for name in errata.ERRATA:
        assert f"python -m dpcore errata {name}" in cells(page)


@pytest.mark.parametrize("key", list_mechanisms())
def test_every_row_of_a_mechanism_is_shown(key):
    page = open_script(SCRIPT, about="traces", traced=key)
    assert not page.exception
    found = cells(page)
    for row in traces(key):
        assert row.assumes in found and row.theorem in found and words.FORMS[row.form] in found
        assert all(test in found for test in row.tests)
    assert link("attack it", words.attack_of(key)) in texts(page)


def test_every_reproduction_has_its_command():
    page = open_script(SCRIPT, about="reproductions")
    assert not page.exception and f"{len(REPRODUCTIONS)} figures and claims" in said(page)
    for name in REPRODUCTIONS:
        assert f"python -m dpcore reproduce {name} -o {name}" in cells(page)


def test_limits_are_the_headings_of_the_sharp_edges():
    page = open_script(SCRIPT, about="limits")
    headings = re.findall(r"^\*\*(.+?)\.?\*\*", words.SHARP_EDGES.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(headings) > 40 and f"{len(headings)} limits" in said(page)
    for heading in headings:
        assert html.escape(heading) in texts(page), heading
    assert all(heading and why for heading, why in words.limits())


@pytest.mark.parametrize(("term", "where"), [(term, where) for term, _, where in words.GLOSSARY])
def test_the_glossary_explains_words_that_pages_say(term, where):
    """On each of the pages that it names, in the words of the page's own folder."""
    for folder in where:
        said_there = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "pages" / folder).glob("*.py"))
        assert term.rstrip("s") in said_there.lower(), (term, folder)
    assert f">{term}</td>" in texts(open_script(SCRIPT, about="glossary"))


def opened(address: str):
    """The page at an address of a link; with another seed than other tests', so that it is computed and not kept."""
    folder, _, query = address.partition("?")
    return follow(folder or "start", f"{query}&seed=98765" if query else "seed=98765")


@pytest.fixture
def calibrated(monkeypatch) -> set[str]:
    """The keys of the mechanisms that have been calibrated since."""
    seen: set[str] = set()
    for key in list_mechanisms():
        cls = mechanism_class(key)

        def calibrate(self, spec, budget, key=key, original=cls.calibrate):
            seen.add(key)
            return original(self, spec, budget)

        monkeypatch.setattr(cls, "calibrate", calibrate)
    return seen


@pytest.mark.parametrize(
    "address", [pytest.param(a, marks=pytest.mark.nightly if a in SLOW else ()) for a in ADDRESSES]
)
def test_a_link_to_a_page_is_understood_there_and_shows_the_mechanism(address, calibrated):
    page = opened(address)
    assert not page.exception and not page.error and not remarks(page)
    for key, its_page in words.SHOWN.items():
        assert its_page != address or key in calibrated, f"{key} is not on {address}"


@pytest.mark.parametrize("key", list_mechanisms())
def test_the_attack_that_a_row_links_to_is_on_its_mechanism(key, monkeypatch):
    """What the page makes of the link; its attack is not waited for."""
    attacked = []
    monkeypatch.setattr("pages.trust.attack._show", lambda headline, mechanism, *rest: attacked.append(mechanism))
    page = follow("trust", words.attack_of(key).partition("?")[2])
    assert not page.exception and not remarks(page) and set(attacked) == {key}


def test_addresses_are_written_for_a_page_below_the_root():
    assert unquote_plus(link("x", "trust?check=add+it+up")) == '<a href="./trust?check=add it up">x</a>'
    assert "<script>" not in table("<script>", ["<script>"], [[text("<script>")]])
