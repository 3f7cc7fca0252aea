"""Private models with fit and predict, made on scikit-learn's base classes for its tools."""

from __future__ import annotations

import abc
import dataclasses as dc
import threading
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import hstack
from scipy.special import log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..core.arrays import Array, as_matrix
from ..core.losses import LOSSES, get_loss
from ..core.privacy import Budget, BudgetExceeded, composed, told_up
from ..core.records import Data
from ..core.specification import Domain, Spec
from ..core.validation import boolean, integer, shown
from ..data import clip_rows
from ..solvers.multiclass.objective import Ellipsoid, ellipsoid_of, features, svec
from . import make_mechanism
from .api import release_once, warn_of_large_delta
from .plan import Plan

_LISTED = 10  # labels in a refusal


@dc.dataclass(eq=False, kw_only=True)
class _PrivateEstimator(BaseEstimator, abc.ABC):
    """Base of all estimators: parameters, privacy spent, and the state of a fit."""

    epsilon: float
    delta: float = 0.0
    lam: float | str = "auto"
    domain: Domain | None = None
    theta_norm: float = 10.0
    clip: bool = False
    random_state: int | None = None

    _model: ClassVar[str] = "coef_"  # the attribute that keeps what was released

    @abc.abstractmethod
    def _plan(self, n: int, p: int) -> Plan:
        """Plan of a fit to n records of p columns; `domain` is a `Domain`."""

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """y [n] as the mechanism takes it."""
        return y

    def fit(self, X: Any, y: Any, *, refit: bool = False, **unsupported: Any) -> Self:
        """Release one private model. X: [n, p] as in `dpcore.solve`. y: [n] numbers, or labels among `classes`.

        Raises ValueError, NotApplicable and Unconverged as `solve` does, and BudgetExceeded (see the class); then
        nothing is spent. Warns with LargeDelta if all fits together have delta >= 1/n. sample_weight is refused; since
        it is no named argument, scikit-learn's tools do not pass weights.
        """
        for argument, value in unsupported.items():
            if argument != "sample_weight":
                raise TypeError(f"{type(self).__name__}.fit() got an unexpected keyword argument {argument!r}")
            if value is not None:
                raise ValueError(
                    "sample_weight must be left out, got weights: the noise covers records that all weigh 1/n, and a "
                    "record that weighs more could move the model further"
                )
        boolean("refit", refit)
        with _lock_of(self):
            return self._fit_alone(X, y, refit)

    def _fit_alone(self, X: Any, y: Any, refit: bool) -> Self:
        name = type(self).__name__
        if not isinstance(self.domain, Domain):
            raise ValueError(
                f"domain must be a dpcore.Domain, the public bounds on every record, for {name}.fit, "
                f"got {shown(self.domain)}"
            )
        if self.random_state is not None:
            integer("random_state", self.random_state, at_least=0)
        earlier: Budget | None = getattr(self, "spent_", None)
        if earlier is not None and not refit:
            raise BudgetExceeded(
                f"BudgetExceeded: this {name} has spent epsilon = {told_up(earlier.epsilon)}, "
                f"delta = {told_up(earlier.delta)} already; fit(X, y, refit=True) spends again and adds up"
            )
        # A clone looks at the columns: a refusal must change nothing here.
        checked = {"y": unmasked("y", y), "y_numeric": is_regressor(self), "ensure_min_samples": 2}
        table, labels = clone(self)._validated(X, **checked)
        data = Data(table, self._targets(labels))
        plan = self._plan(data.n, data.p)
        spent = plan.spent
        if earlier is not None:
            spent = composed((earlier, spent))
        warn_of_large_delta(data.n, spent.delta)
        clipped = 0
        if boolean("clip", self.clip):
            data, clipped = clip_rows(data, self.domain.R, self.domain.q)
        theta = release_once(plan, self._stored(data), seed=self.random_state).theta
        # The cost is recorded before the model is visible: an interrupt may overcount, never undercount.
        self.spent_: Budget = spent
        self.plan_: Plan = plan
        validate_data(self, X, skip_check_array=True)  # sets n_features_in_ and feature_names_in_
        if is_classifier(self):
            self.classes_ = self._declared()
        self.clipped_: int = clipped
        self._keep(theta)
        return self

    def _stored(self, data: Data) -> Data:
        """Records as `_plan` expects them."""
        return data

    def _keep(self, theta: Array) -> None:
        """Set the released model as attributes, `_model` last."""
        setattr(self, self._model, theta)

    def __getstate__(self) -> dict[str, Any]:
        """State without the number of clipped rows: a pickle may be passed on, and the number is not private."""
        return {name: value for name, value in super().__getstate__().items() if name != "clipped_"}

    def _validated(self, X: Any, **options: Any) -> Any:
        """X [n, p], or X and y, as arrays or CSR; with reset=False X must have the columns of the fit."""
        return validate_data(self, unmasked("X", X), accept_sparse="csr", **options)

    def _fitted(self, X: Any) -> tuple[Array, Any]:
        """Released model, and X [n, p] as `Data` keeps it."""
        check_is_fitted(self, self._model)
        return getattr(self, self._model), as_matrix(self._validated(X, reset=False))

    def __sklearn_tags__(self) -> Tags:
        """Answers to scikit-learn's questions about the estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# Not in the objects, because locks cannot be copied or pickled.
_LOCKS: WeakKeyDictionary[_PrivateEstimator, threading.Lock] = WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()


def _lock_of(model: _PrivateEstimator) -> threading.Lock:
    """Lock of this object: two fits at once would both spend and count only one cost."""
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(model, threading.Lock())


@dc.dataclass(eq=False, kw_only=True)
class _LinearEstimator(_PrivateEstimator):
    """Base of linear models: a vector of coefficients by any mechanism that learns one."""

    mechanism: str = "output_gaussian"
    loss: str
    radius: float | None = None
    fit_intercept: bool = False
    accounting: str = "tight"

    def _plan(self, n: int, p: int) -> Plan:
        task = "classification" if is_classifier(self) else "regression"
        if get_loss(self.loss).task != task:
            fitting = [loss.key for loss in LOSSES.values() if loss.task == task]
            raise ValueError(
                f"loss must be one of {', '.join(fitting)} for {type(self).__name__}, got {shown(self.loss)}"
            )
        mechanism = make_mechanism(self.mechanism, accounting=self.accounting)
        domain: Domain = self.domain  # type: ignore[assignment]
        if boolean("fit_intercept", self.fit_intercept):
            p, domain = p + 1, dc.replace(domain, R=domain.R * 2.0 ** (1.0 / domain.q))
        problem = (self.loss, n, p, self.lam, domain, self.radius, self.theta_norm, mechanism.set)
        return mechanism.calibrate(Spec(*problem), Budget(self.epsilon, self.delta))  # type: ignore[arg-type]

    def _stored(self, data: Data) -> Data:
        """Records with a last column R for the intercept; rows are checked without it."""
        if not self.fit_intercept:
            return data
        data.check_rows(self.domain)  # type: ignore[arg-type]
        column = np.full((data.n, 1), self.domain.R)  # type: ignore[union-attr]
        return Data(hstack([data.X, column], format="csr") if data.sparse else np.hstack([data.X, column]), data.y)

    def _keep(self, theta: Array) -> None:
        p = self.n_features_in_
        self.intercept_ = self.domain.R * float(theta[p]) if self.fit_intercept else 0.0  # type: ignore[union-attr]
        super()._keep(theta[:p])

    def _linear(self, X: Any) -> Array:
        """<x, coef_> + intercept_ for every row of X, shape [n]."""
        coef, X = self._fitted(X)
        return X @ coef + self.intercept_


class _Classifier(ClassifierMixin, _PrivateEstimator):
    """Base of classifiers: labels for places in classes_."""

    classes: Sequence[Any]

    _multi_class: ClassVar[bool]

    def _declared(self) -> np.ndarray:
        return declared_classes(self.classes, two=not self._multi_class)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return class_numbers(self._declared(), y)

    @abc.abstractmethod
    def _places(self, X: Any) -> np.ndarray:
        """Place in classes_ of every row's prediction, [n]."""

    def predict(self, X: Any) -> np.ndarray:
        """Label of every row of X [n, p], shape [n]; the first in classes_ of those that fit equally well."""
        places = self._places(X)
        return self.classes_[places]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows, or of their weights, with a correctly predicted label. Not private."""
        places = self._places(X)
        return accuracy_score(class_numbers(self.classes_, y), places, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Tags:
        """Answers to scikit-learn's questions about the estimator."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multi_class
        tags.classifier_tags.poor_score = True  # at a small budget noise may dominate
        return tags


@dc.dataclass(eq=False, kw_only=True)
class PrivateClassifier(_Classifier, _LinearEstimator):
    """Linear classifier of two declared classes, released privately.

    epsilon, delta: the privacy cost of each fit. mechanism: a key of `list_mechanisms`. loss: a classification loss.
    lam, radius, theta_norm, accounting: as in `dpcore.calibrate`. domain: the public bounds on every record; it has no
    default, because a bound measured on the data is not private. classes: the two labels, in any order; declared,
    never inferred, and any other label is refused. random_state: None for a private release; an integer repeats the
    noise, and then there is no guarantee. clip: scale rows beyond domain.R down to it, instead of refusing them.
    fit_intercept: give every record one more column that is always R. Its coefficient is regularised and noised like
    the others, and the noise grows as if R were 2^(1/q) R, the bound on ||(x, R)||_q: sqrt(2) R for q = 2, R for inf.

    After fit: coef_ [p], intercept_ (0 without fit_intercept), plan_ (the last one), spent_ (a `Budget`), classes_ [2]
    (sorted, as scikit-learn's scores take them), n_features_in_, feature_names_in_ if X names its columns, and
    clipped_, the number of rows that were scaled down; that number is not private, and a pickle leaves it out.
    predict_proba and predict_log_proba exist for logistic loss only.

    A second fit raises BudgetExceeded; fit(X, y, refit=True) spends again, and spent_ then adds up all fits on any data
    (basic composition: epsilons and deltas add). Copies (scikit-learn's clone, copy, pickle) spend separately and do
    not count each other: a 5-fold cross-validation makes five fits, and every record is in four of them; a search over
    10 settings makes 50.

    Guarantee: each fit is (epsilon, delta)-differentially private for replacing one record, as its mechanism says
        (`python -m dpcore info KEY`); all fits of one object together, (spent_.epsilon, spent_.delta).
    Not protected: the arguments above, n, p and the names of columns are public; choosing them by looking at the data;
        scores on private records (score and cross-validation); a fit with random_state set; copies count apart.

    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> model = PrivateClassifier(epsilon=1.0, delta=1e-5, domain=Domain(R=1.0), classes=("no", "yes"), random_state=0)
    >>> model.fit(X, ["yes", "yes", "no", "no"]).spent_
    Budget(epsilon=1.0, delta=1e-05)
    >>> model.predict(X).shape
    (4,)
    """

    loss: str = "logistic"
    classes: Sequence[Any] = (-1, 1)

    _multi_class: ClassVar[bool] = False

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return 2.0 * super()._targets(y) - 1.0

    def decision_function(self, X: Any) -> Array:
        """<x, coef_> + intercept_ for every row of X [n, p], shape [n]; a positive value predicts classes_[1]."""
        return self._linear(X)

    def _has_probabilities(self) -> bool:
        loss = self.plan_.spec.loss if hasattr(self, "plan_") else self.loss
        if loss != "logistic":
            raise AttributeError(f"probabilities need a model fitted with loss = 'logistic', got {shown(loss)}")
        return True

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of classes_ for every row of X [n, p], shape [n, 2]; for the second, 1 / (1 + exp(-decision)).

        They are the released model's: noise ruins probabilities long before labels. For logistic loss only.
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`, which stay finite if a probability is too small for a float."""
        decision = self._linear(X)
        return log_expit(np.stack([-decision, decision], axis=1))

    def _places(self, X: Any) -> np.ndarray:
        return (self._linear(X) > 0.0).astype(int)


@dc.dataclass(eq=False, kw_only=True)
class PrivateRegressor(RegressorMixin, _LinearEstimator):
    """Linear regression, released privately; y must lie in [-domain.y_max, domain.y_max].

    Arguments, attributes, the cost of a second fit and of copies, guarantee and what is not protected are those of
    `PrivateClassifier`, without classes; loss: a regression loss.

    >>> X, y = np.array([[0.5], [-0.5], [1.0]]), [0.2, -0.2, 0.4]
    >>> model = PrivateRegressor(epsilon=2.0, mechanism="output_gamma", domain=Domain(R=1.0, y_max=0.5), random_state=0)
    >>> model.fit(X, y).coef_.shape, model.spent_
    ((1,), Budget(epsilon=2.0, delta=0.0))
    """

    loss: str = "huber"

    def predict(self, X: Any) -> Array:
        """<x, coef_> + intercept_ for every row of X [n, p], shape [n]."""
        return self._linear(X)

    def __sklearn_tags__(self) -> Tags:
        """Answers to scikit-learn's questions about the estimator."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # at a small budget noise may dominate
        return tags


@dc.dataclass(eq=False, kw_only=True)
class PrivateGaussianClassifier(_Classifier):
    """Classifier with an ellipsoid for each of C >= 2 declared classes, released privately; the smallest score wins.

    score_c(x) = (x - centre_c)' precision_c (x - centre_c) + offset_c. The mechanism is `gaussian_classifier`, with the
    knobs noise ("gaussian", or "gamma" with delta = 0) and perturbed ("objective" or "output", to which the noise is
    added). epsilon, delta, lam, theta_norm, clip, random_state: as for `PrivateClassifier`. domain: the public bound
    ||x||_2 <= R; its y_max is not used. classes: all labels that could occur, text or numbers, in any order; they have
    no default, are never inferred, and any other label is refused. No intercept is needed: the ellipsoids have centres.

    After fit: matrices_ [C, p + 1, p + 1] (symmetric, no eigenvalue below 0, in the coordinates (x / R, 1) / sqrt2),
    ellipsoids_ (the same as an `Ellipsoid` in the units of x), classes_ [C] (sorted; matrices_[c] is of classes_[c]),
    plan_, spent_, n_features_in_, feature_names_in_ and clipped_. A second fit, copies and cross-validation cost as
    much as for `PrivateClassifier`.

    Guarantee: each fit is (epsilon, delta)-differentially private for replacing one record, its class included, as
        `python -m dpcore info gaussian_classifier` says; all fits of one object together, (spent_.epsilon,
        spent_.delta).
    Not protected: the arguments above, n, p and the names of columns are public; choosing them, the classes included,
        by looking at the data; scores on private records (score and cross-validation); a fit with random_state set;
        copies count apart.

    >>> X, y = np.array([[0.9], [0.8], [0.1], [-0.1], [-0.8], [-0.9]]), ["warm", "warm", "mild", "mild", "cold", "cold"]
    >>> model = PrivateGaussianClassifier(
    ...     epsilon=1e4, delta=1e-3, lam=0.01, domain=Domain(R=1.0), classes=("cold", "mild", "warm"), random_state=0
    ... )
    >>> model.fit(X, y).predict([[0.7], [0.0]]).tolist(), model.spent_.epsilon
    (['warm', 'mild'], 10000.0)
    """

    classes: Sequence[Any]
    noise: str = "gaussian"
    perturbed: str = "objective"

    _multi_class: ClassVar[bool] = True
    _model: ClassVar[str] = "matrices_"

    @property
    def ellipsoids_(self) -> Ellipsoid:
        """Centres [C, p], precisions [C, p, p] and offsets [C] in the units of x; after fit."""
        return ellipsoid_of(getattr(self, self._model), self.plan_.spec.domain.R)

    def decision_function(self, X: Any) -> Array:
        """Negative scores of every row of X [n, p], shape [n, C]; the largest is the prediction's.

        For two classes, as in scikit-learn, the second less the first, shape [n]; positive values predict classes_[1].
        """
        values = self._values(X)
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

    def _places(self, X: Any) -> np.ndarray:
        return self._values(X).argmax(axis=1)

    def _values(self, X: Any) -> Array:
        matrices, X = self._fitted(X)
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        return -features(dense, self.plan_.spec.domain.R) @ svec(matrices).T

    def _plan(self, n: int, p: int) -> Plan:
        mechanism = make_mechanism("gaussian_classifier", noise=self.noise, perturbed=self.perturbed)
        problem = (mechanism.usual_loss, n, p, self.lam, self.domain, None, self.theta_norm, mechanism.set)
        spec = Spec(*problem, classes=len(self.classes))  # type: ignore[arg-type]
        return mechanism.calibrate(spec, Budget(self.epsilon, self.delta))


def unmasked(name: str, values: Any) -> Any:
    """The given values; ValueError for a masked array, whose mask scikit-learn would drop."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have a value in every place, got a masked array; fill or drop masked values")
    return values


def declared_classes(classes: Any, two: bool) -> np.ndarray:
    """Declared labels as a sorted array [C], which holds them as they were written; C = 2 if `two`, else C >= 2.

    ValueError for another number of labels, for labels of several kinds, and for anything but a list of labels.

    >>> declared_classes(("virginica", "setosa", "versicolor"), two=False).tolist()
    ['setosa', 'versicolor', 'virginica']
    """
    try:
        array = np.asarray(classes)
        plain = array.tolist()
        fitting = len(plain) == 2 if two else len(plain) >= 2
        if fitting and array.ndim == 1 and plain == list(classes) and len(set(plain)) == len(plain):
            return np.sort(array)
    except (TypeError, ValueError):  # labels that numpy cannot hold, sort or hash
        pass
    many = "two" if two else "at least two"
    raise ValueError(f"classes must be {many} different labels of one kind, got {shown(classes)}")


def class_numbers(classes: np.ndarray, y: Any) -> np.ndarray:
    """Place in `classes` of each label of y [n], integers [n]; ValueError for any other label.

    >>> class_numbers(np.array(["no", "yes"]), ["yes", "yes", "no"])
    array([1, 1, 0])
    """
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    labels = column_or_1d(unmasked("y", y))
    numbers = np.empty(len(labels), dtype=int)
    for i, label in enumerate(labels.tolist()):
        if not isinstance(label, Hashable) or label not in number_of:
            raise ValueError(f"y must be one of the declared classes {_listed(list(number_of))}, got {shown(label)}")
        numbers[i] = number_of[label]
    return numbers


def _listed(labels: list[Any]) -> str:
    """Text of a list of labels, shortened if there are many."""
    texts = [shown(label) for label in labels]
    if len(texts) > _LISTED:
        texts[_LISTED // 2 : -1] = ["..."]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
