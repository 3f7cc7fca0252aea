"""Private models with fit and predict, made on scikit-learn's base classes for its tools."""

from __future__ import annotations

import abc
import dataclasses as dc
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import hstack
from scipy.special import log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.arrays import Array, as_matrix
from ..core.losses import LOSSES, get_loss
from ..core.privacy import Budget, BudgetExceeded, NotApplicable, composed, told_up
from ..core.records import Data
from ..core.specification import Domain, Spec
from ..core.validation import boolean, integer, one_of, shown
from ..data import clip_rows
from . import make_mechanism
from .accountant import Accountant, watch
from .api import prepared_release, warn_of_large_delta
from .class_labels import class_places, declared_classes, unmasked
from .plan import Plan

# "auto" takes the first that has a guarantee for the problem; noisy_sgd has one for every loss (docs/performance.md).
_PURE = ("objective_gamma", "output_gamma")
_APPROXIMATE = ("noisy_sgd",)


@dc.dataclass(eq=False, kw_only=True)
class _PrivateEstimator(BaseEstimator, abc.ABC):
    """Base of all estimators: parameters, privacy spent, and the state of a fit."""

    epsilon: float
    delta: float = 0.0
    lam: float | str = "auto"
    domain: Domain | None = None
    theta_norm: float = 10.0
    clip: bool = False
    random_state: int | np.random.RandomState | None = None
    accountant: Accountant | None = None

    _model: ClassVar[str] = "coef_"  # the attribute that keeps what was released

    @abc.abstractmethod
    def _plan(self, n: int, p: int) -> Plan:
        """Plan of a fit to n records of p columns; `domain` is a `Domain`."""

    def _targets(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """y [n] as the mechanism takes it, and what a fit keeps of it."""
        return y, {}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also bounds of the domain, as domain__R."""
        bounds = {name: value for name, value in params.items() if name.startswith("domain__")}
        super().set_params(**{name: value for name, value in params.items() if name not in bounds})
        if bounds:
            known = [f"domain__{field.name}" for field in dc.fields(Domain)]
            changes = {one_of("parameter", name, known).removeprefix("domain__"): bounds[name] for name in bounds}
            self.domain = dc.replace(self.domain or Domain(), **changes)
        return self

    def fit(self, X: Any, y: Any, *, refit: bool = False, **unsupported: Any) -> Self:
        """Release one private model. X: [n, p] as in `dpcore.solve`. y: [n] numbers, or labels among `classes`.

        Raises ValueError, NotApplicable and Unconverged as `solve` does, and BudgetExceeded (see the class); then
        nothing is spent. Warns with LargeDelta if all fits together have delta >= 1/n, and with UncountedFits (see the
        class). sample_weight is refused; since it is no named argument, scikit-learn's tools do not pass weights.
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
                f"got {shown(self.domain)}; write domain=dpcore.Domain(R=1.0) if ||x||_2 <= 1 holds for all"
            )
        if self.random_state is not None and not isinstance(self.random_state, np.random.RandomState):
            integer("random_state", self.random_state, at_least=0)
        if self.accountant is not None and not isinstance(self.accountant, Accountant):
            raise ValueError(f"accountant must be a dpcore.Accountant or None, got {shown(self.accountant)}")
        earlier: Budget | None = getattr(self, "spent_", None)
        if earlier is not None and not refit:
            raise BudgetExceeded(
                f"BudgetExceeded: this {name} has spent epsilon = {told_up(earlier.epsilon)}, "
                f"delta = {told_up(earlier.delta)} already; fit(X, y, refit=True) spends again and adds up; tools "
                "that fit one object again and again, as self-training does, cannot use it"
            )
        # A clone looks at the columns: a refusal must change nothing here.
        checked = {"y": unmasked("y", y), "y_numeric": is_regressor(self), "ensure_min_samples": 2}
        table, labels = clone(self)._validated(X, **checked)
        targets, kept = self._targets(labels)
        data = Data(table, targets)
        plan = self._plan(data.n, data.p)
        spent = plan.spent
        if earlier is not None:
            spent = composed((earlier, spent))
        warn_of_large_delta(data.n, spent.delta)
        seen, clipped = data, 0
        if boolean("clip", self.clip):
            data, clipped = clip_rows(data, self.domain.R, self.domain.q)
        draw, seed = prepared_release(plan, self._stored(data)), self.random_state
        if self.accountant is not None:
            self.accountant.charge(plan)
        watch(seen, told=earlier is not None or self.accountant is not None)
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(np.iinfo(np.int32).max))
        theta = draw(seed).theta
        # The cost is recorded before the model is visible: an interrupt may overcount, never undercount.
        self.spent_: Budget = spent
        self.plan_: Plan = plan
        validate_data(self, X, skip_check_array=True)  # sets n_features_in_ and feature_names_in_
        for name, value in kept.items():
            setattr(self, name, value)
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

    mechanism: str = "auto"
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
        budget = Budget(self.epsilon, self.delta)
        *earlier, last = (self.mechanism,) if self.mechanism != "auto" else _PURE if budget.pure else _APPROXIMATE
        for key in earlier:
            with suppress(NotApplicable):
                return self._plan_by(key, n, p, budget)
        return self._plan_by(last, n, p, budget)

    def _plan_by(self, key: str, n: int, p: int, budget: Budget) -> Plan:
        mechanism = make_mechanism(key, accounting=self.accounting)
        domain: Domain = self.domain  # type: ignore[assignment]
        if boolean("fit_intercept", self.fit_intercept):
            p, domain = p + 1, dc.replace(domain, R=domain.R * 2.0 ** (1.0 / domain.q))
        problem = (self.loss, n, p, self.lam, domain, self.radius, self.theta_norm, mechanism.set)
        return mechanism.calibrate(Spec(*problem), budget)  # type: ignore[arg-type]

    def _stored(self, data: Data) -> Data:
        """Records with a last column R for the intercept; rows are checked without it."""
        if not self.fit_intercept:
            return data
        data.check_rows(self.domain)  # type: ignore[arg-type]
        column = np.full((data.n, 1), self.domain.R)  # type: ignore[union-attr]
        return Data(hstack([data.X, column], format="csr") if data.sparse else np.hstack([data.X, column]), data.y)

    def _keep(self, theta: Array) -> None:
        p = self.n_features_in_
        intercept: Any = self.domain.R * float(theta[p]) if self.fit_intercept else 0.0  # type: ignore[union-attr]
        # The shapes of scikit-learn's linear models.
        self.intercept_ = np.array([intercept]) if is_classifier(self) else intercept
        super()._keep(theta[None, :p] if is_classifier(self) else theta[:p])

    def _linear(self, X: Any) -> Array:
        """<x, coef_> + intercept_ for every row of X, shape [n]."""
        coef, X = self._fitted(X)
        return X @ coef.ravel() + self.intercept_


class DeclaredClassifier(ClassifierMixin, _PrivateEstimator):
    """Base of classifiers: labels for places in classes_."""

    classes: Sequence[Any]

    _multi_class: ClassVar[bool]

    def _targets(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        classes, places = class_places(declared_classes(self.classes, two=not self._multi_class), y)
        return places, {"classes_": classes}

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
        return accuracy_score(class_places(self.classes_, y)[1], places, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Tags:
        """Answers to scikit-learn's questions about the estimator."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multi_class
        tags.classifier_tags.poor_score = True  # at a small budget noise may dominate
        return tags


@dc.dataclass(eq=False, kw_only=True)
class PrivateClassifier(DeclaredClassifier, _LinearEstimator):
    """Linear classifier of two declared classes, released privately.

    epsilon, delta: the privacy cost of each fit. mechanism: a key of `list_mechanisms`; "auto" is noisy_sgd, and for
    delta = 0 objective_gamma, or output_gamma where that has no guarantee (another loss, a radius, a small lam). loss:
    a classification loss. lam, radius, theta_norm, accounting: as in `dpcore.calibrate`. domain: the public bounds on
    every record; it has no default, because a bound measured on the data is not private. classes: the two labels, in
    any order; declared, never inferred. Labels 0 and 1 are taken too, as the numbers of the classes in sorted order,
    and any other label is refused. random_state: None for a private release; an integer or a RandomState repeats the
    noise, and then there is no guarantee. clip: scale rows beyond domain.R down to it, instead of refusing them.
    fit_intercept: give every record one more column that is always R. Its coefficient is regularised and noised like
    the others, and the noise grows as if R were 2^(1/q) R, the bound on ||(x, R)||_q: sqrt(2) R for q = 2, R for inf.

    After fit: coef_ [1, p], intercept_ [1] (0 without fit_intercept), plan_ (the last one), spent_ (a `Budget`),
    classes_ [2] (sorted, or 0 and 1 where y had these), n_features_in_, feature_names_in_ if X names its columns, and
    clipped_, the number of rows that were scaled down; that number is not private, and a pickle leaves it out.
    predict_proba and predict_log_proba exist for logistic loss only.

    A second fit raises BudgetExceeded; fit(X, y, refit=True) spends again, and spent_ then adds up all fits on any data
    (basic composition: epsilons and deltas add). Copies (scikit-learn's clone, copy, pickle) spend separately and do
    not count each other: a 5-fold cross-validation makes five fits, and every record is in four of them; a search over
    10 settings makes 50. accountant: a `dpcore.Accountant`, which counts the fits of all copies and other estimators
    that share it, and refuses a fit beyond its budget. Without one, UncountedFits warns once where an earlier fit of
    this process had some of the same records.

    Guarantee: each fit is (epsilon, delta)-differentially private for replacing one record, as its mechanism says
        (`python -m dpcore info KEY`); all fits of one object together, (spent_.epsilon, spent_.delta).
    Not protected: the arguments above, n, p, the names of columns and whether y has labels or their numbers are public;
        choosing them by looking at the data; scores on private records (score and cross-validation); a fit with
        random_state set; copies count apart without an accountant.

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

    def _targets(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        places, kept = super()._targets(y)
        return 2.0 * places - 1.0, kept

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
    `PrivateClassifier`, without classes; coef_ is [p], intercept_ a number. loss: a regression loss.

    >>> X, y = np.array([[0.5], [-0.5], [1.0]]), [0.2, -0.2, 0.4]
    >>> model = PrivateRegressor(epsilon=2.0, domain=Domain(R=1.0, y_max=0.5), random_state=0)
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
