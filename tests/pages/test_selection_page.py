"""The page Selection: sentences, refusals and bounds of its views."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.studies.selection.simplex import excess_by_draws, published_draws, single_release
from dpcore.studies.selection.streaming import regret
from pages.selection import simplex, streaming_words
from pages.ui.numbers import amount, cost, rounded, worded
from pages.ui.proof import PROOF, proof_caption
from tests.page_driver import captions, said, shown, tells, texts

DEFAULT = {"n": 5_000, "p": 64, "epsilon": 1.0, "delta": 1e-8, "loss": "huber", "seed": 7}
LIVE = simplex.REPETITIONS


def open_page(**state) -> AppTest:
    return shown("selection/page.py", **state)


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
    few, many = (float(made.m[np.argmin(abs(made.m - at))]) for at in (m / 8, 32 * m))
    assert mean[few] > 2.0 * mean[m] and mean[many] > 1.5 * mean[m], "a valley, with the cursor at its bottom"
    here, most = (cost(mean[at], made.nothing["training"]) for at in (m, 10_000))
    assert mean[1] > 1.1 * made.nothing["training"]
    assert said(page) == (
        f"Neither few nor many: at ε = 1, {m} random draws from 64 columns cost {here} of what can be learned; a "
        f"single draw costs more than there is to learn, 10,000 draws {most}."
    )


def test_draws_that_cost_hardly_less_than_the_most_are_many():
    assert said(open_page(on="fresh", n=2_000, p=32, m=5_000)).startswith("At ε = 1, 5,000 random draws")


def test_draws_that_lose_more_than_there_is_to_learn_stand_beside_those_that_leave_something():
    mean, nothing = (made := valley()).training.mean, made.nothing["training"]
    assert said(open_page(m=1)) == (
        f"At ε = 1, a single random draw from 64 columns costs more than there is to learn; 10,000 draws cost "
        f"{cost(mean[-1], nothing)}."
    )


def test_a_fixed_lam_that_pays_for_fewer_draws_than_asked_says_what_they_would_cost():
    page = open_page(lam=0.02, m=100)
    release = single_release.support(**DEFAULT, lam=0.02, m=100)
    spent = release.plan.spent.epsilon
    assert spent > 1.0
    assert tells(said(page), "Nothing is released", "100 random draws", "λ = 0.02", f"ε = {rounded(spent)}, more than")
    cheap = open_page(lam=0.02, m=2)
    assert "At ε = 1, 2 random draws from 64 columns cost more than there is to learn; 3 draws cost " in said(cheap)


def test_no_draw_at_all_is_a_sentence_that_says_what_would_allow_one():
    page = open_page(lam=0.0001, epsilon=0.01)
    assert not page.exception and not page.error
    assert "Nothing is released: simplex sampling cannot draw one column: a draw costs ε = " in said(page)
    assert re.search(r"it takes ε ≥ [\d.]+, λ ≥ [\d.]+ or n ≥ [\d,]+", said(page))
    assert "Nothing is drawn" in captions(page)


def test_the_draws_of_the_published_theorem_stand_in_the_assumptions():
    told = texts(open_page(behind="Assumptions"))
    public = {key: DEFAULT[key] for key in ("p", "epsilon", "delta", "loss")}
    theirs, ours = published_draws.draws_at(5_000, **public)
    first = published_draws.first_draw(**public)
    assert first is not None and first > 10**9
    assert tells(told, f"allows {rounded(theirs, 2)} draws at n = 5,000", worded(first, 3), f"accounting allows {ours}")


def test_theory_s_lam_is_resolved_once_m_is_known():
    page = open_page(lam="population")
    assert not page.exception and not page.error
    plan = single_release.support(**DEFAULT, lam="population", m="auto").plan
    made = valley(lam=float(plan.spec.lam), ms=(plan.steps,))
    assert "λ is fixed" in captions(page)
    assert f"cost {cost(made.training.mean[0], made.nothing['training'])} of what can be learned" in said(page)


# Streaming


def test_the_bound_is_taken_apart_from_the_chart_s_number_to_the_chart_s_bound():
    m = single_release.support(**DEFAULT, lam="auto", m="auto").plan.steps
    made = valley(ms=tuple(sorted({*excess_by_draws.MS, m})))
    k = list(made.m).index(m)
    chain = excess_by_draws.proof(
        **DEFAULT, lam="auto", m=m, repetitions=LIVE, ms=tuple(sorted({*excess_by_draws.MS, m}))
    )
    ends = made.training.mean[k], made.training.se[k], made.bounds["training"][k]
    assert (chain.steps[0].value, chain.steps[0].se, chain.steps[-1].value) == pytest.approx(ends, rel=1e-6)
    assert proof_caption(chain) in captions(open_page(beside=PROOF))

    play = regret.play("random", 8, 2_000, epsilon=1.0, delta=1e-6, seed=7)
    chain = regret.proof("random", 8, 2_000, epsilon=1.0, delta=1e-6, seed=7)
    ends = play.expected[-1], play.bound
    assert (chain.steps[0].value, chain.steps[-1].value) == pytest.approx(ends, rel=1e-9)
    assert proof_caption(chain) in captions(open_page(tab="streaming", beside_stream=PROOF))


def test_the_default_stream_compares_with_no_privacy_and_with_the_bound():
    page = open_page(tab="streaming")
    assert not page.exception and not page.error
    play = regret.play("random", 8, 2_000, epsilon=1.0, delta=1e-6, seed=7)
    plain = regret.regret_curve("random", 8, [2_000], **streaming_words.NON_PRIVATE, delta=1e-6, seed=7)
    (free,), (blind,) = plain.expected, plain.nothing
    lost = play.expected[-1]
    assert 0 < free < 0.2 * lost
    assert said(page) == (
        f"At ε = 1 the private learner loses {rounded(lost / free, 2)} times as much as one without privacy: "
        f"regret {amount(lost)} against {amount(free)}; a blind choice loses {amount(blind)}."
    )
    assert f"the best arm; the learner gives it {100 * play.trust[-1]:.0f}% of its weight." in captions(page)


def test_a_regret_that_is_a_little_larger_is_not_called_no_more():
    page = open_page(tab="streaming", adversary="adaptive", epsilon=10.0, delta=1e-3, steps_of_stream=5_000)
    assert "loses hardly more than one without privacy: regret 126 against 120;" in said(page)


def test_where_nothing_can_be_learned_of_the_arms_the_sentence_says_so():
    fair = regret.regret_curve("fair", 8, [2_000], epsilon=1.0, delta=1e-6, seed=7)
    assert said(open_page(tab="streaming", adversary="fair")) == (
        f"Fair coins teach nothing: in 2,000 choices every learner has a mean regret of {amount(fair.least[0])}, "
        f"this one {amount(fair.expected[0])} at ε = 1."
    )


def test_a_lam_that_overspends_says_so_and_one_that_cannot_be_played_gives_the_reason():
    page = open_page(tab="streaming", lam=0.01)
    assert re.search(r"Nothing is released: .* 8 arms .*ε = [\d.]+, more than", said(page))
    play = regret.play("random", 8, 2_000, epsilon=1.0, delta=1e-6, lam=0.01, seed=7)
    assert play.plan.spent.epsilon > 1.0 and f"ε = {rounded(play.plan.spent.epsilon)}, more" in said(page)
    assert re.search(r"\d+ of the 8 points spend more than ε = 1 at this λ", captions(page))
    assert "spend more than" not in captions(open_page(tab="streaming"))
