"""The page Dimension, view Sparse model: sentences, bounds, and the hardest data."""

import dataclasses as dc
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.studies.dimension.lasso import curves
from dpcore.studies.dimension.lasso.data import Setting
from dpcore.theory.lower_bounds import packing_signal
from pages.dimension import sparse_words as words
from pages.ui.numbers import LEARNED, cost, rate, rounded, share
from pages.ui.proof import PROOF, proof_caption
from pages.ui.verdict import NO_LOWER
from tests.page_driver import captions, charts, said, shown, tells, texts

SETTING = Setting(epsilon=1.0, delta=1e-8, radius=words.RADIUS, accounting="tight", seed=7)


def open_page(**state) -> AppTest:
    return shown("dimension/page.py", **({"topic": "sparse"} | state))


def test_the_default_state_says_what_columns_cost_and_what_they_cost_with_noise_in_the_whole_gradient():
    page = open_page()
    assert not page.exception and not page.error
    found = curves.against_p(SETTING, n=10_000, T="bound")
    mean, whole, nothing = found.private.measured.mean, found.whole.measured.mean, found.nothing
    assert mean[-1] < 0.01 * nothing[-1] and whole[0] < 0.01 * nothing[0]
    few, many = (cost(mean[k], nothing[k]) for k in (0, -1))
    begin = "Hardly: at ε = 1 private Frank-Wolfe, one vertex a step, costs"
    assert said(page) == (
        f"{begin} {many} of what can be learned among 65,536 columns, {few} among 16; noise in the whole gradient "
        "costs all of it."
    )
    assert said(open_page(p=16)) == (
        f"{begin} {few} of what can be learned among 16 columns, {many} among 65,536; noise in the whole gradient "
        f"costs {cost(whole[0], nothing[0])}."
    )
    walked = curves.path(SETTING, n=10_000, p=65_536, T="bound")
    assert tells(captions(page), f"finds {walked.found} of 4 relevant", f"T − 1 = {walked.plan.steps} choices")
    assert len(charts(page)) == 2


@pytest.mark.parametrize("state", [{"n": 2_000, "T": 96, "epsilon": 0.1}, {"n": 2_000, "T": 6, "epsilon": 0.015}])
def test_where_nothing_is_learned_columns_neither_hurt_nor_do_not(state):
    assert said(open_page(p=1_024, **state)).startswith(f"At ε = {state['epsilon']:g} private Frank-Wolfe")


def test_a_single_choice_is_no_plural():
    assert re.search(r"(1 of its T − 1 = 1 choice has|0 of its T − 1 = 1 choice have)", captions(open_page(T=2, p=128)))


def test_against_T_the_cursor_stands_in_the_valley():
    page = open_page(against="T", p=128)
    assert not page.exception and not page.error
    walked = curves.path(SETTING, n=10_000, p=128, T="bound")
    T = walked.plan.steps + 1
    found = curves.against_T(SETTING, n=10_000, p=128, Ts=tuple(sorted({*curves.TS, T})))
    mean = dict(zip(found.x, found.private.measured.mean, strict=True))
    assert found.tuned == T and mean[T] < 0.1 * min(mean[2], mean[512])
    assert mean[T] < 3 * min(mean.values()), "it opens near the bottom of the valley"
    here, plain = cost(mean[T], found.nothing[0]), cost(found.plain[T - 1], found.nothing[0])
    assert tells(
        said(page), f"ε = 1, {T} steps of private Frank-Wolfe cost {here} of what", f"without privacy {plain}."
    )
    missed = np.count_nonzero(~walked.right)
    choices = f"{missed} of its T − 1 = {T - 1} choices have the wrong"
    assert tells(captions(page), f"finds {walked.found} of 4 relevant", choices)


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
    assert proof_caption(chain) in captions(open_page(p=128, beside_vertices=PROOF))


def test_both_bounds_say_something_where_the_page_opens():
    page = open_page(against="T", p=128)
    T = curves.path(SETTING, n=10_000, p=128, T="bound").plan.steps + 1
    found = curves.against_T(SETTING, n=10_000, p=128, Ts=tuple(sorted({*curves.TS, T})))
    k = list(found.x).index(T)
    private = found.private
    assert private.measured.mean[k] < private.proved[k] < 0.3 * private.bound[k] < 0.3 * found.nothing[k]
    assert "It says something from" not in texts(page)


def test_where_the_bound_says_nothing_the_page_says_from_which_n_on():
    found = curves.against_n(dc.replace(SETTING, epsilon=0.1), p=128, T="bound")
    first = found.x[found.private.bound < found.nothing][0]
    told = texts(open_page(against="T", p=128, epsilon=0.1))
    said_n = told.partition("It says something from about n = ")[2].split()[0]
    assert first / 2.0 < float(said_n.replace(",", "")) <= first


def test_against_n_three_slopes_stand_side_by_side():
    page = open_page(against="n", p=128)
    assert not page.exception and not page.error
    found = curves.against_n(SETTING, p=128, T="bound")
    measured, dense, bound = words.slopes(found)
    assert measured < dense - 0.1 and -0.8 < dense < -0.6 and bound > -0.7
    for slope in (measured, dense, bound):
        assert rate(slope) in said(page)


@pytest.mark.parametrize("against", ["T", "n", "p"])
def test_on_the_hardest_data_the_measurement_meets_the_lower_bound_and_nothing_is_learned(against):
    page = open_page(lasso_data="hardest", against=against, p=128)
    assert not page.exception and not page.error
    setting = dc.replace(SETTING, hardest=True)
    found = curves.against_n(setting, p=128, T="bound")
    k = list(found.x).index(10_000)
    mean, least, nothing = found.private.measured.mean, found.packing, found.nothing
    assert (least < mean).all() and (mean < 1.5 * least).all() and mean == pytest.approx(nothing, rel=0.1)
    signal = packing_signal(setting.instance(10_000, 128).spec, setting.budget)
    here, lowest = share(mean[k], nothing[k], LEARNED), cost(least[k], nothing[k])
    assert tells(said(page), f"costs {here}", "no private algorithm", f"less than {lowest}.")
    assert f"{signal} of 10,000 records" in captions(page)
    assert f"The measurement is {rounded(mean[k] / least[k], 2)} times the lower bound" in texts(
        page
    ) and NO_LOWER not in texts(page)
    assert NO_LOWER in texts(open_page(lasso_data="hardest", against=against, p=128, epsilon=10.0))
