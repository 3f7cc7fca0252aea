"""Polynomials fitted with and without privacy: what is drawn is what was computed, and noise falls with epsilon."""

import numpy as np
import pytest

import dpcore
from dpcore.core.losses import get_loss
from dpcore.studies.perturbation.private_polynomials import DEGREE, RELEASES, private_polynomials

MECHANISMS = tuple(dpcore.make_mechanism(key) for key in ("output_gaussian", "objective_gaussian", "noisy_gd"))
PROBLEM = dpcore.Problem("synthetic", n=400, theta_norm=6.0, seed=3)


def test_the_best_curve_is_a_polynomial_and_no_private_one_fits_better():
    made = private_polynomials(MECHANISMS, PROBLEM, 2.0)
    coefficients = np.polynomial.chebyshev.chebfit(made.grid, made.best, DEGREE)
    assert np.allclose(np.polynomial.chebyshev.chebval(made.grid, coefficients), made.best, atol=1e-9)
    assert np.linalg.norm(coefficients) * (DEGREE + 1) ** 0.5 <= 6.0 + 1e-6

    def risk(curve):
        on_grid = np.polynomial.chebyshev.chebfit(made.grid, curve, DEGREE)
        z = np.polynomial.chebyshev.chebval(made.x, on_grid)
        return get_loss("huber").value(z, made.y).mean()

    least = risk(made.best)
    for fit in made.fits:
        assert fit.curves.shape == (RELEASES, len(made.grid)) and not fit.reason
        assert min(risk(curve) for curve in fit.curves) > least


@pytest.mark.parametrize("place", range(3))
def test_curves_come_closer_to_the_best_as_epsilon_grows(place):
    away = [
        np.sqrt(((made.fits[place].curves - made.best) ** 2).mean())
        for made in (private_polynomials(MECHANISMS, PROBLEM, epsilon) for epsilon in (0.1, 10.0))
    ]
    assert away[1] < 0.5 * away[0]
