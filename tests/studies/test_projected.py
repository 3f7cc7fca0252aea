"""Bounds on every kind of projected descent, without noise and with it."""

import math

import numpy as np
import pytest

from dpcore import Data, Spec
from dpcore.core.losses import get_loss
from dpcore.solvers import minimise_in_ball
from dpcore.solvers.descent.noisy_sgd import noisy_descent
from dpcore.theory.gradient_descent import averaged_bound, last_iterate_bound, smooth_bound
from tests.problems import PROBLEMS, for_loss

RADIUS = 2.0


def project(theta: np.ndarray, radius: float) -> np.ndarray:
    return theta * min(1.0, radius / max(float(np.linalg.norm(theta)), 1e-300))


def risk(loss, data: Data, theta: np.ndarray) -> float:
    return float(loss.value(loss.predictions(data, theta[None])[0], data.y).mean())


def kink(n: int) -> Data:
    """Hinge loss of these is |theta - 1| / 3 around its minimum on the line: a kink that SGD always steps across."""
    return Data(np.ones((n, 1)), np.where(np.arange(n) % 3, 1.0, -1.0))


def excesses(loss, data: Data, G: float, **look) -> tuple[np.ndarray, np.ndarray]:
    """Steps of a descent with eta_t = 2 RADIUS / (G sqrt(t)), and the excess risk after them."""
    seen = np.unique(np.geomspace(1, 1000, 40).round().astype(int))
    run = noisy_descent(
        loss, data, steps=1000, step=2.0 * RADIUS / G, decaying=True, sigma=0.0, radius=RADIUS, keep=seen, **look
    )
    risks = np.array([loss.value(z, data.y).mean() for z in loss.predictions(data, run.kept)])
    return seen, risks - minimise_in_ball(loss, data, RADIUS).risk


def test_all_records_a_step_is_plain_projected_descent():
    """theta <- Proj(theta - 2 RADIUS / sqrt(t) grad F), written out."""
    data, loss = PROBLEMS["full rank"], get_loss("logistic")
    theta, excess, best = np.zeros(data.p), {}, minimise_in_ball(loss, data, RADIUS).risk
    for t in range(1, 1_001):
        gradient = loss.derivative(data.X @ theta, data.y) @ data.X / data.n
        theta = project(theta - 2.0 * RADIUS / math.sqrt(t) * gradient, RADIUS)
        excess[t] = risk(loss, data, theta) - best
    steps, found = excesses(loss, data, 1.0, rate=1.0, rng=np.random.default_rng(0))
    assert found == pytest.approx([excess[t] for t in steps], abs=1e-12)


HARD = {**PROBLEMS, "a kink on the line": kink(30)}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("key", ["logistic", "hinge", "huber", "squared", "geometric_median", "mean"])
def test_gradient_descent_stays_under_the_bound_at_every_checkpoint(name, key):
    loss, data = get_loss(key), for_loss(key, HARD[name])
    G = loss.largest_gradient(Spec(key, data.n, data.p, radius=RADIUS))
    steps, excess = excesses(loss, data, G, rate=1.0, rng=np.random.default_rng(0))
    assert excess.min() > -1e-8
    assert all(e <= last_iterate_bound(2 * RADIUS, G, t) for e, t in zip(excess, steps, strict=True))


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("key", ["logistic", "hinge"])
def test_single_records_stay_under_the_bound_on_average(name, key):
    """Means of 40 runs. Each excess lies in [0, 2 RADIUS] and no mean comes near the bound: false alarms below 1e-6."""
    loss, data = get_loss(key), HARD[name]
    runs = [excesses(loss, data, 1.0, rng=np.random.default_rng([9, k])) for k in range(40)]
    steps, excess = runs[0][0], np.mean([found for _, found in runs], axis=0)
    assert all(e <= last_iterate_bound(2 * RADIUS, 1.0, t) for e, t in zip(excess, steps, strict=True))
    assert excess[-1] < 0.2 * excess[0]


@pytest.mark.parametrize("rate", [0.0, 0.2])
@pytest.mark.parametrize("sigma", [0.3, 3.0])
def test_noisy_runs_stay_under_the_bounds_of_their_step_rules(sigma, rate):
    """Means of 40 runs, as above; V counts sampling (at most 1 for norms up to 1) and noise."""
    loss, data, steps = get_loss("logistic"), PROBLEMS["full rank"], 400
    lowest = minimise_in_ball(loss, data, RADIUS).risk
    # A batch sum / (rate n) has a second moment of at most 1 + (1 - rate) / (rate n).
    second = 1.0 if rate == 0.0 else 1.0 + (1.0 - rate) / (rate * data.n)
    V = second + data.p * sigma**2
    G, beta = math.sqrt(V), 0.25
    eta = 1.0 / (beta + math.sqrt(steps * V) / RADIUS)

    def means(step: float, decaying: bool) -> tuple[float, float]:
        runs = [
            noisy_descent(
                loss, data, steps=steps, step=step, decaying=decaying, sigma=sigma, rate=rate, radius=RADIUS,
                rng=np.random.default_rng([2, k]),
            )
            for k in range(40)
        ]  # fmt: skip
        last = np.mean([risk(loss, data, run.last) for run in runs]) - lowest
        return float(last), float(np.mean([risk(loss, data, run.average) for run in runs]) - lowest)

    assert means(2 * RADIUS / G, decaying=True)[0] <= last_iterate_bound(2 * RADIUS, G, steps)
    step = RADIUS / (G * math.sqrt(steps))
    assert means(step, decaying=False)[1] <= averaged_bound(RADIUS, step, steps, G)
    assert means(eta, decaying=False)[1] <= smooth_bound(RADIUS, eta, steps, V, beta)


def test_the_averaged_bound_is_within_two_percent_of_an_adversary():
    """F(theta) = max_i theta_i on a ball, and every subgradient points to a coordinate not seen before."""
    steps, radius = 100, 3.0
    eta, path = radius / math.sqrt(steps), [np.zeros(steps + 1)]
    for t in range(steps):
        assert path[-1][t] == path[-1].max()  # e_t is a subgradient
        path.append(project(path[-1] - eta * np.eye(steps + 1)[t], radius))
    lowest, bound = -radius / math.sqrt(steps + 1), averaged_bound(radius, eta, steps, 1.0)
    for average in (np.mean(path[:-1], axis=0), np.mean(path[1:], axis=0)):
        assert 0.98 * bound <= average.max() - lowest <= bound


@pytest.mark.parametrize("steps", [10, 100, 300])
def test_the_last_iterate_loses_a_logarithm_to_an_adversary_and_stays_under_its_bound(steps):
    """The instance of Harvey and others 2019: max_i <h_i, theta> on the unit ball, eta_t = 1 / sqrt(t)."""
    j = np.arange(1, steps + 1)
    H = np.tril(np.tile(1.0 / (8.0 * (steps - j + 1.0)), (steps + 1, 1)), k=-1)
    H[j - 1, j - 1] = -np.sqrt(j) / (2.0 * math.sqrt(steps))
    theta, path = np.zeros(steps), []
    for t in j:
        values = H @ theta
        # Any row that attains the maximum is a subgradient; the first one is the worst.
        theta = project(theta - H[np.argmax(values >= values.max() - 1e-12)] / math.sqrt(t), 1.0)
        path.append(theta)
    # The minimum is at most the 0 of theta = 0; subgradients are shorter than 1, so that G = 1 makes D / G = 2, not 1.
    assert np.linalg.norm(H, axis=1).max() < 1.0
    last, average = (H @ theta).max(), (H @ np.mean(path, axis=0)).max()
    assert math.log(steps) / (32.0 * math.sqrt(steps)) <= last <= last_iterate_bound(2.0, 1.0, steps)
    assert last > 2.5 * average


@pytest.mark.parametrize("steps", [1, 2, 5, *range(15, 25), 100, 10_000, 1_000_000])
def test_the_last_iterate_bound_is_the_sums_of_its_proof_rounded_up(steps):
    """The sums of the proof as they are, or where these say nothing the largest excess.

    Power: 5% less would be below the sums from 100 steps on.
    """
    D, G, T = 3.0, 0.5, steps + 1
    c, k = D / G, np.arange(1, T)
    roots = np.append(0.0, np.cumsum(1.0 / np.sqrt(np.arange(1, T + 1))))
    first = (D**2 / (2 * c) * math.sqrt(T) + 0.5 * c * G**2 * roots[T]) / T
    drift = D**2 / (2 * c) * (math.sqrt(T) - np.sqrt(T - k)) + 0.5 * c * G**2 * (roots[T] - roots[T - k - 1])
    exact = first + float(np.sum(drift / (k * (k + 1.0))))
    bound = last_iterate_bound(D, G, steps)
    assert min(exact, D * G) <= bound
    assert steps < 19 or bound <= 1.15 * exact
    assert steps < 100 or 0.95 * bound < exact


@pytest.mark.parametrize("eta", [0.01, 0.1, 0.5, 0.9])
def test_the_noise_term_of_the_smooth_bound_exceeds_a_parabola_by_a_known_factor(eta):
    """F = beta ||theta||^2 / 2 under noise settles at eta V / (2 (2 - eta beta)): E ||theta_t||^2 is a recursion."""
    beta, V, steps = 1.0, 3.0, 10_000
    square, total = 0.0, 0.0
    for _ in range(steps):
        square = (1.0 - eta * beta) ** 2 * square + eta**2 * V
        total += 0.5 * beta * square / steps
    factor = (2.0 - eta * beta) / (1.0 - eta * beta)
    assert smooth_bound(0.0, eta, steps, V, beta) == pytest.approx(factor * total, rel=0.01)


def test_a_slope_whose_end_is_reached_in_the_last_step_attains_the_first_term_of_the_smooth_bound():
    """Hinge loss of one margin is linear as far as the ball goes: every average of T - 1 in T is paid."""
    steps, eta, radius = 100, 0.25, 1.0
    data = Data(np.full((2, 1), radius / (eta * steps)), np.ones(2))
    run = noisy_descent(
        get_loss("hinge"), data, steps=steps, step=eta, decaying=False, sigma=0.0, radius=radius, rate=1.0,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    excess = risk(get_loss("hinge"), data, run.average) - risk(get_loss("hinge"), data, np.array([radius]))
    assert excess == pytest.approx((1.0 - 1.0 / steps) * smooth_bound(radius, eta, steps, 0.0, 1e-9), rel=1e-9)


@pytest.mark.parametrize("eta", [0.0, 0.5, 0.7, math.nan])
def test_the_smooth_bound_refuses_steps_beyond_the_curvature(eta):
    with pytest.raises(ValueError, match=r"eta must be in \(0, 1/beta = 0.5\), got"):
        smooth_bound(1.0, eta, 10, 1.0, 2.0)
