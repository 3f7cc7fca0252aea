"""The valley in m, one release and the cost of columns, against direct computations.

Random tests have fixed seeds. "Five standard errors" fails by chance with probability below 1e-6 a comparison.
"""

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy.optimize import brentq

from dpcore import data as records
from dpcore.accounting.zcdp import zcdp_epsilon
from dpcore.core.cache import SharedCache
from dpcore.core.privacy import Budget, NotApplicable, Unconverged
from dpcore.core.records import Data
from dpcore.core.rng import generator
from dpcore.core.specification import Spec
from dpcore.mechanisms.simplex.sampling import SimplexSampling, sampled_models
from dpcore.studies.selection.simplex import beside_others, excess_by_draws, single_release
from dpcore.studies.selection.simplex import data as problem
from dpcore.studies.selection.simplex.beside_others import excess_against_columns
from dpcore.studies.selection.simplex.excess_by_draws import valley as valley_of
from dpcore.studies.selection.simplex.single_release import support as support_of

SMALL = {"n": 400, "p": 12, "epsilon": 1.0, "delta": 1e-6, "loss": "huber", "seed": 3}
SE = 5.0
PRECISE = 1e-6  # predictions are in single precision


@pytest.fixture(autouse=True)
def empty_caches(monkeypatch):
    """Every test computes for itself."""
    excess_by_draws._measure.cache.clear()
    support_of.cache.clear()
    excess_against_columns.cache.clear()
    monkeypatch.setattr(problem, "_REFERENCES", SharedCache(64))


def huber(z, y, h=0.5):
    r = np.abs(z - y)
    return float(np.mean([e * e / (2 * h) if e <= h else e - h / 2 for e in r]))


@pytest.mark.parametrize("loss", ["huber", "squared"])
def test_bounds_are_those_of_the_mechanism(loss):
    made = valley_of(**(SMALL | {"loss": loss}), lam="auto", repetitions=2, ms=(1, 4, 30))
    split = records.load("synthetic_mixture", 400, 12, 3)
    L = {"huber": 1.0, "squared": 2.0 * (1.0 + 1.25)}[loss]
    for k, m in enumerate((1, 4, 30)):
        lam = made.lam[k]
        training = min(L / math.sqrt(m), 2.0 / (2 * m)) + lam * math.log(12)
        assert made.bounds["training"][k] == pytest.approx(training, rel=1e-4)
        assert made.bounds["fresh"][k] == pytest.approx(training + 2 * L**2 / (400 * lam), rel=1e-4)
        mechanism = SimplexSampling(m=m)
        plan = mechanism.calibrate(Spec(loss, 400, 12, lam, split.domain, set="simplex"), Budget(1.0, 1e-6))
        for on, quantity in (("training", "excess_empirical_risk"), ("fresh", "excess_population_risk")):
            (bound,) = [b for b in mechanism.bounds(plan) if (b.quantity, b.form) == (quantity, "upper")]
            assert made.bounds[on][k] == bound.value


@pytest.mark.parametrize("lam", ["auto", 0.02])
@pytest.mark.parametrize("loss", ["huber", "squared"])
def test_measured_means_stay_below_their_bounds(lam, loss):
    """64 comparisons at five standard errors."""
    made = valley_of(n=1_000, p=64, epsilon=1.0, delta=1e-6, loss=loss, lam=lam, seed=1, repetitions=40)
    for on in ("training", "fresh"):
        measured = made.measured(on)
        assert (measured.mean <= made.bounds[on] + SE * measured.se).all()
        assert np.isfinite(measured.mean).all()
    assert made.reasons == ("",) * 16
    assert (made.training.noiseless >= -PRECISE).all()  # F* is a minimum
    assert (made.training.noiseless <= made.bounds["training"]).all()


def test_there_is_a_valley():
    made = valley_of(n=5_000, p=128, epsilon=1.0, delta=1e-6, loss="huber", lam="auto", seed=0, repetitions=20)
    mean, se, best = made.training.mean, made.training.se, int(np.argmin(made.training.mean))
    assert mean[best] + SE * se[best] < mean[0] - SE * se[0]
    assert mean[best] + SE * se[best] < mean[-1] - SE * se[-1]


def test_what_is_affordable_is_what_costs_at_most_epsilon():
    made = valley_of(**SMALL, lam=0.2, repetitions=2)
    assert made.affordable.any() and not made.affordable.all()
    for eta, m, spent, affordable in zip(made.eta, made.m, made.spent_epsilon, made.affordable, strict=True):
        assert spent == pytest.approx(min(m * eta, zcdp_epsilon(m * eta**2 / 8, 1e-6)), rel=1e-6)
        assert affordable == (spent <= 1.0)
    assert (np.diff(made.spent_epsilon) > 0).all()


def test_a_lam_of_its_own_makes_every_m_affordable_and_costs_nearly_all():
    made = valley_of(**SMALL, lam="auto", repetitions=2)
    assert made.affordable.all() and made.lam_is_free
    assert (made.spent_epsilon > 0.999).all()
    assert (np.diff(made.lam) > 0).all()


def test_pure_budgets_have_a_valley_too():
    made = valley_of(**(SMALL | {"delta": 0.0}), lam="auto", repetitions=2, ms=(1, 10))
    assert made.affordable.all()
    assert made.m * made.eta == pytest.approx(made.spent_epsilon)


def test_the_display_residual_does_not_show(monkeypatch):
    rough = valley_of(**SMALL, lam="auto", repetitions=40)
    monkeypatch.setattr(excess_by_draws, "_DISPLAY_RESIDUAL", 1e-10)
    excess_by_draws._measure.cache.clear()
    exact = valley_of(**SMALL, lam="auto", repetitions=40)
    assert (np.abs(rough.training.mean - exact.training.mean) <= 0.3 * exact.training.se + 1e-5).all()
    assert rough.training.noiseless == pytest.approx(exact.training.noiseless, rel=2e-3)


def padded(split, p):
    """The split with its idle columns stored as zeros."""

    def filled(data):
        return Data(np.pad(data.X, ((0, 0), (0, p - data.stored))), data.y)

    return dc.replace(split, train=filled(split.train), test=filled(split.test), truth=np.pad(split.truth, (0, p - 8)))


@pytest.fixture
def eight_are_filled(monkeypatch):
    for module in (excess_by_draws, single_release, beside_others):
        monkeypatch.setattr(module, "stored_columns", lambda n, p, most=0: min(p, 8))


def with_explicit_zeros(monkeypatch):
    """The same, with the zeros in the table and a reference of their own."""
    for module in (excess_by_draws, single_release, beside_others, problem):
        monkeypatch.setattr(
            module, "split_of", lambda n, p, stored, seed: padded(records.load("synthetic_mixture", n, 8, seed), p)
        )
    excess_by_draws._measure.cache.clear()
    excess_against_columns.cache.clear()
    monkeypatch.setattr(problem, "_REFERENCES", SharedCache(64))


@pytest.mark.parametrize("lam", ["auto", 0.05])
def test_idle_columns_equal_explicit_zeros(lam, eight_are_filled, monkeypatch):
    monkeypatch.setattr(excess_by_draws, "_DISPLAY_RESIDUAL", 1e-10)
    settings = SMALL | {"p": 30, "lam": lam, "repetitions": 4}
    idle = valley_of(**settings)
    assert (idle.stored, idle.p) == (8, 30)
    with_explicit_zeros(monkeypatch)
    explicit = valley_of(**settings)
    assert (idle.lam == explicit.lam).all()
    for on in ("training", "fresh"):
        assert idle.measured(on).mean == pytest.approx(explicit.measured(on).mean, abs=PRECISE)
        assert idle.measured(on).noiseless == pytest.approx(explicit.measured(on).noiseless, abs=PRECISE)
    without = valley_of(**(settings | {"p": 8}))
    assert np.abs(without.training.noiseless - idle.training.noiseless).max() > 1e-3  # they do take weight


def test_the_cost_of_idle_columns_is_that_of_explicit_zeros(eight_are_filled, monkeypatch):
    settings = {"n": 300, "epsilon": 2.0, "delta": 1e-6, "loss": "huber", "seed": 0, "repetitions": 6, "ps": (8, 40)}
    idle = excess_against_columns(**settings)
    with_explicit_zeros(monkeypatch)
    explicit = excess_against_columns(**settings)
    assert idle.sampling.mean == pytest.approx(explicit.sampling.mean, abs=PRECISE)
    # Display accuracy of objective perturbation; the noise of idle columns decides where the projection ends.
    assert idle.objective.mean == pytest.approx(explicit.objective.mean, rel=5e-3)
    assert idle.projected.mean == pytest.approx(explicit.projected.mean, rel=5e-3)
    assert idle.nothing == pytest.approx(explicit.nothing, abs=PRECISE)
    assert abs(idle.projected.mean[1] / idle.projected.mean[0] - 1.0) > 0.1


def nearest(v):
    """The projection onto the simplex by a root of sum (v - t)_+ = 1."""
    t = brentq(lambda t: np.maximum(v - t, 0.0).sum() - 1.0, v.min() - 1.0, v.max(), xtol=1e-15)
    return np.maximum(v - t, 0.0)


def test_what_a_mechanism_refuses_is_a_reason_and_no_crash():
    by_p = excess_against_columns(n=300, epsilon=1.0, delta=1e-6, loss="squared", seed=0, repetitions=4, ps=(8,))
    assert by_p.objective_reasons[0] and math.isnan(by_p.objective.mean[0]) and math.isnan(by_p.projected.q10[0])
    assert by_p.sampling_reasons == ("",) and by_p.sampling.mean[0] > 0
    made = valley_of(**(SMALL | {"loss": "hinge"}), lam="auto", repetitions=2)
    assert all("second derivative" in reason for reason in made.reasons)
    assert np.isnan(made.training.mean).all() and np.isnan(made.bounds["fresh"]).all() and not made.affordable.any()
    with pytest.raises(NotApplicable, match="second derivative"):
        support_of(**(SMALL | {"loss": "hinge"}), lam="auto", m="auto")


def test_a_solver_that_gives_up_is_a_reason_at_its_points_alone(monkeypatch):
    solve = excess_by_draws.minimise_entropic

    def gives_up(loss, data, lam, **options):
        if lam < 0.1:
            raise Unconverged("rounding")
        return solve(loss, data, lam, **options)

    monkeypatch.setattr(excess_by_draws, "minimise_entropic", gives_up)
    made = valley_of(**SMALL, lam="auto", repetitions=2)
    failed = np.array([reason == "rounding" for reason in made.reasons])
    assert (failed == (made.lam < 0.1)).all() and failed.any() and not failed.all()
    assert (np.isnan(made.training.mean) == failed).all() and np.isfinite(made.bounds["training"]).all()
    monkeypatch.setattr(excess_by_draws, "minimise_entropic", lambda *a, **k: gives_up(a[0], a[1], 0.0))
    assert np.isnan(valley_of(**SMALL, lam=0.3, repetitions=2).fresh.mean).all()


def test_a_release_is_the_first_of_the_valley_and_adds_up(eight_are_filled):
    seen = support_of(**(SMALL | {"p": 30}), lam=0.05, m=9, columns=5)
    assert (seen.plan.steps, seen.bits) == (9, pytest.approx(9 * math.log2(30)))
    for part in ("weight", "drawn"):
        listed = getattr(seen, {"weight": "weights", "drawn": "drawn"}[part]).sum()
        assert listed + getattr(seen.others, part) + getattr(seen.idle, part) == pytest.approx(1.0)
    assert (len(seen.columns), seen.others.columns, seen.idle.columns) == (5, 3, 22)
    split = problem.split_of(400, 30, 8, 3)
    weights = SimplexSampling(m=9).prepare(seen.plan, split.train)
    drawn = sampled_models(weights, [9], [generator(3, "simplex_sampling", 0)], 1.0)[0, 0]
    assert (seen.drawn == drawn[seen.columns]).all()
    assert (seen.weights == weights.theta[seen.columns]).all()
    assert seen.idle.weight == pytest.approx(22 * math.exp(weights.log_idle))
    assert seen.idle.drawn == pytest.approx(1.0 - drawn.sum())
    idle_draws = round(9 * seen.idle.drawn)
    assert idle_draws > 1
    assert np.count_nonzero(drawn) + 1 <= seen.distinct <= np.count_nonzero(drawn) + idle_draws
    # The truth's columns come first, by their weight; then whatever has most.
    assert seen.truth.tolist() == pytest.approx([0.4, 0.3, 0.2, 0.1, 0.0])
    left = np.setdiff1d(np.arange(8), seen.columns)
    assert max(seen.weights[4], seen.drawn[4]) >= max(weights.theta[left].max(), drawn[left].max())


def test_a_release_without_idle_columns_has_no_share_of_them():
    seen = support_of(**SMALL, lam="auto", m="auto")
    assert (seen.idle.columns, seen.idle.weight, seen.idle.drawn, seen.others.columns) == (0, 0.0, 0.0, 0)
    assert seen.distinct == np.count_nonzero(seen.drawn) <= seen.plan.steps
    assert support_of(**SMALL, lam="auto", m="auto") is seen
