"""The page Dimension, view Sparse model: sentences, bounds, and the hardest data."""

import dataclasses as dc

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.studies.dimension.lasso import curves
from dpcore.studies.dimension.lasso.data import Setting
from dpcore.theory.lower_bounds import packing_signal
from pages.dimension import sparse_words as words
from pages.ui.numbers import rate, rounded
from pages.ui.proof import PROOF, proof_caption
from pages.ui.verdict import NO_LOWER
from tests.page_driver import captions, charts, said, shown, tells, texts

SETTING = Setting(epsilon=1.0, delta=1e-8, radius=words.RADIUS, accounting="tight", seed=7)


def open_page(**state) -> AppTest:
    return shown("dimension/page.py", **({"topic": "sparse"} | state))


def test_the_default_state_shows_the_U_without_a_click():
    page = open_page()
    assert not page.exception and not page.error
    walked = curves.path(SETTING, n=10_000, p=128, T="bound")
    T = walked.plan.steps + 1
    found = curves.against_T(SETTING, n=10_000, p=128, Ts=tuple(sorted({*curves.TS, T})))
    mean = dict(zip(found.x, found.private.measured.mean, strict=True))
    assert found.tuned == T and mean[T] < 0.1 * min(mean[2], mean[512])
    assert mean[T] < 3 * min(mean.values()), "it opens near the bottom of the valley"
    assert tells(said(page), f"ε = 1, {T} steps of private Frank-Wolfe leave an excess risk of {rounded(mean[T])}")
    assert f"without privacy they leave {rounded(found.plain[T - 1])}" in said(page)
    missed = np.count_nonzero(~walked.right)
    choices = f"{missed} of its T − 1 = {T - 1} choices have the wrong"
    assert tells(captions(page), f"finds {walked.found} of 4 relevant", choices)
    assert len(charts(page)) == 2


def test_the_default_T_is_the_same_on_any_records():
    """It comes from public facts: the seed draws other records."""
    setting = dc.replace(SETTING, seed=8)
    other, here = (curves.path(each, n=10_000, p=128, T="bound") for each in (setting, SETTING))
    assert other.plan.steps == here.plan.steps and other.excess != here.excess


def test_the_bound_is_taken_apart_from_the_chart_s_number_to_the_chart_s_bound():
    T = curves.path(SETTING, n=10_000, p=128, T="bound").plan.steps + 1
    found = curves.against_T(SETTING, n=10_000, p=128, Ts=(2, T)).private
    chain = curves.proof(SETTING, n=10_000, p=128, T="bound")
    ends = found.measured.mean[1], found.bound[1]
    assert (chain.steps[0].value, chain.steps[-1].value) == pytest.approx(ends, rel=1e-9)
    assert proof_caption(chain) in captions(open_page(beside_vertices=PROOF))


def test_both_bounds_say_something_where_the_page_opens():
    page = open_page()
    T = curves.path(SETTING, n=10_000, p=128, T="bound").plan.steps + 1
    found = curves.against_T(SETTING, n=10_000, p=128, Ts=tuple(sorted({*curves.TS, T})))
    k = list(found.x).index(T)
    private = found.private
    assert private.measured.mean[k] < private.proved[k] < 0.3 * private.bound[k] < 0.3 * found.nothing[k]
    assert "It says something from" not in texts(page)


def test_where_the_bound_says_nothing_the_page_says_from_which_n_on():
    found = curves.against_n(dc.replace(SETTING, epsilon=0.1), p=128, T="bound")
    first = found.x[found.private.bound < found.nothing][0]
    said_n = texts(open_page(epsilon=0.1)).partition("It says something from about n = ")[2].split()[0]
    assert first / 2.0 < float(said_n.replace(",", "")) <= first


def test_against_n_three_slopes_stand_side_by_side():
    page = open_page(against="n")
    assert not page.exception and not page.error
    found = curves.against_n(SETTING, p=128, T="bound")
    measured, dense, bound = words.slopes(found)
    assert measured < dense - 0.1 and -0.8 < dense < -0.6 and bound > -0.7
    for slope in (measured, dense, bound):
        assert rate(slope) in said(page)


@pytest.mark.parametrize("against", ["T", "n", "p"])
def test_on_the_hardest_data_the_measurement_meets_the_lower_bound_and_nothing_is_learned(against):
    page = open_page(lasso_data="hardest", against=against)
    assert not page.exception and not page.error
    setting = dc.replace(SETTING, hardest=True)
    found = curves.against_n(setting, p=128, T="bound")
    k = list(found.x).index(10_000)
    mean, least, nothing = found.private.measured.mean, found.packing, found.nothing
    assert (least < mean).all() and (mean < 1.5 * least).all() and mean == pytest.approx(nothing, rel=0.1)
    signal = packing_signal(setting.instance(10_000, 128).spec, setting.budget)
    assert tells(said(page), rounded(mean[k]), "no private algorithm", rounded(least[k]), rounded(nothing[k]))
    assert f"{signal} of 10,000 records" in captions(page)
    assert f"The measurement is {rounded(mean[k] / least[k], 2)} times the lower bound" in texts(
        page
    ) and NO_LOWER not in texts(page)
    assert NO_LOWER in texts(open_page(lasso_data="hardest", against=against, epsilon=10.0))
