"""Accuracy of private multiclass classifiers against epsilon, the number of classes and the number of columns."""

import dataclasses as dc
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from ...core.arrays import Array
from ...core.cache import shared
from ...core.cancel import Cancelled, go_on, never
from ...core.privacy import Budget
from ...core.specification import Spec
from ...core.validation import check_real, integer, one_of
from ...data import CLASS_SOURCES, ClassSplit, load_classes
from ...experiments.summary import Summary, measured_of
from ...mechanisms.multiclass.models import class_records
from ...solvers import Minimum
from ...solvers.multiclass.objective import MulticlassObjective, classify, features
from ...solvers.multiclass.solver import minimise_ellipsoids
from .one_vs_rest import LOSS, LearnerKey, Runs, runs_of
from .reference_risk import least_in_ball, least_of_all

Axis = Literal["epsilon", "classes", "d"]
COMPARED: tuple[LearnerKey, ...] = ("ellipsoids", "split")
# Ridge of models without privacy: small beside the number of records.
PLAIN_MU = 1.0
_REACH = 100.0  # times theta_norm: the length of models over which the least loss is certified
_LOGISTIC_STRENGTH = 1e3  # 1 / ridge of the sum of losses


@dc.dataclass(frozen=True)
class ExcessAlong:
    """Mean excess of ellipsoids on the training records along an axis, over the least loss of all models; its bound,
    proved over the best model of norm <= theta_norm and raised by the difference; and the excess of Phi = 0. Arrays
    [K], nan before they are computed and, but the last, where there is no guarantee."""

    mean: Array
    bound: Array
    nothing: Array

    @property
    def there(self) -> bool:
        return bool(np.isfinite(self.nothing).all())


@dc.dataclass(frozen=True)
class Accuracies:
    """Accuracy on test records along K points of an axis; arrays [K].

    learners: what each measured over releases and `datasets` draws of the records, nan where it has no guarantee, for
    which `reasons` has sentences, [K] each. plain: ellipsoids without privacy; logistic: multinomial logistic
    regression without privacy; bayes: of those who know the law, nan where nobody does; chance: the share of the
    largest class. excess: of the first draw of the records, None where it is not asked for.
    """

    axis: Axis
    x: Array
    learners: dict[LearnerKey, Summary]
    reasons: dict[LearnerKey, tuple[str, ...]]
    plain: Array
    logistic: Array
    bayes: Array
    chance: Array
    excess: ExcessAlong | None
    repetitions: int
    datasets: int
    test_records: int


@dc.dataclass(frozen=True)
class Records:
    """Choice of records: source, number, and for drawn ones columns and classes (None: the source's own)."""

    source: str
    n: int
    seed: int
    d: int | None = None
    classes: int | None = None

    def split(self) -> ClassSplit:
        return load_classes(self.source, self.n, d=self.d, classes=self.classes, seed=self.seed)


@dc.dataclass(frozen=True)
class AccuracyQuestion:
    """Accuracy of learners along an axis. All else is as in `records` and at (epsilon, delta).

    values: of the axis, in order; the field of that name in `records`, or `epsilon`, is not used, and questions that
    differ in nothing else are equal. datasets: how many draws of the records, at least 1; draw k has the seed
    `records.seed` + k. lam, repetitions: as in `runs_of`. excess: whether the ellipsoids' excess risk is wanted, too.

    Raises ValueError for an axis that given records do not have.
    """

    axis: Axis
    values: tuple[float, ...]
    records: Records
    epsilon: float
    delta: float
    lam: float | str = "auto"
    learners: tuple[LearnerKey, ...] = COMPARED
    repetitions: int = 6
    datasets: int = 2
    excess: bool = False

    def __post_init__(self) -> None:
        source, axis, own = self.records.source, self.axis, self.records
        drawn = CLASS_SOURCES[one_of("source", source, CLASS_SOURCES)].d is None
        if one_of("axis", axis, ("epsilon", "classes", "d")) != "epsilon" and not drawn:
            raise ValueError(f"axis must be 'epsilon' for source {source!r}, whose records are given, got {axis!r}")
        integer("datasets", self.datasets, at_least=1)
        if self.excess and "ellipsoids" not in self.learners:
            raise ValueError(f"learners must hold 'ellipsoids', whose excess is asked for, got {self.learners!r}")
        if axis == "epsilon":
            object.__setattr__(self, "epsilon", 1.0)
        else:
            unused = dc.replace(own, classes=None) if axis == "classes" else dc.replace(own, d=None)
            object.__setattr__(self, "records", unused)

    @property
    def source(self) -> str:
        return self.records.source

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[Accuracies]:
        """The curves of the first draw of the records, with the excess if it is asked for, of the first two, and so on.

        Pieces come from a cache.

        cancelled: asked between models; when it says yes, CancelledError is raised.
        """
        found, excess = list[_OfDraw](), None
        if self.excess:
            excess = ExcessAlong(*np.full((3, len(self.values)), np.nan))
        for k in range(self.datasets):
            found.append(self._of_draw(dc.replace(self.records, seed=self.records.seed + k), cancelled))
            if excess and not excess.there:
                yield self._together(found, excess)  # which does not wait for the best models
                excess = self._excess_of(found[0].runs["ellipsoids"], cancelled)
            yield self._together(found, excess)

    def share_done(self, found: Accuracies) -> float:
        """Share of the draws of the records, beside which the excess counts as one more."""
        there = found.excess is not None and found.excess.there
        return (found.datasets + there) / (self.datasets + self.excess)

    def _of_draw(self, table: Records, cancelled: Cancelled) -> "_OfDraw":
        each = [_at(table, self.axis, value) for value in self.values]
        budgets = [Budget(v if self.axis == "epsilon" else self.epsilon, self.delta) for v in self.values]
        plain = [_plain(here, cancelled) for here in each]
        runs = {
            key: tuple(
                releases(key, here, budget, self.lam, self.repetitions, cancelled)
                for here, budget in zip(each, budgets, strict=True)
            )
            for key in self.learners
        }
        return _OfDraw(np.array(plain), runs, table.split().test.n)

    def _excess_of(self, runs: "Sequence[Runs]", cancelled: Cancelled) -> ExcessAlong:
        rows = []
        for value, run in zip(self.values, runs, strict=True):
            go_on(cancelled)
            here = _at(self.records, self.axis, value)
            least, best = least_of(here)
            nothing = here.split().classes - 1.0
            rows.append(np.array([run.risk.mean(), _bound(run) + best.risk, nothing]) - least)
        return ExcessAlong(*np.array(rows).T)

    def _together(self, found: "Sequence[_OfDraw]", excess: ExcessAlong | None) -> Accuracies:
        right, logistic, bayes, chance = np.mean([draw.plain for draw in found], axis=0).T
        return Accuracies(
            self.axis,
            np.asarray(self.values, float),
            {
                key: measured_of(
                    np.concatenate([[runs.accuracy for runs in draw.runs[key]] for draw in found], axis=1),
                    np.mean([[runs.quiet for runs in draw.runs[key]] for draw in found], axis=0),
                )
                for key in self.learners
            },
            {key: tuple(runs.reason for runs in found[0].runs[key]) for key in self.learners},
            right,
            logistic,
            bayes,
            chance,
            excess,
            self.repetitions,
            len(found),
            found[0].test_records,
        )


@dc.dataclass(frozen=True)
class _OfDraw:
    """Along the axis on one draw of the records. plain: [K, 4] as from `_plain`."""

    plain: Array
    runs: dict[LearnerKey, tuple[Runs, ...]]
    test_records: int


def accuracy_against(axis: Axis, values: Sequence[float], records: Records, **asked: Any) -> Accuracies:
    """Accuracy of learners along an axis: the whole answer to an `AccuracyQuestion`, whose fields the arguments are.

    >>> found = accuracy_against("classes", (2, 3), Records("gaussian_classes", 200, 0), epsilon=1.0, delta=1e-5)
    >>> bool((found.learners["ellipsoids"].mean > found.chance).all())
    True
    """
    *_, found = AccuracyQuestion(axis, tuple(values), records, **asked).snapshots()
    return found


def _at(records: Records, axis: Axis, value: float) -> Records:
    if axis == "epsilon":
        return records
    whole = int(check_real(axis, value, "an integer", lambda v: v == round(v)))
    return dc.replace(records, classes=whole) if axis == "classes" else dc.replace(records, d=whole)


@shared(4_096)  # of some hundred numbers each
def releases(
    key: LearnerKey, records: Records, budget: Budget, lam: float | str, size: int, cancelled: Cancelled = never
) -> Runs:
    """`runs_of` on the records' split, from a cache."""
    return runs_of(key, records.split(), budget, lam=lam, repetitions=size, seed=records.seed, cancelled=cancelled)


def _bound(runs: Runs) -> float:
    """Bound on the mean excess over the best model."""
    of_mean = [b.value for b in runs.bounds if (b.quantity, b.holds) == ("excess_empirical_risk", "expectation")]
    return min(of_mean, default=np.nan)


@shared(64)
def least_of(records: Records) -> tuple[float, Minimum]:
    """The least mean loss on the training records of all models, and the best model of norm <= theta_norm."""
    split = records.split()
    spec = Spec(LOSS, split.train.n, split.train.p, 1.0, split.domain, classes=split.classes)
    made, B = class_records(spec, split.train), spec.theta_norm
    least, best = least_of_all(made, _REACH * B).risk, least_in_ball(made, B)
    return least, dc.replace(best, risk=max(least, best.risk))  # each is certified up to its gap


@shared(256)
def _plain(records: Records, cancelled: Cancelled) -> tuple[float, float, float, float]:
    """Test accuracy without privacy of ellipsoids, of multinomial logistic regression and of Bayes' rule, and the share
    of the largest class."""
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression

    split = records.split()
    train, test = split.train, split.test
    spec = Spec(LOSS, train.n, train.p, 1.0, split.domain, classes=split.classes)
    weights = minimise_ellipsoids(MulticlassObjective(class_records(spec, train), PLAIN_MU)).weights[0]
    right = (classify(weights, features(np.asarray(test.X), split.domain.R)) == test.y).mean()
    go_on(cancelled)
    if (train.y == train.y[0]).all():  # which scikit-learn refuses
        logistic = (test.y == train.y[0]).mean()
    else:
        with config_context(assume_finite=True, skip_parameter_validation=True):  # both are so
            model = LogisticRegression(C=_LOGISTIC_STRENGTH, solver="newton-cholesky").fit(train.X, train.y)
            logistic = (model.predict(test.X) == test.y).mean()
    bayes = np.nan if split.truth is None else (split.truth.classify(np.asarray(test.X)) == test.y).mean()
    return float(right), float(logistic), float(bayes), _largest_class(test.y)


def _largest_class(y: Array) -> float:
    return float(np.bincount(y.astype(int)).max() / len(y))
