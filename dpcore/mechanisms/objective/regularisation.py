"""Rules for lam under objective perturbation, whose noise depends on lam: the smaller lam, the dearer the volume."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq, minimize_scalar

from ... import theory
from ...core.losses import get_loss
from ...core.specification import Spec
from ..regularisation import LARGEST_LOG, auto_size, no_lam

# lam="auto": the curvature of the loss resists the noise, so it may be this many times as large as that of output
# perturbation before it is felt (docs/formulas.md, "lam").
_AUTO_FACTOR = 3.0
# Rules stay this far above the smallest admissible lam.
_MARGIN = 1.01


def rule_lam(spec: Spec, reach: tuple[float, float], smallest: float, scale: Callable[[float], float]) -> float:
    """lam by the rule "auto" or "population" of `spec.lam`, without a look at the records.

    reach: of the law of noise in p dimensions. smallest: lam must be larger. scale: of the noise on J's gradient at a
    lam; it falls with lam. Raises ValueError where the rule leaves the range of lam.
    """
    low = math.log(_MARGIN * max(smallest, 1e-100))
    if low > LARGEST_LOG - 1.0:
        raise no_lam(spec)
    L, R, B = get_loss(spec.loss).slope, spec.domain.R, spec.theta_norm
    mean, square = reach
    if spec.lam == "population":

        def bound(log_lam: float) -> float:
            lam = math.exp(log_lam)
            return math.log(L * R * scale(lam) * mean / lam + theory.stability(L, R, spec.n, lam) + 0.5 * lam * B**2)

        # The bias alone passes the bound at one point here.
        high = min(max(low + 1.0, bound(low + 1.0) + math.log(2.0 / B**2)), LARGEST_LOG)
        return math.exp(minimize_scalar(bound, bounds=(low, high), method="bounded", options={"xatol": 1e-9}).x)

    def surplus(log_lam: float) -> float:
        moved = R * math.sqrt(square) * scale(math.exp(log_lam))
        return math.log(moved / (_AUTO_FACTOR * auto_size(spec))) - log_lam

    # The noise that moves predictions falls faster than 1 / lam, or as fast up to rounding.
    high = low + max(surplus(low), 0.0) + 1e-6
    if high > LARGEST_LOG:
        raise no_lam(spec)
    return math.exp(brentq(surplus, low, high, xtol=1e-12) if surplus(low) > 0.0 else low)
