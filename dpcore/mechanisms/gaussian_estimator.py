"""Private classifier of several classes with fit and predict."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax

from ..core.arrays import Array
from ..core.privacy import Budget
from ..core.specification import Spec
from ..solvers.multiclass.objective import Ellipsoid, ellipsoid_of, features, svec
from . import make_mechanism
from .estimators import DeclaredClassifier
from .plan import Plan


@dc.dataclass(eq=False, kw_only=True)
class PrivateGaussianClassifier(DeclaredClassifier):
    """Classifier with an ellipsoid for each of C >= 2 declared classes, released privately; the smallest score wins.

    score_c(x) = (x - centre_c)' precision_c (x - centre_c) + offset_c. The mechanism is `gaussian_classifier`, with the
    knobs noise ("gaussian", "gamma" with delta = 0, or "auto", which goes by delta) and perturbed ("objective" or
    "output", to which the noise is added). epsilon, delta, lam, theta_norm, clip, random_state, accountant: as for
    `PrivateClassifier`. domain: the public bound ||x||_2 <= R; its y_max is not used. classes: all labels that could
    occur, text or numbers, in any order; they have no default and are never inferred. Their numbers 0 to C - 1 in
    sorted order are taken too, and any other label is refused. No intercept is needed: the ellipsoids have centres.

    After fit: matrices_ [C, p + 1, p + 1] (symmetric, no eigenvalue below 0, in the coordinates (x / R, 1) / sqrt2),
    ellipsoids_ (the same as an `Ellipsoid` in the units of x), classes_ [C] (sorted, or 0 to C - 1 where y had these),
    plan_, spent_, n_features_in_, feature_names_in_ and clipped_. A second fit, copies and cross-validation cost as
    much as for `PrivateClassifier`.

    Guarantee: each fit is (epsilon, delta)-differentially private for replacing one record, its class included, as
        `python -m dpcore info gaussian_classifier` says; all fits of one object together, (spent_.epsilon,
        spent_.delta).
    Not protected: the arguments above, n, p, the names of columns and whether y has labels or their numbers are public;
        choosing them, the classes included, by looking at the data; scores on private records (score and
        cross-validation); a fit with random_state set; copies count apart without an accountant.

    >>> import numpy as np
    >>> from dpcore import Domain
    >>> X, y = np.array([[0.9], [0.8], [0.1], [-0.1], [-0.8], [-0.9]]), ["warm", "warm", "mild", "mild", "cold", "cold"]
    >>> model = PrivateGaussianClassifier(
    ...     epsilon=1e4, delta=1e-3, lam=0.01, domain=Domain(R=1.0), classes=("cold", "mild", "warm"), random_state=0
    ... )
    >>> model.fit(X, y).predict([[0.7], [0.0]]).tolist(), model.spent_.epsilon
    (['warm', 'mild'], 10000.0)
    """

    classes: Sequence[Any]
    noise: str = "auto"
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

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of classes_ for every row of X [n, p], shape [n, C]: exp(-score_c) over its sum.

        They are those of normal classes with these scores as negative log-densities. Learning looked at margins, so
        that they are not calibrated, and noise ruins them long before labels.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`, which stay finite if a probability is too small for a float."""
        return log_softmax(self._values(X), axis=1)

    def _places(self, X: Any) -> np.ndarray:
        return self._values(X).argmax(axis=1)

    def _values(self, X: Any) -> Array:
        matrices, X = self._fitted(X)
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        return -features(dense, self.plan_.spec.domain.R) @ svec(matrices).T

    def _plan(self, n: int, p: int) -> Plan:
        budget = Budget(self.epsilon, self.delta)
        usual = "gamma" if budget.pure else "gaussian"
        noise = usual if self.noise == "auto" else self.noise
        mechanism = make_mechanism("gaussian_classifier", noise=noise, perturbed=self.perturbed)
        problem = (mechanism.usual_loss, n, p, self.lam, self.domain, None, self.theta_norm, mechanism.set)
        spec = Spec(*problem, classes=len(self.classes))  # type: ignore[arg-type]
        return mechanism.calibrate(spec, budget)
