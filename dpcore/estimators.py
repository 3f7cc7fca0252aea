"""Private models as objects with fit and predict, which scikit-learn's tools accept; scikit-learn is not imported."""

from __future__ import annotations

import dataclasses as dc
import threading
from collections.abc import Hashable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np

from .api import release_once
from .checks import integer, shown
from .losses import LOSSES, get_loss
from .mechanisms import make_mechanism
from .types import Array, Budget, BudgetExceeded, Data, Domain, Plan, Spec, as_matrix


@dc.dataclass(eq=False, kw_only=True)
class _PrivateEstimator:
    """What both estimators share: parameters, the price, the linear prediction."""

    epsilon: float
    delta: float = 0.0
    mechanism: str = "output_gaussian"
    loss: str
    lam: float | str = "auto"
    domain: Domain | None = None
    radius: float | None = None
    theta_norm: float = 10.0
    accounting: str = "tight"
    random_state: int | None = None

    _estimator_type: ClassVar[str]

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

    def _fit(self, X: Any, y: Any, refit: bool, classes: np.ndarray | None = None) -> Self:
        if not isinstance(refit, bool):
            raise ValueError(f"refit must be True or False, got {shown(refit)}")
        with _lock_of(self):
            return self._fit_alone(X, y, refit, classes)

    def _fit_alone(self, X: Any, y: Any, refit: bool, classes: np.ndarray | None) -> Self:
        name, task = type(self).__name__, "classification" if self._estimator_type == "classifier" else "regression"
        if not isinstance(self.domain, Domain):
            raise ValueError(
                f"domain must be a dpcore.Domain, the public promise about every record, for {name}.fit, "
                f"got {shown(self.domain)}"
            )
        if get_loss(self.loss).task != task:
            fitting = [loss.key for loss in LOSSES.values() if loss.task == task]
            raise ValueError(f"loss must be one of {', '.join(fitting)} for {name}, got {shown(self.loss)}")
        if self.random_state is not None:
            integer("random_state", self.random_state, at_least=0)
        earlier: Budget | None = getattr(self, "spent_", None)
        if earlier is not None and not refit:
            raise BudgetExceeded(
                f"BudgetExceeded: this {name} has spent epsilon = {earlier.epsilon:g}, delta = {earlier.delta:g} "
                "already; fit(X, y, refit=True) spends again and adds up"
            )
        data = Data(X, y)
        mechanism = make_mechanism(self.mechanism, accounting=self.accounting)
        problem = (self.loss, data.n, data.p, self.lam, self.domain, self.radius, self.theta_norm, mechanism.set)
        spec = Spec(*problem)  # type: ignore[arg-type]
        plan = mechanism.calibrate(spec, Budget(self.epsilon, self.delta))
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
        self.coef_: Array = theta
        return self

    def _linear(self, X: Any) -> Array:
        """<x, coef_> for every row of X, shape [n]."""
        if not hasattr(self, "coef_"):
            raise ValueError(f"{type(self).__name__} must be fitted before it predicts, got one without fit")
        X = as_matrix(X)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have shape (n, {self.n_features_in_}) as fitted, got {X.shape}")
        return X @ self.coef_

    def __sklearn_tags__(self) -> SimpleNamespace:
        """What scikit-learn (1.6 and later) asks an estimator about itself, as a plain record with its names."""
        classification = self._estimator_type == "classifier"
        return SimpleNamespace(
            estimator_type=self._estimator_type,
            target_tags=SimpleNamespace(
                required=True,
                one_d_labels=False,
                two_d_labels=False,
                positive_only=False,
                multi_output=False,
                single_output=True,
            ),
            transformer_tags=None,
            classifier_tags=(
                SimpleNamespace(poor_score=True, multi_class=False, multi_label=False) if classification else None
            ),
            regressor_tags=None if classification else SimpleNamespace(poor_score=True),
            array_api_support=False,
            no_validation=False,
            non_deterministic=True,
            requires_fit=True,
            input_tags=SimpleNamespace(
                one_d_array=False,
                two_d_array=True,
                three_d_array=False,
                sparse=True,
                categorical=False,
                string=False,
                dict=False,
                positive_only=False,
                allow_nan=False,
                pairwise=False,
            ),
        )


# Not in the objects, which are copied and pickled: locks are neither.
_LOCKS: WeakKeyDictionary[_PrivateEstimator, threading.Lock] = WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()


def _lock_of(model: _PrivateEstimator) -> threading.Lock:
    """The lock of this object: two fits at once would both pay and count one price."""
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(model, threading.Lock())


@dc.dataclass(eq=False, kw_only=True)
class PrivateClassifier(_PrivateEstimator):
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

    _estimator_type: ClassVar[str] = "classifier"

    def fit(self, X: Any, y: Any, *, refit: bool = False) -> Self:
        """Release one private model. X: [n, p] as in `dpcore.solve`. y: [n] labels among `classes`.

        Raises ValueError, NotApplicable and Unconverged as `solve` does, and BudgetExceeded (see the class); then
        nothing is spent.
        """
        classes = self._declared()
        return self._fit(X, self._signs(classes, y), refit, classes)

    def decision_function(self, X: Any) -> Array:
        """<x, coef_> for every row of X [n, p], shape [n]; positive speaks for classes_[1]."""
        return self._linear(X)

    def predict(self, X: Any) -> np.ndarray:
        """The label of every row of X [n, p], shape [n]; classes_[0] where the decision function is 0."""
        positive = (self._linear(X) > 0.0).astype(int)
        return self.classes_[positive]

    def score(self, X: Any, y: Any) -> float:
        """Share of rows whose label is predicted right. Not private."""
        predicted = np.where(self._linear(X) > 0.0, 1.0, -1.0)
        signs = self._signs(self.classes_, y)
        if signs.shape != predicted.shape:
            raise ValueError(f"y must have shape {predicted.shape} to match X, got {signs.shape}")
        return float(np.mean(predicted == signs))

    def _declared(self) -> np.ndarray:
        """The two classes as a sorted array, which must hold them as they were written."""
        try:
            array = np.asarray(self.classes)
            plain = array.tolist()
            if array.shape == (2,) and plain == list(self.classes) and len(set(plain)) == 2:
                return np.sort(array)
        except (TypeError, ValueError):  # labels that numpy cannot hold, sort or hash
            pass
        raise ValueError(f"classes must be two different labels of one kind, got {shown(self.classes)}")

    def _signs(self, classes: np.ndarray, y: Any) -> Array:
        """-1.0 for classes[0] and +1.0 for classes[1], shape [n]."""
        sign_of = dict(zip(classes.tolist(), (-1.0, 1.0), strict=True))
        if np.ma.is_masked(y):
            raise ValueError("y must have a value in every place, got a masked array")
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise ValueError(f"y must have shape (n,), got {labels.shape}")
        signs = np.empty(len(labels))
        for i, label in enumerate(labels.tolist()):
            if not isinstance(label, Hashable) or label not in sign_of:
                one, other = sign_of
                raise ValueError(f"y must be one of the declared classes {one!r} and {other!r}, got {shown(label)}")
            signs[i] = sign_of[label]
        return signs


@dc.dataclass(eq=False, kw_only=True)
class PrivateRegressor(_PrivateEstimator):
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
