"""Rules for the steps of gradient perturbation: how many, how long, and which iterates count. None sees data."""

import abc
import dataclasses as dc
import math

from ...core.privacy import Descent, NotApplicable
from ...theory import gradient_descent as theory

# "auto" lets the noise of all steps together move a coordinate of theta by so many times the size that lam="auto"
# allows output perturbation: for classes, and for numbers or points (docs/formulas.md, "Gradient perturbation").
AUTO_CLASSES, AUTO_NUMBERS = 5.0, 2.0
_FEWEST, _MOST, _MOST_SMOOTH = 30, 300, 1000
_FEWEST_AVERAGED, _MOST_AVERAGED = 5, 400
# Steps of "auto" stay so far below 1 / curvature.
_CAUTION = 1.5
# "smooth" takes so many steps that what is left of the start is at most this share of what noise costs.
_START_SHARE = 0.05


@dc.dataclass(frozen=True)
class ProblemConstants:
    """Public facts about F + (lam/2) ||theta||^2.

    norm: B, how far the best model is from the start. reach: radius of the ball that theta stays in, or inf. gradient:
    a bound on the norm of a record's gradient, or less if E ||noisy gradient||^2 <= gradient^2 + error^2 all the same.
    curvature: smoothness, inf where the loss has kinks. dimensions: in which noise counts. size: by how much noise may
    move a coordinate of theta under "auto".
    """

    norm: float
    reach: float
    gradient: float
    curvature: float
    dimensions: int
    size: float


class Rule(abc.ABC):
    """A rule. `error` is the root of E ||error of a step's gradient||^2: noise, and the choice of records.

    needs_ball: whether it is proved for a bounded set only. source: of its bound.
    """

    needs_ball = False
    source: str

    @abc.abstractmethod
    def steps(self, terrain: ProblemConstants, drift: float) -> int:
        """T, where noise that meets the budget over T steps has error = drift sqrt(T dimensions)."""

    @abc.abstractmethod
    def descent(self, terrain: ProblemConstants, steps: int, error: float) -> Descent:
        """The step size and what is averaged; NotApplicable with the reason."""

    def bound(self, terrain: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
        """An upper bound on the mean excess over the best model of norm terrain.norm; inf where there is none.

        By default the better of the bounds for smooth losses and for any, for constant steps and a mean of the last
        iterates. Smooth: with D_t the mean squared distance of theta_t from the best model w and a_t = E F(theta_t) -
        F(w), `theory.smooth_bound` sums 2 eta a_t <= D_{t-1} - D_t + (eta error)^2 / (1 - eta beta). If no a_t before
        theta_first is negative, each step before it adds at most the last term to D, which starts at B^2. Else (a model
        that leaves the ball of B can be better than w) let theta_s be the last with a_s <= 0: the sum begins there,
        with theta_s in the place of w and D_s = 0, and its terms before theta_first can be left out. That is smaller.
        """
        found = _kinked_bound(terrain, steps, descent, error)
        eta, beta = descent.step, terrain.curvature
        if not eta * beta < 1.0:
            return found
        before, counted = descent.first - 1, steps - descent.first + 1
        start = terrain.norm**2 + before * (eta * error) ** 2 / (1.0 - eta * beta)
        return min(found, theory.smooth_bound(math.sqrt(start), eta, counted, error * error, beta))


class Auto(Rule):
    """Constant steps; the mean of the second half. The noise moves a coordinate of theta by about terrain.size."""

    source = "projected descent with noise, mean of the last half (docs/formulas.md)"

    def steps(self, terrain: ProblemConstants, drift: float) -> int:
        bend = terrain.curvature if math.isfinite(terrain.curvature) else terrain.gradient**2
        return _between(_FEWEST, _CAUTION * terrain.size / drift * bend, _MOST)

    def descent(self, terrain: ProblemConstants, steps: int, error: float) -> Descent:
        step = terrain.size * math.sqrt(terrain.dimensions / steps) / error
        if math.isfinite(terrain.curvature):
            longest = 1.0 / (_CAUTION * terrain.curvature)
        else:
            longest = terrain.norm / (_second_moment(terrain, error) * math.sqrt(steps))
        return Descent(min(step, longest), decaying=False, first=steps // 2 + 1)


class Smooth(Rule):
    """Constant steps that minimise the bound for smooth losses; the mean of all iterates."""

    source = "projected descent on a smooth loss (docs/formulas.md)"

    def steps(self, terrain: ProblemConstants, drift: float) -> int:
        wanted = terrain.curvature * terrain.norm / (2.0 * _START_SHARE * math.sqrt(terrain.dimensions) * drift)
        return _between(_FEWEST, wanted, _MOST_SMOOTH)

    def descent(self, terrain: ProblemConstants, steps: int, error: float) -> Descent:
        if not math.isfinite(terrain.curvature):
            raise NotApplicable("rule 'smooth' needs a loss without kinks")
        free = terrain.norm / (math.sqrt(steps) * error)
        return Descent(free / (1.0 + terrain.curvature * free), decaying=False, first=1)


class Averaging(Rule):
    """Constant steps B / (G sqrt(T)), G^2 = (largest gradient)^2 + error^2, for any loss; the mean of all iterates."""

    source = "Nemirovski and others 2009, with explicit constants"

    def steps(self, terrain: ProblemConstants, drift: float) -> int:
        return _between(_FEWEST_AVERAGED, terrain.gradient**2 / (terrain.dimensions * drift**2), _MOST_AVERAGED)

    def descent(self, terrain: ProblemConstants, steps: int, error: float) -> Descent:
        step = terrain.norm / (_second_moment(terrain, error) * math.sqrt(steps))
        return Descent(step, decaying=False, first=1)

    def bound(self, terrain: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
        return _kinked_bound(terrain, steps, descent, error)


class LastIterate(Averaging):
    """Steps D / (G sqrt(t)) in a ball of diameter D; the last iterate."""

    needs_ball = True
    source = "Shamir and Zhang 2013, Theorem 2, with explicit constants"

    def descent(self, terrain: ProblemConstants, steps: int, error: float) -> Descent:
        step = 2.0 * terrain.reach / _second_moment(terrain, error)
        return Descent(step, decaying=True, first=steps)

    def bound(self, terrain: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
        diameter, G = 2.0 * terrain.reach, _second_moment(terrain, error)
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


def _second_moment(terrain: ProblemConstants, error: float) -> float:
    """The root of E ||noisy gradient||^2, at most."""
    return math.hypot(terrain.gradient, error)


def _kinked_bound(terrain: ProblemConstants, steps: int, descent: Descent, error: float) -> float:
    """`theory.averaged_bound` for the mean of theta_f to theta_T.

    As in `Rule.bound` from 2 eta a_t <= D_t - D_{t+1} + (eta G)^2.
    """
    return theory.averaged_bound(terrain.norm, descent.step, steps, _second_moment(terrain, error), descent.first)
