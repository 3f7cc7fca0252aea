"""Clouds are the mechanisms' own releases over the true risk."""

import numpy as np
import pytest
from scipy.stats import chi2

from dpcore import Problem, data, make_mechanism
from dpcore.core.losses import get_loss
from dpcore.core.rng import generator
from dpcore.experiments.metrics import risk
from dpcore.studies.perturbation.release_scatter import ReleaseScatter, release_scatter

KEYS = ("output_gaussian", "objective_gaussian", "output_gamma", "objective_gamma")


def problem_of(**changes) -> Problem:
    return Problem("synthetic", **({"n": 300, "p": 2, "lam": 0.05, "seed": 3} | changes))


def scattered(keys=KEYS, epsilon=1.0, **changes) -> ReleaseScatter:
    return release_scatter(tuple(make_mechanism(key) for key in keys), problem_of(**changes), epsilon)


def test_dots_are_releases_of_the_mechanism():
    made = scattered()
    train = data.load("synthetic", 300, 2, 3).train
    for each in made.mechanisms:
        mechanism = make_mechanism(each.mechanism)
        prepared = mechanism.prepare(each.plan, train)
        one = mechanism.release(each.plan, prepared, generator(3, each.mechanism, 7))
        solvers_leave = 2.0 * each.plan.tol  # of a release's distance from its exact law
        assert np.linalg.norm(each.thetas[7] - one) <= solvers_leave < 1e-4 * np.ptp(made.x)
        assert np.array_equal(each.theta_hat, prepared.theta)
    assert scattered() is made, "kept"
    assert scattered(seed=4) is not made


@pytest.mark.parametrize("factor, accepted", [(1.0, True), (0.5, False)])
def test_releases_of_output_perturbation_have_the_plans_scale(factor, accepted):
    """The squared distances over s^2 are chi-square; a false alarm has probability 1e-6 (fixed seed), and half the
    noise is refused."""
    (each,) = scattered(("output_gaussian",)).mechanisms
    scale = each.plan.weakened(1 / factor).scale
    statistic = (((each.thetas - each.theta_hat) / scale) ** 2).sum()
    low, high = chi2.ppf([5e-7, 1 - 5e-7], each.thetas.size)
    assert bool(low < statistic < high) is accepted


def test_the_landscape_is_the_risk_above_the_best_model():
    made, train = scattered(), data.load("synthetic", 300, 2, 3).train
    best = problem_of().reference()
    assert np.array_equal(made.best, best.theta)
    loss = get_loss("logistic")
    for i, j in ((0, 0), (4, 20), (32, 7)):
        here = risk(loss, np.array([made.x[j], made.y[i]]), train) - best.risk
        assert made.excess[i, j] == pytest.approx(here, rel=1e-9)
    assert made.excess.min() >= -best.gap


@pytest.mark.parametrize("lam, epsilon", [(0.05, 1.0), (0.001, 3.0), ("auto", 0.1)])
def test_the_window_holds_the_best_model_and_nearly_all_others(lam, epsilon):
    made = scattered(lam=lam, epsilon=epsilon)
    assert np.ptp(made.x) == pytest.approx(np.ptp(made.y)), "a square"

    def inside(points):
        first, second = np.atleast_2d(points).T
        return (made.x[0] < first) & (first < made.x[-1]) & (made.y[0] < second) & (second < made.y[-1])

    assert inside(made.best).all()
    assert inside(np.concatenate([c.thetas for c in made.mechanisms])).mean() >= 0.9
    assert all(inside(c.theta_hat).all() for c in made.mechanisms)


def test_a_small_move_does_not_rescale_the_window():
    sides = {np.ptp(scattered(epsilon=epsilon).x).round(9) for epsilon in (1.0, 1.01, 1.02)}
    assert len(sides) == 1


def test_a_refused_mechanism_leaves_its_reason_and_the_others_their_releases():
    made = scattered(("output_gaussian", "objective_gaussian"), lam=1e-4, epsilon=0.1)
    answer, question = made.mechanisms
    assert len(answer.thetas) == 50 and answer.reason == ""
    assert len(question.thetas) == 0 and question.plan is None and "needs lam >" in question.reason
    nothing = scattered(("objective_gaussian",), lam=1e-4, epsilon=0.1)
    assert np.isfinite(nothing.excess).all(), "the landscape is there without releases"
