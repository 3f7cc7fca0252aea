"""Exponents: right where there is a power law, silent with a reason where there is none."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.core.power_law import LEAST_DECADES, LEAST_R_SQUARED, power_law

P = 2.0 ** np.arange(3, 21)


@settings(max_examples=30)
@given(st.floats(-3, 3), st.floats(1e-6, 1e6))
def test_a_power_law_gives_its_exponent_whatever_its_constant(exponent, constant):
    found = power_law(P, constant * P**exponent)
    assert found.slope == pytest.approx(exponent, abs=1e-9)
    assert found.reason == ""
    if abs(exponent) > 1e-3:
        assert found.r_squared == pytest.approx(1.0)


def test_noise_of_five_per_cent_hides_no_exponent():
    """Standard error of the slope 0.0034 (18 points, 0.0217 decades of noise): 5 of them, false alarm below 1e-6."""
    noise = 10 ** (0.0217 * np.random.default_rng(0).standard_normal(len(P)))
    assert power_law(P, np.sqrt(P) * noise).slope == pytest.approx(0.5, abs=0.017)


def test_a_level_curve_has_slope_zero_although_its_r_squared_says_nothing():
    assert power_law(P, np.full(len(P), 3.0)).slope == 0.0
    wobble = power_law(P, 1.0 + 0.005 * (-1.0) ** np.arange(len(P)))
    assert wobble.r_squared < LEAST_R_SQUARED and abs(wobble.slope) < 0.001


def test_a_line_below_the_least_r_squared_is_silent_and_one_above_speaks():
    x = np.log10(P) - np.log10(P).mean()
    off = (-1.0) ** np.arange(len(P))
    off -= off.mean() + x * (off @ x) / (x @ x)  # residuals: orthogonal to the line
    for r_squared, speaks in ((LEAST_R_SQUARED - 0.01, False), (LEAST_R_SQUARED + 0.01, True)):
        size = math.sqrt((x @ x) * (1 / r_squared - 1) / (off @ off))
        found = power_law(P, 10 ** (x + size * off))
        assert found.r_squared == pytest.approx(r_squared)
        assert (found.slope is not None) is speaks
        assert found.reason == ("" if speaks else f"no straight line (R² = {r_squared:.2f})")


@pytest.mark.parametrize("decades, speaks", [(LEAST_DECADES - 0.01, False), (LEAST_DECADES + 0.01, True)])
def test_a_short_range_is_silent(decades, speaks):
    x = np.logspace(0, decades, 10)
    found = power_law(x, x)
    assert (found.slope is not None) is speaks
    assert found.reason == ("" if speaks else "only 1.5 decades")


def test_values_without_a_logarithm_and_few_points_are_silent():
    for bad in (0.0, -1.0, math.nan, math.inf):
        assert power_law(P, [*P[:-1], bad]).reason == "not positive everywhere"
    assert power_law(P[::6], P[::6]).reason == "only 3 points"
    assert power_law([], []).reason == "only 0 points"


def test_wrong_arguments_are_one_sentence():
    with pytest.raises(ValueError, match=r"y must be .* x, got shapes \(2,\) and \(3,\)"):
        power_law([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="x must be finite and > 0, got 0"):
        power_law([0, 1, 2, 3], [1, 1, 1, 1])
