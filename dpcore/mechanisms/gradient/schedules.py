"""Rules for the steps of gradient perturbation: their number, size, and the averaged iterates; all without data."""

import abc
import dataclasses as dc
import math
from collections.abc import Callable

from ...core.privacy import Descent, NotApplicable
from ...theory import gradient_descent as theory

_FEWEST, _MOST = 30, 1_000
# Under "auto", one step for each 2 records at most, between 300 and _MOST, so that few records cost little time.
_RECORDS_A_STEP, _MOST_OF_FEW = 2, 300
_FEWEST_AVERAGED, _MOST_AVERAGED = 5, 400
# Factor by which steps of "auto" stay below 1 / curvature.
_CAUTION = 1.5
# Largest remaining effect of the start under "smooth", as a share of the effect of noise.
_START_SHARE = 0.05


@dc.dataclass(frozen=True)
class ProblemConstants:
    """Public facts about F + (lam/2) ||theta||^2.

    norm: B, distance of the best model from the start. reach: radius of the ball of theta, or inf. gradient: a bound on
    the norm of a record's gradient, or less if E ||noisy gradient||^2 <= gradient^2 + error^2 still holds. curvature:
    smoothness, inf if the loss has kinks. dimensions: in which noise counts. length: of the path, the sum of all step
    sizes, that "auto" allows where noise in the mean of all steps' gradients has the given standard deviation in every
    direction. records: n.
    """

    norm: float
    reach: float
    gradient: float
    curvature: float
    dimensions: int
    length: Callable[[float], float]
    records: int


class Rule(abc.ABC):
    """Rule for steps. `error` is the root of E ||error of a step's gradient||^2, from noise and choice of records.

    needs_ball: True if it is proved only for a bounded set. source: of its bound.
    """

    needs_ball = False
    source: str

    @abc.abstractmethod
    def steps(self, facts: ProblemConstants, drift: float) -> int:
        """Number of steps T, if noise for T steps within the budget has error = drift sqrt(T dimensions)."""

    @abc.abstractmethod
    def descent(self, facts: ProblemConstants, steps: int, error: float) -> Descent:
        """Step size and averaged iterates; NotApplicable with the reason."""

    def bound(self, facts: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
        """Upper bound on the mean excess over the best model of norm facts.norm; inf if there is none.

        By default the smaller of the bounds for smooth losses and for any, for constant steps and a mean of the last
        iterates. Smooth: with D_t the mean squared distance of theta_t from the best model w and a_t = E F(theta_t) -
        F(w), `theory.smooth_bound` sums 2 eta a_t <= D_{t-1} - D_t + (eta error)^2 / (1 - eta beta). If no a_t before
        theta_first is negative, each step before it adds at most the last term to D, which starts at B^2. Else (a model
        that leaves the ball of B can be better than w) let theta_s be the last with a_s <= 0: the sum begins there,
        with theta_s instead of w and D_s = 0, and its terms before theta_first can be left out. That is smaller.
        """
        found = _kinked_bound(facts, steps, descent, error)
        eta, beta = descent.step, facts.curvature
        if not eta * beta < 1.0:
            return found
        before, counted = descent.first - 1, steps - descent.first + 1
        start = facts.norm**2 + before * (eta * error) ** 2 / (1.0 - eta * beta)
        return min(found, theory.smooth_bound(math.sqrt(start), eta, counted, error * error, beta))


class Auto(Rule):
    """Constant steps, together about facts.length; the mean of the second half."""

    source = "projected descent with noise, mean of the last half (docs/formulas.md)"

    def steps(self, facts: ProblemConstants, drift: float) -> int:
        bend = facts.curvature if math.isfinite(facts.curvature) else facts.gradient**2
        most = min(max(_MOST_OF_FEW, facts.records // _RECORDS_A_STEP), _MOST)
        return _between(_FEWEST, _CAUTION * facts.length(drift) * bend, most)

    def descent(self, facts: ProblemConstants, steps: int, error: float) -> Descent:
        step = facts.length(error / math.sqrt(facts.dimensions * steps)) / steps
        if math.isfinite(facts.curvature):
            longest = 1.0 / (_CAUTION * facts.curvature)
        else:
            longest = facts.norm / (_second_moment(facts, error) * math.sqrt(steps))
        return Descent(min(step, longest), decaying=False, first=steps // 2 + 1)


class Smooth(Rule):
    """Constant steps that minimise the bound for smooth losses; the mean of all iterates."""

    source = "projected descent on a smooth loss (docs/formulas.md)"

    def steps(self, facts: ProblemConstants, drift: float) -> int:
        wanted = facts.curvature * facts.norm / (2.0 * _START_SHARE * math.sqrt(facts.dimensions) * drift)
        return _between(_FEWEST, wanted, _MOST)

    def descent(self, facts: ProblemConstants, steps: int, error: float) -> Descent:
        if not math.isfinite(facts.curvature):
            raise NotApplicable("rule 'smooth' needs a loss without kinks")
        free = facts.norm / (math.sqrt(steps) * error)
        return Descent(free / (1.0 + facts.curvature * free), decaying=False, first=1)


class Averaging(Rule):
    """Constant steps B / (G sqrt(T)), G^2 = (largest gradient)^2 + error^2, for any loss; the mean of all iterates."""

    source = "Nemirovski and others 2009, with explicit constants"

    def steps(self, facts: ProblemConstants, drift: float) -> int:
        return _between(_FEWEST_AVERAGED, facts.gradient**2 / (facts.dimensions * drift**2), _MOST_AVERAGED)

    def descent(self, facts: ProblemConstants, steps: int, error: float) -> Descent:
        step = facts.norm / (_second_moment(facts, error) * math.sqrt(steps))
        return Descent(step, decaying=False, first=1)

    def bound(self, facts: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
        return _kinked_bound(facts, steps, descent, error)


class LastIterate(Averaging):
    """Steps D / (G sqrt(t)) in a ball of diameter D; the last iterate."""

    needs_ball = True
    source = "Shamir and Zhang 2013, Theorem 2, with explicit constants"

    def descent(self, facts: ProblemConstants, steps: int, error: float) -> Descent:
        step = 2.0 * facts.reach / _second_moment(facts, error)
        return Descent(step, decaying=True, first=steps)

    def bound(self, facts: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
        diameter, G = 2.0 * facts.reach, _second_moment(facts, error)
        if not math.isclose(descent.step, diameter / G):
            return math.inf
        return theory.last_iterate_bound(diameter, G, steps)


RULES: dict[str, Rule] = {
    "auto": Auto(),
    "smooth": Smooth(),
    "averaging": Averaging(),
    "last_iterate": LastIterate(),
}


def _between(low: int, value: float, high: int) -> int:
    return max(low, math.ceil(min(value, high)))


def _second_moment(facts: ProblemConstants, error: float) -> float:
    """Bound on the root of E ||noisy gradient||^2."""
    return math.hypot(facts.gradient, error)


def _kinked_bound(facts: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
    """`theory.averaged_bound` for the mean of theta_f to theta_T.

    It follows as in `Rule.bound`, from 2 eta a_t <= D_t - D_{t+1} + (eta G)^2.
    """
    return theory.averaged_bound(facts.norm, descent.step, steps, _second_moment(facts, error), descent.first)
