"""Minimisers of location losses over a ball, and what certifies them."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from dpcore import Data, Unconverged
from dpcore.core.losses import get_loss
from dpcore.solvers import minimise_in_ball
from dpcore.solvers.erm import location
from tests.solvers.test_location import MEAN, MEDIAN, cloud, every_location_loss, plain_risk, points


def shapes(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    line = rng.standard_normal((n, 1))
    on_sphere = rng.standard_normal((n, 3))
    return {
        "in general position": rng.standard_normal((n, 3)),
        "one column": line,
        "on a line through 0": line @ rng.standard_normal((1, 4)),
        "on another line": line @ rng.standard_normal((1, 4)) + rng.standard_normal(4),
        "nearly on a line": line @ rng.standard_normal((1, 3)) + 1e-7 * rng.standard_normal((n, 3)),
        "repeated": np.round(rng.standard_normal((n, 2))),
        "nearly repeated": np.round(rng.standard_normal((n, 2))) + 1e-8 * rng.standard_normal((n, 2)),
        "all equal": np.repeat(rng.standard_normal((1, 3)), n, axis=0),
        "nearly equal": rng.standard_normal((1, 2)) + 1e-9 * rng.standard_normal((n, 2)),
        "all zero": np.zeros((n, 2)),
        "on the sphere": 0.5 * on_sphere / np.linalg.norm(on_sphere, axis=1)[:, None],
    }


def no_better_point_nearby(key: str, X: np.ndarray, found, rng: np.random.Generator) -> bool:
    """No point of the ball among random neighbours, near and far, and the records lies below risk - gap."""
    p = X.shape[1]
    others = [found.theta + size * rng.standard_normal((20, p)) for size in (1.0, 1e-2, 1e-4, 1e-6)]
    others = np.concatenate([*others, X, np.zeros((1, p))])
    norms = np.linalg.norm(others, axis=1)
    others = others * np.minimum(1.0, found.radius / np.maximum(norms, 1e-300))[:, None]
    return min(plain_risk(key, X, t) for t in others) >= found.risk - found.gap - 1e-14 * max(1.0, found.risk)


@pytest.mark.pairwise
@every_location_loss
@pytest.mark.parametrize("radius", [0.05, 0.5, 3.0, 100.0])
@pytest.mark.parametrize("n", [2, 3, 5, 8, 101])
def test_every_shape_of_records_is_solved_to_a_certified_gap(key, n, radius):
    rng = np.random.default_rng([5, n])
    for name, X in shapes(n, rng).items():
        for table in (X, csr_array(X)):
            found = minimise_in_ball(get_loss(key), Data(table, np.zeros(n)), radius)
            assert found.gap <= 1e-9 and np.linalg.norm(found.theta) <= radius * (1 + 1e-12), name
            assert found.risk == pytest.approx(plain_risk(key, X, found.theta), rel=1e-12, abs=1e-14), name
            assert no_better_point_nearby(key, X, found, rng), name


@pytest.mark.parametrize("radius", [0.2, 1.0, 10.0])
def test_the_mean_is_the_mean_or_the_nearest_point_of_the_ball(radius):
    records = points(np.random.default_rng(6).standard_normal((20, 3)) + 1.0)
    mean = records.X.mean(axis=0)
    found = minimise_in_ball(MEAN, records, radius)
    assert np.allclose(found.theta, mean * min(1.0, radius / np.linalg.norm(mean)), rtol=1e-14)


@pytest.mark.parametrize("n", [2, 5, 8, 101])
def test_in_one_column_the_geometric_median_is_the_median(n):
    x = np.random.default_rng([7, n]).standard_normal((n, 1))
    low, high = np.sort(x.ravel())[[(n - 1) // 2, n // 2]]
    found = minimise_in_ball(MEDIAN, points(x), 10.0)
    assert low - 1e-12 <= found.theta[0] <= high + 1e-12
    assert found.risk == pytest.approx(np.abs(x - np.median(x)).mean(), rel=1e-13)
    reach = 0.5 * abs(np.median(x))
    assert minimise_in_ball(MEDIAN, points(x), reach).risk == pytest.approx(
        np.abs(x - reach * np.sign(np.median(x))).mean(), rel=1e-12
    )


def test_a_place_where_most_records_lie_is_the_median_exactly():
    rng = np.random.default_rng(8)
    place = np.array([0.3, 0.2])
    X = np.concatenate([np.repeat(place[None], 60, axis=0), rng.standard_normal((59, 2))])
    for table in (X, csr_array(X)):
        found = minimise_in_ball(MEDIAN, Data(table, np.zeros(119)), 2.0)
        assert np.array_equal(found.theta, place) and found.gap <= 1e-12
    outside = minimise_in_ball(MEDIAN, points(X), 0.1)
    assert outside.gap <= 1e-9 and np.linalg.norm(outside.theta) == pytest.approx(0.1, rel=1e-9)


def test_a_record_on_the_sphere_can_hold_the_median_against_a_pull_outward():
    """The others pull outward with more than the record's own 1/n and sideways with less: a kink on the sphere."""
    X = np.array([[0.3, 0.4], [3.0, 4.2], [3.0, 4.3], [3.2, 4.0], [3.0, 4.1]])
    pull = (X[1:] - X[0]) / np.linalg.norm(X[1:] - X[0], axis=1)[:, None]
    outward = X[0] / 0.5
    aside = pull.sum(axis=0) - (pull.sum(axis=0) @ outward) * outward
    assert pull.sum(axis=0) @ outward > 1.0 and 1e-3 < np.linalg.norm(aside) < 1.0
    found = minimise_in_ball(MEDIAN, points(X), 0.5)
    assert np.allclose(found.theta, X[0], rtol=0.0, atol=1e-15) and found.gap <= 1e-12


@pytest.mark.parametrize("key", ["geometric_median", "smooth_median"])
@pytest.mark.parametrize("radius", [0.3, 5.0])
def test_minimisers_agree_with_an_independent_optimiser(key, radius):
    for n, p in ((15, 2), (40, 4)):
        X = cloud(n, p, seed=9).X + 0.5
        ball = {"type": "ineq", "fun": lambda t: radius**2 - t @ t, "jac": lambda t: -2.0 * t}
        other = minimize(
            lambda t, X=X: plain_risk(key, X, t), np.full(p, 0.01), constraints=[ball], options={"ftol": 1e-13}
        )
        found = minimise_in_ball(get_loss(key), points(X), radius)
        assert other.x @ other.x <= radius**2 * (1 + 1e-6)
        assert found.risk <= other.fun + 1e-7 and other.fun <= found.risk + 1e-5


@every_location_loss
@pytest.mark.parametrize("radius", [0.3, 3.0])
def test_the_certificate_bounds_the_truth_at_any_point_and_is_positive_off_the_minimum(key, radius):
    rng = np.random.default_rng(11)
    for X in shapes(7, rng).values():
        records = points(X)
        best = minimise_in_ball(get_loss(key), records, radius)
        for size in (1.0, 1e-2, 1e-5):
            theta = best.theta + size * rng.standard_normal(X.shape[1])
            theta *= min(1.0, radius / np.linalg.norm(theta))
            excess = plain_risk(key, X, theta) - best.risk
            assert location._certificate(get_loss(key), records, 0.0, theta, radius) >= excess - 1e-15
            if size == 1.0 and excess > 0.0:
                assert location._certificate(get_loss(key), records, 0.0, theta, radius) > 1e-6


@every_location_loss
def test_wide_tables_are_solved_along_a_few_directions(key):
    rng = np.random.default_rng(13)
    tables = [
        rng.standard_normal((30, 400)),
        rng.standard_normal((101, 400)) * np.geomspace(1.0, 1e-3, 400),
        np.outer(rng.standard_normal(51), rng.standard_normal(400)),
        np.concatenate([np.repeat(rng.standard_normal((1, 400)), 26, axis=0), rng.standard_normal((25, 400))]),
    ]
    for X in tables:
        for radius in (1.0, 30.0):
            found = minimise_in_ball(get_loss(key), points(X), radius)
            assert found.gap <= 1e-9 and no_better_point_nearby(key, X, found, rng)


def test_what_cannot_be_certified_is_not_returned(monkeypatch):
    monkeypatch.setattr(location, "_MAX_STEPS", 2)
    with pytest.raises(Unconverged, match=r"radius 1 .* certified to 1e-09"):
        minimise_in_ball(MEDIAN, cloud(10, 2), 1.0)
