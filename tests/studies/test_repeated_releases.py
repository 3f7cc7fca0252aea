"""Several releases and several records: exact laws, chains of data sets laid out outcome by outcome, and order."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import dpcore
from dpcore import Budget, NotApplicable
from dpcore.accounting.gaussian import gaussian_epsilon, gaussian_mu
from dpcore.accounting.subsampled_rdp import subsampled_epsilon
from dpcore.accounting.tradeoff import (
    ChoicesCurve,
    GaussianCurve,
    PureCurve,
    RepeatedChoiceCurve,
    ZcdpCurve,
    repeated_releases_curve,
)
from dpcore.accounting.tradeoff.group import PureReleasesCurve, RecordsCurve, ReleasesCurve
from dpcore.accounting.zcdp import zcdp_epsilon
from dpcore.core.losses import get_loss
from dpcore.studies.decide import repeated_releases as sev

EPSILONS = np.array([0.0, 0.3, 0.7, 1.1, 1.9, 3.2])


def delta_of(zero, one, epsilon):
    """The most that P1(S) - e^epsilon P0(S) can be, for laws on finitely many outcomes, [m] both."""
    return np.maximum(one[None, :] - np.exp(epsilon)[:, None] * zero[None, :], 0.0).sum(axis=1)


def product(law, times):
    return np.array([math.prod(each) for each in itertools.product(law, repeat=times)])


def plan_of(key, epsilon=1.0):
    mechanism = dpcore.make_mechanism(key)
    classes = {"classes": 3} if get_loss(mechanism.usual_loss).task == "classes" else {}
    return dpcore.calibrate(key, n=1000, p=8, epsilon=epsilon, delta=1e-6, **classes)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0])
def test_the_grids_of_records_and_releases_are_just_above_what_is_exact_for_gaussian_noise(mu):
    for several, found in ((3, RecordsCurve(mu, GaussianCurve(mu), 3)), (30, ReleasesCurve(mu, GaussianCurve(mu), 30))):
        grown = mu * (several if isinstance(found, RecordsCurve) else math.sqrt(several))
        exact, epsilon = GaussianCurve(grown), gaussian_epsilon(grown, 1e-6)
        grid = np.linspace(0.0, epsilon, 20)
        assert np.all(found.delta(grid) >= exact.delta(grid) - 1e-15)
        assert epsilon * (1 - 1e-6) < found.epsilon(mu, 1e-6) < epsilon * (1 + 1e-4)


def test_pure_releases_are_attained_by_counts_with_geometric_noise():
    epsilon, records, releases = 0.6, 3, 2
    outcomes = np.arange(-70, 70 + records)
    zero, one = (np.exp(-epsilon * abs(outcomes - at)) * math.tanh(epsilon / 2) for at in (0, records))
    exact = delta_of(product(zero, releases), product(one, releases), EPSILONS)
    assert PureReleasesCurve(epsilon, releases, records).delta(EPSILONS) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "releases"), [(1.0, 5), (0.1, 100), (0.02, 1000)])
def test_pure_releases_of_one_record_are_the_optimal_composition(epsilon, releases):
    """Kairouz, Oh and Viswanath 2015: k randomised responses, so losses are (k - 2 wrong) epsilon."""
    wrong = np.arange(releases + 1)
    law = binom.pmf(wrong, releases, 1.0 / (1.0 + math.exp(epsilon)))
    exact = [law @ np.maximum(-np.expm1(e - (releases - 2 * wrong) * epsilon), 0.0) for e in EPSILONS]
    assert PureReleasesCurve(epsilon, releases, 1).delta(EPSILONS) == pytest.approx(exact, abs=1e-10)


def chain_of(rng, epsilon, records, pure):
    """Laws on 4 outcomes of `records` + 1 data sets in a row: neighbours are epsilon-DP, or of range epsilon."""
    laws = [np.full(4, 0.25)]
    for _ in range(records):
        moved = rng.permutation([0, 0, 1, 1]) if pure else rng.integers(0, 2, 4)
        for size in np.linspace(2.0 * epsilon, 0.0, 200) if pure else [epsilon]:
            law = laws[-1] * np.exp(size * moved)
            law /= law.sum()
            if not pure or abs(np.log(law / laws[-1])).max() <= epsilon:
                break
        laws.append(law)
    return laws


@pytest.mark.parametrize("make", ["pure", "range", "repeated", "records"])
def test_no_chain_of_data_sets_tells_more_than_the_curve(make):
    rng, epsilon, records, releases, closest = np.random.default_rng(3), 0.5, 3, 2, 1.0
    one = {
        "pure": PureCurve(epsilon),
        "range": ChoicesCurve(epsilon, ((1.0,),)),
        "repeated": RepeatedChoiceCurve(epsilon, 1),
        "records": GaussianCurve(gaussian_mu(Budget(1.0, 1e-5))),
    }[make]
    if make == "records":
        # Of Gaussian noise, cut into outcomes: on a grid, as for what has no family of its own.
        curve = ReleasesCurve(one.mu, RecordsCurve(one.mu, one, records), releases)
        edges = np.linspace(-4.0, 5.0, 60)
        laws = [
            np.diff(0.5 + 0.5 * np.array([math.erf((e - at) / math.sqrt(2)) for e in edges])) for at in (0, 3 * one.mu)
        ]
        shown = delta_of(product(laws[0], releases), product(laws[1], releases), EPSILONS)
        closest = float(np.max(curve.delta(EPSILONS) - shown))
        assert np.all(shown <= curve.delta(EPSILONS) + 1e-12)
    else:
        curve = repeated_releases_curve(one, releases, records)
        for _ in range(100):
            laws = chain_of(rng, epsilon, records, pure=make == "pure")
            shown = delta_of(product(laws[0], releases), product(laws[-1], releases), EPSILONS)
            assert np.all(shown <= curve.delta(EPSILONS) + 1e-12)
            closest = min(closest, float(curve.delta(EPSILONS)[0] - shown[0]))
    # Power: what was tried comes near what is allowed.
    assert closest < 0.12


def test_zcdp_allows_what_gaussian_noise_does():
    curve = repeated_releases_curve(ZcdpCurve(0.3), 4, 2)
    assert np.all(curve.delta(EPSILONS) >= GaussianCurve(0.3 * 4).delta(EPSILONS))
    assert curve.attack_limit() < 1.2 * GaussianCurve(0.3 * 4).attack_limit()


def test_gaussian_noise_of_several_releases_and_records_is_exact():
    plan = plan_of("noisy_gd")
    mu = gaussian_mu(plan.spent)
    found = sev.repeated_releases(plan, releases=7, records=3)
    assert found.epsilon == pytest.approx(gaussian_epsilon(mu * 3 * math.sqrt(7), 1e-6), rel=1e-6)
    assert found.basic == pytest.approx(7 * gaussian_epsilon(3 * mu, 1e-6 / 7), rel=1e-6)
    assert found.limit == pytest.approx(GaussianCurve(mu * 3 * math.sqrt(7)).attack_limit())


def test_limits_of_one_release_add_up_and_are_nearly_attained():
    """Along a chain by little Gaussian noise's worth of difference, along releases by one that tells all at times."""
    near = GaussianCurve(0.01), GaussianCurve(0.03)
    total = sev._limit_of_parts(near[0].attack_limit(), 1, 3) - 0.5
    assert 1.0 < total / (near[1].attack_limit() - 0.5) < 1.0001
    assert sev._limit_of_parts(0.5 + 0.5 * 0.2, 3, 1) == pytest.approx(0.5 + 0.5 * (1.0 - 0.8**3))


def test_a_pure_release_read_at_some_delta_costs_less():
    plan = dpcore.calibrate("output_gamma", n=1000, p=8, epsilon=0.1)
    assert sev.repeated_releases(plan, 100).epsilon == pytest.approx(10.0)
    assert sev.repeated_releases(plan, 100, delta=1e-6).epsilon < 5.0
    assert sev.repeated_releases(plan, 100, delta=1e-6).advanced > 5.0


def test_the_guarantee_alone_adds_up_along_a_chain():
    epsilon, delta, g = 0.7, 1e-6, 4
    found = sev.guarantee_alone(Budget(epsilon, delta), releases=3, records=g)
    assert found.epsilon == pytest.approx(3 * g * epsilon)
    assert found.delta == pytest.approx(3 * sum(delta * math.exp(epsilon * i) for i in range(g)))
    assert RecordsCurve(epsilon, PureCurve(epsilon, delta), g).delta(np.array([g * epsilon])) < 1.02 * found.delta / 3


@pytest.mark.parametrize(
    ("n", "delta", "releases"), [(500, 1e-10, 10), (2000, 1e-10, 30), (2000, 1e-9, 100), (500, 1e-12, 3)]
)
def test_steps_on_random_batches_cost_no_more_than_by_renyi_divergences(n, delta, releases):
    plan = dpcore.calibrate("noisy_sgd", n=n, p=10, epsilon=1.0, delta=delta)
    (event,) = plan.ledger
    z, steps = 2.0 * event.scale / event.sensitivity, releases * plan.steps
    found, renyi = sev.repeated_releases(plan, releases), subsampled_epsilon(z, event.rate, steps, delta, "poisson")
    assert renyi / 1.2 < found.exact <= renyi * (1 + 1e-6) and found.epsilon <= found.exact
    # A chain of records starts from the same curve, and stays finite where the transform's rounding exceeds delta.
    assert found.epsilon < sev.repeated_releases(plan, releases, records=2).epsilon < math.inf


@pytest.mark.parametrize("key", ["frank_wolfe_polytope", "simplex_sampling", "polyhedral_frank_wolfe"])
def test_many_releases_by_choices_cost_no_more_than_by_zcdp(key):
    """The transform charges its rounding to delta, and at 1e-12 nothing would be left."""
    knobs = {"T": 100} if key == "frank_wolfe_polytope" else {}  # "auto" takes more, whose curve is that of zCDP
    plan = dpcore.calibrate(key, n=1000, p=8, epsilon=1.0, delta=1e-12, **knobs)
    one = plan.mechanism.claimed_curve(plan)
    readings = one.readings if isinstance(one, ChoicesCurve) else ((1.0,) * one.times,)
    rho = max(one.mu**2 * sum(each**2 for each in ranges) for ranges in readings) / 8.0
    found = sev.repeated_releases(plan, 100, delta=1e-12)
    assert found.exact <= zcdp_epsilon(100 * rho, 1e-12) * (1 + 1e-6) < 99.0


@pytest.mark.parametrize("key", ["objective_gaussian", "gaussian_classifier"])
@pytest.mark.parametrize(("n", "epsilon"), [(500, 0.1), (5000, 1.0), (500, 3.0)])
def test_releases_of_a_perturbed_objective_stay_finite_and_grow_with_their_number(key, n, epsilon):
    """Solver noise may use 1% of one release's delta: releases that each used it up would have none left."""
    classes = {"classes": 3} if key == "gaussian_classifier" else {}
    plan = dpcore.calibrate(key, n=n, p=8, epsilon=epsilon, delta=1e-5, **classes)
    found = [sev.repeated_releases(plan, releases) for releases in (1, 2, 10, 100, 101, 200)]
    spent = [each.epsilon for each in found]
    assert 0.98 * epsilon < spent[0] <= epsilon and np.all(np.diff(spent) > 0.0)
    assert spent[-1] == found[-1].exact < 0.5 * 200 * epsilon < found[-1].basic < math.inf


def test_where_nothing_is_proved():
    plan = plan_of("objective_gaussian")
    # A grid on which everything is certain already.
    beyond = sev.repeated_releases(plan, 1000, 100)
    assert beyond.epsilon == math.inf and beyond.cap == beyond.limit == 1.0
    assert sev.guarantee_alone(plan.spent, 1000, 100) is None
    with pytest.raises(NotApplicable, match="needs delta > 0 here"):
        sev.repeated_releases(plan, delta=0.0)
    for wrong in ({"releases": 0}, {"releases": 1001}, {"records": 101}, {"records": 1.5}, {"delta": 1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            sev.repeated_releases(plan, **wrong)
