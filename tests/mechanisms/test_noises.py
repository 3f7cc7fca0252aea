"""Releases lie on a grid that is made of the noise, so that the last bits of a sum do not reveal its parts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dpcore
from dpcore.core.losses import get_loss
from dpcore.core.sets import NormBall, length
from dpcore.mechanisms import mechanism_class
from dpcore.mechanisms.noise.rounding import on_grid
from tests.audits import KEYS, KNOBS
from tests.problems import CHOOSING, CLASSIFYING, POINTS, UNREGULARISED, random_records

RESOLUTIONS = [1e-300, 3e-17, 0.3, 0.5, 1.0, 7.0, 1e6, 1e300]


def step_of(resolution: float) -> float:
    """The largest power of two that is at most resolution / 2^20."""
    return 2.0 ** math.floor(math.log2(resolution / 2.0**20))


def numbers() -> np.ndarray:
    """All sizes and both signs."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(4_000) * 10.0 ** rng.uniform(-30.0, 30.0, 4_000)
    return np.concatenate([values, rng.standard_normal(4_000), [0.0, -0.0, 1.0, -1.0, 5e-324, -1.7e308]])


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_rounded_numbers_are_the_nearest_multiples_towards_zero(resolution):
    """A step is a power of two and at most 2^-20 of the noise; doubles farther apart than a step are multiples."""
    values = numbers()
    step, found = step_of(resolution), on_grid(values, resolution)
    assert resolution / 2.0**21 < step <= resolution / 2.0**20
    assert np.all(np.abs(found) <= np.abs(values)) and np.all(np.sign(found) * np.sign(values) >= 0.0)
    assert np.all(np.abs(values - found) < step)
    assert np.all(np.fmod(found, step) == 0.0), "multiples"
    assert np.array_equal(on_grid(found, resolution), found), "once is enough"
    assert np.array_equal(on_grid(-values, resolution), -found)


def test_no_resolution_leaves_numbers_alone_and_so_does_one_below_all_doubles():
    values = numbers()
    assert on_grid(values, 0.0) is values
    assert np.array_equal(on_grid(values, 5e-324), values)


def test_a_finer_grid_keeps_what_a_coarser_one_keeps():
    values = numbers()
    for fine, coarse in itertools.pairwise(RESOLUTIONS):
        assert np.array_equal(on_grid(on_grid(values, fine), coarse), on_grid(values, coarse))


@pytest.mark.parametrize("key", KEYS)
def test_every_release_lies_on_its_grid_and_in_its_set(key):
    """And not on one of 256 times the width, by chance in less than one of 10^7 releases of three numbers or more."""
    mechanism = mechanism_class(key)()
    data = random_records(400, 3, seed=9)
    y = data.y
    if key in CLASSIFYING:
        y = (y > 0.0).astype(float)
    elif key in POINTS or get_loss(mechanism.usual_loss).task == "cost":
        y = np.zeros(400)
    knobs = {} if key == "noisy_sgd" else KNOBS.get((key, "tight"), {})
    told = {"radius": 1.0} if key in UNREGULARISED else {"classes": 2} if key in CLASSIFYING else {}
    release = dpcore.solve(key, X=data.X / 3.0, y=y, epsilon=2.0, delta=1e-5, seed=1, **knobs, **told)
    plan, theta = release.plan, np.asarray(release.theta)
    resolution = plan.mechanism.resolution(plan)
    assert np.array_equal(on_grid(theta, resolution), theta)
    if resolution:
        assert not np.array_equal(on_grid(theta, 256.0 * resolution), theta)
    else:
        assert key in CHOOSING or mechanism.noise == "gumbel", "tells choices and nothing else"
    if plan.spec.size is not None and plan.mechanism.quantity != "regret":
        inside = plan.spec.unit_set
        order = inside.order if isinstance(inside, NormBall) else 1.0
        assert length(theta[None], order)[0, 0] <= plan.spec.size * (1.0 + 1e-9)
