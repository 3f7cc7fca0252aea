"""Private models as objects with fit and predict, which scikit-learn's tools accept; scikit-learn is not imported."""

from __future__ import annotations

import abc
import dataclasses as dc
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np

from .api import release_once
from .checks import integer, shown
from .losses import LOSSES, get_loss
from .mechanisms import make_mechanism
from .scikit import class_numbers, declared_classes, tags
from .solvers.ellipsoids import Ellipsoid, ellipsoid_of, features, svec
from .types import Array, Budget, BudgetExceeded, Data, Domain, Plan, Spec, as_matrix


@dc.dataclass(eq=False, kw_only=True)
class _PrivateEstimator(abc.ABC):
    """What all estimators share: parameters, the price, what is kept of a fit."""

    epsilon: float
    delta: float = 0.0
    lam: float | str = "auto"
    domain: Domain | None = None
    theta_norm: float = 10.0
    random_state: int | None = None

    _estimator_type: ClassVar[str]
    _multi_class: ClassVar[bool] = False
    _model: ClassVar[str] = "coef_"  # the attribute that keeps what was released

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments; `deep` changes nothing, since none of them has parameters of its own."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments; what was fitted and spent stays. ValueError names an unknown one."""
        for name in params:
            if name not in self._names():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(self._names())}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _names(self) -> list[str]:
        return [field.name for field in dc.fields(self)]

    @abc.abstractmethod
    def _plan(self, n: int, p: int) -> Plan:
        """The price and the noise of a fit to n records of p columns; `domain` is one."""

    def _fit(self, X: Any, y: Any, refit: bool, classes: np.ndarray | None = None) -> Self:
        if not isinstance(refit, bool):
            raise ValueError(f"refit must be True or False, got {shown(refit)}")
        with _lock_of(self):
            return self._fit_alone(X, y, refit, classes)

    def _fit_alone(self, X: Any, y: Any, refit: bool, classes: np.ndarray | None) -> Self:
        name = type(self).__name__
        if not isinstance(self.domain, Domain):
            raise ValueError(
                f"domain must be a dpcore.Domain, the public promise about every record, for {name}.fit, "
                f"got {shown(self.domain)}"
            )
        if self.random_state is not None:
            integer("random_state", self.random_state, at_least=0)
        earlier: Budget | None = getattr(self, "spent_", None)
        if earlier is not None and not refit:
            raise BudgetExceeded(
                f"BudgetExceeded: this {name} has spent epsilon = {earlier.epsilon:g}, delta = {earlier.delta:g} "
                "already; fit(X, y, refit=True) spends again and adds up"
            )
        data = Data(X, y)
        plan = self._plan(data.n, data.p)
        spent = plan.spent
        if earlier is not None:
            spent = Budget(earlier.epsilon + spent.epsilon, earlier.delta + spent.delta)
        theta = release_once(plan, data, seed=self.random_state).theta
        # The price is written down before the model can be seen: an interrupt may overcount, never undercount.
        self.spent_: Budget = spent
        self.plan_: Plan = plan
        self.n_features_in_: int = data.p
        if classes is not None:
            self.classes_: np.ndarray = classes
        setattr(self, self._model, theta)
        return self

    def _fitted(self, X: Any) -> tuple[Array, Any]:
        """What was released, and X [n, p] as `Data` keeps it."""
        if not hasattr(self, self._model):
            raise ValueError(f"{type(self).__name__} must be fitted before it predicts, got one without fit")
        X = as_matrix(X)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have shape (n, {self.n_features_in_}) as fitted, got {X.shape}")
        return getattr(self, self._model), X

    def __sklearn_tags__(self) -> SimpleNamespace:
        """What scikit-learn asks an estimator about itself."""
        return tags(self._estimator_type, self._multi_class)


# Not in the objects, which are copied and pickled: locks are neither.
_LOCKS: WeakKeyDictionary[_PrivateEstimator, threading.Lock] = WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()


def _lock_of(model: _PrivateEstimator) -> threading.Lock:
    """The lock of this object: two fits at once would both pay and count one price."""
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(model, threading.Lock())


@dc.dataclass(eq=False, kw_only=True)
class _LinearEstimator(_PrivateEstimator):
    """A vector of coefficients by any mechanism that learns one."""

    mechanism: str = "output_gaussian"
    loss: str
    radius: float | None = None
    accounting: str = "tight"

    def _plan(self, n: int, p: int) -> Plan:
        task = "classification" if self._estimator_type == "classifier" else "regression"
        if get_loss(self.loss).task != task:
            fitting = [loss.key for loss in LOSSES.values() if loss.task == task]
            raise ValueError(
                f"loss must be one of {', '.join(fitting)} for {type(self).__name__}, got {shown(self.loss)}"
            )
        mechanism = make_mechanism(self.mechanism, accounting=self.accounting)
        problem = (self.loss, n, p, self.lam, self.domain, self.radius, self.theta_norm, mechanism.set)
        return mechanism.calibrate(Spec(*problem), Budget(self.epsilon, self.delta))  # type: ignore[arg-type]

    def _linear(self, X: Any) -> Array:
        """<x, coef_> for every row of X, shape [n]."""
        coef, X = self._fitted(X)
        return X @ coef


class _Classifier(_PrivateEstimator):
    """Labels for places in classes_."""

    _estimator_type: ClassVar[str] = "classifier"

    @abc.abstractmethod
    def _places(self, X: Any) -> np.ndarray:
        """The place in classes_ of every row's prediction, [n]."""

    def predict(self, X: Any) -> np.ndarray:
        """The label of every row of X [n, p], shape [n]; the first in classes_ of those that fit equally well."""
        places = self._places(X)
        return self.classes_[places]

    def score(self, X: Any, y: Any) -> float:
        """Share of rows whose label is predicted right. Not private."""
        predicted = self._places(X)
        labels = class_numbers(self.classes_, y)
        if labels.shape != predicted.shape:
            raise ValueError(f"y must have shape {predicted.shape} to match X, got {labels.shape}")
        return float(np.mean(predicted == labels))


@dc.dataclass(eq=False, kw_only=True)
class PrivateClassifier(_Classifier, _LinearEstimator):
    """A linear classifier of two declared classes, released privately.

    epsilon, delta: the price of each fit. mechanism: a key of `list_mechanisms`. loss: a classification loss. lam,
    radius, theta_norm, accounting: as in `dpcore.calibrate`. domain: the public promise about every record; it has no
    default, because a bound measured on the data is not private. classes: the two labels, in any order; declared,
    never inferred, and any other label is refused. random_state: None for a private release; an integer repeats the
    noise, and then there is no promise. There is no intercept: give X a constant column (it counts in ||x||_2).

    After fit: coef_ [p], plan_ (the last one), spent_ (a `Budget`), n_features_in_, classes_ [2] (sorted, as
    scikit-learn's scores take them).

    A second fit raises BudgetExceeded; fit(X, y, refit=True) pays again, and spent_ then adds up all fits (basic
    composition: epsilons and deltas add), whatever data they saw. Copies (scikit-learn's clone, copy, pickle) spend
    separately and know nothing of one another: a 5-fold cross-validation makes five fits, of which every record pays
    for four, and a search over 10 settings makes 50.

    Guarantee: each fit is (epsilon, delta)-differentially private for replacing one record, as its mechanism says
        (`python -m dpcore info KEY`); all fits of one object together, (spent_.epsilon, spent_.delta).
    Not protected: the arguments above, n and p are public; choosing them by looking at the data; scores on private
        records (score and cross-validation); a fit with random_state set; copies count apart.

    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> model = PrivateClassifier(epsilon=1.0, delta=1e-5, domain=Domain(R=1.0), classes=("no", "yes"), random_state=0)
    >>> model.fit(X, ["yes", "yes", "no", "no"]).spent_
    Budget(epsilon=1.0, delta=1e-05)
    >>> model.predict(X).shape
    (4,)
    """

    loss: str = "logistic"
    classes: Sequence[Any] = (-1, 1)

    def fit(self, X: Any, y: Any, *, refit: bool = False) -> Self:
        """Release one private model. X: [n, p] as in `dpcore.solve`. y: [n] labels among `classes`.

        Raises ValueError, NotApplicable and Unconverged as `solve` does, and BudgetExceeded (see the class); then
        nothing is spent.
        """
        classes = declared_classes(self.classes, two=True)
        return self._fit(X, 2.0 * class_numbers(classes, y) - 1.0, refit, classes)

    def decision_function(self, X: Any) -> Array:
        """<x, coef_> for every row of X [n, p], shape [n]; positive speaks for classes_[1]."""
        return self._linear(X)

    def _places(self, X: Any) -> np.ndarray:
        return (self._linear(X) > 0.0).astype(int)


@dc.dataclass(eq=False, kw_only=True)
class PrivateRegressor(_LinearEstimator):
    """A linear regression, released privately; y must lie in [-domain.y_max, domain.y_max].

    Arguments, attributes, the price of a second fit and of copies, guarantee and what is not protected are those of
    `PrivateClassifier`, without classes; loss: a regression loss.

    >>> X, y = np.array([[0.5], [-0.5], [1.0]]), [0.2, -0.2, 0.4]
    >>> model = PrivateRegressor(epsilon=2.0, mechanism="output_gamma", domain=Domain(R=1.0, y_max=0.5), random_state=0)
    >>> model.fit(X, y).coef_.shape, model.spent_
    ((1,), Budget(epsilon=2.0, delta=0.0))
    """

    loss: str = "huber"

    _estimator_type: ClassVar[str] = "regressor"

    def fit(self, X: Any, y: Any, *, refit: bool = False) -> Self:
        """Release one private model. X: [n, p] as in `dpcore.solve`. y: [n]. Raises as `PrivateClassifier.fit`."""
        return self._fit(X, y, refit)

    def predict(self, X: Any) -> Array:
        """<x, coef_> for every row of X [n, p], shape [n]."""
        return self._linear(X)

    def score(self, X: Any, y: Any) -> float:
        """R^2 = 1 - sum (y - prediction)^2 / sum (y - mean y)^2. Not private. Raises ValueError where y is constant."""
        truth, predicted = Data(X, y).y, self._linear(X)
        if (truth == truth[0]).all():
            raise ValueError(f"y must vary where R^2 is asked for, got {truth[0]:g} in every row")
        return 1.0 - float(((truth - predicted) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())


@dc.dataclass(eq=False, kw_only=True)
class PrivateGaussianClassifier(_Classifier):
    """An ellipsoid for each of C >= 2 declared classes, released privately; x goes to the class of the smallest score.

    score_c(x) = (x - centre_c)' precision_c (x - centre_c) + offset_c. The mechanism is `gaussian_classifier`, and
    noise, perturbed are its knobs: the law of the noise ("gaussian" or "gamma", which has delta = 0), and what it is
    added to ("objective" or "output"). epsilon, delta, lam, theta_norm, random_state: as for `PrivateClassifier`.
    domain: the public promise ||x||_2 <= R; its y_max is not used. classes: all labels that could occur, text or
    numbers, in any order; they have no default, are never inferred, and any other label is refused. Nothing is added
    for an intercept: the ellipsoids have centres.

    After fit: matrices_ [C, p + 1, p + 1] (symmetric, no eigenvalue below 0, in the coordinates (x / R, 1) / sqrt2),
    ellipsoids_ (the same as an `Ellipsoid` in the units of x), classes_ [C] (sorted; matrices_[c] is of classes_[c]),
    plan_, spent_ and n_features_in_. A second fit, copies and cross-validation cost what they do for
    `PrivateClassifier`.

    Guarantee: each fit is (epsilon, delta)-differentially private for replacing one record, its class included, as
        `python -m dpcore info gaussian_classifier` says; all fits of one object together, (spent_.epsilon,
        spent_.delta).
    Not protected: the arguments above, n and p are public; choosing them, the classes included, by looking at the
        data; scores on private records (score and cross-validation); a fit with random_state set; copies count apart.

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

    def fit(self, X: Any, y: Any, *, refit: bool = False) -> Self:
        """Release one private model. X: [n, p]. y: [n] labels among `classes`. Raises as `PrivateClassifier.fit`."""
        classes = declared_classes(self.classes, two=False)
        return self._fit(X, class_numbers(classes, y), refit, classes)

    @property
    def ellipsoids_(self) -> Ellipsoid:
        """Centres [C, p], precisions [C, p, p] and offsets [C] in the units of x; after fit."""
        return ellipsoid_of(getattr(self, self._model), self.plan_.spec.domain.R)

    def decision_function(self, X: Any) -> Array:
        """Minus the scores of every row of X [n, p], shape [n, C]; the largest is the prediction's.

        For two classes, as scikit-learn has it, the second less the first, shape [n]; positive speaks for classes_[1].
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
