"""Private release beside the model without privacy: decision regions and ellipses in the plane of two columns."""

import dataclasses as dc
import math

import numpy as np

from ...core.arrays import Array
from ...core.cache import SharedCache, shared
from ...core.privacy import Budget
from ...core.records import Data
from ...core.rng import generator
from ...core.specification import Spec
from ...mechanisms import make_mechanism
from ...mechanisms.multiclass.models import class_records, restored
from ...mechanisms.plan import Plan
from ...solvers.multiclass.objective import MulticlassObjective, ellipsoid_of, features, svec
from ...solvers.multiclass.solver import minimise_ellipsoids
from .curves import PLAIN_MU, Records
from .one_vs_rest import LOSS

_SIDE, _POINTS = 101, 90
_TRUE_SPREAD = 2.0  # standard deviations at which a true ellipse is drawn
_STEPS, _FARTHEST = 60, 1e6
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_NO_ELLIPSE = 1e-9  # levels above the centre's that are rounding


@dc.dataclass(frozen=True)
class Picture:
    """One release and the model without privacy, on the plane of two columns, the others 0.

    columns: which two, the first of drawn records, of real ones those whose class means differ most. axis: [S], of both
    coordinates. private, plain: of each class and point, how much smaller the class's score is than the best other one,
    [C, S, S], rows upwards: positive where the point goes to the class. ellipses, hidden, true: outlines of classes,
    [C] arrays [points, 2], of the release, of the model without privacy, and of the law where it is known. An outline
    is empty where the centre belongs to another class. centres: [C, 2], where names are written: of the law, or of the
    records of each class. names: of the classes. agree: share of the test records to which both models give one class.
    right, plain_right: accuracy on the test records. plan: of the release.
    """

    columns: tuple[int, int]
    axis: Array
    private: Array
    plain: Array
    ellipses: tuple[Array, ...]
    hidden: tuple[Array, ...]
    true: tuple[Array, ...]
    centres: Array
    names: tuple[str, ...]
    agree: float
    right: float
    plain_right: float
    plan: Plan


@dc.dataclass(frozen=True)
class _Shown:
    """View of one model. regions: [C, S, S] as in `Picture`. chosen: the classes of the test records, [m]."""

    regions: Array
    outlines: tuple[Array, ...]
    chosen: Array


_PLAIN: SharedCache[_Shown] = SharedCache(64)  # which no budget changes


@shared(64)
def picture(records: Records, *, epsilon: float, delta: float, lam: float | str = "auto") -> Picture:
    """Picture of a release of `gaussian_classifier` at (epsilon, delta), with noise from `records.seed`; from a cache.

    The part that all classes share does not affect decisions: t I is added to all matrices, with the least t for which
    no eigenvalue is negative and no centre is farther from 0 than records can be. Each class's ellipse is its
    largest that stays in the class's own region, so that no two overlap.
    Raises NotApplicable where there is no guarantee.

    >>> found = picture(Records("gaussian_classes", 500, 0), epsilon=5.0, delta=1e-6)
    >>> found.private.shape, len(found.ellipses), found.agree > 0.8
    ((3, 101, 101), 3, True)
    """
    split = records.split()
    train, test, R = split.train, split.test, split.domain.R
    mechanism = make_mechanism("gaussian_classifier")
    spec = Spec(LOSS, train.n, train.p, lam, split.domain, classes=split.classes)  # type: ignore[arg-type]
    plan = mechanism.calibrate(spec, Budget(epsilon, delta))
    rng = generator(records.seed, "classes picture", 0)
    private = mechanism.release(plan, mechanism.prepare(plan, train), rng)

    X = np.asarray(train.X)
    middle = np.stack(
        [X[train.y == c].mean(axis=0) if (train.y == c).any() else np.zeros(train.p) for c in range(split.classes)]
    )
    true: tuple[Array, ...] = ()
    columns = _most_telling(X, middle)
    if split.truth is not None:
        middle, columns = split.truth.means, (0, 1)
        spread = [np.linalg.inv(covariance[:2, :2]) for covariance in split.truth.covariances]
        true = tuple(_outline(c[:2], P, _TRUE_SPREAD**2) for c, P in zip(middle, spread, strict=True))
    reach = min(R, 1.25 * float(np.abs(X[:, columns]).max()))
    axis = np.linspace(-reach, reach, _SIDE)
    points = np.zeros((_SIDE * _SIDE, train.p))
    points[:, columns] = np.stack([np.tile(axis, _SIDE), np.repeat(axis, _SIDE)], axis=1)

    def without_privacy() -> _Shown:
        found = minimise_ellipsoids(MulticlassObjective(class_records(plan.spec, train), PLAIN_MU))
        return _shown(restored(found.weights[0]), columns, points, test, R)

    shown, plain = _shown(private, columns, points, test, R), _PLAIN.get((records,), without_privacy)
    return Picture(
        columns,
        axis,
        shown.regions,
        plain.regions,
        shown.outlines,
        plain.outlines,
        true,
        middle[:, columns],
        split.names,
        float((shown.chosen == plain.chosen).mean()),
        float((shown.chosen == test.y).mean()),
        float((plain.chosen == test.y).mean()),
        plan,
    )


def _shown(matrices: Array, columns: tuple[int, int], points: Array, test: Data, R: float) -> _Shown:
    inside = _pulled_in(matrices, R)
    return _Shown(
        _leads(_scores(inside, points, R)).reshape(-1, _SIDE, _SIDE),
        _outlines(inside, columns, R),
        _scores(inside, np.asarray(test.X), R).argmin(axis=0),
    )


def _most_telling(X: Array, middle: Array) -> tuple[int, int]:
    """The two columns in which the class means [C, d] vary most beside the records, in order."""
    spread = X.var(axis=0)
    share = np.divide(middle.var(axis=0), spread, out=np.zeros_like(spread), where=spread > 0.0)
    first, second = sorted(np.argsort(-share, kind="stable")[:2])
    return int(first), int(second)


def _scores(matrices: Array, X: Array, R: float) -> Array:
    """x~' Phi_c x~ of records [m, d]; [C, m]."""
    return svec(matrices) @ features(X, R).T


def _leads(scores: Array) -> Array:
    """Margin of each class's score below the best other one; scores [C, m]."""
    best, second = np.sort(scores, axis=0)[:2]
    return np.where(scores == best, second, best) - scores


def _pulled_in(matrices: Array, R: float) -> Array:
    """t I added to all classes, the least t >= 0 for which no centre is farther from 0 than R. [C, p, p] without
    negative eigenvalues."""
    eye = np.eye(matrices.shape[-1])
    found, added = ellipsoid_of(matrices, R), ellipsoid_of(eye, R).precision[0, 0]
    if np.linalg.norm(found.centre, axis=1).max() <= R:
        return matrices
    # Centres tend to 0 as t grows: (P + t added I)^-1 P centre, here along the axes of P.
    values, axes = np.linalg.eigh(found.precision)
    pulls = values * np.einsum("cij,ci->cj", axes, found.centre)

    def farthest(t: float) -> float:
        return float(np.linalg.norm(pulls / (values + t * added), axis=1).max())

    low, high = 0.0, 1.0
    while farthest(high) > R:
        high *= 2.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if farthest(middle) > R else (low, middle)
    return matrices + high * eye


def _outlines(matrices: Array, columns: tuple[int, int], R: float) -> tuple[Array, ...]:
    """The classes' ellipses in the plane, each as large as its own region allows."""
    side = np.array([*columns, matrices.shape[-1] - 1])
    cut = matrices[:, side[:, None], side]
    shapes, levels = ellipsoid_of(cut, R), _allowed(cut, R)
    return tuple(
        _outline(centre, precision, float(level))
        for centre, precision, level in zip(shapes.centre, shapes.precision, levels - shapes.offset, strict=True)
    )


def _allowed(matrices: Array, R: float) -> Array:
    """Least score of each class where another one's is smaller, [C]: below it the ellipse meets no such point.

    By duality it is, for one other class, the largest value over t >= 0 of the least value of (1 - t) times its score
    plus t times the other's, which is concave in t and without end where that is not convex. So the interval around it
    shrinks by the golden section, of all pairs together.
    """
    C = len(matrices)
    own, other = np.nonzero(~np.eye(C, dtype=bool))  # all pairs, class after class
    away = matrices[other] - matrices[own]
    precision = ellipsoid_of(matrices, R).precision
    turned = np.linalg.solve(precision[own], precision[own] - precision[other])
    steepest = np.linalg.eigvals(turned).real.max(axis=1)
    ends = np.divide(1.0 - 1e-9, steepest, out=np.full(len(own), np.inf), where=steepest > 0.0)
    low, high = np.zeros(len(own)), np.minimum(ends, _FARTHEST)

    def least(t: Array) -> Array:
        return ellipsoid_of(matrices[own] + t[:, None, None] * away, R).offset

    best = least(low)
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = least(a), least(b)
    for _ in range(_STEPS):
        best = np.maximum(best, np.maximum(at_a, at_b))
        rising = at_a < at_b
        low, high = np.where(rising, a, low), np.where(rising, high, b)
        # One of the two inner points stays one.
        new = np.where(rising, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
        at_new = least(new)
        a, at_a, b, at_b = (np.where(rising, *pair) for pair in ((b, new), (at_b, at_new), (new, a), (at_new, at_a)))
    return best.reshape(C, C - 1).min(axis=1)


def _outline(centre: Array, precision: Array, level: float) -> Array:
    """Points of (x - centre)' P (x - centre) = level, [points, 2]; none where the level is not positive."""
    values, vectors = np.linalg.eigh(precision)
    if level <= _NO_ELLIPSE or values[0] <= 0.0:
        return np.empty((0, 2))
    turn = np.linspace(0.0, 2.0 * math.pi, _POINTS)
    return centre + (np.stack([np.cos(turn), np.sin(turn)], axis=1) * np.sqrt(level / values)) @ vectors.T
