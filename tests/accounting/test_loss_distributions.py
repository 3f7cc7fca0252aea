"""The law of the privacy loss of Gaussian steps on random batches: against quadrature, Gaussians and Renyi bounds."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from dpcore.accounting.pld import batch_losses, laplace_losses
from dpcore.accounting.subsampled_rdp import SAMPLINGS, subsampled_epsilon

EPSILONS = np.array([0.0, 0.05, 0.3, 1.0, 2.5])


def delta_of(ps: np.ndarray, qs: np.ndarray) -> np.ndarray:
    return np.array([np.maximum(ps - math.exp(e) * qs, 0.0).sum() for e in EPSILONS])


def cells(rate: float, shift: float, edges: np.ndarray) -> np.ndarray:
    """Probabilities of (1 - rate) N(0) + rate N(shift) between the edges."""
    return np.diff((1.0 - rate) * ndtr(edges) + rate * ndtr(edges - shift))


@pytest.mark.parametrize("z, rate", [(1.0, 0.2), (0.5, 0.05), (3.0, 1.0), (0.3, 0.01)])
@pytest.mark.parametrize("times", [1, 2])
def test_poisson_batches_cost_what_their_worst_pair_does(z, rate, times):
    """By sums over fine cells in one or two dimensions, which are below the truth by little."""
    edges = np.linspace(-12.0 - 1.0 / z, 12.0 + 1.0 / z, 2_001 if times == 2 else 200_001)
    ps, qs = cells(rate, 1.0 / z, edges), cells(rate, -1.0 / z, edges)
    if times == 2:
        ps, qs = np.multiply.outer(ps, ps).ravel(), np.multiply.outer(qs, qs).ravel()
    exact, found = delta_of(ps, qs), batch_losses(z, rate, times, "poisson").delta(EPSILONS)
    assert (found >= exact).all()
    assert np.allclose(found, exact, rtol=2e-4 if times == 1 else 5e-3, atol=1e-5)


@pytest.mark.parametrize("z, rate, times", [(1.0, 0.2, 1), (1.0, 0.2, 2), (0.5, 0.05, 2)])
def test_single_records_cost_no_less_than_pairs_that_can_be_met(z, rate, times):
    """The others' records at 0 or where one of the two is; either way round. One step also has a published formula."""
    found, h = batch_losses(z, rate, times, "uniform").delta(EPSILONS), 1.0 / z
    edges = np.linspace(-12.0 - 2.0 * h, 12.0 + 2.0 * h, 1_501)
    nearest = np.zeros(len(EPSILONS))
    for one, other in (((rate, 2.0 * h), (0.0, 0.0)), ((rate, h), (rate, -h))):
        ps, qs = cells(*one, edges), cells(*other, edges)
        if times == 2:
            ps, qs = np.multiply.outer(ps, ps).ravel(), np.multiply.outer(qs, qs).ravel()
        for exact in (delta_of(ps, qs), delta_of(qs, ps)):
            assert (found >= exact).all()
            nearest = np.maximum(nearest, exact)
    assert found[0] < 1.5 * nearest[0]
    if times == 1:
        x = np.log1p(np.expm1(EPSILONS) / rate)
        published = rate * (stats.norm.cdf(h - x / (2 * h)) - np.exp(x) * stats.norm.cdf(-h - x / (2 * h)))
        assert np.allclose(found, published, rtol=1e-4, atol=1e-9) and (found >= published).all()


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("times, mu", [(1, 1.0), (40, 0.3), (400, 2.0)])
def test_full_batches_are_gaussian_noise(sampling, times, mu):
    found = batch_losses(2.0 * math.sqrt(times) / mu, 1.0, times, sampling).delta(EPSILONS)
    exact = ndtr(mu / 2 - EPSILONS / mu) - np.exp(EPSILONS) * ndtr(-mu / 2 - EPSILONS / mu)
    assert (found >= exact).all() and np.allclose(found, exact, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("z, rate, times", [(8.0, 0.05, 400), (0.8, 0.05, 400), (60.0, 0.2, 40), (1.4, 5e-4, 10**6)])
def test_many_steps_cost_less_than_by_renyi_divergences_and_not_less_than_a_tenth(sampling, z, rate, times):
    losses, delta = batch_losses(z, rate, times, sampling), 1e-5
    epsilon = subsampled_epsilon(z, rate, times, delta, sampling)
    at, before = losses.delta(np.array([epsilon, 0.85 * epsilon]))
    assert 0.01 * delta < at < delta and losses.charge < 1e-6
    assert before > 0.3 * delta
    # A profile falls, is convex in e^epsilon, and ends at its charge.
    epsilons = np.linspace(0.0, 3.0 * epsilon, 400)
    profile = losses.delta(epsilons)
    slopes = np.diff(profile) / np.diff(np.exp(epsilons))
    assert (slopes <= 1e-12).all() and (np.diff(slopes) >= -1e-9).all()
    assert losses.delta(np.array([250.0]))[0] == pytest.approx(losses.charge)


def test_noise_that_hides_nothing_is_no_overflow():
    for sampling in SAMPLINGS:
        assert batch_losses(1e-3, 0.5, 10, sampling).delta(np.array([0.0]))[0] > 1.0 - 1e-3
        assert batch_losses(0.03, 0.5, 50, sampling).delta(np.array([0.0]))[0] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("epsilon, times", [(0.3, 1), (1.0, 3), (0.5, 20), (0.1, 200)])
def test_laplace_releases_cost_what_draws_of_their_losses_do(epsilon, times):
    rng = np.random.default_rng(times)
    losses = np.zeros(200_000)
    for _ in range(times):
        noise = rng.laplace(scale=1.0 / epsilon, size=len(losses))
        losses += epsilon * (np.abs(noise - 1.0) - np.abs(noise))
    drawn = np.maximum(-np.expm1(EPSILONS[:, None] - losses), 0.0)
    error = drawn.std(axis=1) / math.sqrt(len(losses))
    found = laplace_losses(epsilon, times).delta(EPSILONS)
    assert (np.abs(found - drawn.mean(axis=1)) <= 4.5 * error + 2e-4).all()
    assert laplace_losses(epsilon, times).delta(np.array([times * epsilon]))[0] < 1e-9
