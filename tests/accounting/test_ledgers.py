"""Ledgers against the accountants they are made of, Kamath's own figures and one another."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpcore import Budget
from dpcore.accounting import composition, gaussian, kamath, subsampled_rdp
from dpcore.accounting.ledger import Run, ledger_of, releases_of, tight_multiplier
from dpcore.accounting.pld import laplace_losses

STEPS = (1, 10, 1_000, 80_000, 80_001, 4_000_000, 10_000_000)


def curve(run, kind, steps=STEPS):
    return next(c for c in ledger_of(run, steps) if c.kind == kind)


def test_renyi_and_exact_curves_are_the_accountants():
    run, full = Run(2000, 50, 20.0, 1e-6), Run(2000, 2000, 300.0, 1e-6)
    for kind in ("uniform", "poisson"):
        expected = [subsampled_rdp.subsampled_epsilon(20.0, 0.025, t, 1e-6, kind) for t in STEPS]
        assert curve(run, kind).epsilon.tolist() == expected
    expected = [gaussian.gaussian_epsilon(2 * math.sqrt(t) / 300.0, 1e-6) for t in STEPS]
    assert curve(full, "exact").epsilon.tolist() == expected
    assert [c.kind for c in ledger_of(full, STEPS)] == ["basic", "advanced", "kamath", "poisson", "exact"]
    assert "exact" not in [c.kind for c in ledger_of(run, STEPS)]


@pytest.mark.parametrize("run", [Run(2000, 50, 20.0, 1e-6), Run(500, 500, 60.0, 1e-5), Run(300, 1, 0.9, 1e-8)])
def test_basic_and_advanced_composition_spend_delta_and_no_more(run):
    """Each from its parts: failures at the rate of the batch add up to delta, or to half of it beside the slack."""
    for times, basic, advanced in zip(STEPS, curve(run, "basic").epsilon, curve(run, "advanced").epsilon, strict=True):
        for share, total in ((1.0, basic), (0.5, advanced)):
            failure = share * run.delta / times / run.rate
            loss = gaussian.gaussian_epsilon(2 / run.z, failure)
            step = math.log(1 + run.rate * (math.exp(loss) - 1))
            assert times * run.rate * failure == pytest.approx(share * run.delta)
            composed = times * step if share == 1 else composition.advanced_epsilon(step, times, run.delta / 2)
            assert total == pytest.approx(composed, rel=1e-5)


def exact_step_delta(run, epsilon):
    """The larger hockey-stick divergence of one Poisson step, by sums over its densities."""
    x = np.linspace(-40, 40, 400_001)
    h, q = 1 / run.z, run.rate

    def density(mean):
        return np.exp(-0.5 * (x - mean) ** 2) / math.sqrt(2 * math.pi)

    one, other = ((1 - q) * density(0) + q * density(s * h) for s in (1, -1))
    return float(np.sum(np.maximum(one - math.exp(epsilon) * other, 0)) * (x[1] - x[0]))


@pytest.mark.parametrize("run", [Run(200, 20, 2.0, 1e-5), Run(100, 100, 8.0, 1e-6), Run(2000, 500, 3.0, 1e-7)])
def test_one_step_costs_no_more_than_any_theorem_says(run):
    for c in ledger_of(run, (1,)):
        if c.proved:
            assert exact_step_delta(run, float(c.epsilon[0])) <= run.delta, c.kind
    assert exact_step_delta(run, 0.6 * float(curve(run, "poisson", (1,)).epsilon[0])) > run.delta


@pytest.mark.parametrize("n", [200, 2000, 50_000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_kamath_claims_the_target_after_n_squared_steps(n, epsilon):
    """At its own noise, on one record a step; the curve ends there, and theorems do not confirm the claim's digits."""
    z = kamath.kamath_multiplier(n, Budget(epsilon, 1e-6))
    run, steps = Run(n, 1, z, 1e-6), (1, n**2 - 1, n**2, n**2 + 1)
    claim = curve(run, "kamath", steps)
    assert not claim.proved and claim.epsilon[2] == pytest.approx(epsilon, rel=1e-12)
    assert np.isnan(claim.epsilon[3]) and np.isfinite(claim.epsilon[:3]).all()
    assert curve(run, "poisson", steps).epsilon[2] < epsilon / 6
    assert f"{n**2:,} steps" in claim.reason


def test_without_lemma_3_there_is_no_claim_and_the_reason_says_so():
    claim = curve(Run(2000, 1, 9.6, 1e-6), "kamath")
    assert np.isnan(claim.epsilon).all() and "Lemma 3" in claim.reason and "cost 1.36" in claim.reason


@pytest.mark.parametrize("batch", [1, 40, 2000])
def test_tight_noise_keeps_the_guarantee_and_hardly_less_would_not(batch):
    budget = Budget(0.7, 1e-6)
    z = tight_multiplier(budget, 2000, batch, 5_000)
    kind = "exact" if batch == 2000 else "poisson"
    assert curve(Run(2000, batch, z, 1e-6), kind, (5_000,)).epsilon[0] == pytest.approx(0.7, rel=1e-8)
    assert curve(Run(2000, batch, 0.999 * z, 1e-6), kind, (5_000,)).epsilon[0] > 0.7005


def test_laplace_releases_cost_no_less_than_is_told():
    """Ten releases of 0.1 cost 1.0000000000000000555, of which a plain product of doubles tells 1."""
    one, times = Budget(0.1, 1e-6), (3, 10, 100)
    basic, _, exact = releases_of("laplace", one, times)
    for k, told, found in zip(times, basic.epsilon, exact.epsilon, strict=True):
        assert k * Fraction(0.1) <= Fraction(told) <= k * Fraction(0.1) * (1 + Fraction(1, 2**51))
        assert laplace_losses(0.1, k).delta(np.array([found]))[0] <= one.delta
    basic, _, exact = releases_of("laplace", Budget(10.0, 1e-10), (1_000,))  # more delta is left by rounding than asked
    assert exact.epsilon == pytest.approx(basic.epsilon, rel=1e-12)
