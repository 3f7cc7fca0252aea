"""Private release beside the model without privacy: decision regions in the plane of two columns."""

import dataclasses as dc

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
from ...solvers.multiclass.objective import MulticlassObjective, features, svec
from ...solvers.multiclass.solver import minimise_ellipsoids
from .curves import PLAIN_MU, Records
from .one_vs_rest import LOSS

_SIDE = 101


@dc.dataclass(frozen=True)
class Picture:
    """One release and the model without privacy, on the plane of two columns, the others 0.

    columns: which two, the first of drawn records, of real ones those whose class means differ most. axis: [S], of both
    coordinates. private, plain: of each class and point, how much smaller the class's score is than the best other one,
    [C, S, S], rows upwards: positive where the point goes to the class. centres: [C, 2], where names are written: of
    the law, or of the records of each class. names: of the classes. agree: share of the test records to which both
    models give one class. right, plain_right: accuracy on the test records. plan: of the release.
    """

    columns: tuple[int, int]
    axis: Array
    private: Array
    plain: Array
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
    chosen: Array


_PLAIN: SharedCache[_Shown] = SharedCache(64)  # which no budget changes


@shared(64)
def picture(records: Records, *, epsilon: float, delta: float, lam: float | str = "auto") -> Picture:
    """Picture of a release of `gaussian_classifier` at (epsilon, delta), with noise from `records.seed`; from a cache.

    Raises NotApplicable where there is no guarantee.

    >>> found = picture(Records("gaussian_classes", 500, 0), epsilon=5.0, delta=1e-6)
    >>> found.private.shape, found.agree > 0.8
    ((3, 101, 101), True)
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
    columns = _most_telling(X, middle)
    if split.truth is not None:
        middle, columns = split.truth.means, (0, 1)
    reach = min(R, 1.25 * float(np.abs(X[:, columns]).max()))
    axis = np.linspace(-reach, reach, _SIDE)
    points = np.zeros((_SIDE * _SIDE, train.p))
    points[:, columns] = np.stack([np.tile(axis, _SIDE), np.repeat(axis, _SIDE)], axis=1)

    def without_privacy() -> _Shown:
        found = minimise_ellipsoids(MulticlassObjective(class_records(plan.spec, train), PLAIN_MU))
        return _shown(restored(found.weights[0]), points, test, R)

    shown, plain = _shown(private, points, test, R), _PLAIN.get((records,), without_privacy)
    return Picture(
        columns,
        axis,
        shown.regions,
        plain.regions,
        middle[:, columns],
        split.names,
        float((shown.chosen == plain.chosen).mean()),
        float((shown.chosen == test.y).mean()),
        float((plain.chosen == test.y).mean()),
        plan,
    )


def _shown(matrices: Array, points: Array, test: Data, R: float) -> _Shown:
    return _Shown(
        _leads(_scores(matrices, points, R)).reshape(-1, _SIDE, _SIDE),
        _scores(matrices, np.asarray(test.X), R).argmin(axis=0),
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
