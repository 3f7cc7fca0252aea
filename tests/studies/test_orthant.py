"""The orthant: the numbers of the sheet, the fixed point against its definition, and bounds in every draw."""

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from dpcore.core.losses import get_loss
from dpcore.core.power_law import power_law
from dpcore.mechanisms.noise.spherical import NOISES
from dpcore.studies.dimension import orthant

HUBER = get_loss("huber")
UNIT = dc.replace(HUBER, shape=1.0)  # curvature 1, as in the sheet
GAUSSIAN = NOISES["gaussian"]
PS = (16, 64, 256, 1024, 4096)


def test_the_projected_output_has_the_published_example_s_numbers():
    found = [orthant.projected_output(GAUSSIAN, 0.05, p) for p in PS]
    assert [round(z, 3) for z in found] == [0.080, 0.160, 0.319, 0.638, 1.277]
    assert [orthant.free_output(GAUSSIAN, 0.05, p) for p in PS] == pytest.approx([0.05 * math.sqrt(2 / math.pi)] * 5)


@pytest.mark.parametrize("noise", ["gaussian", "gamma"])
@pytest.mark.parametrize("p", [1, 3, 50])
def test_projected_and_free_outputs_are_means_of_literal_draws(noise, p):
    """20,000 draws, 5.5 standard errors: false alarm below 1e-6 for all six and both means together."""
    law, rng = NOISES[noise], np.random.default_rng(p)
    b = 0.3 * np.stack([law.direction(p, p, rng) for _ in range(20_000)])
    cut, free = np.maximum(b, 0).sum(axis=1) / math.sqrt(p), np.abs(b.sum(axis=1)) / math.sqrt(p)
    for draws, mean in ((cut, orthant.projected_output(law, 0.3, p)), (free, orthant.free_output(law, 0.3, p))):
        assert abs(draws.mean() - mean) < 5.5 * draws.std() / math.sqrt(len(draws))


def test_the_constrained_objective_has_the_sheet_s_numbers():
    """n = 200, lam = s = 20 for the sum, 0.1 here; the sheet gives its own sampled means, two digits."""
    found = [orthant.constrained_objective(UNIT, 0.1, 0.1, p, seed=0).mean() for p in PS]
    assert found == pytest.approx([0.37, 0.73, 2.5, 8.3, 20.8], rel=0.04)


@pytest.mark.parametrize("s, lam", [(0.1, 0.1), (0.02, 0.3), (1.0, 0.05), (0.3, 0.01)])
def test_each_draw_minimises_the_noisy_objective_over_the_orthant(s, lam):
    """Against a bounded quasi-Newton method on the objective itself."""
    p = 12
    z = orthant.constrained_objective(HUBER, s, lam, p, seed=3)[:5]
    draws = np.random.default_rng([3, p]).standard_normal((orthant.NORMALS // p, p))[:5]
    u = np.full(p, 1 / math.sqrt(p))

    def objective(theta, b):
        t = float(u @ theta)
        value = HUBER.value(np.array([t]), np.zeros(1))[0] + lam / 2 * theta @ theta + b @ theta
        return value, HUBER.derivative(np.array([t]), np.zeros(1))[0] * u + lam * theta + b

    for row, mine in zip(draws, z, strict=True):
        found = minimize(objective, np.zeros(p), (-s * row,), jac=True, bounds=[(0, None)] * p, tol=1e-13)
        assert u @ found.x == pytest.approx(mine, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("s, lam", [(0.1, 0.1), (2.0, 0.1), (0.01, 0.5), (50.0, 1e-3)])
def test_the_free_objective_is_the_mean_of_its_definition(s, lam):
    """lam z + l'(z) + s g = 0 by bisection, averaged over the quantiles of g."""
    g = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    low, high = np.full(len(g), -1e7), np.full(len(g), 1e7)
    for _ in range(120):
        z = (low + high) / 2
        above = lam * z + np.clip(z / HUBER.shape, -1, 1) + s * g > 0
        low, high = np.where(above, low, z), np.where(above, z, high)
    assert orthant.free_objective(HUBER, s, lam) == pytest.approx(np.abs(z).mean(), rel=2e-4)


def test_the_sheet_s_free_objective_does_not_know_p():
    assert orthant.free_objective(UNIT, 0.1, 0.1) == pytest.approx(0.0725, abs=1e-4)


def example_of(**changes):
    arguments = {"n": 1000, "epsilon": 1.0, "delta": 1e-6, "lam": 0.02, "seed": 0} | changes
    return orthant.example((8, 64, 512, 4096, 32_768), **arguments)


@pytest.mark.parametrize("changes", [{}, {"epsilon": 0.1, "lam": 0.2}, {"lam": 1.0}, {"n": 200, "epsilon": 10.0}])
def test_the_orthant_brings_root_p_back_and_the_bound_holds(changes):
    """The bound holds for means; sampled means stay within 5 standard errors (1% each) of it: false alarm 1e-6."""
    found = example_of(**changes)
    assert power_law(found.p, found.projected).slope == pytest.approx(0.5)
    assert power_law(found.p, found.free_output).slope == pytest.approx(0.0)
    assert power_law(found.p, found.free_objective).slope == pytest.approx(0.0, abs=1e-9)
    assert power_law(found.p, found.bound).slope == pytest.approx(0.5, abs=1e-6)
    assert (found.constrained <= 1.05 * found.bound).all()
    assert (np.diff(found.constrained) > 0).all() and found.reason == ""
    assert found.projected / found.free_output == pytest.approx(np.sqrt(found.p) / 2)


def test_a_refused_question_leaves_the_answer_and_says_why():
    found = example_of(epsilon=0.1, lam=1e-4)
    assert "lam" in found.reason and np.isnan(found.constrained).all() and np.isnan(found.free_objective).all()
    assert (found.projected > 0).all()
