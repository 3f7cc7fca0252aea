"""The page Sparsity, tab LASSO: sentences, read-outs, refusals and code, in the default state and in random ones."""

import dataclasses as dc
import json
import random

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore.figures.figure import Figure
from dpcore.studies.sparsity.l1 import curves, membership
from dpcore.studies.sparsity.l1.data import Setting
from dpcore.studies.sparsity.simplex import beside_others
from dpcore.theory.lower_bounds import packing_signal
from pages.sparsity import l1_ball, l1_words
from pages.ui import sidebar
from pages.ui.numbers import rate, rounded, worded
from pages.ui.verdict import NO_LOWER
from tests.page_driver import captions, charts, said, shown, tells, texts

SETTING = Setting(epsilon=1.0, delta=1e-6, radius=1.0, accounting="tight", seed=7)


def open_page(**state) -> AppTest:
    return shown("sparsity/page.py", **state)


def test_the_default_state_shows_the_U_without_a_click():
    page = open_page()
    assert not page.exception and not page.error
    walked = curves.path(SETTING, n=10_000, p=256, T="auto")
    T = walked.plan.steps + 1
    found = curves.against_T(SETTING, n=10_000, p=256, Ts=tuple(sorted({*curves.TS, T})))
    mean = dict(zip(found.T, found.private.measured.mean, strict=True))
    best = min(mean, key=mean.get)
    assert best < T < found.T[-1] and mean[best] < mean[T] < mean[found.T[-1]]
    others = f" {best:.0f} ", "512 ", rounded(mean[512])
    assert tells(said(page), f"{T} steps of Frank-Wolfe at ε = 1 leave an excess risk of {rounded(mean[T])}", *others)
    assert f"Without privacy, {T} steps leave {rounded(found.plain[T - 1])}" in said(page)
    assert f"{walked.found} of 4" in texts(page) and f"T = {found.tuned}" in texts(page)
    assert f"{np.count_nonzero(~walked.right)} of {T - 1} choices have the wrong column or sign" in captions(page)
    assert len(charts(page)) == 2


def test_against_n_three_slopes_stand_side_by_side_and_the_caption_says_why_they_differ():
    page = open_page(against="n")
    assert not page.exception and not page.error
    found = curves.against_n(SETTING, p=256, T="auto")
    measured, dense, bound = l1_words.slopes(found)
    assert measured < dense - 0.1 and -0.8 < dense < -0.6 and bound > -0.7
    for slope in (measured, dense, bound):
        assert rate(slope) in said(page)
    assert "An upper bound holds for all data. On sparse data" in captions(page)
    assert f"n ≥ {worded(found.free)}" in texts(page)


def test_against_columns_the_growth_and_the_null_model_are_told():
    page = open_page(against="p")
    assert not page.exception and not page.error
    found = curves.against_p(SETTING, n=10_000, T="auto", ps=curves.PS)
    mean, whole = found.private.measured.mean, found.whole.measured.mean
    same = "leave the same excess risk within its error: "
    assert tells(said(page), "256 times", "65,536", "256", same + f"{rounded(mean[-1])} and {rounded(mean[2])}")
    assert f"leaves {rounded(whole[-1])}, {rounded(100 * whole[-1] / found.nothing[-1], 2)}% of the excess" in said(
        page
    )
    assert "512 columns" in captions(page)


@pytest.mark.parametrize("against", ["T", "n", "p"])
def test_on_the_hardest_data_the_measurement_meets_the_lower_bound_and_nothing_is_learned(against):
    page = open_page(lasso_data="hardest", against=against)
    assert not page.exception and not page.error
    setting = dc.replace(SETTING, hardest=True)
    found = curves.against_n(setting, p=256, T="auto")
    k = list(found.n).index(10_000)
    mean, least, nothing = found.private.measured.mean, found.packing, found.nothing
    assert (least < mean).all() and (mean < 1.5 * least).all() and mean == pytest.approx(nothing, rel=0.1)
    signal = packing_signal(setting.instance(10_000, 256).spec, setting.budget)
    assert tells(said(page), rounded(mean[k]), "no private algorithm", rounded(least[k]), rounded(nothing[k]))
    assert f"{signal} of 10,000 records" in captions(page)
    assert f"the measurement is {rounded(mean[k] / least[k], 2)} times" in texts(page) and NO_LOWER not in texts(page)
    assert NO_LOWER in texts(open_page(lasso_data="hardest", against=against, epsilon=10.0))


def test_noise_as_published_has_no_guarantee_and_the_page_says_what_is_proved():
    page = open_page(vertex_noise="published")
    assert not page.exception and not page.error
    walked = curves.path(dc.replace(SETTING, accounting="published"), n=10_000, p=256, T="auto")
    spent = walked.plan.spent.epsilon
    assert spent > 1.4
    assert tells(said(page), f"spends ε = {rounded(spent)} ", "more than", " 1.")
    assert "Nothing is released" in said(page) and "at ε = 1 leave" not in said(page)
    assert "Gumbel noise" in said(page)
    assert f"ε = {rounded(spent)} of 1" in texts(page) and "may be published" not in texts(page)
    # Not for every budget: at epsilon = 10 the same scale costs more than that with Gumbel noise, too.
    large = curves.path(dc.replace(SETTING, accounting="published", epsilon=10.0), n=10_000, p=256, T="auto")
    assert l1_words.gumbel_epsilon(large) > 10.0
    assert "Gumbel" not in said(open_page(vertex_noise="published", epsilon=10.0))
    assert "points spend more than ε = 1" in captions(page)
    safe = open_page(vertex_noise="published_safe")
    assert "steps of Frank-Wolfe at ε = 1 leave" in said(safe)


def test_the_simplex_beside_is_remark_2_on_the_records_of_the_other_tab():
    page = open_page(beside_ball="On the simplex", p=64)
    found = beside_others.beside_sampling(p=64, epsilon=1.0, delta=1e-6, loss="huber", seed=7, repetitions=8)
    assert f"Frank-Wolfe leaves {rounded(found.frank_wolfe.mean[-1])} and simplex sampling" in captions(page)
    assert found.frank_wolfe.mean[-1] < found.sampling.mean[-1]


def test_tracing_tells_how_far_the_illustration_is_from_the_theorem():
    page = open_page(beside_ball="Tracing")
    assert not page.exception and not page.error
    found = membership.tracing(seed=7, p=256, repetitions=l1_ball.TRACING_REPETITIONS)
    assert found.exact > 0.8 and found.auc[-1] > 0.75 > 0.6 > found.auc[0]
    assert tells(captions(page), f"AUC {found.exact:.2f}", f" {found.auc[-1]:.2f} at ε = 1,000")
    assert f"m ≥ {membership.literal_size().m:,}" in captions(page)


@pytest.mark.nightly
@pytest.mark.parametrize("case", range(12))
def test_random_states_show_no_error(case):
    rng = random.Random(case)
    state = {
        "against": rng.choice(list(l1_words.AXES)),
        "lasso_data": rng.choice(list(l1_words.RECORDS)),
        "vertex_noise": rng.choice(list(l1_words.ACCOUNTINGS)),
        "T": rng.choice(l1_ball.STEPS),
        "radius": rng.choice(l1_ball.RADII),
        "n": rng.choice(sidebar.SAMPLE_SIZES),
        "p": rng.choice([p for p in sidebar.DIMENSIONS if p <= l1_ball.MOST_COLUMNS]),
        "epsilon": rng.choice(dpcore.EPSILON_GRID),
        "delta": rng.choice(sidebar.DELTAS),
        "beside_ball": rng.choice(l1_ball.SIDES),
        "behind": rng.choice(["Assumptions", "Formula", "Code", "Data"]),
    }
    page = open_page(**state)
    assert not page.exception and not page.error, state
    assert "nan" not in said(page) and "nan" not in captions(page), state


@pytest.mark.parametrize("state", [{}, {"against": "n", "T": 12}, {"against": "p", "n": 2_000, "p": 128}])
def test_the_code_makes_the_picture_that_is_shown(state):
    page = open_page(behind="Code", **state)
    code, shown = page.code[0].value, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "show", lambda self: shown.append(self.to_json()))
        exec(code, {})
    drawn = [chart["figure"] for chart in charts(page).values()]
    assert len(shown) == 1
    data = json.loads(shown[0])["data"]
    assert any(json.loads(other)["data"] == data for other in drawn), state
