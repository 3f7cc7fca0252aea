"""Losses of a point: values, gradients, constants, and certified minimisers over a ball."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

import dpcore
from dpcore import Axis, Budget, Data, Domain, Experiment, Problem, Spec, data
from dpcore.core.losses import SMOOTHING, get_loss
from dpcore.theory.lower_bounds import hardest_data
from tests.problems import BALL, LINEAR, LOCATION

from ..flat_fields import experiment_of

every_location_loss = pytest.mark.parametrize("key", LOCATION)
MEDIAN, SMOOTH, MEAN = map(get_loss, ("geometric_median", "smooth_median", "mean"))
# Each loss as a function of the distance.
OF_DISTANCE = {
    "geometric_median": lambda z: z,
    "smooth_median": lambda z: np.sqrt(z**2 + 0.01) - 0.1,
    "mean": lambda z: z**2,
}


def points(X) -> Data:
    X = np.asarray(X, float)
    return Data(X, np.zeros(len(X)))


def cloud(n: int, p: int, seed: int = 0) -> Data:
    return points(np.random.default_rng([seed, n, p]).standard_normal((n, p)))


def plain_risk(key: str, X: np.ndarray, theta: np.ndarray) -> float:
    return float(OF_DISTANCE[key](np.linalg.norm(X - theta, axis=1)).mean())


# Values, gradients and constants


@every_location_loss
def test_values_and_derivatives_are_those_of_the_distance(key):
    loss, z = get_loss(key), np.concatenate([np.linspace(0.0, 5.0, 501), [1e3, 1e-9]])
    y = np.zeros_like(z)
    assert np.allclose(loss.value(z, y), OF_DISTANCE[key](z), rtol=1e-13, atol=1e-15)
    inside, step = z[1:502], 1e-5
    slopes = (OF_DISTANCE[key](inside + step) - OF_DISTANCE[key](inside - step)) / (2 * step)
    assert np.allclose(loss.derivative(inside, y[1:502]), slopes, atol=1e-8)


def test_a_smoothed_distance_keeps_its_digits_near_zero():
    assert SMOOTH.value(np.array([1e-9]), np.zeros(1))[0] == pytest.approx(1e-18 / (2 * SMOOTHING), rel=1e-12)


@pytest.mark.parametrize("key", BALL)
@pytest.mark.parametrize("p", [0, 9])
def test_gradients_match_finite_differences_dense_and_sparse(key, p):
    """p = 9: the last four columns are idle, once left out of the models and once a part of them."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 5)) * (rng.random((40, 5)) < 0.7), rng.choice([-1.0, 1.0], 40)
    full = np.pad(X, ((0, 0), (0, max(p - 5, 0))))
    loss, step = get_loss(key), 1e-6
    for columns in {5, full.shape[1]}:
        thetas = rng.standard_normal((3, columns))

        def value(theta, width=columns):
            if key in LINEAR:
                return float(loss.value(full[:, :width] @ theta, y).mean())
            return plain_risk(key, full[:, :width], theta)

        numeric = [[(value(t + step * e) - value(t - step * e)) / (2 * step) for e in np.eye(columns)] for t in thetas]
        for table in (X, csr_array(X)):
            records = Data(table, y, p)
            assert np.allclose(loss.gradients(records, thetas), numeric, atol=1e-8)
            expected = full[:, :columns] @ thetas.T
            if key in LOCATION:
                expected = np.linalg.norm(full[:, None, :columns] - thetas, axis=2)
            assert np.allclose(loss.predictions(records, thetas), expected.T, rtol=1e-12, atol=1e-14)


@every_location_loss
@pytest.mark.parametrize("away", [0.0, 1e-13, 1e-9, 1e-4])
def test_a_model_next_to_a_record_keeps_its_distance_and_its_direction(key, away):
    """||theta||^2 - 2 <x, theta> + ||x||^2 alone would lose the distance below 1e-8 and its direction long before."""
    x = np.array([0.6, 0.3, -0.2])
    theta = x + away * np.array([0.0, 0.8, 0.6])
    d = theta - x
    z = float(np.linalg.norm(d))
    for table in (np.array([x, [0.1, 0.0, 0.5]]), csr_array([x, [0.1, 0.0, 0.5]])):
        records = Data(table, np.zeros(2))
        assert get_loss(key).predictions(records, theta[None])[0, 0] == pytest.approx(z, rel=1e-9, abs=0.0)
        other = theta - np.array([0.1, 0.0, 0.5])
        far = float(np.linalg.norm(other))
        slope = {"geometric_median": lambda z: 1.0, "smooth_median": lambda z: z / math.hypot(z, 0.1)}.get(
            key, lambda z: 2 * z
        )
        own = slope(z) * d / z if z else np.zeros(3)
        expected = (own + slope(far) * other / far) / 2
        assert np.allclose(get_loss(key).gradients(records, theta[None])[0], expected, rtol=0.0, atol=1e-12)


def test_many_models_near_many_records_are_taken_in_blocks(monkeypatch):
    records, rng = cloud(50, 3), np.random.default_rng(2)
    thetas = np.concatenate([records.X[:7] + 1e-9 * rng.standard_normal((7, 3)), rng.standard_normal((3, 3))])
    whole = [(loss.predictions(records, thetas), loss.gradients(records, thetas)) for loss in (MEDIAN, SMOOTH)]
    equal = points(np.repeat(records.X[:1], 50, axis=0))
    at_once = MEDIAN.gradients(equal, thetas)
    monkeypatch.setattr("dpcore.core.losses._BLOCK", 6)
    for loss, (z, g) in zip((MEDIAN, SMOOTH), whole, strict=True):
        assert np.array_equal(loss.predictions(records, thetas), z) and np.allclose(loss.gradients(records, thetas), g)
    assert np.allclose(MEDIAN.gradients(equal, thetas), at_once, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("key", BALL)
def test_no_record_of_the_domain_pulls_harder_or_bends_more_than_the_constants_say(key):
    loss, R, radius, y_max = get_loss(key), 1.5, 2.0, 0.7
    spec = Spec(key, 2, 3, 0.1, Domain(R=R, y_max=y_max), radius)
    rng = np.random.default_rng(3)
    X, thetas = (rng.standard_normal((400, 3)) for _ in range(2))
    X *= R / np.linalg.norm(X, axis=1)[:, None]
    thetas *= radius / np.linalg.norm(thetas, axis=1)[:, None]
    X[0], thetas[0] = [0.0, 0.0, -R], [0.0, 0.0, radius]
    y = rng.choice([-1.0, 1.0] if loss.classification else [-y_max, y_max], 400)
    y[0] = -1.0 if loss.classification else y_max
    moved = thetas + 1e-4 * rng.standard_normal((400, 3))
    largest = steepest = 0.0
    for x, label, theta, other in zip(X, y, thetas, moved, strict=True):
        pair = Data(np.stack([x, x]), [label, label])
        g = loss.gradients(pair, np.stack([theta, other]))
        largest = max(largest, float(np.linalg.norm(g[0])))
        steepest = max(steepest, float(np.linalg.norm(g[1] - g[0]) / np.linalg.norm(other - theta)))
    # A step outward of 1e-4 may leave the ball by as much.
    assert 0.7 * loss.largest_gradient(spec) < largest <= loss.largest_gradient(spec) * (1 + 1e-12)
    assert steepest <= loss.largest_curvature(spec) * (1 + 1e-6)


def test_the_constants_of_a_point():
    spec = Spec("mean", 10, 3, 0.1, Domain(R=1.5), radius=2.0)
    assert [loss.largest_gradient(spec) for loss in (MEDIAN, SMOOTH, MEAN)] == [1.0, 1.0, 7.0]
    assert [loss.largest_curvature(spec) for loss in (MEDIAN, SMOOTH, MEAN)] == [math.inf, 1 / SMOOTHING, 2.0]
    assert SMOOTH.at_zero(spec) == pytest.approx(math.hypot(1.5, 0.1) - 0.1) and MEAN.at_zero(spec) == 2.25
    assert MEAN.lipschitz(Spec("mean", 10, 3, 0.1, Domain(R=1.5))) == 6.0, "the minimiser is among the records"
    for key in ("mean", "squared"):
        with pytest.raises(ValueError, match=r"radius must be a number .*, got None"):
            get_loss(key).largest_gradient(Spec(key, 10, 3, 0.1))
    # The curvature is attained where a point lies on the model.
    near = points([[1e-6, 0.0], [1e-6, 0.0]])
    assert np.linalg.norm(SMOOTH.gradients(near, np.zeros((1, 2)))) == pytest.approx(1e-6 / SMOOTHING, rel=1e-6)


# Records, mechanisms and experiments


def test_points_lie_around_a_centre_and_a_fifth_far_off():
    """Of 4,000 records a share of 1/5 has standard deviation 0.0063: seven of them, false alarm 3e-12."""
    split = data.load("synthetic_location", 4_000, 8, 0)
    X = split.train.X
    u = X[np.linalg.norm(X, axis=1) < 0.6].mean(axis=0)
    u /= np.linalg.norm(u)
    outliers = X @ u < 0
    assert abs(outliers.mean() - 0.2) < 0.045
    assert np.linalg.norm(X[~outliers] - 0.4 * u, axis=1).max() < 0.11
    assert np.linalg.norm(X[outliers] + 0.9 * u, axis=1).max() < 0.11
    assert not split.train.y.any()
    direction = np.random.default_rng([0, *b"synthetic_location"]).standard_normal(8)
    assert u @ direction / np.linalg.norm(direction) > 0.999


@every_location_loss
def test_an_experiment_with_points_measures_excess_risk_and_nothing_else(key):
    sweep = Axis("epsilon", (0.5, 5.0))
    experiment = Experiment(
        Problem("synthetic_location", n=200, p=3, loss=key), mechanisms=("noisy_gd",), sweep=sweep, repetitions=8
    )
    table = dpcore.run(experiment)
    assert list(table.metric) == ["excess_empirical_risk"] * 2 and set(table.status) == {"ok"}
    assert (table["mean"] > -1e-9).all() and (table["reference_gap"] <= 1e-9).all()
    assert table["mean"].iloc[1] < table["mean"].iloc[0] < 0.5


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"loss": "logistic"}, r"loss must be a location loss \(geometric_median, smooth_median, mean\) for source"),
        ({"loss": "mean", "source": "iris"}, "loss must be a classification loss"),
        ({"loss": "mean", "source": "diabetes"}, "loss must be a regression loss"),
    ],
)
def test_losses_and_sources_must_be_of_one_kind(fields, message):
    with pytest.raises(ValueError, match=message):
        experiment_of(**{"source": "synthetic_location"} | fields)


@every_location_loss
def test_labels_are_not_needed_and_not_looked_at(key):
    spec = Spec(key, 3, 2)
    X = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    for y in ([0.0, 0.0, 0.0], [0.3, -1.0, 1.0], [0.0, 3.0, 0.0]):
        data.check_records(Data(X, y), spec)
    assert dpcore.solve("output_gaussian", X, epsilon=1.0, delta=1e-6, lam=1.0, loss=key).theta.shape == (2,)
    with pytest.raises(ValueError, match=r"y must be given .*, got None"):
        dpcore.solve("output_gaussian", X, epsilon=1.0, delta=1e-6, lam=1.0, loss="huber")
    for bad in (3.0, [1.0, 2.0], "many"):
        with pytest.raises(ValueError, match=r"X must"):
            dpcore.solve("output_gaussian", bad, epsilon=1.0, delta=1e-6, lam=1.0, loss=key)


@pytest.mark.parametrize("key", LOCATION)
@pytest.mark.parametrize("n", [12, 13])
def test_the_lower_bound_is_the_best_of_all_swaps(key, n):
    """Records at +-R on a line; minima by a scalar solver, group privacy as a plain sum."""
    R, budget, best = 0.8, Budget(0.3, 1e-3), 0.0
    for k in range(n % 2 or 2, n, 2):
        X = np.concatenate([np.full((n + k) // 2, R), np.full((n - k) // 2, -R)])[:, None]

        def F(z, X=X):
            return plain_risk(key, X, np.array([z]))

        lowest = min(minimize_scalar(F, bounds=(0.0, 2.0), method="bounded", options={"xatol": 1e-10}).fun, F(R))
        grown = budget.delta * sum(math.exp(i * budget.epsilon) for i in range(k))
        cap = min(1.0, (math.exp(k * budget.epsilon) + grown) / (1 + math.exp(k * budget.epsilon)))
        best = max(best, (F(0.0) - lowest) * (1 - cap))
    spec = Spec(key, n, 2, domain=Domain(R=R), theta_norm=2.0)
    (bound,) = hardest_data(get_loss(key), spec, budget)
    assert 0.99 * best <= bound.value <= best * (1 + 1e-6)
    assert hardest_data(MEDIAN, Spec("geometric_median", n, 2, domain=Domain(R=R), theta_norm=0.5), budget) == ()
