"""Private classifiers of many classes: decisions and ellipses as they are drawn."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq

import dpcore
from dpcore import Budget, Spec
from dpcore.core.rng import generator
from dpcore.studies.multiclass import decision_regions
from dpcore.studies.multiclass.curves import Records

DRAWN = "gaussian_classes"


def outlined(matrices, x):
    """x~' Phi_c x~ of points [m, d]; [C, m]."""
    long = np.column_stack([x, np.ones(len(x))]) / math.sqrt(2.0)
    return np.einsum("mi,cij,mj->cm", long, matrices, long)


def released(records, epsilon, delta):
    """The release of a picture by the public functions, and what makes its centres lie within norm 1."""
    split = records.split()
    spec = Spec("multiclass_hinge", split.train.n, split.train.p, "auto", split.domain, classes=split.classes)
    mechanism = dpcore.make_mechanism("gaussian_classifier")
    plan = mechanism.calibrate(spec, Budget(epsilon, delta))
    matrices = mechanism.release(
        plan, mechanism.prepare(plan, split.train), generator(records.seed, "classes picture", 0)
    )

    def centres(t):
        moved = matrices + t * np.eye(split.train.p + 1)
        return [np.linalg.lstsq(m[:-1, :-1], -m[:-1, -1], rcond=1e-14)[0] for m in moved]

    def too_far(t):
        return max(np.linalg.norm(c) for c in centres(t)) - 1.0

    t = 0.0 if too_far(0.0) <= 0.0 else brentq(too_far, 0.0, 1e4, xtol=1e-13)
    return split, matrices, matrices + t * np.eye(split.train.p + 1), max(np.linalg.norm(c) for c in centres(t))


def within(outline, points):
    """Which points lie inside a convex outline by more than 1e-9."""
    a, b = outline[:-1], outline[1:]
    side = (b - a)[:, None, 0] * (points[None, :, 1] - a[:, None, 1]) - (b - a)[:, None, 1] * (
        points[None, :, 0] - a[:, None, 0]
    )
    turn = np.sign((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum())
    return (turn * side > 1e-9).all(axis=0)


PICTURES = [
    (Records(DRAWN, 500, 1), 5.0),
    (Records(DRAWN, 500, 0, d=5, classes=4), 0.5),
    (Records(DRAWN, 2_000, 2, classes=10), 0.3),
    (Records("iris", 105, 0), 10.0),
    (Records("wine", 125, 0), 1.0),
]


@pytest.mark.parametrize("records, epsilon", PICTURES, ids=lambda v: getattr(v, "source", v))
def test_each_ellipse_is_the_largest_in_its_own_region(records, epsilon):
    """A level of the class's score; classes without one have their centre in another's region."""
    found = decision_regions.picture(records, epsilon=epsilon, delta=1e-6)
    _, _, shifted, _ = released(records, epsilon, 1e-6)
    some, d = np.linspace(-2.0, 2.0, 401), shifted.shape[1] - 1

    def flat(points):
        return points @ np.eye(d)[list(found.columns)]

    scores = outlined(shifted, flat(np.stack([np.tile(some, 401), np.repeat(some, 401)], axis=1)))
    for c, outline in enumerate(found.ellipses):
        beyond = (np.delete(scores, c, axis=0) < scores[c]).any(axis=0)
        nearest = scores[c][beyond].min()
        if len(outline):
            around = outlined(shifted, flat(outline))
            level = around[c][0]
            assert around[c] == pytest.approx(np.full(len(outline), level), rel=1e-6)
            assert np.all(np.delete(around, c, axis=0).min(axis=0) >= level * (1 - 1e-6)), "no other region is entered"
            # The least score beyond the border on a fine grid is a little above the least of all points.
            assert level <= nearest * (1 + 1e-6) and level == pytest.approx(nearest, rel=0.02)
        else:
            assert scores[c].min() >= nearest * (1 - 0.02)
    assert any(len(outline) for outline in found.ellipses)
    for one, other in itertools.permutations([o for o in found.ellipses if len(o)], 2):
        assert not within(one, other).any()


def test_true_ellipses_are_at_two_standard_deviations():
    found = decision_regions.picture(Records(DRAWN, 300, 4, d=3), epsilon=3.0, delta=1e-6)
    law = Records(DRAWN, 300, 4, d=3).split().truth
    assert len(found.true) == 3 and np.array_equal(found.centres, law.means[:, :2])
    for outline, mean, covariance in zip(found.true, law.means, law.covariances, strict=True):
        away = np.linalg.solve(np.linalg.cholesky(covariance[:2, :2]), (outline - mean[:2]).T)
        assert np.linalg.norm(away, axis=0) == pytest.approx(np.full(len(outline), 2.0), rel=1e-9)
    real = decision_regions.picture(Records("iris", 105, 0), epsilon=3.0, delta=1e-6)
    train = Records("iris", 105, 0).split().train
    middle = np.array([np.mean([x for x, y in zip(train.X, train.y, strict=True) if y == c], axis=0) for c in range(3)])
    assert real.true == () and real.columns == (2, 3), "the petals tell the species apart"
    assert real.centres == pytest.approx(middle[:, 2:])
    telling = middle.var(axis=0) / train.X.var(axis=0)
    assert telling[2:].min() > telling[:2].max() and found.columns == (0, 1)
