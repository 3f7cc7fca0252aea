"""One budget for many fits, and the warning where fits of the same records have none."""

from __future__ import annotations

import dataclasses as dc
import hashlib
import itertools
import math
import os
import threading
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from ..accounting.releases import Cost, least_epsilon, loss_epsilon
from ..accounting.tradeoff import TradeoffCurve
from ..core.privacy import Budget, BudgetExceeded, UncountedFits, added_up, told_up
from ..core.records import Data
from .api import warn_outside
from .plan import Plan

_ROUNDING = 1e-12  # relative, of numbers as they are typed: ten times 0.1 is a little more than 1 and counts as 1
_WATCHED = 16
_MOST_WATCHED = 100_000
_MARKS: dict[bytes, bool] = {}  # of records that were fitted, and whether a warning has been given
_MARKS_LOCK = threading.Lock()
_KEY = os.urandom(32)


@dc.dataclass(frozen=True, eq=False)
class Accountant:
    """Budget that estimators share: each fit is charged before its noise is drawn, and refused beyond epsilon, delta.

    Give one object as `accountant` to every estimator that learns from the same people. scikit-learn's tools pass it on
    to the copies that they fit, so that all fits of a cross-validation, a search or a bag are counted. All fits are
    composed as if every person were in each of them, which covers any overlap. The total at delta is the least of the
    sum of the epsilons, the composition of Gaussian guarantees or of zCDP, and the sum of the privacy losses; a fit's
    own delta may be as large as that of the accountant. `charge` counts a release by `dpcore.solve` or by other means.

    It counts in one process: pickling is refused, so that n_jobs > 1 needs threads
    (`with joblib.parallel_config("threading")`). A fit that fails after its noise was drawn stays charged. Where a tool
    goes on after a refused fit (cross-validation scores it nan), error_score="raise" stops it.

    Guarantee: all fits together are (epsilon, delta)-differentially private for replacing one record, up to a relative
        1e-12 of both numbers. Each fit may be chosen after seeing earlier ones, but what it costs (epsilon, delta, the
        mechanism, its settings, n) must be planned before the first, in order; stopping early is covered.
    Not protected: as for the estimators; scores on private records; what a tool itself learns from them (calibrators,
        the final model of stacking, scalers); folds that depend on the records, as stratified ones do, which tools make
        for classifiers unless told cv=KFold(5): another label moves other records too; people with several records in
        one fit, as in bags drawn with replacement (bootstrap=False draws without).

    >>> from dpcore import calibrate
    >>> accountant = Accountant(epsilon=3.0, delta=1e-5)
    >>> plan = calibrate("output_gaussian", n=1000, p=4, epsilon=1.0, delta=1e-5)
    >>> for _ in range(5):
    ...     accountant.charge(plan)
    >>> accountant.fits, round(accountant.spent.epsilon, 3), accountant.spent.delta
    (5, 2.442, 1e-05)
    """

    epsilon: float
    delta: float = 0.0
    _releases: list[tuple[Budget, TradeoffCurve]] = dc.field(default_factory=list, init=False, repr=False)
    _lock: Any = dc.field(default_factory=threading.Lock, init=False, repr=False)
    _process: int = dc.field(default_factory=os.getpid, init=False, repr=False)

    def __post_init__(self) -> None:
        for name, value in dc.asdict(Budget(self.epsilon, self.delta)).items():
            object.__setattr__(self, name, value)

    @property
    def fits(self) -> int:
        """Number of fits so far."""
        return len(self._releases)

    @property
    def spent(self) -> Budget | None:
        """Privacy spent by all fits together, at the accountant's delta; None before the first."""
        with self._lock:
            return Budget(*self._total(self._releases)) if self._releases else None

    def charge(self, plan: Plan) -> None:
        """Count one release by a plan, which follows; BudgetExceeded if it has no room, and then it is not counted."""
        if os.getpid() != self._process:
            raise RuntimeError(_ELSEWHERE)
        with self._lock:
            releases = [*self._releases, (plan.spent, plan.mechanism.claimed_curve(plan))]
            most = self.epsilon * (1 + _ROUNDING)
            epsilon = self._total(releases, enough=most)[0]
            if epsilon > most:
                total = f"epsilon = {told_up(epsilon)}" if math.isfinite(epsilon) else "more than that delta"
                raise BudgetExceeded(
                    f"BudgetExceeded: accountant must keep to epsilon = {self.epsilon:g} at delta = {self.delta:g}, "
                    f"but {self.fits} fits and this one (epsilon = {told_up(plan.spent.epsilon)}, delta = "
                    f"{told_up(plan.spent.delta)}) spend {total}; ask for fewer fits or for less privacy in each, or "
                    "begin with a larger budget"
                )
            self._releases.append(releases[-1])

    def _total(self, releases: list[tuple[Budget, TradeoffCurve]], enough: float = 0.0) -> tuple[float, float]:
        """epsilon and delta of all releases; the first epsilon that is found to be `enough` will do."""
        deltas = added_up(spent.delta for spent, _ in releases)
        delta = deltas if self.delta < deltas <= self.delta * (1 + _ROUNDING) else self.delta
        epsilon = least_epsilon([Cost(spent, curve.gdp, curve.rho) for spent, curve in releases], delta)
        if epsilon > enough and delta > 0.0:
            epsilon = min(epsilon, loss_epsilon([curve for _, curve in releases], delta))
        return epsilon, delta

    def _itself(self, *_: Any) -> Self:
        return self

    __copy__ = __deepcopy__ = __sklearn_clone__ = _itself

    def __reduce__(self) -> Any:
        raise TypeError(_ELSEWHERE)


_ELSEWHERE = (
    "an Accountant must stay in the process that made it, where it counts all fits: use n_jobs=1, or threads "
    'by joblib.parallel_config("threading"); to pickle a fitted model, set_params(accountant=None) first'
)


def watch(data: Data, *, told: bool) -> None:
    """Warn once where records of this fit were in an earlier fit of this process, unless its cost is `told`.

    Keeps keyed digests of at most 16 records of each fit, those that a secret direction puts first: two folds of a
    cross-validation have most of them in common, and other people's records, unless they are equal, have none. Records
    that were scaled anew between two fits are not recognised.
    """
    direction = np.random.default_rng(int.from_bytes(_KEY)).normal(size=data.p)
    X = csr_array(data.X[np.argpartition(data.X @ direction, min(_WATCHED, data.n) - 1)[:_WATCHED]])
    rows = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in itertools.pairwise(X.indptr)]
    marks = {hashlib.blake2b(row, key=_KEY, digest_size=16).digest() for row in rows}
    with _MARKS_LOCK:
        known = [_MARKS[mark] for mark in marks if mark in _MARKS]
        warns = bool(known) and not any(known) and not told
        if len(_MARKS) > _MOST_WATCHED:
            _MARKS.clear()
        _MARKS.update(dict.fromkeys(marks, warns or any(known)))
    if warns:
        warn_outside(
            "an earlier fit had some of these records: what all fits spend on them adds up, and no spent_ tells that "
            "total; give the estimators one accountant=dpcore.Accountant(epsilon, delta)",
            UncountedFits,
        )
