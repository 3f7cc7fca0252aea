"""Bounds on the mean risk that are proved for given records hold there, and are attained where their proofs say so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from dpcore import Data, list_mechanisms, make_mechanism
from dpcore.core.cancel import never
from dpcore.core.losses import get_loss
from dpcore.core.privacy import Budget
from dpcore.core.rng import generator
from dpcore.core.specification import Domain, Spec
from dpcore.data import synthetic
from dpcore.experiments.metrics import risk
from dpcore.mechanisms import mechanism_class
from dpcore.mechanisms.base import Lens, Mechanism
from dpcore.mechanisms.objective import base as objective
from dpcore.solvers import Minimum, minimise_in_ball

from ..problems import PROBLEMS, for_loss

PROVING = [key for key in list_mechanisms() if mechanism_class(key).lens is not Mechanism.lens]
PAIRS = 200
LOSSES = {
    "output": ("logistic", "huber_hinge", "hinge", "squared", "huber", "absolute"),
    "objective": ("logistic", "huber_hinge", "huber"),  # the others have a kink or no largest slope
    "gradient": ("logistic", "hinge", "squared", "geometric_median"),
}
BALL = [(key, loss) for key in PROVING for loss in LOSSES.get(mechanism_class(key).family, ())]


def best_of(spec: Spec, data: Data) -> Minimum:
    return minimise_in_ball(get_loss(spec.loss), data, spec.theta_norm)


def lens_of(key: str, spec: Spec, data: Data, epsilon: float = 1.0) -> tuple[Lens, np.ndarray]:
    """The bounds for these records and the risk of each release, [pairs, 2], above the risk without noise."""
    mechanism, loss = make_mechanism(key), get_loss(spec.loss)
    plan = mechanism.calibrate(spec, Budget(epsilon, 0.0 if mechanism.noise == "gamma" else 1e-6))
    prepared = [mechanism.prepare(plan, data)]
    lens = mechanism.lens([plan], prepared, data, best_of(spec, data), 5, never)
    drawn = mechanism.draws([plan], prepared, [generator(5, key, r) for r in range(PAIRS)], never)
    quiet = risk(loss, drawn.centres[0], data)
    rises = np.array([risk(loss, theta, data) for theta in drawn.thetas[0]]) - quiet
    assert lens is not None
    return Lens(lens.low - quiet, lens.high - quiet, lens.se), rises.reshape(-1, 2)


def mean_and_error(rises: np.ndarray) -> tuple[float, float]:
    pairs = rises.mean(axis=1)
    return float(pairs.mean()), float(pairs.std(ddof=1) / np.sqrt(len(pairs)))


def test_these_families_prove_something():
    assert {mechanism_class(key).family for key in PROVING} == {
        "output",
        "objective",
        "sampling",
        "gradient",
        "frank_wolfe",
        "variance_reduced",
    }


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("key", "loss"), BALL)
def test_the_mean_lies_between_the_bounds_for_these_records(key: str, loss: str, name: str):
    data = for_loss(loss, PROBLEMS[name])
    for lam, epsilon in ((0.05, 3.0), (2.0, 1.0)):
        if mechanism_class(key).family == "objective":
            lam += 2.0 * get_loss(loss).curvature_bound / data.n
        lens, rises = lens_of(key, Spec(loss, n=data.n, p=data.p, lam=lam), data, epsilon)
        mean, error = mean_and_error(rises)
        assert lens.low[0] - 4 * (error + lens.se[0]) - 1e-9 <= mean <= lens.high[0] + 4 * (error + lens.se[0]) + 1e-9


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
@pytest.mark.parametrize("lam", [0.05, 0.5])
def test_the_mean_of_sampled_models_lies_between_the_bounds(loss: str, lam: float):
    data = for_loss(loss, synthetic.draw_recipe("synthetic_mixture", 600, 12, np.random.default_rng(3)).train)
    data = Data(data.X, np.sign(data.y) if get_loss(loss).classification else np.clip(data.y, -1.0, 1.0))
    spec = Spec(loss, n=data.n, p=data.p, lam=lam, domain=Domain(q=np.inf), set="simplex")
    lens, rises = lens_of("simplex_sampling", spec, data, 3.0)
    mean, error = mean_and_error(rises)
    assert lens.low[0] - 4 * error <= mean <= lens.high[0] + 4 * error
    if loss == "squared":  # whose mean over the draws is the upper end
        assert mean == pytest.approx(lens.high[0], abs=4 * error)
        assert lens.high[0] > 8 * error


@pytest.mark.parametrize("key", ["output_gaussian", "output_gamma"])
def test_output_perturbation_attains_its_upper_bounds(key: str):
    """Squared loss the curvature's everywhere; absolute loss the slope's where the model is exact for all records."""
    data = for_loss("squared", PROBLEMS["full rank"])
    lens, rises = lens_of(key, Spec("squared", n=data.n, p=data.p, lam=0.5), data)
    mean, error = mean_and_error(rises)
    assert mean == pytest.approx(lens.high[0], abs=4 * error) and lens.high[0] > 8 * error

    nothing = Data(data.X, np.zeros(data.n))
    lens, rises = lens_of(key, Spec("absolute", n=data.n, p=data.p, lam=0.5), nothing)
    mean, error = mean_and_error(rises)
    assert mean == pytest.approx(lens.high[0], abs=4 * error) and lens.high[0] > 8 * error


@pytest.mark.parametrize("key", ["objective_gaussian", "objective_gamma"])
def test_objective_perturbation_attains_its_upper_bound_where_the_loss_is_flat(key: str):
    """Records at 0: the model moves by -b / lam, which changes no prediction."""
    empty = Data(np.zeros((50, 3)), np.ones(50))
    lens, rises = lens_of(key, Spec("logistic", n=50, p=3, lam=0.5), empty)
    assert not rises.any() and -1e-6 < lens.low[0] <= 0.0 <= lens.high[0] < 1e-6


@pytest.mark.parametrize("key", ["objective_gaussian", "objective_gamma"])
def test_the_bounds_of_objective_perturbation_are_the_means_of_their_proof(key: str, monkeypatch: pytest.MonkeyPatch):
    """With one column the means over the noise are integrals over one number."""
    monkeypatch.setattr(objective, "_LENS_PAIRS", 2_000)
    data, loss = PROBLEMS["one column"], get_loss("logistic")
    spec = Spec("logistic", n=data.n, p=1, lam=0.1)
    mechanism = make_mechanism(key)
    plan = mechanism.calibrate(spec, Budget(1.0, 0.0 if mechanism.noise == "gamma" else 1e-6))
    prepared = mechanism.prepare(plan, data)
    lens, best = mechanism.lens([plan], [prepared], data, best_of(spec, data), 1, never), float(prepared.theta[0])
    assert lens is not None
    x = data.X[:, 0]

    def slope(theta: float) -> float:
        return float(np.mean(loss.derivative(theta * x, data.y) * x)) + 0.1 * theta

    def moved(b: float) -> float:
        return brentq(lambda theta: slope(theta) + b, -1e3, 1e3) - best

    noise = stats.laplace(scale=plan.scale) if mechanism.noise == "gamma" else stats.norm(scale=plan.scale)
    b = noise.ppf((np.arange(2_000) + 0.5) / 2_000)
    d = np.array([moved(each) for each in b])
    quiet, low = risk(loss, prepared.theta, data), -0.1 * best * d.mean()
    lens = Lens(lens.low - quiet, lens.high - quiet, lens.se)
    assert lens.low[0] == pytest.approx(low, abs=4 * lens.se[0])
    assert lens.high[0] == pytest.approx(low + (b**2).mean() / 0.2 - 0.05 * (d**2).mean(), abs=4 * lens.se[0])
    assert abs(low) > 8 * lens.se[0]


def test_no_upper_bound_for_these_records_is_above_that_for_all():
    """On records as long as they may be both are the same number, of which the theorem adds the regulariser's cost."""
    data = PROBLEMS["two records"]
    data = Data(data.X / np.linalg.norm(data.X, axis=1)[:, None] * (1 - 1e-12), data.y)
    spec: Any = Spec("logistic", n=2, p=3, lam=1.0)
    mechanism = make_mechanism("output_gaussian")
    plan = mechanism.calibrate(spec, Budget(1.0, 1e-6))
    over = next(bound for bound in mechanism.bounds(plan) if bound.quantity == "excess_over_regularised")
    lens, _ = lens_of("output_gaussian", spec, data)
    assert lens.high[0] == pytest.approx(over.value, rel=1e-9)
