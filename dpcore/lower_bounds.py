"""What no private mechanism can avoid, on the data that are hardest for it."""

from __future__ import annotations

import math

import numpy as np

from .accounting import attack_cap
from .losses import Loss
from .types import Array, Bound, Budget, Spec

_GRID = 4001
_MOST_SWAPS = 400


def hardest_data(loss: Loss, spec: Spec, budget: Budget) -> tuple[Bound, ...]:
    """A lower bound on the worst mean excess of every (epsilon, delta)-private mechanism; () where it says nothing.

    All records lie at x = R u. In D, (n + k) / 2 of them carry the label y_max and the others -y_max; in D' the shares
    are swapped, which takes k replacements. With z = <R u, theta> and g = F_D(0) - min F_D, a release with z <= 0 loses
    at least g on D and one with z >= 0 at least g on D', since both risks are convex with mirrored minima. By group
    privacy no release tells D from D' better than `attack_cap` of (k epsilon, delta_k), where delta_k = delta times
    1 + e^epsilon + ... + e^((k-1) epsilon). So the larger of the two mean excesses is at least g (1 - cap). The best k
    is taken, among those whose minimum lies within ||theta|| <= theta_norm; only then is no excess negative.

    Source: two-point method (Le Cam); constants derived here (explicit).

    >>> from dpcore.losses import get_loss
    >>> (bound,) = hardest_data(get_loss("hinge"), Spec("hinge", n=1000, p=3), Budget(0.1))
    >>> round(bound.value * 1000 * 0.1, 3)
    0.278
    """
    y = 1.0 if loss.classification else spec.domain.y_max
    z = np.linspace(0.0, spec.domain.R * min(spec.theta_norm, spec.radius or math.inf), _GRID)
    for_label = [loss.value(z, np.full(_GRID, label)) for label in (y, -y)]
    best = max((_loss_on_a_pair(for_label, k, spec.n, budget) for k in _swaps(spec.n, budget.epsilon)), default=0.0)
    if best <= 0.0:
        return ()
    says = "hardest data: the worse of two data sets with all records on one line; any private mechanism"
    return (Bound("excess_empirical_risk", "lower", best, "expectation", "two-point method", says),)


def _loss_on_a_pair(for_label: list[Array], k: int, n: int, budget: Budget) -> float:
    risk = ((n + k) * for_label[0] + (n - k) * for_label[1]) / (2 * n)
    if risk.argmin() == _GRID - 1:
        return 0.0
    group = min(k * budget.epsilon, 700.0)
    grown = budget.delta * math.expm1(group) / math.expm1(min(budget.epsilon, 700.0))
    if grown >= 1.0:
        return 0.0
    return float(risk[0] - risk.min()) * (1.0 - attack_cap(Budget(group, grown)))


def _swaps(n: int, epsilon: float) -> list[int]:
    """Numbers of replacements with the parity of n: all small ones, then ever fewer up to a few times 1/epsilon."""
    most = int(min(n - 1, 2 + 40.0 / epsilon))
    spaced = np.unique(np.geomspace(1, max(most, 1), _MOST_SWAPS).astype(int))
    return [int(k) for k in spaced if (n - k) % 2 == 0]
