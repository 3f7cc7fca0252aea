"""The smallest budget that loses no more than one can give up."""

from __future__ import annotations

from ...core.validation import check_real
from .loss_curve import LostCurve, check_applicable
from .threshold_interval import Answer, answer


def smallest_budget(curve: LostCurve, at_most: float) -> Answer:
    """The smallest epsilon from which on a setting is expected to lose at most `at_most` points.

    at_most: > 0. The expectation is over splits of the records, or draws of them, and over the noise; between the
    epsilons of the grid it is taken linear in ln epsilon. The interval covers it with confidence 95%; an end beyond the
    grid is inf, one at the first epsilon of the grid means "there or below".

    Raises NotApplicable where the mechanism has no guarantee at any epsilon.

    >>> from dpcore import Problem
    >>> from dpcore.studies.decide.loss_curve import Setting, lost_curve
    >>> curve = lost_curve(Setting(Problem("synthetic", n=2_000)))
    >>> found = smallest_budget(curve, at_most=5.0)
    >>> 0.2 < found.low < found.value < found.high < 0.6
    True
    >>> smallest_budget(lost_curve(Setting(Problem(n=100), splits=5)), at_most=1.0).reachable
    False
    """
    at_most = check_real("at_most", at_most, "a number of points > 0", lambda v: v > 0.0)
    check_applicable(curve)
    return answer(curve.epsilons, curve.lost, at_most, seed=curve.setting.problem.seed)
