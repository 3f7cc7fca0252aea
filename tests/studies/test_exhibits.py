"""Mechanisms as published: exact laws against plain sums, certificates against scipy's, corrected twins unflagged."""

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy import stats

import dpcore
from dpcore import Budget, Domain, Spec
from dpcore.audit.objective_worst_pair import FAR, HuberPair, pair_plan, worst_for_gamma, worst_for_gaussian
from dpcore.mechanisms.noise import generalized_gaussian
from dpcore.studies.papers import exhibits
from dpcore.studies.papers.exhibits import EXHIBITS, ExhibitResult, pure_bounds, rounded_down, run_exhibit
from tests.nights import each

KEYS = tuple(EXHIBITS)
LAWS = {"objective_gamma": stats.laplace, "objective_gaussian": stats.norm}
# (epsilon, delta): delta over the published one.
FACTORS = {(1.0, 1e-5): 23.62, (2.0, 1e-5): 31.31, (1.0, 1e-3): 1.354}


def published(key: str, epsilon: float, delta: float = 0.0, accounting: str = "published"):
    return pair_plan(key, Budget(epsilon, delta), accounting)


def interval_masses(pair: HuberPair) -> tuple[np.ndarray, np.ndarray]:
    """P0 and P1 of small intervals of theta, from the records and numpy's slopes of Huber loss alone."""
    plan, law = pair.plan, LAWS[pair.plan.mechanism.key](scale=pair.plan.scale)
    lam, n = float(plan.spec.lam), plan.spec.n
    far = 30.0 * plan.scale / lam
    kinks = [pair.kink + side * shift for side in (0.0, 1.0) for shift in (-1e-6, 0.0, 1e-6)]
    edges = np.unique(np.concatenate([np.linspace(-far, far, 20_001), np.linspace(0.0, 10.0, 20_001), kinks]))
    masses = []
    for data in pair.data():
        slopes = (
            lam * edges
            + sum(x * np.clip(2.0 * (x * edges - y), -1.0, 1.0) for x, y in zip(data.X[:, 0], data.y, strict=True)) / n
        )
        left, right = slopes[:-1], slopes[1:]
        masses.append(np.where(left > 0.0, law.sf(left) - law.sf(right), law.cdf(right) - law.cdf(left)))
    assert all(abs(mass.sum() - 1.0) < 1e-9 for mass in masses)
    return masses[0], masses[1]


# Exact laws


@pytest.mark.parametrize("epsilon, attained", [(0.5, 0.7231), (1.0, 1.4055), (2.0, 2.6931)])
def test_the_largest_log_ratio_is_that_of_small_intervals_and_of_the_proof(epsilon, attained):
    pair = worst_for_gamma(published("objective_gamma", epsilon))
    p, q = interval_masses(pair)
    seen = np.minimum(p, q) > 1e-12
    assert np.log(p[seen] / q[seen]).max() == pytest.approx(pair.log_ratio(pair.kink), abs=2e-4)
    assert pair.log_ratio(pair.kink) == pytest.approx(epsilon + math.log1p(epsilon / 2.0), abs=1e-9)
    assert pair.log_ratio(pair.kink) == pytest.approx(attained, abs=6e-5)


@pytest.mark.parametrize("epsilon, delta", list(FACTORS))
def test_delta_is_that_of_all_small_intervals_and_no_other_kink_has_more(epsilon, delta):
    plan = published("objective_gaussian", epsilon, delta)
    pair = worst_for_gaussian(plan, epsilon)

    def whole(kink: float) -> float:
        p, q = interval_masses(HuberPair(plan, kink))
        return max(float(np.maximum(a - math.exp(epsilon) * b, 0.0).sum()) for a, b in ((p, q), (q, p)))

    assert pair.delta(epsilon) == pytest.approx(whole(pair.kink), rel=1e-4)
    assert pair.delta(epsilon) / delta == pytest.approx(FACTORS[epsilon, delta], rel=5e-4)
    assert max(whole(kink) for kink in np.linspace(0.1, 12.0, 24)) <= pair.delta(epsilon) * (1.0 + 1e-6)
    twin = published("objective_gaussian", epsilon, delta, "tight")
    assert worst_for_gaussian(twin, epsilon).delta(epsilon) < 0.03 * delta


@pytest.mark.parametrize("key", LAWS)
@pytest.mark.parametrize("side", [0, 1])
def test_the_closed_form_is_what_the_mechanism_releases(key, side):
    """From the same noise; the mechanism adds solver noise and stops within tol of the minimiser."""
    plan = published(key, 1.0, 1e-5)
    pair, mechanism = HuberPair(plan, 0.25), plan.mechanism
    prepared = mechanism.prepare(plan, pair.data()[side])
    released = mechanism.release_many(plan, prepared, [np.random.default_rng(0)] * 600)[:, 0]
    rng = np.random.default_rng(0)
    scales = plan.scale, plan.ledger[1].scale
    b, solver = np.array([[scale * mechanism.law.direction(1, 1, rng)[0] for scale in scales] for _ in range(600)]).T
    theta = pair.minimisers(b, side)
    assert min(np.histogram(theta, [-FAR, pair.kink, pair.last, FAR])[0]) > 5, "every piece of the slope"
    assert np.abs(released - theta - solver).max() <= 2.0 * plan.tol


def test_the_shares_of_draws_are_those_of_an_event_of_the_mechanism_s_releases():
    """S: the mechanism's score is above 1. The shares say P1(S) and P1(S) - e P0(S); 5 standard errors, 1e-6 each."""
    plan = dpcore.make_mechanism("generalized_gaussian", accounting="published").calibrate(
        Spec("mean", 10, 100, domain=Domain(math.inf)), Budget(1.0, 1e-2)
    )
    runs, rng, (noise, share) = 20_000, np.random.default_rng(3), generalized_gaussian.quoted_noise(math.inf, 100)
    zero, one = (plan.mechanism.prepare(plan, data) for data in plan.mechanism.worst_pair(plan))
    scores = [
        plan.mechanism.log_ratio(plan, zero, one, plan.mechanism.release_many(plan, side, [rng] * runs))
        for side in (one, zero)
    ]
    true, false = (float((score > 1.0).mean()) for score in scores)
    scale = noise.zcdp_multiplier(plan.requested) * noise.widening / math.sqrt(share)
    shares = generalized_gaussian.shift_shares(noise, np.ones(100), scale, 1.0, draws=runs, rng=rng)
    seen, mean = float((shares > 0.0).mean()), float(shares.mean())
    assert abs(true - seen) < 5.0 * math.sqrt(2.0 * seen / runs) < 0.25 * seen
    assert abs(false - (seen - mean) / math.e) < 5.0 * math.sqrt(2.0 * false / runs) < 0.35 * false


# Certificates


@pytest.mark.parametrize("guesses", [40, 500])
def test_a_pure_bound_errs_no_more_often_than_it_says(guesses):
    """Exact enumeration where every guess is right with the largest probability that epsilon = 1 allows."""
    right = np.arange(guesses + 1)
    mass = stats.binom.pmf(right, guesses, math.e / (1.0 + math.e))
    for bounds, error in zip(pure_bounds(right, guesses), exhibits.ERRORS, strict=True):
        wrong = bounds > 1.0
        assert mass[wrong].sum() <= error < mass[wrong].sum() + mass[~wrong][-1]


# What the exhibits find


@pytest.mark.parametrize("key", KEYS)
def test_every_exhibit_is_contradicted_by_its_usual_runs(key):
    """The bounds stay below what is true: each fails to with probability 0.05 and 0.001."""
    found = run_exhibit(key)
    assert found.verdict == "contradicted" and found.claimed < found.certified_999 < found.certified_95
    facts = EXHIBITS[key]
    assert (found.runs, found.title, found.source) == (int(facts["runs"]), facts["title"], facts["source"])
    if found.exact is not None:
        assert found.certified_95 < found.exact
    if found.estimate is not None:
        assert found.certified_95 < found.estimate[0]
    assert run_exhibit(key, runs=found.runs) is found, "from the cache"


@pytest.mark.parametrize("seed", each(3, [0, 1, 2]))
def test_corrected_twins_are_not_flagged_by_the_same_test(seed):
    """Each is flagged with probability at most 0.05 ("suspicious") by the certificate, and in fact far below 1e-6."""
    runs = {"objective_gamma": 60_000, "objective_gaussian": 10_000_000, "quoted_kappa": 4_000, "lasso_laplace": 10_000}
    results = {
        key: exhibits.result_of(key, getattr(exhibits, key)(times, seed, accounting="tight"), times, seed)
        for key, times in runs.items()
    }
    for found in results.values():
        assert found.verdict == "no contradiction found" and found.certified_95 < found.claimed, found.key
        assert found.exact is None or found.certified_95 <= found.exact <= found.claimed
    gamma = results["objective_gamma"]
    assert gamma.certified_999 > 0.75 and gamma.exact == pytest.approx(0.99), "the test has power"


# Words


def finding(certified_95: float, certified_999: float, unit: str = "epsilon", **facts) -> ExhibitResult:
    base = ExhibitResult(
        "k", "t", "s", "epsilon = 1, delta = 0", unit, 1.0, 1.4, certified_95, certified_999, 500, 0, "two"
    )
    return dc.replace(base, **facts)


def test_the_sentence_says_no_more_than_the_verdict():
    assert finding(1.3, 1.21996).sentence == (
        "With confidence 99.9% over 500 runs, epsilon is at least 1.219, where epsilon = 1, delta = 0 is published; "
        "exactly, it is 1.4 on this pair."
    )
    suspicious = finding(1.3, 1.0)
    assert suspicious.verdict == "suspicious"
    assert suspicious.sentence.startswith("Suspicious: with confidence 95% but not 99.9% over 500 runs, epsilon is")
    assert "at least 1.3," in suspicious.sentence
    none = finding(1.0, 0.9, "delta", exact=None, estimate=(0.02239, 0.00049))
    assert none.verdict == "no contradiction found"
    assert none.sentence == (
        "No contradiction found: with confidence 95% over 500 runs, delta at the claimed epsilon is at least 1, "
        "where epsilon = 1, delta = 0 is published; estimated by the runs as 0.0224 (standard error 0.0005). This is "
        "never evidence of privacy."
    )


def test_shown_bounds_are_rounded_down():
    for value in 10.0 ** np.random.default_rng(0).uniform(-7, 3, 2_000):
        assert value * (1.0 - 1.001e-3) < float(rounded_down(value)) <= value * (1.0 + 1e-14)
