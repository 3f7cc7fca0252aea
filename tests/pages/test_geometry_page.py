"""The page Geometry: sentences, read-outs and code, in the default state and in random ones."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.studies.geometry import excess_by_n, excess_by_norm
from pages.geometry import words
from pages.ui.numbers import cost, rate, rounded
from tests.page_driver import captions, charts, said, shown, tells, texts

BUDGET = {"epsilon": 1.0, "delta": 1e-8, "seed": 7}


def open_page(**state) -> AppTest:
    return shown("geometry/page.py", **state)


def test_the_default_state_shows_l1_learned_below_its_bound_and_l2_far_above():
    page = open_page()
    assert not page.exception and not page.error
    found = against_order(10_000)
    l2 = len(found.p_norm) - 1
    ratio = found.mean[l2] / found.mean[0]
    assert ratio > 100.0 and found.chosen[0] == "vertices" and found.chosen[l2] == "gaussian"
    assert found.vertices.bound[0] < 0.1 * found.signal[0] and found.gaussian.bound[l2] < found.signal[l2]
    first, last = (cost(found.mean[k], found.signal[k]) for k in (0, l2))
    told = f"privacy costs {first} of what can be learned on the L1 ball and {last} on the L2 ball: log d against √d"
    assert tells(said(page), "d = 65,536", told)
    smaller = rounded(found.vertices.bound[0] / found.mean[0], 2)
    assert f"At p = 1 the smaller of the two upper bounds is {smaller} times the measurement" in texts(page)
    assert tells(captions(page), "all 10,000 records are fingerprints", "**Not the same guarantee**", "(1, 0)")
    assert len(charts(page)) == 2


def against_order(n: int, epsilon: float = 1.0) -> excess_by_norm.AgainstOrder:
    p_norms = [p for p in excess_by_norm.orders(65_536) if p <= 2.0]
    return excess_by_norm.against_order(65_536, n, epsilon, 1e-8, 7, 10, p_norms, "all")


@pytest.mark.parametrize(("name", "k", "where"), [("1.25", 5, "at p = 1.25, "), ("2", -1, "on the L2 ball and ")])
def test_the_norm_order_under_the_cursor_is_told_first(name, k, where):
    page, found = open_page(p_norm=name), against_order(10_000)
    here = cost(found.mean[k], found.signal[k])
    assert f"privacy costs {here} of what can be learned {where}{cost(found.mean[0], found.signal[0])} on" in said(page)


def test_vertices_are_no_reason_where_both_balls_fail():
    none = against_order(10, 0.01)
    assert none.mean[0] > 0.95 * none.signal[0] and none.mean[-1] > 0.95 * none.signal[-1]
    here = words.GeometryState(0.01, 1e-8, 10, 65_536, "auto", "auto", seed=7, name="1")
    told = words.order_takeaway(none, here)
    assert "100%** on the L2 ball." in told


def test_orders_beyond_l2_are_of_the_view_against_n_alone():
    page = open_page(p_norm="∞")
    assert not page.exception and page.session_state["p_norm"] == "2"
    assert "box" in said(open_page(view="n", p_norm="∞", p=8))


def test_a_loss_of_more_than_there_is_to_learn_is_no_percentage():
    here = words.GeometryState(n=500, p=8, lam="auto", m="auto", name="1.5", **BUDGET | {"epsilon": 0.01})
    found = excess_by_n.excess_against_n(1.5, d=8, runs=4, ns=(500, 1_000), **here.budget)
    assert found.private.mean[0] > 1.1 * found.nothing
    assert "one pass loses **more than there is to learn**." in words.people_takeaway(found, here)


@pytest.mark.parametrize("name", ["1.5", "2"])
def test_against_n_one_pass_beside_its_bound(name):
    page = open_page(view="n", p_norm=name, p=16, n=10_000)
    assert not page.exception and not page.error
    here = words.GeometryState(n=10_000, p=16, lam="auto", m="auto", name=name, **BUDGET)
    knobs = {"noise": "gaussian"} if name == "1.5" else {}
    found = excess_by_n.excess_against_n(here.p_norm, d=16, runs=words.RUNS, **BUDGET, **knobs)
    k = found.n.tolist().index(10_000.0)
    assert tells(said(page), f"At {here.words} and n = 10,000 ")
    assert f"one pass loses {cost(found.private.mean[k], found.nothing)} of what can be learned" in said(page)
    assert f"{rounded(found.bound[k] / found.private.mean[k], 2)} times" in texts(page)
    assert found.private.mean[k] < found.bound[k]
    assert (
        np.isfinite(found.proved).any()
        == (name == "1.5")
        == ("proved range<br>for such<br>records" in str(charts(page)))
    )
    measured, _, work = found.exponents
    falls = "follows no single power of n here" if measured is None else f"The loss falls like {rate(measured)}"
    assert falls in said(page) and found.private.mean[-1] < 0.1 * found.nothing
    assert work == pytest.approx(1.0, abs=0.15) and f"{rate(work)}: linear time" in texts(page)
    many = "" if found.passes is None else " 10 times, not once"
    assert many in captions(page) and ("Dotted" in captions(page)) == (name == "2")


def test_wide_tables_are_drawn_narrower_and_the_caption_says_so():
    page = open_page(view="n", p_norm="2", p=8_192)
    assert re.search("8,192 .*scale.* 64", captions(page))
    assert "page's scale" not in captions(open_page(view="n", p_norm="2", p=32))
    assert "page's scale" not in captions(open_page(view="order", p_norm="2", p=8_192))


@pytest.mark.parametrize(
    "side, phrase",
    [
        ("Ball", "models. Vertices hide noise."),
        ("Rates", "in the dual norm with generalised Gaussian noise"),
        ("Membership attack", "An attacker ranks a member above a non-member"),
    ],
)
def test_every_side_says_what_it_shows(side, phrase):
    page = open_page(beside_geometry=side)
    assert not page.exception and not page.error and phrase in captions(page)
    alt = [chart for chart in charts(page) if phrase in chart]
    assert len(alt) == 1, "the picture's sentence for screen readers"
