"""The exponential mechanism over a cover of the L2 ball: its privacy, its bound, and when it is the better one."""

import dataclasses as dc
import math

import numpy as np
import pytest

import dpcore
from dpcore import Budget, Data, Spec
from dpcore.accounting.gaussian import gaussian_mu
from dpcore.core.losses import get_loss
from dpcore.solvers import minimise_in_ball
from dpcore.studies.geometry.cover import (
    cover_bound,
    even_delta,
    gradient_bound,
    lattice,
    mean_risk,
    output_bound,
    temperature,
)
from tests.problems import for_loss, random_records

every_p = pytest.mark.parametrize("p", [1, 2])
every_loss = pytest.mark.parametrize("key", ["hinge", "absolute", "huber", "geometric_median"])


@every_p
def test_a_lattice_covers_the_ball_with_few_models(p):
    cover, rng = lattice(1.5, p, 0.2), np.random.default_rng(0)
    models = rng.standard_normal((500, p))
    models *= 1.5 * rng.uniform(0.0, 1.0, 500)[:, None] ** (1 / p) / np.linalg.norm(models, axis=1)[:, None]
    away = np.linalg.norm(models[:, None] - cover, axis=2).min(axis=1)
    assert 0.1 < away.max() <= 0.2 and np.linalg.norm(cover, axis=1).max() <= 1.5 * (1 + 1e-12)


@every_p
@every_loss
def test_no_replaced_record_moves_the_odds_of_a_draw_by_more_than_epsilon(key, p):
    """Log-ratios of the whole law for far-apart records; a tenth of the temperature is caught on one line."""
    spec, cover, loss = Spec(key, 2, p, radius=1.0), lattice(1.0, p, 0.1), get_loss(key)
    x = np.eye(p)[:1]
    pairs = [(Data(np.vstack([x, x]), [1.0, 1.0]), Data(np.vstack([x, s * x]), [1.0, -1.0])) for s in (1.0, -1.0)]

    def log_law(data, b):
        risks = loss.row_means(np.zeros(2), loss.predictions(data, cover), 1.0, data.y)
        return -risks / b - np.log(np.exp(-risks / b).sum())

    b = temperature(spec, 0.7)
    worst = {
        share: max(np.abs(log_law(one, share * b) - log_law(other, share * b)).max() for one, other in pairs)
        for share in (1.0, 0.1)
    }
    assert worst[1.0] <= 0.7 + 1e-12 and worst[0.1] > 0.7


@every_p
@every_loss
@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_the_mean_excess_over_a_cover_stays_below_its_bound(key, p, epsilon):
    data = for_loss(key, random_records(300, p, seed=4))
    spec = Spec(key, 300, p, radius=1.0)
    bound, gap = cover_bound(spec, epsilon)
    cover = lattice(1.0, p, max(gap, 0.03))
    excess = mean_risk(spec, data, epsilon, cover) - minimise_in_ball(get_loss(key), data, 1.0).risk
    allowed = temperature(spec, epsilon) * math.log(len(cover)) + max(gap, 0.03)
    assert -1e-9 <= excess <= allowed and excess <= bound + max(0.0, 0.03 - gap)


def test_both_bounds_meet_at_the_even_delta_and_that_of_descent_is_the_limit_of_its_own():
    spec = Spec("absolute", 1_000, 1, 0.0, radius=1.0)
    delta = even_delta(spec, 1.0)
    assert 0.0 < delta < 1e-40
    assert gradient_bound(spec, gaussian_mu(Budget(1.0, delta))) == pytest.approx(cover_bound(spec, 1.0)[0], rel=1e-6)
    plan = dpcore.make_mechanism("noisy_gd", rule="averaging", steps=1_000_000).calibrate(spec, Budget(1.0, 1e-6))
    (own,) = [b.value for b in plan.mechanism.bounds(plan) if (b.form, b.holds) == ("upper", "expectation")]
    assert own == pytest.approx(gradient_bound(spec, gaussian_mu(Budget(1.0, 1e-6))), rel=0.02)


def test_the_bound_of_output_perturbation_is_that_of_its_best_lam():
    spec = Spec("hinge", 10_000, 2, radius=1.0, theta_norm=1.0)
    mechanism, found = dpcore.make_mechanism("output_gamma"), []
    for lam in np.geomspace(1e-3, 10.0, 200):
        plan = mechanism.calibrate(dc.replace(spec, lam=float(lam)), Budget(1.0))
        noise = next(b.value for b in plan.mechanism.bounds(plan) if b.quantity == "excess_over_regularised")
        found.append(noise + lam / 2.0)
    assert min(found) == pytest.approx(output_bound(spec, 1.0), rel=0.01)


@pytest.mark.parametrize(
    "p, gradients, beats_output, even",
    [(1, (2.3, 3.4, 5.6), 96, -48.9), (2, (2.9, 4.4, 7.4), 395, -78.0), (8, (4.0, 6.9, 13.0), 5_010, -188.9)],
)
def test_the_answer_of_the_formula_sheet(p, gradients, beats_output, even):
    """Its table: bound over that of noisy gradients, first n ahead of output perturbation, log10 of the even delta."""
    mu = gaussian_mu(Budget(1.0, 1e-6))
    specs = {n: Spec("absolute", n, p, radius=1.0) for n in (100, 1_000, 100_000, beats_output - 1, beats_output)}
    ratios = [cover_bound(specs[n], 1.0)[0] / gradient_bound(specs[n], mu) for n in (100, 1_000, 100_000)]
    assert ratios == pytest.approx(gradients, abs=0.05)
    ahead = [cover_bound(specs[n], 1.0)[0] < output_bound(specs[n], 1.0) for n in (beats_output - 1, beats_output)]
    assert ahead == [False, True]
    assert math.log10(even_delta(specs[1_000], 1.0)) == pytest.approx(even, abs=0.05)
