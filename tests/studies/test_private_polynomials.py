"""Polynomials fitted with and without privacy: what is drawn is what was computed, and noise falls with epsilon."""

import numpy as np
import pytest

import dpcore
from dpcore.core.losses import get_loss
from dpcore.figures.perturbation import polynomials_figure
from dpcore.figures.style import short_number
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


def test_the_figure_draws_every_curve_and_a_refusal_leaves_none():
    tiny = dpcore.Problem("synthetic", n=400, theta_norm=6.0, lam=1e-6)
    made = private_polynomials(MECHANISMS[:2], tiny, 0.1)
    output, objective = made.fits
    assert not len(objective.curves) and "lam" in objective.reason
    figure = polynomials_figure(made, theme="light", height=400)
    records, *curves, best = figure.data
    assert np.array_equal(records.y, made.y) and best.name == "best curve" and np.array_equal(best.y, made.best)
    assert {curve.name for curve in curves} == {"output, Gaussian"}
    assert np.array_equal([curve.y for curve in curves], output.curves)
    (beyond,) = figure.layout.annotations
    assert beyond.text == f"↑↓ output, Gaussian: up to ±{short_number(np.abs(output.curves).max())}"
