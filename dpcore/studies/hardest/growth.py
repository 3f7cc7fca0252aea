"""Bounds on the mean excess, and how they grow with the number of records, from public facts alone."""

import dataclasses as dc
import math
from collections.abc import Callable

from ...core.privacy import Bound, Budget, NotApplicable
from ...core.specification import Spec
from ...mechanisms.base import Mechanism
from ...mechanisms.plan import Plan

_TIMES = 4  # between the two n of a power
_MOST_RECORDS = 1 << 30


def bounds_of(plan: Plan, form: str) -> list[float]:
    """Bounds of a form, "upper" or "lower", on the mean excess empirical risk."""

    def fits(bound: Bound) -> bool:
        return (bound.quantity, bound.form, bound.holds) == ("excess_empirical_risk", form, "expectation")

    return [bound.value for bound in plan.mechanism.bounds(plan) if fits(bound)]


def powers_of_n(mechanism: Mechanism, spec: Spec, budget: Budget) -> tuple[float, float] | None:
    """Powers of n by which the upper and the lower bound on the mean excess fall, from n to 4 n.

    None where there are not two of each.

    >>> from dpcore.mechanisms import make_mechanism
    >>> spec = Spec("logistic", n=2_000, p=8, lam=0.005, theta_norm=6.0)
    >>> upper, lower = powers_of_n(make_mechanism("output_gaussian"), spec, Budget(0.1, 1e-7))
    >>> round(upper, 1), round(lower, 1)
    (1.7, 1.0)
    """
    at = [_bounds(mechanism, dc.replace(spec, n=n), budget) for n in (spec.n, _TIMES * spec.n)]
    if not all(math.isfinite(upper) and lower > 0.0 for upper, lower in at):
        return None
    upper, lower = (math.log(one / four, _TIMES) for one, four in zip(*at, strict=True))
    return upper, lower


def enough_records(mechanism: Mechanism, spec: Spec, budget: Budget, excess: float) -> int | None:
    """`first_below` for the smallest upper bound on the mean, from spec.n on.

    excess: for example that of a model that has learned nothing, or `Loss.at_zero`, which it never exceeds.

    >>> from dpcore.mechanisms import make_mechanism
    >>> spec = Spec("logistic", n=2_000, p=8, lam=0.005, theta_norm=6.0)
    >>> enough_records(make_mechanism("output_gaussian"), spec, Budget(0.1, 1e-7), math.log(2.0))
    7600
    """

    return first_below(lambda n: _bounds(mechanism, dc.replace(spec, n=n), budget)[0], spec.n, excess)


def first_below(bound: Callable[[int], float], n: int, excess: float) -> int | None:
    """Smallest number of records, of those from n on, at which a bound that falls is below `excess`, to 2 digits; None
    beyond 2^30.

    >>> first_below(lambda n: 100.0 / n**0.5, 1_000, 0.25)
    170000
    """
    low, high = n, n
    while not bound(high) < excess:
        low, high = high, 2 * high
        if high > _MOST_RECORDS:
            return None
    while high - low > 0.01 * high:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle) < excess else (middle, high)
    if high == n:
        return high
    unit = 10 ** max(0, math.floor(math.log10(high)) - 1)
    return -(-high // unit) * unit


def _bounds(mechanism: Mechanism, spec: Spec, budget: Budget) -> tuple[float, float]:
    """The smallest upper and the largest lower bound on the mean; inf and 0 where there is none."""
    try:
        plan = mechanism.calibrate(spec, budget)
    except NotApplicable:
        return math.inf, 0.0
    return min(bounds_of(plan, "upper"), default=math.inf), max(bounds_of(plan, "lower"), default=0.0)
