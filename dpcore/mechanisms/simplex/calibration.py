"""How sampling from the simplex chooses lam and the number of draws; no data is seen.

Both follow from zCDP, whose inverse is a formula. The exact price of repeated draws (`repeated_choice_delta`), which
audits hold the mechanism to, would allow 12 to 21% more of them.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from ... import theory
from ...core.losses import get_loss
from ...core.privacy import Budget, NotApplicable
from ...core.specification import Spec
from ..regularisation import no_lam
from . import weight_range as br

_GRID = np.linspace(0.0, math.log(br.MOST_DRAWS), 56)


def resolved_lam(key: str, spec: Spec, budget: Budget, m: int | None) -> float:
    """lam by the rule that `spec.lam` names, or as it is. m: the number of draws, None where it follows from lam.

    At every m the bounds are smallest at the smallest lam that pays for m draws or, on fresh records, where entropy and
    stability balance if that is larger.
    """
    if not isinstance(spec.lam, str):
        return spec.lam
    if spec.p == 1 and spec.lam != "auto":
        raise NotApplicable(f"{key} has no rule {spec.lam!r} for lam with one column: there is one model")
    if spec.lam == "published":
        return theory.published_sampling_lam(spec.n, spec.p, budget.epsilon)
    found, c = br.weight_range(spec), get_loss(spec.loss).curvature_bound
    L, R = get_loss(spec.loss).lipschitz(spec), spec.domain.R * (spec.reach or 1.0)
    fresh = spec.lam == "population"
    floor = L * R * math.sqrt(2.0 / (spec.n * math.log(spec.p))) if fresh else 0.0

    def lam_of(draws: int) -> float:
        return max(br.lam_of_eta(found, br.largest_eta(budget, draws)), floor)

    def bound(log_draws: float) -> float:
        draws = max(round(math.exp(log_draws)), 1)
        try:
            lam = lam_of(draws)
        except NotApplicable:
            return math.inf
        stability = theory.stability(L, R, spec.n, lam) if fresh else 0.0
        return theory.sampling_excess(L, c, R, draws) + theory.entropy_bias(lam, spec.p) + stability

    if m is not None:
        return lam_of(m)
    values = [bound(log_draws) for log_draws in _GRID]
    best = int(np.argmin(values))
    if not math.isfinite(values[best]):
        raise no_lam(spec)
    near = _GRID[max(best - 1, 0)], _GRID[min(best + 1, len(_GRID) - 1)]
    refined = float(minimize_scalar(bound, bounds=near, method="bounded", options={"xatol": 1e-3}).x)
    return lam_of(max(round(math.exp(min(refined, float(_GRID[best]), key=bound))), 1))


def affordable_draws(key: str, accounting: str, spec: Spec, budget: Budget) -> int:
    """m by the chosen accounting, at the lam of `spec`; NotApplicable with what it would take where it is below 1."""
    if accounting == "published":
        one = published_epsilon(spec, budget.delta)
        m = (budget.epsilon / one) ** (1 if budget.pure else 2)
        if m < 1.0:
            raise NotApplicable(
                f"{key} cannot draw one column: Theorem 3 as printed gives m = {m:.2g} at epsilon = "
                f"{budget.epsilon:g}, delta = {budget.delta:g}; it takes epsilon >= {_up(one)}, other things equal"
            )
        return int(min(m, br.MOST_DRAWS))
    eta = br.weight_range(spec).eta(float(spec.lam))
    if m := br.most_draws(eta, budget):
        return m
    cost, least = br.price(eta, 1, budget.delta).epsilon, br.smallest_n(spec, budget)
    raise NotApplicable(
        f"{key} cannot draw one column: a draw costs epsilon = {cost:.4g} at lam = {spec.lam:.4g} and n = {spec.n}, "
        f"the budget is epsilon = {budget.epsilon:g}, delta = {budget.delta:g}; it takes epsilon >= {_up(cost)}, "
        f"lam >= {_up(br.smallest_lam(spec, budget, 1))}{'' if least is None else f' or n >= {least}'}, other things "
        "equal"
    )


def published_epsilon(spec: Spec, delta: float) -> float:
    """The epsilon at which Theorem 3 of Jain and Thakurta 2014, as printed, allows m = 1; lam of `spec` is a number.

    With W = n lam and x = c (R radius)^2 / lam: (L R radius / W) (4 + 2x) for delta = 0, where m grows like epsilon,
    and ln(1/delta) (32 + 16x) / W, where m grows like epsilon^2.

    >>> from dpcore.core.specification import Domain
    >>> spec = Spec("linear", n=1000, p=2, lam=3.0, domain=Domain(q=math.inf), set="simplex")
    >>> [int((1.0 / published_epsilon(spec, delta)) ** 2) for delta in (1e-3, 1e-5)]
    [184, 66]
    """
    found, lam = br.weight_range(spec), float(spec.lam)
    x = found.bend / lam
    if delta == 0.0:
        return found.slope / spec.n / lam * (4.0 + 2.0 * x)
    return -math.log(delta) / spec.n / lam * (32.0 + 16.0 * x)


def _up(value: float) -> str:
    """To four digits, never below the value."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.ceil(value / unit) * unit:.4g}"
