"""The page Papers: what it says first, that its links lead where they say, and no second truth beside the code."""

import functools
import html
import json
import re

import pytest

from dpcore import list_mechanisms
from dpcore.figures.papers.reproductions import reproduction_figure
from dpcore.mechanisms import mechanism_class
from dpcore.studies.papers import errata
from dpcore.studies.papers.reproductions import REPRODUCTIONS, get_reproduction
from pages.papers import words
from pages.papers.table import link
from pages.ui.html import readable
from pages.ui.terms import GLOSSARY
from tests.harness import ROOT
from tests.page_driver import LIVE, SCRIPTS, charts, open_script, said, texts
from tests.pages.test_links import finished, follow, remarks

SCRIPT = "papers/page.py"
PLACES = {row["address"] for row in words.DOCUMENTS} | {each.page for each in errata.ERRATA.values()}
ADDRESSES = sorted(PLACES - {""})
# The mechanisms that the view at an address shows.
SHOWN = {at: {row["mechanism"] for row in words.DOCUMENTS if row["address"] == at} - {""} for at in ADDRESSES}

# Seconds each; the others are opened in every run.
COSTLY = ("geometry?view", "selection", "dimension?topic", "multiclass", "papers?evidence")
SLOW = tuple(at for at in ADDRESSES if at.startswith(COSTLY))


def cells(page) -> str:
    return html.unescape(re.sub("</?span>|<wbr>", "", texts(page)))


def test_the_default_state_leads_with_the_worst_erratum():
    page = open_script(SCRIPT)
    assert not page.exception
    worst = errata.recompute("objective_gaussian")
    broken = [erratum.kind for erratum in errata.ERRATA.values()].count("broken")
    assert f"has {errata.three_digits(worst.times)} times the δ" in said(page)
    assert f"{broken} of {len(errata.ERRATA)} published results" in said(page) and "4,220 times the ε" in said(page)
    (chart,) = charts(page).values()
    assert chart["alt"] == said(page)
    for name in errata.ERRATA:
        assert f"python -m dpcore errata {name}" in cells(page)


def test_every_reproduction_has_its_command():
    page = open_script(SCRIPT, about="reproductions", reproduced="jain-thakurta-1a")
    assert not page.exception and not charts(page) and "takes about 10 minutes" in said(page)
    for name in REPRODUCTIONS:
        assert f"python -m dpcore reproduce {name} -o {name}" in cells(page)


def test_a_figure_done_again_says_what_its_run_says():
    page = finished(open_script(SCRIPT, about="reproductions", reproduced="kamath-three-ways", seed=3, behind="Code"))
    chosen = get_reproduction("kamath-three-ways")
    outcome = chosen.run(None, runs=chosen.few, seed=3, told=lambda words: None)
    (chart,) = charts(page).values()
    drawn = json.loads(reproduction_figure(outcome.chart, theme="light").to_json())
    assert json.loads(chart["figure"])["data"] == drawn["data"]
    holding = [claim.verdict for claim in outcome.claims].count("agrees")
    assert 0 < holding < len(outcome.claims)
    first = next(claim.words for claim in outcome.claims if claim.verdict != "agrees")
    assert said(page) == (
        f"{holding} of {len(outcome.claims)} published claims hold here, "
        f"computed with {chosen.few} of the {chosen.runs} repetitions. "
        f"One that does not: “{readable(first)}”"
    )
    for claim in outcome.claims:
        assert all(readable(part) in cells(page) for part in (claim.words, claim.published, claim.found, claim.why))
    assert f"runs={chosen.few}, seed=3" in page.code[-1].value


# The field's names for what pages show; a page that says one has its meaning in the glossary.
TERMS = """
privacy budget, failure probability, guarantee, privacy spent, accuracy loss, attack success, equivalent sample size
output perturbation, objective perturbation, gradient perturbation, excess risk, reference risk
hardest data, exponential mechanism, Frank-Wolfe, LASSO, simplex sampling, private FTRL, L1 ball
L2 ball, norm order, generalised Gaussian mechanism, Gaussian classifier, one-vs-rest, certified ε, trade-off curve
zCDP, Rényi, regret, sensitivity, neighbours, regularisation, as published
upper bound, lower bound, nothing learned, non-private
"""
NAMED = re.split(r", |\n", TERMS.strip())


@functools.cache
def said_on(page: str) -> str:
    """What the sources of a page and of its charts say, with what all pages share, in small letters."""
    name = page.lower()
    folders = [ROOT / "pages" / "ui", ROOT / "pages" / name, ROOT / "dpcore" / "figures" / name]
    files = [ROOT / "dpcore" / "figures" / f"{each}.py" for each in ("figure", "style", name)]
    files += [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md", ".csv")]
    return " ".join(" ".join(path.read_text(encoding="utf-8").lower().split()) for path in files if path.is_file())


@pytest.mark.parametrize("entry", GLOSSARY, ids=lambda entry: entry["word"])
def test_the_glossary_explains_words_that_pages_say(entry):
    """On each of the pages that it names, in the words of the page's own folder, unless it is the field's own term."""
    word, where = entry["word"], entry["pages"]
    pages = [] if where == "every page" else where.lower().split(", ")
    assert set(pages) <= set(SCRIPTS) and entry["meaning"].endswith(".") and len(entry["meaning"].split()) <= 25
    assert word in NAMED or all(word.rstrip("s").lower() in said_on(page) for page in pages or LIVE), word
    assert f"| {word} | {entry['meaning']} | {where} |" in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def opened(address: str):
    """The page at an address of a link; few people, and another seed than other tests', so that it is computed."""
    folder, _, query = address.partition("?")
    few = ["n=300"] if folder not in ("geometry", "papers") else []  # one begins at more, the other has none
    return follow(folder or "overview", "&".join([*filter(None, [query]), *few, "seed=98765"]))


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
    if not calibrated >= SHOWN[address]:
        finished(page)  # an attack calibrates in the background
    assert calibrated >= SHOWN[address]


# What the documents number, each of which has a line; of the figures of Jain and Thakurta each panel.
STATEMENTS = {
    "Jain and Thakurta 2014": "Theorem 1, Theorem 2, Theorem 3, Theorem 4, Figure 1 (a), Figure 1 (b), Figure 1 (c), "
    "Figure 1 (d)",
    "Talwar, Thakurta and Zhang 2015": "Theorem 1.1, Theorem 1.2, Remark 1, Algorithm 1, Theorem 2.2, Algorithm 2, "
    "Theorem 2.4, Theorem 2.5, Theorem 2.6, Corollary 2.7, Theorem 3.1, Theorem 3.2, Lemma 3.3",
    "Kamath's lecture": "Figure 1, Lemma 1, Algorithm 1, Theorem 2, Algorithm 2, Algorithm 3, Lemma 3",
    "Pathak and Raj 2010": "Theorem 1, Theorem 2, Theorem 3, Lemma 1, Lemma 2, Lemma 3, Lemma 4",
    "Bassily, Guzmán and Nandi 2021": "Table 1, Proposition 2.1, Proposition 3.2, Corollary 3.3, Remark 1, Lemma 4.1, "
    "Algorithm 1, Theorem 5.1, Theorem 5.2, Lemma 5.3, Theorem 5.4, Algorithm 2, Lemma 6.1, Lemma 6.2, Theorem 6.3, "
    "Proposition 7.1, Corollary 7.2, Remark 2, Proposition 7.3, Theorem A.1, Theorem A.2, Claim A.3, Lemma A.5",
}


def test_every_algorithm_bound_and_figure_has_a_line_and_every_mechanism_a_view():
    """The list of the five documents: a line each, with the view and its address, or the part of docs/ that has it."""
    assert {row["mechanism"] for row in words.DOCUMENTS} - {""} == set(list_mechanisms())
    assert {row["document"] for row in words.DOCUMENTS} == set(STATEMENTS)
    for document, statements in STATEMENTS.items():
        items = " ".join(row["item"] for row in words.DOCUMENTS if row["document"] == document)
        assert not [each for each in statements.split(", ") if not re.search(rf"{re.escape(each)}(?![.\d])", items)]
    page = open_script(SCRIPT, about="algorithms")
    assert not page.exception
    for row in words.DOCUMENTS:
        assert row["item"] in cells(page)
        if row["address"]:
            assert link(row["view"], row["address"]) in texts(page)
        elif row["view"] != "not drawn":
            assert row["view"] in cells(page)
            file, _, place = row["view"].partition(", ")
            text = (ROOT / file).read_text(encoding="utf-8")
            paper = text.partition(f"\n## {row['document']}\n")[2].partition("\n## ")[0]
            assert f"\n| {place}" in paper or f"\n## {place}" in text
    for key in list_mechanisms():
        assert mechanism_class(key).label.lower() in cells(page).lower()
