"""Without noise: the median, the classifier and the curve print a record, for every seed."""

import numpy as np
import pytest
from scipy.interpolate import BarycentricInterpolator
from scipy.optimize import minimize_scalar

from dpcore.studies.perturbation.exact_answers_leak import (
    MARGIN_LAM,
    MARGIN_TOL,
    SALARIES,
    median_leak,
    polynomial_fit,
    support_vector_leak,
)

SEEDS = range(60)


def differing(before, after) -> list[int]:
    return np.flatnonzero(before != after).tolist()


@pytest.mark.parametrize("make", [median_leak, support_vector_leak, polynomial_fit])
def test_exactly_one_record_is_replaced_and_a_seed_repeats(make):
    for seed in SEEDS:
        found = make(seed)
        assert differing(found.before, found.after) == [found.replaced]
    assert np.array_equal(make(3).before, make(3).before)
    assert not np.array_equal(make(3).before, make(4).before)


def test_the_median_is_one_persons_salary_and_then_anothers():
    for seed in SEEDS:
        leak = median_leak(seed)
        assert len(set(leak.before)) == SALARIES, "different salaries"
        assert leak.published_before == sorted(leak.before)[SALARIES // 2] == leak.before[leak.owner_before]
        assert leak.published_after == sorted(leak.after)[SALARIES // 2] == leak.after[leak.owner_after]
        assert leak.owner_before != leak.owner_after, "another person's salary"
        assert leak.replaced not in (leak.owner_before, leak.owner_after), "neither of them is the one replaced"


def objective(theta: float, x: np.ndarray) -> float:
    return float(np.maximum(1 - np.abs(x) * theta, 0.0).mean() + 0.5 * MARGIN_LAM * theta**2)


def test_the_margin_stands_on_the_closest_record_and_moves_with_it():
    for seed in SEEDS:
        leak = support_vector_leak(seed)
        for x, theta, owner in (
            (leak.before, leak.published_before, leak.owner_before),
            (leak.after, leak.published_after, leak.owner_after),
        ):
            closest = np.abs(x).min()
            assert abs(theta - 1 / closest) <= MARGIN_TOL
            assert owner == leak.replaced == np.abs(x).argmin()
            assert np.abs(x).max() <= 1.0, "the bound ||x|| <= 1 holds"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_weight_is_the_minimiser_of_the_whole_objective(seed):
    leak = support_vector_leak(seed)
    found = minimize_scalar(objective, args=(leak.before,), bounds=(0.0, 20.0), options={"xatol": 1e-10})
    assert found.x == pytest.approx(leak.published_before, abs=1e-4)


def test_the_curve_passes_through_every_record_wherever_one_goes():
    for seed in SEEDS:
        fit = polynomial_fit(seed)
        assert fit.miss < 1e-12
        for records, curve in ((fit.before, fit.curve_before), (fit.after, fit.curve_after)):
            assert curve == pytest.approx(BarycentricInterpolator(fit.x, records)(fit.grid), abs=1e-10)
        assert abs(fit.after[fit.replaced] - fit.before[fit.replaced]) > 1.0, "a move that can be seen"
        assert np.abs(fit.curve_after).max() < 4.0, "the curve stays calm between the records"
