"""Privacy cost of releases of several kinds together (docs/formulas.md, "Repeated releases")."""

import dataclasses as dc
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..core.privacy import Budget, added_up, rounded_up
from .common import smallest_epsilon
from .gaussian import gaussian_epsilon
from .tradeoff import TradeoffCurve, summed_losses
from .zcdp import zcdp_epsilon


@dc.dataclass(frozen=True)
class Cost:
    """Cost of one release: its budget, and mu and rho of the Gaussian guarantee and the zCDP proved of it, or inf."""

    spent: Budget
    gdp: float = math.inf
    rho: float = math.inf


def least_epsilon(costs: Sequence[Cost], delta: float) -> float:
    """Least epsilon at delta that is proved of adaptive releases together, rounded up; inf for none.

    The sum of the epsilons; or the composition of all Gaussian guarantees, or of all zCDP, with or without that of pure
    releases, at the delta that the others leave, plus the epsilons of the others.

    >>> least_epsilon([Cost(Budget(0.1))] * 10, delta=0.0)
    1.0000000000000002
    """
    found = [math.inf]
    for name, with_pure in (("", False), *itertools.product(("gdp", "rho"), (False, True))):
        together, others = [], []
        for each in costs:
            parameter = getattr(each, name, math.inf)
            if parameter == math.inf or (each.spent.pure and not with_pure):
                others.append(each.spent)
            else:
                together.append(parameter)
        epsilons = [each.epsilon for each in others]
        left = -rounded_up(sum((Fraction(each.delta) for each in others), -Fraction(delta)))
        if not together and left >= 0.0:
            found.append(added_up(epsilons))
        elif together and left > 0.0:
            found.append(added_up([_joined(name, together, left), *epsilons]))
    return min(found)


def _joined(name: str, costs: Sequence[float], delta: float) -> float:
    if name == "gdp":
        return gaussian_epsilon(math.sqrt(added_up(mu**2 for mu in costs)) * (1 + 1e-15), delta)
    return zcdp_epsilon(added_up(costs), delta)


def loss_epsilon(curves: Sequence[TradeoffCurve], delta: float) -> float:
    """Smallest epsilon at delta of adaptive releases by the sum of their privacy losses, rounded up; inf for none.

    >>> from .tradeoff import GaussianCurve
    >>> round(loss_epsilon([GaussianCurve(0.12), GaussianCurve(0.16)], 1e-5), 3), round(gaussian_epsilon(0.2, 1e-5), 3)
    (0.726, 0.726)
    """
    losses = summed_losses(curves)
    if losses.charge >= delta:
        return math.inf
    return smallest_epsilon(lambda epsilon: float(losses.delta(np.array(epsilon))), delta)
