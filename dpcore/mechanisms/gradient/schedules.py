"""Steps of gradient perturbation: their number, size, and the averaged iterates; all without data."""

import dataclasses as dc
import math
from collections.abc import Callable

from ...core.privacy import Descent
from ...theory import gradient_descent as theory
from ..plan import Plan

_FEWEST, _MOST = 30, 1_000
# At most one step for each 2 records, between 300 and _MOST, so that few records cost little time.
_RECORDS_A_STEP, _MOST_OF_FEW = 2, 300
# Factor by which steps stay below 1 / curvature.
_CAUTION = 1.5
MEAN_SOURCE = "projected descent with noise, mean of the last half (docs/formulas.md)"
LAST_SOURCE = "Shamir and Zhang 2013, Theorem 2, with explicit constants"


@dc.dataclass(frozen=True)
class ProblemConstants:
    """Public facts about F + (lam/2) ||theta||^2.

    norm: B, distance of the best model from the start. reach: radius of the ball of theta, or inf. gradient: a bound on
    the norm of a record's gradient, or less if E ||noisy gradient||^2 <= gradient^2 + error^2 still holds. curvature:
    smoothness, inf if the loss has kinks. dimensions: in which noise counts. length: of the path, the sum of all step
    sizes, that is allowed where noise in the mean of all steps' gradients has the given standard deviation in every
    direction; inf if only the bound limits it. records: n.
    """

    norm: float
    reach: float
    gradient: float
    curvature: float
    dimensions: int
    length: Callable[[float], float]
    records: int

    def second_moment(self, error: float) -> float:
        """Bound on the root of E ||noisy gradient||^2. error: root of E ||error of a step's gradient||^2, from noise
        and choice of records."""
        return math.hypot(self.gradient, error)


def descent_of(plan: Plan) -> Descent:
    if plan.descent is None:
        raise TypeError(f"plan must come from gradient perturbation, got one of {plan.mechanism.key}")
    return plan.descent


def full_batch_steps(facts: ProblemConstants, drift: float) -> int:
    """Number of steps T, if noise for T steps within the budget has error = drift sqrt(T dimensions)."""
    bend = facts.curvature if math.isfinite(facts.curvature) else facts.gradient**2
    most = min(max(_MOST_OF_FEW, facts.records // _RECORDS_A_STEP), _MOST)
    return max(_FEWEST, math.ceil(min(_CAUTION * facts.length(drift) * bend, most)))


def mean_descent(facts: ProblemConstants, steps: int, error: float) -> Descent:
    """Constant steps, together about facts.length; the mean of the second half.

    For kinks at most the step that minimises `theory.averaged_bound`. For smooth losses, where no length is given, at
    most the one that minimises `theory.smooth_bound`.
    """
    step = facts.length(error / math.sqrt(facts.dimensions * steps)) / steps
    if math.isinf(facts.curvature):
        longest = facts.norm / (facts.second_moment(error) * math.sqrt(steps))
    else:
        longest = 1.0 / (_CAUTION * facts.curvature)
        if math.isinf(step):
            longest = min(longest, 1.0 / (facts.curvature + error * math.sqrt(steps) / facts.norm))
    return Descent(min(step, longest), decaying=False, first=steps // 2 + 1)


def mean_bound(facts: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
    """Upper bound on the mean excess over the best model of norm facts.norm, for the mean of the last iterates: the
    smaller of that for smooth losses and that for any."""
    found = averaged_mean_bound(facts, steps, descent, error)
    return min(found, smooth_mean_bound(facts, steps, descent, error))


def averaged_mean_bound(facts: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
    """`mean_bound` of any convex loss: `theory.averaged_bound`, from 2 eta a_t <= D_t - D_{t+1} + (eta G)^2."""
    return theory.averaged_bound(facts.norm, descent.step, steps, facts.second_moment(error), descent.first)


def smooth_mean_bound(facts: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
    """`mean_bound` of smooth losses; inf where steps are too long for it.

    With D_t the mean squared distance of theta_t from the best model w and a_t = E F(theta_t) - F(w),
    `theory.smooth_bound` sums 2 eta a_t <= D_{t-1} - D_t + (eta error)^2 / (1 - eta beta). If no a_t before theta_first
    is negative, each step before it adds at most the last term to D, which starts at B^2. Else (a model that leaves the
    ball of B can be better than w) let theta_s be the last with a_s <= 0: the sum begins there, with theta_s instead of
    w and D_s = 0, and its terms before theta_first can be left out. That is smaller.
    """
    eta, beta = descent.step, facts.curvature
    if not eta * beta < 1.0:
        return math.inf
    before, counted = descent.first - 1, steps - descent.first + 1
    start = facts.norm**2 + before * (eta * error) ** 2 / (1.0 - eta * beta)
    return theory.smooth_bound(math.sqrt(start), eta, counted, error * error, beta)


def last_iterate_descent(facts: ProblemConstants, steps: int, error: float) -> Descent:
    """Steps D / (G sqrt(t)) in a ball of diameter D, G^2 = (largest gradient)^2 + error^2; the last iterate."""
    return Descent(2.0 * facts.reach / facts.second_moment(error), decaying=True, first=steps)


def last_iterate_bound(facts: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
    """Upper bound on the mean excess of the last iterate; inf for other steps than those of `last_iterate_descent`."""
    diameter, G = 2.0 * facts.reach, facts.second_moment(error)
    return theory.last_iterate_bound(diameter, G, steps) if math.isclose(descent.step, diameter / G) else math.inf
