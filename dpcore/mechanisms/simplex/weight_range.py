"""Range of the weights of entropy-regularised minimisers under one record, and the number of draws within a budget.

lam and the number of draws follow from the range without data, by zCDP, whose inverse is a formula. The exact cost of
repeated draws (`repeated_choice_delta`), by which audits test the mechanism, would allow 12 to 21% more.

J(w) = F(radius w) + lam sum_j w_j ln w_j over the simplex, ||x||_inf <= R. A draw of a column with probabilities w has
bounded range eta for neighbours, the length of an interval that holds ln w_j - ln w'_j for all j, and draws compose as
in `composition`. All numbers are public.
"""

import dataclasses as dc
import functools
import math
from bisect import bisect_left

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from ...accounting.zcdp import bounded_range_rho, zcdp_epsilon, zcdp_rho
from ...core.losses import get_loss
from ...core.privacy import Budget, NotApplicable
from ...core.specification import Spec
from ...theory import erm
from ...theory import sampling_and_regret as theory
from ..regularisation import LARGEST_LOG, no_lam

MOST_DRAWS = 10**12
LARGEST_N = 10**15
# Required residual of a solver: a share of the effect of one record, and above rounding.
_SHARE, _ROUNDING, _SMALLEST_RESIDUAL = 1e-6, 1e-13, 1e-12
# `zcdp_epsilon` rounds up by 1e-9 of itself and 1e-9 more; `largest_eta` leaves room for both.
_ROUNDED = 2e-9
# Range beyond which only basic composition is useful; its square may be too large for a float.
_LARGEST_ETA = 1e6
# "auto": share of the entropy's bound that it costs, and the excess of the uniform mixture over c R^2.
_BIAS_SHARE, _NOTHING = 0.5, 0.25
_GRID = np.linspace(0.0, math.log(MOST_DRAWS), 56)


@dc.dataclass(frozen=True)
class WeightRange:
    """Change of the logarithms of the weights that minimise J by one replaced record, as a function of lam.

    slope: L R radius, the largest gradient of one record. bend: c (R radius)^2, how fast it turns. n: records.

    With W = n lam and x = (n - 1) bend / W,
        eta = (slope / W) (4 + 2 g(x)),  g(x) = 2x / (1 + x) for x <= 1 and sqrt(x) for x >= 1.
    The proof is in docs/formulas.md, "Mixtures: the simplex".

    A solver that leaves a residual tol, the range of ln w_j + g_j / lam, has found the minimiser of J - lam <e, w> for
    an e with |e_j| <= tol / 2. For two data sets this has the effect of slope + W tol / 2 instead of slope.

    Source: Jain and Thakurta 2014, Theorem 3 (constants explicit).

    >>> linear, smooth = WeightRange(slope=1.0, bend=0.0, n=100), WeightRange(slope=1.0, bend=2.0, n=100)
    >>> round(linear.eta(lam=0.1), 6), round(smooth.eta(lam=0.1), 6)
    (0.4, 1.289944)
    """

    slope: float
    bend: float
    n: int

    def tol(self, lam: float) -> float:
        """Required residual of the solver, in units of ln w."""
        rounding = _ROUNDING * max(self.slope, self.bend)
        return max(_SHARE * self.slope / self.n / lam, rounding / lam, _SMALLEST_RESIDUAL)

    def eta(self, lam: float) -> float:
        """Range eta of weights with that residual; it falls as lam rises."""
        x = (self.n - 1) / self.n * self.bend / lam
        g = 2.0 * x / (1.0 + x) if x <= 1.0 else math.sqrt(x)
        return (self.slope / self.n / lam + 0.5 * self.tol(lam)) * (4.0 + 2.0 * g)


def weight_range(spec: Spec) -> WeightRange:
    """`WeightRange` of a problem on the simplex; lam is not used.

    >>> from dpcore.core.specification import Domain
    >>> weight_range(Spec("huber", n=100, p=8, domain=Domain(q=math.inf, R=0.5), radius=2.0, set="simplex"))
    WeightRange(slope=1.0, bend=2.0, n=100)
    """
    loss, size = get_loss(spec.loss), spec.domain.R * (spec.reach or 1.0)
    return WeightRange(loss.lipschitz(spec) * size, loss.curvature_bound * size**2, spec.n)


def privacy_cost(eta: float, times: int, delta: float) -> Budget:
    """Privacy cost proved for `times` draws of range eta, at most `delta` of it as delta.

    The smaller of times eta, with delta 0, and the epsilon of (times eta^2 / 8)-zCDP.

    >>> privacy_cost(0.5, 1, delta=1e-6), round(privacy_cost(0.01, 1000, delta=1e-6).epsilon, 4)
    (Budget(epsilon=0.5, delta=0.0), 0.7002)
    """
    basic = times * eta
    if delta == 0.0 or eta > _LARGEST_ETA:
        return Budget(basic)
    composed = zcdp_epsilon(bounded_range_rho(eta, times), delta)
    return Budget(basic) if basic <= composed else Budget(composed, delta)


def largest_eta(budget: Budget, times: int) -> float:
    """Largest range whose `times` draws cost at most `budget` by `privacy_cost`, to a relative 1e-8.

    >>> round(largest_eta(Budget(1.0, 1e-6), times=100), 5), largest_eta(Budget(1.0), times=100)
    (0.04414, 0.01)
    """
    return max(budget.epsilon / times, math.sqrt(8.0 * _rho(budget) / times))


@functools.lru_cache(maxsize=256)
def _rho(budget: Budget) -> float:
    """Largest rho whose epsilon, as `zcdp_epsilon` rounds it, is within the budget; 0 if there is none."""
    epsilon = budget.epsilon * (1 - _ROUNDED) - _ROUNDED
    return 0.0 if budget.pure or epsilon <= _ROUNDED else zcdp_rho(Budget(epsilon, budget.delta))


def most_draws(eta: float, budget: Budget) -> int:
    """Number of draws of range eta that cost at most `budget`, up to 10^12; 0 if one costs more.

    >>> most_draws(0.01, Budget(1.0, 1e-6)), most_draws(0.01, Budget(1.0)), most_draws(1.1, Budget(1.0, 1e-6))
    (1948, 100, 0)
    """

    def too_many(times: int) -> bool:
        return times > 0 and not privacy_cost(eta, times, budget.delta) <= budget

    guess = min(max(budget.epsilon / eta, 8.0 * _rho(budget) / eta / eta), float(MOST_DRAWS))
    low, high = int(guess * (1 - 1e-6)), int(guess * (1 + 1e-6)) + 1
    while too_many(low):
        low //= 2
    while not too_many(high) and high < MOST_DRAWS:
        high *= 2
    return min(bisect_left(range(high), True, lo=low + 1, key=too_many) - 1, MOST_DRAWS)


def lam_of_eta(found: WeightRange, eta: float) -> float:
    """Value of lam at which the range is eta; NotApplicable if it would not lie between 1e-100 and 1e100."""

    def surplus(log_lam: float) -> float:
        return math.log(found.eta(math.exp(log_lam)) / eta)

    if not surplus(-LARGEST_LOG) > 0.0 > surplus(LARGEST_LOG):
        raise NotApplicable(f"no lam between 1e-100 and 1e100 makes one draw's range {eta:.3g}")
    return math.exp(brentq(surplus, -LARGEST_LOG, LARGEST_LOG, xtol=1e-13)) * (1 + 1e-12)


def smallest_n(spec: Spec, budget: Budget) -> int | None:
    """Fewest records with which one draw costs at most `budget`, at the lam of `spec`; None beyond 10^15.

    >>> from dpcore.core.specification import Domain
    >>> smallest_n(Spec("linear", n=10, p=8, lam=0.1, domain=Domain(q=math.inf), set="simplex"), Budget(0.01))
    4001
    """
    found, lam, eta = weight_range(spec), float(spec.lam), largest_eta(budget, 1)
    n = bisect_left(range(LARGEST_N + 1), True, lo=2, key=lambda n: dc.replace(found, n=n).eta(lam) <= eta)
    return n if n <= LARGEST_N else None


def resolved_lam(key: str, spec: Spec, budget: Budget, m: int | None) -> float:
    """lam by the rule that `spec.lam` names, or the given number. m: number of draws, None if it follows from lam.

    At every m the bounds are smallest at the smallest lam that allows m draws or, on fresh records, at the lam where
    entropy and stability balance if that is larger. "population" takes the m with the smallest bound. "auto" takes
    that of the smallest sampling term c R^2 / (2m) plus x h / (x + h), x = lam ln(p) / 2 and h = c R^2 / 4: entropy
    costs half of its bound on most records, and never more than the uniform mixture, which h stands for.
    """
    if not isinstance(spec.lam, str):
        return spec.lam
    if spec.p == 1 and spec.lam != "auto":
        raise NotApplicable(f"{key} has no rule {spec.lam!r} for lam with one column: there is one model")
    if spec.lam == "published":
        return theory.published_sampling_lam(spec.n, spec.p, budget.epsilon)
    found, c = weight_range(spec), get_loss(spec.loss).curvature_bound
    L, R = get_loss(spec.loss).lipschitz(spec), spec.domain.R * (spec.reach or 1.0)
    fresh = spec.lam == "population"
    floor = L * R * math.sqrt(2.0 / (spec.n * math.log(spec.p))) if fresh else 0.0

    def lam_of(draws: int) -> float:
        return max(lam_of_eta(found, largest_eta(budget, draws)), floor)

    def bound(log_draws: float) -> float:
        draws = max(round(math.exp(log_draws)), 1)
        try:
            lam = lam_of(draws)
        except NotApplicable:
            return math.inf
        stability = erm.stability(L, R, spec.n, lam) if fresh else 0.0
        if fresh or c == 0.0:
            return theory.sampling_excess(L, c, R, draws) + theory.entropy_bias(lam, spec.p) + stability
        x, h = _BIAS_SHARE * theory.entropy_bias(lam, spec.p), _NOTHING * c * R**2
        return theory.sampling_excess(L, c, R, draws) + x * h / (x + h)

    if m is not None:
        return lam_of(m)
    values = [bound(log_draws) for log_draws in _GRID]
    best = int(np.argmin(values))
    if not math.isfinite(values[best]):
        raise no_lam(spec)
    near = _GRID[max(best - 1, 0)], _GRID[min(best + 1, len(_GRID) - 1)]
    with np.errstate(invalid="ignore"):  # parabolas through infinite bounds are not taken
        refined = float(minimize_scalar(bound, bounds=near, method="bounded", options={"xatol": 1e-3}).x)
    return lam_of(max(round(math.exp(min(refined, float(_GRID[best]), key=bound))), 1))


def affordable_draws(key: str, spec: Spec, budget: Budget) -> int:
    """Number m at the lam of `spec`; NotApplicable with the requirements if it is below 1."""
    found = weight_range(spec)
    eta = found.eta(float(spec.lam))
    if m := most_draws(eta, budget):
        return m
    cost, lam = privacy_cost(eta, 1, budget.delta).epsilon, lam_of_eta(found, largest_eta(budget, 1))
    least = smallest_n(spec, budget)
    raise NotApplicable(
        f"{key} cannot draw one column: a draw costs epsilon = {cost:.4g} at lam = {spec.lam:.4g} and n = {spec.n}, "
        f"the budget is epsilon = {budget.epsilon:g}, delta = {budget.delta:g}; it takes epsilon >= {_up(cost)}, "
        f"lam >= {_up(lam)}{'' if least is None else f' or n >= {least}'}, other things equal"
    )


def _up(value: float) -> str:
    """Text of a value, rounded up to four digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.ceil(value / unit) * unit:.4g}"
