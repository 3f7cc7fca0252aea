"""Margins and checks that all accountants share."""

import math
from collections.abc import Callable

from scipy.optimize import brentq

from ..core.privacy import NotApplicable
from ..core.validation import check_real

# Formulas and roots are accurate to about 1e-12 relative; this margin rounds every answer to the private side.
SAFETY = 1e-9
# Smallest delta; smaller ones are too near the end of the floating-point range.
SMALLEST_DELTA = 1e-300


def check_delta(delta: float) -> None:
    """Raise NotApplicable if Gaussian noise has no multiplier for `delta`."""
    if delta <= 0.0:
        raise NotApplicable("Gaussian noise needs delta > 0, got delta = 0; give a delta, or choose Gamma noise")
    if delta < SMALLEST_DELTA:
        raise NotApplicable(f"Gaussian noise needs delta >= {SMALLEST_DELTA:g}, got delta = {delta:g}")


def nearby_mu(epsilon: float, delta: float) -> float:
    """Length over standard deviation of Gaussian noise that is about (epsilon, delta)-private, for a search to start.

    The largest mu with mu^2 / 2 + mu sqrt(2 ln(1/delta)) <= epsilon: enough, by concentrated privacy.
    """
    surprise = -math.log(delta)
    return math.sqrt(2.0) * epsilon / (math.sqrt(surprise + epsilon) + math.sqrt(surprise))


def log_inverse(delta: float) -> float:
    """ln(1/delta)."""
    delta = check_real("delta", delta, "in [0, 1)", lambda v: 0 <= v < 1)
    if delta == 0.0:
        raise NotApplicable("this composition needs delta > 0, got delta = 0")
    return -math.log(delta)


def smallest_epsilon(profile: Callable[[float], float], delta: float, least: float = 0.0) -> float:
    """Smallest epsilon >= least + 1e-9 at which a profile, falling from `least` on, reaches delta; rounded up."""
    if profile(least) <= delta:
        return least + SAFETY
    high = least + 1.0
    while profile(high) > delta:
        high *= 2.0
    return brentq(lambda e: profile(e) - delta, least, high, xtol=1e-12, rtol=1e-12) * (1 + SAFETY) + SAFETY
