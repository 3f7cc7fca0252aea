"""Convex sets: extreme points, nearest points, norms and widths against brute force."""

import itertools
import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import integrate, stats

from dpcore.core.sets import SETS, Ball, Box, L1Ball, LqBall, Polytope, Simplex, get_set

TRIANGLE = Polytope(((1.0, 0.0, 0.2), (-1.0, 0.5, 0.0), (0.0, -1.0, 1.0), (0.1, 0.1, 0.1)))
SHAPES = [Ball(), Simplex(), L1Ball(), Box(), LqBall(1.2), LqBall(1.5), LqBall(4.0)]
PROJECTING = [Simplex(), L1Ball()]
FLAT = [*SHAPES, TRIANGLE]


def name(shape) -> str:
    return f"{shape.label} {getattr(shape, 'order', '')}".strip()


def gauge(shape, theta: np.ndarray) -> float:
    """At most 1 in the set, written down from its definition."""
    if isinstance(shape, Simplex):
        return max(1.0 - 10.0 * min(theta.min(), 0.0), 1.0 + abs(theta.sum() - 1.0))
    order = {Ball: 2.0, L1Ball: 1.0, Box: math.inf}.get(type(shape)) or shape.order
    return float(np.linalg.norm(theta, order))


def members(shape, p: int, rng: np.random.Generator, count: int = 400) -> np.ndarray:
    """Points of the set, its boundary and its vertices among them."""
    if isinstance(shape, Polytope):
        return np.vstack([shape.table, rng.dirichlet(np.ones(len(shape.table)), count) @ shape.table])
    if isinstance(shape, Simplex):
        return np.vstack([np.eye(p), rng.dirichlet(np.full(p, 0.5), count)])
    signs = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=p)))
    rays = np.vstack([signs[np.abs(signs).sum(axis=1) > 0], rng.standard_normal((count, p))])
    return rays / np.array([gauge(shape, ray) for ray in rays])[:, None]


@pytest.mark.parametrize("shape", FLAT, ids=name)
def test_no_member_is_lower_than_the_extreme_point(shape):
    rng = np.random.default_rng(1)
    for p in (3,) if shape is TRIANGLE else (1, 2, 3, 4):
        found = members(shape, p, rng)
        v = np.vstack([rng.standard_normal((200, p)), np.eye(p), -np.eye(p), np.zeros((1, p))])
        lowest = shape.extreme(v)
        assert lowest.shape == v.shape and np.array_equal(shape.extreme(v[0]), lowest[0])
        assert (np.einsum("kp,kp->k", v, lowest)[:, None] <= v @ found.T + 1e-12).all()
        if shape is not TRIANGLE:
            assert max(gauge(shape, theta) for theta in lowest) <= 1.0 + 1e-12


@pytest.mark.parametrize("shape", SHAPES, ids=name)
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_numbers_of_any_size_have_an_extreme_and_a_nearest_point(shape, size):
    v = np.random.default_rng(2).standard_normal((50, 5))
    np.testing.assert_allclose(shape.extreme(size * v), shape.extreme(v), rtol=1e-9, atol=1e-12)
    if shape not in PROJECTING:
        return
    nearest = shape.project(size * v)
    assert np.isfinite(nearest).all()
    assert all(gauge(shape, theta) <= 1.0 + 1e-9 for theta in nearest)
    if size > 1.0:  # infinitely far away, the nearest point is the one farthest in that direction
        np.testing.assert_allclose(np.einsum("kp,kp->k", v, nearest - shape.extreme(-v)), 0.0, atol=1e-9)


@pytest.mark.parametrize("shape", PROJECTING, ids=name)
def test_a_nearest_point_sees_no_member_at_an_acute_angle(shape):
    """<v - Pv, s - Pv> <= 0 for all s in the set, its best s among them: the variational inequality, for many v."""
    rng = np.random.default_rng(3)
    for p in (1, 2, 3, 4, 30):
        v = rng.standard_normal((300, p)) * np.exp(rng.uniform(-3.0, 3.0, (300, 1)))
        v[::7, : p // 2] = 0.0
        nearest = shape.project(v)
        away = v - nearest
        assert nearest.shape == v.shape and np.allclose(shape.project(v[0]), nearest[0], rtol=0.0, atol=1e-12)
        worst = np.einsum("kp,kp->k", away, shape.extreme(-away) - nearest)
        assert (worst <= 1e-10 * np.maximum(1.0, np.linalg.norm(v, axis=1))).all()
        assert max(gauge(shape, theta) for theta in nearest) <= 1.0 + 1e-12
        np.testing.assert_allclose(shape.project(nearest), nearest, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("shape", FLAT, ids=name)
@pytest.mark.parametrize("order", [1, 2])
def test_norms_and_diameters_are_reached_and_not_exceeded(shape, order):
    rng = np.random.default_rng(7)
    for p in (3,) if shape is TRIANGLE else (1, 2, 3):
        found = members(shape, p, rng, count=60)
        norms = np.linalg.norm(found, order, axis=1)
        apart = np.linalg.norm(found[:, None] - found, order, axis=2)
        assert norms.max() <= shape.norm(order, p) + 1e-12
        assert apart.max() <= shape.diameter(order, p) + 1e-12
        assert norms.max() == pytest.approx(shape.norm(order, p), rel=1e-9)
        assert apart.max() == pytest.approx(shape.diameter(order, p), rel=1e-9)


def test_only_polytopes_with_few_vertices_count_them():
    assert [shape.n_vertices(20) for shape in SHAPES] == [None, 20, 40, *[None] * (len(SHAPES) - 3)]


@pytest.mark.parametrize("shape", FLAT, ids=name)
def test_widths_agree_with_draws(shape):
    """100,000 draws a case, 5 standard errors besides the stated error: false alarm below 2e-5 in all 28 cases."""
    rng = np.random.default_rng(8)
    for p in (3,) if shape is TRIANGLE else (1, 2, 7):
        width = shape.width(p)
        g = rng.standard_normal((100_000, p))
        drawn = -np.einsum("kp,kp->k", g, shape.extreme(g))
        error = width.error + 5.0 * drawn.std() / math.sqrt(len(g)) + 1e-12
        assert abs(drawn.mean() - width.value) <= error and 0.0 <= width.error <= 0.02 * max(width.value, 0.1)


def test_widths_agree_with_an_adaptive_quadrature():
    for p in (2, 10, 1000, 10**7):
        peak = math.sqrt(2.0 * math.log(2.0 * p))
        signed = integrate.quad(
            lambda x, p=p: -math.expm1(p * math.log1p(-2.0 * stats.norm.sf(x))) if x else 1.0,
            *(0.0, 30.0),
            points=[peak - 2.0, peak, peak + 2.0] if peak > 2.0 else [1.0],
            epsabs=1e-11,
            limit=500,
        )[0]
        assert L1Ball().width(p).value == pytest.approx(signed, abs=1e-9)
        if p == 2:
            assert Simplex().width(p).value == pytest.approx(1.0 / math.sqrt(math.pi), abs=1e-9)
        assert 0.0 < L1Ball().width(p).error <= 1e-8


def test_widths_of_l2_balls_grow_by_the_recursion_of_chi_means():
    for p in (1, 2, 5, 999, 1000, 1001, 20_000):
        # Gamma((p + 1) / 2) / Gamma(p / 2) times Gamma((p + 2) / 2) / Gamma((p + 1) / 2) is p / 2.
        assert Ball().width(p).value * Ball().width(p + 1).value == pytest.approx(p, rel=1e-12)
        assert LqBall(2.0).width(p) == Ball().width(p)


def test_a_width_is_computed_once_and_drawn_from_a_public_seed():
    shape = LqBall(1.7)
    assert shape.width(11) is LqBall(1.7).width(11)
    assert shape._width(11) == shape.width(11)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: LqBall(1.0), "order must be a number from 1.001 to 1000, got 1.0"),
        (lambda: LqBall(math.inf), "order must be"),
        (lambda: LqBall("2"), "order must be"),
        (lambda: Polytope(((1.0,), (math.nan,))), "vertices must be finite"),
        (lambda: Polytope(()), "vertices must"),
        (lambda: Ball().width(0), "p must be an integer >= 1, got 0"),
        (lambda: TRIANGLE.width(4), "p must be the length of the vertices, 3, got 4"),
        (lambda: get_set("circle"), "set must be one of ball, simplex, l1_ball, box, got 'circle'"),
    ],
)
def test_bad_sets_are_refused_by_name(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_sets_are_values():
    assert [get_set(key) for key in SETS] == [Ball(), Simplex(), L1Ball(), Box()]
    assert LqBall(3) == LqBall(3.0) and hash(LqBall(4)) == hash(LqBall(4.0)) and LqBall(3.0) != LqBall(4.0)
    with pytest.raises(FrozenInstanceError):
        LqBall(3.0).order = 2.0
