"""The page Geometry: sentences, read-outs and code, in the default state and in random ones."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.studies.geometry import excess_by_n, excess_by_norm, table_1
from pages.geometry import words
from pages.ui.numbers import rate, rounded, worded
from tests.page_driver import captions, charts, said, shown, tells, texts

BUDGET = {"epsilon": 1.0, "delta": 1e-6, "seed": 7}


def open_page(**state) -> AppTest:
    return shown("geometry/page.py", **state)


def test_the_default_state_shows_each_ball_on_records_that_are_hard_for_it():
    page = open_page()
    assert not page.exception and not page.error
    found = excess_by_norm.against_order(65_536, 2_000, repetitions=10, records="each", **BUDGET)
    l2 = found.p_norm.tolist().index(2.0)
    ratio = found.mean[l2] / found.mean[0]
    assert 3.5 < ratio < 4.5 and (found.records[0], found.records[l2]) == ("l1", "l2")
    assert tells(said(page), "d = 65,536", f" {rounded(found.mean[0])} ", "L1 ball", f" {rounded(found.mean[l2])} ")
    assert tells(said(page), "L2 ball", "hard for it", f" {rounded(ratio, 2)} times", "no better than learning nothing")
    assert "Exponential mechanism" in texts(page)
    assert "More records do not change that" in texts(page) and "n = 20,000" in texts(page)
    high = found.proved[1][0]
    assert f"Proved for these records, not private: at most {rounded(high)}" in texts(page)
    assert found.mean[0] < high < 1.5 * found.mean[0] and found.proved[0][l2] > 0.9 * found.mean[l2]
    both = f"it would be {rounded(found.gaussian.mean[0])} and {rounded(found.gaussian.mean[l2])}: "
    steps = np.diff(found.gaussian.mean[[0, l2]])[0], np.diff(found.mean[[0, l2]])[0]
    part = f"the choice of mechanism accounts for {rounded(100 * (1 - steps[0] / steps[1]), 2)}% of the difference"
    assert f"With Gaussian noise on both balls {both}{part}" in texts(page)
    row = table_1.table_row(1.0, 65_536, 2_000, 1.0, 1e-6)
    assert f"n ≥ {worded(row.free)}" in texts(page)
    assert tells(captions(page), f"{found.rows['l1'][0]} are equal", f"{found.rows['l2'][0]} are fingerprints")
    assert tells(captions(page), "**Not the same guarantee**", "(1, 0)", "(1, 10⁻⁶)")
    assert len(charts(page)) == 2


@pytest.mark.parametrize("name", ["1.5", "2"])
def test_against_n_one_pass_beside_its_bound(name):
    page = open_page(view="n", p_norm=name, p=16, n=10_000)
    assert not page.exception and not page.error
    here = words.GeometryState(n=10_000, p=16, lam="auto", m="auto", name=name, **BUDGET)
    knobs = {"noise": "gaussian"} if name == "1.5" else {}
    found = excess_by_n.excess_against_n(here.p_norm, d=16, runs=words.RUNS, **BUDGET, **knobs)
    k = found.n.tolist().index(10_000.0)
    assert tells(said(page), f"At {here.words} and n = 10,000 ")
    assert f"leaves an excess risk of {rounded(found.private.mean[k])}" in said(page)
    assert f"{rounded(found.bound[k] / found.private.mean[k], 2)} times" in texts(page)
    assert found.private.mean[k] < found.bound[k]
    shown_band = f"Proved for such records, not private: at most {rounded(found.proved[k])}"
    assert (shown_band in texts(page)) == (name == "1.5") == ("For such records" in texts(page))
    measured, _, work = found.exponents
    falls = "It follows no single power of n here" if measured is None else f"It falls like {rate(measured)}"
    assert falls in said(page) and found.private.mean[-1] < 0.1 * found.nothing
    assert work == pytest.approx(1.0, abs=0.15) and f"{rate(work)}: linear time" in texts(page)
    assert "the best model is known exactly" in captions(page)
    many = "" if found.passes is None else f" 10 times, not once, and leaves {rounded(found.passes[k])} at n = 10,000"
    assert many in captions(page) and ("Dotted" in captions(page)) == (name == "2")


def test_wide_tables_are_drawn_narrower_and_the_caption_says_so():
    page = open_page(view="n", p_norm="2", p=8_192)
    assert re.search("8,192 .*scale.* 64", captions(page))
    assert "page's scale" not in captions(open_page(view="n", p_norm="2", p=32))
    assert "page's scale" not in captions(open_page(view="order", p_norm="2", p=8_192))


@pytest.mark.parametrize(
    "side, phrase",
    [
        ("Ball", "different models. Vertices hide noise."),
        ("Rates", "in the dual norm with generalised Gaussian noise"),
        ("Tracing", "An attacker ranks a member above a non-member"),
    ],
)
def test_every_side_says_what_it_shows(side, phrase):
    page = open_page(beside_geometry=side)
    assert not page.exception and not page.error and phrase in captions(page)
    alt = [chart for chart in charts(page) if phrase in chart]
    assert len(alt) == 1, "the picture's sentence for screen readers"
