"""The exponential mechanism over a cover of the L2 ball: its privacy, its bound, and when it is the better one."""

import dataclasses as dc
import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import dpcore
from dpcore import Budget, Data, Spec
from dpcore.accounting.gaussian import gaussian_mu, hockey_stick
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.mechanisms.noise.spherical import NOISES
from dpcore.solvers import minimise_in_ball
from tests.problems import for_loss, random_records

_FARTHEST = 40.0  # powers of e below the radius that the gap is sought in


def temperature(spec: Spec, epsilon: float) -> float:
    """b = 4 L R B / (n epsilon) for models of norm B = spec.radius: the draw is then epsilon-private (delta = 0)."""
    return 4.0 * get_loss(spec.loss).largest_gradient(spec) * spec.radius / (spec.n * epsilon)


def cover_bound(spec: Spec, epsilon: float) -> tuple[float, float]:
    """Bound on the mean excess b p ln(1 + 2 B / gap) + L R gap over the ball, and the gap > 0 that minimises it.

    The ball has a cover of at most (1 + 2 B / gap)^p models.
    """
    b, B, LR = temperature(spec, epsilon), spec.radius, get_loss(spec.loss).largest_gradient(spec)

    def bound(log_gap: float) -> float:
        gap = math.exp(log_gap)
        return b * spec.p * math.log1p(2.0 * B / gap) + LR * gap

    reach = math.log(B)
    best = minimize_scalar(bound, bounds=(reach - _FARTHEST, reach), method="bounded", options={"xatol": 1e-9})
    return float(best.fun), math.exp(best.x)


def gradient_bound(spec: Spec, mu: float) -> float:
    """Bound 2 L R B sqrt(p) / (n mu) on the mean excess of noisy gradient descent that is mu-GDP, as its steps grow."""
    LR, B = get_loss(spec.loss).largest_gradient(spec), spec.radius
    return 2.0 * LR * B * math.sqrt(spec.p) / (spec.n * mu)


def output_bound(spec: Spec, epsilon: float) -> float:
    """Bound 2 L R B sqrt(E |b_1| / (n epsilon)) on the mean excess of output perturbation with Gamma noise, best lam.

    For a linear prediction; b has the density exp(-||b||). Its guarantee has delta = 0, too.
    """
    LR, B = get_loss(spec.loss).largest_gradient(spec), spec.radius
    return 2.0 * LR * B * math.sqrt(NOISES["gamma"].reach(spec.p)[0] / (spec.n * epsilon))


def even_delta(spec: Spec, epsilon: float) -> float:
    """delta at which both bounds are equal: noisy gradients have the smaller bound for every larger delta."""
    mu = gradient_bound(spec, 1.0) / cover_bound(spec, epsilon)[0]
    return float(hockey_stick(epsilon, mu))


def lattice(radius: float, p: int, gap: float) -> Array:
    """A cover of the ball, [N, p]: points of a cubic lattice within gap of it, each moved to its nearest model.

    That move brings no model farther away. For p up to 3 or so: N grows as (radius / gap)^p.
    """
    step = 2.0 * gap / math.sqrt(p)
    axis = step * np.arange(-math.ceil((radius + gap) / step), math.ceil((radius + gap) / step) + 1)
    points = np.array(list(itertools.product(axis, repeat=p)))
    norms = np.linalg.norm(points, axis=1)
    points, norms = points[norms <= radius + gap], norms[norms <= radius + gap]
    return points * np.minimum(1.0, radius / np.maximum(norms, 1e-300))[:, None]


def mean_risk(spec: Spec, data: Data, epsilon: float, cover: Array) -> float:
    """Mean of F over the draw from this cover, exact."""
    loss = get_loss(spec.loss)
    risks = loss.row_means(np.zeros(data.n), loss.predictions(data, cover), 1.0, data.y)
    weights = np.exp(-(risks - risks.min()) / temperature(spec, epsilon))
    return float(weights @ risks / weights.sum())


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
