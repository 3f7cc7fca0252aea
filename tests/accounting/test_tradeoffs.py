"""Claims as whole trade-off curves: every family against its own laws, and every mechanism's against what it spends."""

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

import dpcore
from dpcore import Budget, Domain, Spec
from dpcore.accounting.tradeoff import (
    BatchCurve,
    ChoicesCurve,
    GaussianCurve,
    ObjectiveCurve,
    PureCurve,
    RepeatedChoiceCurve,
    ZcdpCurve,
    equal_choices_curve,
    summed_curve,
)
from dpcore.accounting.zcdp import zcdp_delta, zcdp_epsilon
from dpcore.audit.game import worst_plan
from tests.audits import KEYS, KNOBS, accountings, plan_for
from tests.mechanisms.test_bounded_range import two_point

CURVES = [
    GaussianCurve(0.5),
    PureCurve(0.7),
    PureCurve(0.7, failure=0.01),
    ObjectiveCurve(0.4, 0.2, ((1, 0.0), (2, 0.5), (1, 1.0))),
    RepeatedChoiceCurve(0.2, 30),
    ChoicesCurve(0.3, ((1.0,) * 9, (2.0, 1.0, 0.5))),
    ChoicesCurve(0.2, ((1.0,) * 9,), pure=True),
    BatchCurve(0.5, 0.1, 40, "poisson"),
    BatchCurve(0.5, 0.1, 40, "uniform"),
    ZcdpCurve(0.5),
    ZcdpCurve(0.5, stretch=2.0),
]
every_curve = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.words)
EPSILONS = np.append(0.0, np.geomspace(1e-3, 8.0, 60))


@every_curve
def test_a_profile_falls_and_is_that_of_its_trade_off_function(curve):
    """f is convex, falls from 1 - delta(inf) or less, is its own inverse, and has the profile as its conjugate."""
    a = np.linspace(0.0, 1.0, 4_001)
    missed, delta = curve.missed(a), curve.delta(EPSILONS)
    assert (np.diff(delta) <= 1e-12).all() and delta[0] < 1.0 and (delta >= 0.0).all()
    assert missed[0] <= 1.0 and missed[-1] == 0.0 and (missed <= 1.0 - a + 1e-12).all()
    assert (np.diff(missed) <= 1e-12).all() and (np.diff(missed, 2) >= -1e-9).all()
    inner = a[(missed > 1e-3) & (a > 1e-3)]
    assert np.allclose(curve.missed(curve.missed(inner)), inner, rtol=0, atol=2e-4)
    conjugate = np.max(1.0 - missed - np.exp(EPSILONS[:, None]) * a, axis=1)
    assert np.abs(np.maximum(conjugate, 0.0) - delta).max() < 2e-3, "up to the grids of both"


@every_curve
def test_the_best_attacker_s_share_and_epsilon_are_read_off_the_profile(curve):
    assert curve.attack_limit() == pytest.approx(0.5 + 0.5 * float(curve.delta(np.zeros(1))[0]), rel=1e-12)
    assert curve.attack_limit() < curve.at(1.5 * curve.mu).attack_limit() and curve.at(curve.mu) == curve
    delta = float(curve.delta(np.array([0.4]))[0])
    if delta > 1e-3 and not isinstance(curve, PureCurve | ObjectiveCurve):
        assert curve.epsilon(curve.mu, delta) == pytest.approx(0.4, rel=1e-6)
    assert curve.epsilon(0.0, 1e-3) == 0.0


@every_curve
def test_what_the_curve_just_allows_needs_its_mu_and_a_little_more_needs_more(curve):
    """At false alarms of a tenth; the grid of epsilons costs the families that lie below their chords next to nothing.

    Of many events the one that needs the most decides.
    """
    false = np.array([0.1])
    true = 1.0 - curve.missed(false)
    (needed,) = curve.needed(true, false)
    assert 0.995 * curve.mu < needed <= curve.mu * (1 + 1e-9)
    assert curve.needed(true + 0.01, false)[0] > 1.005 * curve.mu
    many = curve.needed(np.array([0.1, 0.101, true[0], 0.05]), np.array([0.1, 0.1, 0.1, 0.1]))
    assert many.argmax() == 2 and many[2] == pytest.approx(needed, rel=1e-4)
    # The complement of an event says as much as the event.
    assert curve.needed(1.0 - false, 1.0 - true)[0] == pytest.approx(needed, rel=1e-4)


def test_exact_laws_need_their_own_parameter():
    """Of each family a pair of laws that attains it, at the event that tells them apart best."""
    mu, times, false = 0.05, 25, np.array([0.2])
    full = BatchCurve(mu, 1.0, times, "poisson")
    shown = ndtr(ndtri(false) + 2.0 * math.sqrt(times) * mu)
    assert full.needed(shown, false)[0] == pytest.approx(mu, rel=2e-3)
    p, q = two_point(0.8, 0.5)
    for curve in (ChoicesCurve(0.5, ((1.0,),)), RepeatedChoiceCurve(0.5, 1)):
        assert curve.needed(np.array([p]), np.array([q]))[0] == pytest.approx(0.8, rel=5e-3)
    counts, chance = 26, 1.0 / (1.0 + math.exp(-0.1))
    rates = (np.array([stats.binom.sf(counts, 49, each)]) for each in (chance, 1.0 - chance))
    assert ChoicesCurve(0.2, ((1.0,) * 49,), pure=True).needed(*rates)[0] == pytest.approx(0.1, rel=0.03)
    told = 0.1 + 0.9 * np.array([chance]), 0.9 * np.array([1.0 - chance])
    assert PureCurve(1.0, failure=0.1).needed(*told)[0] == pytest.approx(0.1, rel=1e-9)
    assert PureCurve(1.0).needed(*told)[0] > 0.2


def test_gaussian_noise_is_within_what_its_zcdp_allows_and_a_third_more_is_not():
    gaussian, zcdp = GaussianCurve(0.6), ZcdpCurve(0.6)
    assert (zcdp.delta(EPSILONS) >= gaussian.delta(EPSILONS)).all()
    assert not (zcdp.delta(EPSILONS) >= gaussian.at(0.8).delta(EPSILONS)).all()
    for delta in (1e-6, 1e-2):
        assert zcdp_delta(0.18, np.array([zcdp_epsilon(0.18, delta)]))[0] == pytest.approx(delta, rel=1e-6)
    a = np.linspace(0.01, 0.9, 50)
    assert np.allclose(super(GaussianCurve, gaussian).missed(a), gaussian.missed(a), rtol=0, atol=2e-3)
    assert (super(GaussianCurve, gaussian).missed(a) <= gaussian.missed(a) + 1e-12).all()


def test_chords_carry_what_is_known_at_one_epsilon_to_all_others():
    """Of (epsilon, delta) alone they make its trade-off curve; a zCDP profile says nothing at 0 that TV does not."""

    class OnePoint(ZcdpCurve):
        def bound(self, epsilon: np.ndarray) -> np.ndarray:
            return np.where(epsilon >= self.mu, 0.01, 1.0)

    grid_point = float(OnePoint(1.0).grid[70])
    found, exact = OnePoint(grid_point), PureCurve(grid_point, failure=0.01)
    assert np.allclose(found.delta(EPSILONS), exact.delta(EPSILONS), rtol=1e-9, atol=1e-12)


def test_many_choices_are_held_to_zcdp_and_the_plain_sum():
    """Both lie above the exact profile of fewer choices, and only the sum sees that nothing is left beyond it."""
    exact = ChoicesCurve(0.4, ((1.0,) * 8,))
    for curve in (summed_curve(3.2, math.sqrt(8) * 0.4), equal_choices_curve(0.4, 8)):
        assert (curve.delta(EPSILONS) >= exact.delta(EPSILONS) - 1e-12).all()
    assert summed_curve(3.2, 0.4).delta(np.array([3.3]))[0] == 0.0
    assert summed_curve(1e9, 3.2, pure=True).delta(np.array([3.3]))[0] > 0.0
    assert isinstance(equal_choices_curve(0.001, 10**9), ZcdpCurve)


CLAIMS = [(key, accounting) for key in KEYS for accounting in accountings(key)]


@pytest.mark.parametrize("key, accounting", CLAIMS)
def test_every_mechanism_claims_a_curve_that_says_what_it_spends_whatever_its_own_noise(key, accounting):
    """At the audited plan too. Adaptive choices are known better than the zCDP that sets their noise: up to 9 times."""
    facts = {"loss": "linear", "lam": "auto"} if key == "ftrl" else {}
    plans = [plan_for(key, accounting=accounting, **facts, **KNOBS.get((key, accounting), {}))]
    if accounting == "tight":
        plans.append(worst_plan(key))
    for plan in plans:
        curve, spent = plan.mechanism.claimed_curve(plan), plan.spent
        at, below = curve.delta(np.array([spent.epsilon, 0.75 * spent.epsilon]))
        assert at <= spent.delta * (1 + 1e-6) + 1e-12 and below > spent.delta
        event, *others = plan.ledger
        broken = dc.replace(plan.weakened(0.5), ledger=(dc.replace(event, scale=event.scale / 2), *others))
        assert broken.mechanism.claimed_curve(broken) == curve
        assert curve.attack_limit() <= plan.mechanism.attack_limit(plan) + 0.04 or plan.spent.pure


def test_gamma_noise_of_classes_claims_pure_privacy():
    plan = plan_for("gaussian_classifier", noise="gamma")
    assert plan.mechanism.claimed_curve(plan) == PureCurve(plan.spent.epsilon)


def test_draws_whose_loss_delta_covers_claim_their_budget_alone():
    spec = Spec("logistic", 10**6, 3, lam=1e6, domain=Domain(math.inf), set="simplex")
    plan = dpcore.make_mechanism("simplex_sampling", m=1000).calibrate(spec, Budget(1.0, 1e-2))
    assert plan.mechanism.claimed_curve(plan) == PureCurve(plan.spent.epsilon, plan.spent.delta)


def test_a_polytope_s_claim_covers_every_place_of_a_record():
    mechanism = dpcore.make_mechanism("polyhedral_frank_wolfe", T=6)
    plan = mechanism.calibrate(dc.replace(mechanism.worst_spec, n=200), Budget(1.0, 1e-5))
    claim, unit = mechanism.claimed_curve(plan), 2.0 / plan.scale
    for moves in mechanism._course(plan.spec, plan.requested).readings:
        assert ChoicesCurve(unit, (moves,)).attack_limit() <= claim.attack_limit() * (1 + 1e-9)
    assert claim.attack_limit() <= mechanism.attack_limit(plan) + 1e-12
