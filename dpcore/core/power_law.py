"""Exponent of a power law fitted to points: a slope on log-log axes, or the reason why there is none."""

import dataclasses as dc

import numpy as np
from numpy.typing import ArrayLike

LEAST_R_SQUARED = 0.95
LEAST_DECADES = 1.5
LEAST_POINTS = 4
# A level curve has slope 0 and no meaningful R^2: residuals of 1% (in decades) count as straight at any R^2.
_STRAIGHT_DECADES = 0.005


@dc.dataclass(frozen=True)
class PowerLaw:
    """Result of fitting log y = slope * log x + constant.

    slope: None where the points show no power law; `reason` then says why and is otherwise empty. r_squared: share of
    the variance of log y that the line explains, meaningless for a level curve; nan where nothing was fitted.
    """

    slope: float | None
    r_squared: float
    reason: str = ""


def power_law(x: ArrayLike, y: ArrayLike) -> PowerLaw:
    """Least-squares fit of log y on log x; without a slope below R^2 = 0.95, 1.5 decades of x, or 4 points.

    x: [k], > 0. y: [k]; there is no slope if a value is not finite and > 0.
    Raises ValueError where x and y differ in shape or x is not positive.

    >>> power_law([1, 10, 100, 1000], [2, 20, 200, 2000]).slope
    1.0
    >>> power_law([1, 2, 3, 4], [1, 2, 3, 4]).reason
    'only 0.6 decades'
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"y must be a list as long as x, got shapes {y.shape} and {x.shape}")
    if not (np.isfinite(x) & (x > 0)).all():
        raise ValueError(f"x must be finite and > 0, got {x[~(np.isfinite(x) & (x > 0))][0]:g}")
    decades = float(np.log10(x.max() / x.min())) if len(x) else 0.0
    if len(x) < LEAST_POINTS:
        return PowerLaw(None, np.nan, f"only {len(x)} points")
    if decades < LEAST_DECADES:
        return PowerLaw(None, np.nan, f"only {decades:.1f} decades")
    if not (np.isfinite(y) & (y > 0)).all():
        return PowerLaw(None, np.nan, "not positive everywhere")
    u, v = np.log10(x) - np.log10(x).mean(), np.log10(y) - np.log10(y).mean()
    slope = float(u @ v / (u @ u))
    residual, total = float(np.sum((v - slope * u) ** 2)), float(v @ v)
    r_squared = 1.0 - residual / total if total > 0 else 1.0
    straight = r_squared >= LEAST_R_SQUARED or residual <= len(x) * _STRAIGHT_DECADES**2
    if not straight:
        return PowerLaw(None, r_squared, f"no straight line (R² = {r_squared:.2f})")
    return PowerLaw(round(slope, 12) + 0.0, r_squared)
