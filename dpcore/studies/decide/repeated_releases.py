"""Privacy spent by several releases from the same records, or on people with several records.

Not included: new seeds, a lambda tuned by eye and sliders tried on one's own data are further releases as soon as
anything seen there influences what is published.
"""

import dataclasses as dc
import math
from fractions import Fraction

from ...accounting.attack_limits import attack_cap, joint_attack_limit
from ...accounting.composition import advanced_epsilon
from ...accounting.tradeoff import TradeoffCurve, repeated_releases_curve
from ...core.privacy import Budget, NotApplicable, rounded_up
from ...core.validation import check_real, integer
from ...mechanisms.plan import Plan

MOST_RELEASES = 1_000
MOST_RECORDS = 100

_SAFETY = 1e-9  # as in `accounting`
_LARGEST_LOSS = 700.0  # that advanced composition's formula takes


@dc.dataclass(frozen=True)
class RepeatedReleases:
    """`releases` releases, people with `records` records each, and what is proved of both together at `delta`.

    basic, advanced: the releases' losses added up, or composed by Dwork, Rothblum and Vadhan, nan where that has
    no bound. exact: by the mechanism's own curve, of which most are not followed beyond 300. epsilon: the least of the
    three, inf where delta is too small for any. limit: how often the best attacker at 50:50 is right then, at most;
    cap: against any mechanism with (epsilon, delta).
    """

    releases: int
    records: int
    delta: float
    basic: float
    advanced: float
    exact: float
    epsilon: float
    limit: float
    cap: float
    curve: TradeoffCurve

    @property
    def of_100(self) -> int:
        """`limit` as so many times in 100, rounded up."""
        return math.ceil(100.0 * self.limit - 1e-9)


def repeated_releases(plan: Plan, releases: int = 1, records: int = 1, delta: float | None = None) -> RepeatedReleases:
    """Privacy spent by `releases` adaptive releases like this plan, on people with `records` records each.

    releases: from 1 to 1,000. records: from 1 to 100. delta: in [0, 1); None is the plan's own. Raises NotApplicable
    for delta = 0 unless the plan is pure.

    >>> from dpcore import calibrate
    >>> plan = calibrate("output_gaussian", n=1000, p=4, epsilon=1.0, delta=1e-6)
    >>> after = repeated_releases(plan, releases=10)
    >>> round(after.exact, 3), round(after.advanced, 3), round(after.basic, 3)
    (3.525, 44.216, 11.148)
    >>> round(repeated_releases(plan, records=10).exact, 3), repeated_releases(plan).epsilon <= plan.spent.epsilon
    (13.507, True)
    """
    k, g = _planned(releases, records)
    spent = plan.spent
    at = spent.delta if delta is None else check_real("delta", delta, "in [0, 1)", lambda v: 0 <= v < 1)
    if at == 0.0 and not spent.pure:
        raise NotApplicable(f"{plan.mechanism.key} needs delta > 0 here, got delta = 0")
    mechanism = plan.mechanism
    one = mechanism.claimed_curve(plan)
    curve = repeated_releases_curve(one, k, g)
    alone = guarantee_alone(spent, k, g)
    # The cost that the guarantee alone implies is proved too, from its delta on.
    known = alone.epsilon if alone is not None and alone.delta <= at else math.inf
    exact = min(known, _epsilon_of(curve, at))
    basic = min(known, k * _epsilon_of(repeated_releases_curve(one, 1, g), at / k))
    advanced = _advanced(one, spent, k, g, at)
    epsilon = min(exact, basic, math.inf if math.isnan(advanced) else advanced)
    cap = attack_cap(Budget(epsilon, at)) if math.isfinite(epsilon) else 1.0
    limit = min(cap, curve.attack_limit(), _limit_of_parts(mechanism.attack_limit(plan), k, g))
    return RepeatedReleases(k, g, at, basic, advanced, exact, epsilon, limit, cap, curve)


def guarantee_alone(one: Budget, releases: int, records: int) -> Budget | None:
    """Guarantee that follows from (epsilon, delta) alone; None where delta would be 1 or more.

    epsilon g k, delta k (e^(g epsilon) - 1) / (e^epsilon - 1) for k releases and g records: each of the g steps from
    one data set to the other multiplies by e^epsilon what the steps before have added.

    >>> found = guarantee_alone(Budget(1.0, 1e-6), releases=2, records=3)
    >>> found.epsilon, round(found.delta, 9)
    (6.0, 2.2215e-05)
    >>> guarantee_alone(Budget(1.0, 1e-6), releases=1, records=20) is None
    True
    """
    k, g = _planned(releases, records)
    epsilon = rounded_up(g * k * Fraction(one.epsilon))
    if one.pure or k == g == 1:
        return Budget(epsilon, one.delta)
    if g == 1:
        delta = rounded_up(k * Fraction(one.delta))
        return Budget(epsilon, delta) if delta < 1.0 else None
    log = math.log(k * one.delta) + (g - 1) * one.epsilon
    log += math.log(math.expm1(-g * one.epsilon) / math.expm1(-one.epsilon))
    return Budget(epsilon, math.exp(log) * (1 + _SAFETY)) if log < -_SAFETY else None


def _planned(releases: int, records: int) -> tuple[int, int]:
    k, g = integer("releases", releases, at_least=1), integer("records", records, at_least=1)
    check_real("releases", k, f"at most {MOST_RELEASES:,}", lambda v: v <= MOST_RELEASES)
    check_real("records", g, f"at most {MOST_RECORDS}", lambda v: v <= MOST_RECORDS)
    return k, g


def _epsilon_of(curve: TradeoffCurve, delta: float) -> float:
    """Smallest epsilon of a curve, rounded up; inf if there is none, and at delta = 0."""
    return curve.epsilon(curve.mu, delta) * (1 + _SAFETY) + _SAFETY if delta > 0.0 else math.inf


def _advanced(one: TradeoffCurve, spent: Budget, k: int, g: int, delta: float) -> float:
    """epsilon by advanced composition: half of delta for the releases, half as slack; all as slack for pure ones."""
    if delta == 0.0:
        return math.nan
    if spent.pure:
        loss, slack = g * spent.epsilon, delta
    else:
        loss, slack = _epsilon_of(repeated_releases_curve(one, 1, g), 0.5 * delta / k), 0.5 * delta
    return advanced_epsilon(loss, k, slack) if loss < _LARGEST_LOSS else math.nan


def _limit_of_parts(limit: float, k: int, g: int) -> float:
    """Attack success from the limit of one release: total variation adds up along records, couplings along releases."""
    apart = min(1.0, g * (2.0 * limit - 1.0))
    return joint_attack_limit(*[0.5 + 0.5 * apart] * k)
