"""Calibration of noise and lam for the large-margin Gaussian classifier, from public facts only.

In J's normalisation: one replaced record moves the gradient by at most D = sqrt(2) C / n, where the features have norm
at most 1, and the Hessian of one record has eigenvalues c C / n once and c / n C - 2 times, c the curvature of a margin
(docs/formulas.md, "Large-margin Gaussian classifier").
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.privacy import NotApplicable
from ...core.specification import Spec
from ..noise.spherical import Noise
from ..regularisation import LARGEST_LOG, no_lam

# Largest share of epsilon for the determinant under lam = "auto".
_VOLUME_SHARE = 0.25
# Rules stay this far above the smallest admissible lam, in ln lam.
_MARGIN = 0.01
# More than rounding, in ln lam.
_STEP = 1e-9


def dimensions_of(classes: int, p: int) -> int:
    """Dimensions (C - 1) (p + 1)(p + 2) / 2 of families of symmetric matrices, one per class, that add up to 0.

    >>> dimensions_of(10, 2)
    54
    """
    return (classes - 1) * (p + 1) * (p + 2) // 2


def dimensions(spec: Spec) -> int:
    return dimensions_of(spec.classes, spec.p)


def gradient_change(spec: Spec) -> float:
    """D, the largest move of a gradient of J when one record is replaced. Two labels at one x attain it at 0."""
    return math.sqrt(2.0) * spec.classes / spec.n


def largest_gradient(spec: Spec) -> float:
    """G = sqrt(C (C - 1)), the largest gradient of one record's loss."""
    return math.sqrt(spec.classes * (spec.classes - 1.0))


def smoothness(spec: Spec) -> float:
    """Largest eigenvalue of the Hessian of one record's loss, c C."""
    return get_loss(spec.loss).curvature_bound * spec.classes


def length(law: Noise, spec: Spec, scale: float) -> float:
    """sqrt(E ||noise||^2) in V."""
    size = dimensions(spec)
    return scale * math.sqrt(size * law.reach(size)[1])


def reach(law: Noise, spec: Spec) -> tuple[float, float]:
    """Bounds on the mean increase of F by noise of scale 1 in a model, the first by slopes, the second by curvature.

    It moves C - 1 margins of a record by <noise, (e_c - e_y) (x) X> each, and ||e_c - e_y|| = sqrt2.
    """
    mean, square = law.reach(dimensions(spec))
    wrong = spec.classes - 1.0
    return wrong * math.sqrt(2.0) * mean, wrong * get_loss(spec.loss).curvature_bound * square


def shaken(law: Noise, spec: Spec, scale: float) -> float:
    """Upper bound on the mean increase of F by noise of this scale in a model."""
    line, curve = reach(law, spec)
    return min(line * scale, curve * scale**2)


def shaken_on(law: Noise, spec: Spec, scale: float, lengths: Array) -> float:
    """`shaken` where each record counts by its own ||X||, on average."""
    line, curve = reach(law, spec)
    return float(np.minimum(line * scale * lengths, curve * (scale * lengths) ** 2).mean())


def band(law: Noise, spec: Spec, scale: float, miss: float) -> float:
    """Upper bound on the increase of F by noise of this scale in one run, with probability 1 - miss."""
    return (spec.classes - 1.0) * math.sqrt(2.0) * scale * law.mean_draw_band(dimensions(spec), miss)


def volume_charge(spec: Spec, lam: float) -> float:
    """omega = ln(1 + c C / (n lam)) + (C - 2) ln(1 + c / (n lam)), the largest change of ln det(Hessian)."""
    if lam == 0.0:
        return math.inf
    c = get_loss(spec.loss).curvature_bound / spec.n / lam
    return math.log1p(spec.classes * c) + (spec.classes - 2) * math.log1p(c)


def lam_of_charge(spec: Spec, charge: float) -> float:
    """Value of lam at which the determinant has this charge, or 1e-100 if even that has a smaller charge.

    ValueError if only lam > 1e100 has so small a charge.
    """

    def surplus(log_lam: float) -> float:
        return volume_charge(spec, math.exp(log_lam)) - charge

    if surplus(-LARGEST_LOG) <= 0.0:
        return math.exp(-LARGEST_LOG)
    if not surplus(LARGEST_LOG) < 0.0:
        raise no_lam(spec)
    return math.exp(brentq(surplus, -LARGEST_LOG, LARGEST_LOG, xtol=1e-12))


def rule_lam(
    key: str,
    spec: Spec,
    felt: Callable[[float], float],
    excesses: tuple[Callable[[float], float], ...],
    epsilon: float | None,
) -> float:
    """lam by the rule that `spec.lam` names, chosen without looking at the records.

    felt: what "auto" compares with theta_norm at a lam, a multiple of the move of the model by noise. excesses: bounds
    on the excess risk by noise, of which the smallest counts. All fall with lam. epsilon: shared by the determinant and
    the noise; None if the determinant is not charged.
    "auto": felt is theta_norm, or less if the determinant would cost more than a quarter of epsilon. "population": the
    lam with the smallest bound on the excess risk on fresh records.
    Raises NotApplicable for "published", ValueError if a rule leaves the range of lam.
    """
    B = spec.theta_norm
    if spec.lam == "published":
        raise NotApplicable(f"{key} has no rule 'published' for lam: the paper's regulariser is no ridge")
    if spec.lam == "auto":
        low = -LARGEST_LOG if epsilon is None else math.log(lam_of_charge(spec, _VOLUME_SHARE * epsilon))

        def surplus(log_lam: float) -> float:
            return math.log(felt(math.exp(log_lam)) / B)

        if surplus(low) <= 0.0:
            return math.exp(low)
        # felt(lam) lam falls with lam: a step by the surplus goes beyond the root, and one more not back to it.
        high = low + surplus(low) + _STEP
        if not high < LARGEST_LOG:
            raise no_lam(spec)
        low = max(low, high + surplus(high) - _STEP)
        return math.exp(brentq(surplus, low, high, xtol=1e-12))

    stability = largest_gradient(spec) * gradient_change(spec)

    def smallest(excess: Callable[[float], float]) -> tuple[float, float]:
        """Minimum of the bound, and ln lam there."""

        def bound(log_lam: float) -> float:
            lam = math.exp(log_lam)
            return math.log(excess(lam) + 0.5 * lam * B**2 + stability / lam)

        # The lam at which the bias alone exceeds the bound.
        high = min(max(low + 1.0, bound(low + 1.0) + math.log(2.0 / B**2)), LARGEST_LOG)
        if not -LARGEST_LOG < low < high:
            raise no_lam(spec)
        found = minimize_scalar(bound, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
        return float(found.fun), float(found.x)

    # Below this lam every term falls as lam grows, the sum of stability and bias included.
    low = 0.5 * math.log(2.0 * stability / B**2)
    if epsilon is not None:
        low = max(low, math.log(lam_of_charge(spec, epsilon)) + _MARGIN)
    # One by one: the smaller of two bounds may have a minimum on both sides of their crossing.
    return math.exp(min(map(smallest, excesses))[1])
