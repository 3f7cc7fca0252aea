"""The page Sparsity, tabs Simplex sampling and Online: sentences, cards, refusals, code, in many states."""

import json
import random
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpcore
from dpcore.figures.sparsity.simplex import draws_figure
from dpcore.mechanisms.simplex.weight_range import published_epsilon
from dpcore.studies.sparsity.simplex import beside_others, excess_by_draws, published_draws, single_release
from dpcore.studies.sparsity.streaming import regret
from dpcore.studies.sparsity.streaming.adversaries import ADVERSARIES
from pages.sparsity import simplex, simplex_words, streaming_words
from pages.sparsity import streaming as tab
from pages.ui import sidebar
from pages.ui.numbers import amount, rounded, worded
from tests.page_driver import captions, charts, said, shown, tells, texts

DEFAULT = {"n": 5_000, "p": 64, "epsilon": 1.0, "delta": 1e-6, "loss": "huber", "seed": 7}
LIVE = simplex.REPETITIONS


def open_page(**state) -> AppTest:
    return shown("sparsity/page.py", **({"tab": "simplex"} | state))


def valley(**changed) -> excess_by_draws.Valley:
    return excess_by_draws.valley(
        **(DEFAULT | {"lam": "auto", "repetitions": LIVE, "ms": excess_by_draws.MS} | changed)
    )


# Simplex


def test_the_default_state_shows_the_valley_without_a_click():
    page = open_page()
    assert not page.exception and not page.error
    release = single_release.support(**DEFAULT, lam="auto", m="auto")
    m = release.plan.steps
    made = valley(ms=tuple(sorted({*excess_by_draws.MS, m})))
    mean = dict(zip(made.m, made.training.mean, strict=True))
    assert tells(said(page), "ε = 1", f"{m} random draws instead of 64 weights", rounded(mean[m]))
    few, many = (float(made.m[np.argmin(abs(made.m - at))]) for at in (m / 8, 32 * m))
    assert mean[few] > 2.0 * mean[m] and mean[many] > 1.5 * mean[m], "a valley, with the cursor at its bottom"
    assert tells(said(page), f"{few:.0f} random draws ", f" {rounded(mean[few])}")
    assert tells(said(page), f"{many:,.0f} random draws", rounded(mean[many]))
    assert f"{m * 6:,} bits" in texts(page) and f"they name {release.distinct:,} columns" in texts(page)
    assert f"m = {made.best_by_bound('training')}" in texts(page) and "common random numbers" in captions(page)


def test_a_fixed_lam_that_pays_for_fewer_draws_than_asked_says_what_they_would_cost():
    page = open_page(lam=0.02, m=100)
    release = single_release.support(**DEFAULT, lam=0.02, m=100)
    spent = release.plan.spent.epsilon
    assert spent > 1.0
    assert tells(said(page), "Nothing is released", "100 random draws", "λ = 0.02", f"ε = {rounded(spent)}, more than")
    cheap = open_page(lam=0.02, m=2)
    assert "At ε = 1 the release is 2 random draws" in said(cheap) and "and spend ε = " in said(cheap)


def test_no_draw_at_all_is_a_sentence_that_says_what_would_allow_one():
    page = open_page(lam=0.0001, epsilon=0.01)
    assert not page.exception and not page.error
    assert "Nothing is released: simplex sampling cannot draw one column: a draw costs ε = " in said(page)
    assert re.search(r"it takes ε ≥ [\d.]+, λ ≥ [\d.]+ or n ≥ [\d,]+", said(page))
    assert "Nothing is drawn" in captions(page)


def test_the_published_theorem_has_no_curve_to_measure_and_the_page_says_so():
    page = open_page(beside="Draws as published", epsilon=1.0)
    allowed = published_draws.published_draws(p=64, epsilon=1.0, delta=1e-6, loss="huber")
    assert allowed.first is not None and allowed.first > 10**9
    assert f"n = {worded(allowed.first, 3)}." in captions(page) and "nothing can be released" in captions(page)
    theirs, ours = published_draws.draws_at(5_000, p=64, epsilon=1.0, delta=1e-6, loss="huber")
    assert f"allows {rounded(theirs, 2)} draws at n = 5,000" in captions(page) and f" {ours}." in captions(page)


def test_the_published_count_reaches_one_draw_where_its_formula_does():
    """m (L R = c = 1, p = 100, delta = 1e-5): 3e-4, 0.0079 and 0.82 of a draw at 1e3, 1e5 and 1e8 people."""
    made = published_draws.published_draws(p=100, epsilon=1.0, delta=1e-5, loss="huber_hinge")
    for n, m in ((1e3, 3.07e-4), (1e5, 0.00786), (1e8, 0.8244)):
        assert made.published[made.n == n] == pytest.approx(m, rel=0.02)
    spec = dpcore.Spec("huber_hinge", made.first, 100, "published", dpcore.Domain(np.inf), set="simplex")
    plan = dpcore.make_mechanism("simplex_sampling", accounting="published").calibrate(spec, dpcore.Budget(1.0, 1e-5))
    assert plan.steps == 1 and published_epsilon(plan.spec, 1e-5) <= 1.0
    with pytest.raises(dpcore.NotApplicable, match=r"Theorem 3 as published gives m = "):
        less = dpcore.Spec("huber_hinge", made.first - 1, 100, "published", dpcore.Domain(np.inf), set="simplex")
        plan.mechanism.calibrate(less, dpcore.Budget(1.0, 1e-5))
    learning = made.n >= 1_000
    assert (np.diff(made.ours[learning]) > 0).all() and (made.ours >= 1).all()
    assert (np.diff(made.ours[~learning]) < 0).all(), "where little can be learned more draws do no harm"


def test_no_state_of_the_sliders_gives_theorem_4_a_draw():
    """The page says so in every state; the easiest one has the largest epsilon and delta and the fewest columns."""
    easiest = {"p": 8, "epsilon": max(dpcore.EPSILON_GRID), "delta": max(sidebar.DELTAS), "loss": "huber"}
    assert published_draws.published_draws(**easiest).first > 100 * simplex.MOST_RECORDS
    first = published_draws.published_draws(**easiest).first
    for harder in ({"p": 64}, {"epsilon": 5.0}, {"delta": 1e-6}):
        assert published_draws.published_draws(**easiest | harder).first > first


def test_the_columns_side_compares_both_ways_on_the_same_records():
    page = open_page(beside="Dimension", p=1_024)
    by_p = beside_others.excess_against_columns(
        **{k: v for k, v in DEFAULT.items() if k != "p"},
        repetitions=8,
        ps=tuple(sorted({*beside_others.PS, 1_024})),
    )
    k = list(by_p.p).index(1_024)
    assert tells(
        captions(page),
        f"At p = 1,024: sampling {rounded(by_p.sampling.mean[k])}",
        f"objective {rounded(by_p.objective.mean[k])}",
    )
    assert by_p.sampling.mean[-1] / by_p.sampling.mean[0] < 10 < by_p.objective.mean[-1] / by_p.objective.mean[0]


def test_theory_s_lam_is_resolved_once_m_is_known():
    page = open_page(lam="population")
    assert not page.exception and not page.error
    lam = float(single_release.support(**DEFAULT, lam="population", m="auto").plan.spec.lam)
    assert f"at λ = {lam:.3g}" in texts(page) and "λ is fixed" in captions(page)


@pytest.mark.nightly
@pytest.mark.parametrize("case", range(10))
def test_random_states_of_the_simplex_show_no_error(case):
    rng = random.Random(case)
    state = {
        "n": rng.choice([n for n in sidebar.SAMPLE_SIZES if n <= 3_000]),
        "p": rng.choice([p for p in sidebar.DIMENSIONS if p <= simplex.MOST_COLUMNS]),
        "epsilon": rng.choice(dpcore.EPSILON_GRID),
        "delta": rng.choice(sidebar.DELTAS),
        "lam": rng.choice(sidebar.LAMBDAS),
        "m": rng.choice(sidebar.SAMPLES),
        "on": rng.choice(list(simplex_words.ON)),
        "beside": rng.choice(simplex.SIDES),
        "behind": rng.choice(["Assumptions", "Formula", "Code", "Data"]),
    }
    page = open_page(**state)
    assert not page.exception and not page.error, state
    assert "nan" not in said(page) and "nan" not in captions(page), state


# Streaming


def test_the_default_stream_compares_with_no_privacy_and_with_the_bound():
    page = open_page(tab="streaming")
    assert not page.exception and not page.error
    play = regret.play("random", 8, 2_000, epsilon=1.0, delta=1e-6, repetitions=50, seed=7)
    assert f"2,000 choices among 8 arms at ε = 1 have a regret of {amount(play.expected[-1])} " in said(page)
    assert f" mean is at most {amount(play.bound)}" in said(page)
    free = float(re.search(r"without privacy it is ([\d.]+\d)", said(page))[1])
    assert 0 < free < 0.2 * play.expected[-1]
    assert f"{100 * play.trust[-1]:.0f}%" in texts(page)


def test_the_online_tab_says_what_both_bounds_are_worth_for_the_reader_s_arms():
    page = open_page(tab="streaming", adversary="fair", p=128)
    budget = {"epsilon": 1.0, "delta": 1e-6, "seed": 7}
    curve = regret.regret_curve("fair", 128, tab.LENGTHS, repetitions=streaming_words.REPETITIONS, **budget)
    k = tab.LENGTHS.index(tab.FIRST_LENGTH)
    assert np.allclose(curve.expected[k:], curve.nothing[k:], rtol=0.2), "nobody learns a fair coin"
    assert tells(texts(page), "p = 128", f"the measurement is {rounded(curve.expected[k] / curve.least[k], 2)} times")
    assert tells(texts(page), "Upper bound", "nowhere on this axis")
    default = texts(open_page(tab="streaming"))
    assert tells(default, "Upper bound", "from T = 2,000 on") and "Lower bound" in default


def test_the_adaptive_adversary_comes_close_to_the_bound():
    page = open_page(tab="streaming", adversary="adaptive", epsilon=5.0, p=128)
    assert "These costs come close." in said(page)


def test_a_lam_that_overspends_says_so_and_one_that_cannot_be_played_gives_the_reason():
    page = open_page(tab="streaming", lam=0.01)
    assert re.search(r"Nothing is released: .* 8 arms .*ε = [\d.]+, more than", said(page))
    play = regret.play("random", 8, 2_000, epsilon=1.0, delta=1e-6, lam=0.01, repetitions=50, seed=7)
    assert play.plan.spent.epsilon > 1.0 and f"ε = {rounded(play.plan.spent.epsilon)}, more" in said(page)
    assert re.search(r"\d+ of the 16 points spend more than ε = 1 at this λ", captions(page))
    assert "spend more than" not in captions(open_page(tab="streaming"))
    fast = open_page(tab="streaming", stream_lam="published", epsilon=10.0)
    assert not fast.exception and not fast.error


@pytest.mark.nightly
@pytest.mark.parametrize("case", range(8))
def test_random_streams_show_no_error(case):
    rng = random.Random(case)
    state = {
        "tab": "streaming",
        "adversary": rng.choice(list(ADVERSARIES)),
        "stream_lam": rng.choice(list(streaming_words.ACCOUNTINGS)),
        "steps_of_stream": rng.choice(tab.LENGTHS),
        "p": rng.choice([p for p in sidebar.DIMENSIONS if p <= tab.MOST_ARMS]),
        "epsilon": rng.choice(dpcore.EPSILON_GRID),
        "delta": rng.choice(sidebar.DELTAS),
        "lam": rng.choice(sidebar.LAMBDAS),
        "behind": rng.choice(["Assumptions", "Formula", "Code", "Data"]),
    }
    page = open_page(**state)
    assert not page.exception and not page.error, state
    assert "nan" not in said(page) and "nan" not in captions(page), state


# Both


@pytest.mark.parametrize("state", [{}, {"lam": 0.05, "m": 20, "on": "fresh"}, {"tab": "streaming"}])
def test_the_code_makes_the_picture_that_is_shown(state):
    page = open_page(behind="Code", **state)
    code, shown = page.code[0].value, []
    figure = type(draws_figure(valley(), m=14, on="training", theme="light", height=430))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure, "show", lambda self: shown.append(self.to_json()))
        exec(code, {})
    drawn = [chart["figure"] for chart in charts(page).values()]
    assert len(shown) == (2 if state.get("tab") == "streaming" else 1)
    for picture in shown:
        data = json.loads(picture)["data"]
        assert any(json.loads(other)["data"] == data for other in drawn), state
