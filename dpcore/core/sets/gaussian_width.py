"""Gaussian widths as numbers: integrals over maxima, and means of public draws."""

import math
from collections.abc import Callable

import numpy as np

from ..arrays import Array
from .base import Width

# Panels of this length with 20 Gauss-Legendre nodes each, as far as 40 standard deviations; what is left out is below
# 1e-300.
_PANEL, _NODES, FAR = 0.25, 20, 40.0
QUADRATURE_ERROR, ROUNDING_ERROR = 1e-9, 1e-11
# Widths that are drawn: so many numbers in all, at least and at most so many draws, and a public seed.
_NUMBERS, _FEWEST_DRAWS, _MOST_DRAWS, _SEED = 2_000_000, 30, 100_000, 2014


def half_step(x: float) -> float:
    """Gamma(x + 1/2) / Gamma(x), from a series where logarithms would lose digits."""
    if x < 500.0:
        return math.exp(math.lgamma(x + 0.5) - math.lgamma(x))
    return math.sqrt(x) * (1.0 - 1.0 / (8.0 * x) + 1.0 / (128.0 * x**2) + 5.0 / (1024.0 * x**3))


def integral(f: Callable[[Array], Array], start: float, end: float) -> float:
    """Of f from start to end, by Gauss-Legendre nodes on panels."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    panels = math.ceil((end - start) / _PANEL)
    half = 0.5 * (end - start) / panels
    centres = start + half * (2.0 * np.arange(panels) + 1.0)
    return float(half * (f(centres[:, None] + half * nodes) @ weights).sum())


def largest_chi(groups: int, k: int, rest: int) -> Width:
    """E max of the lengths of `groups` Gaussian vectors of k entries and, where rest > 0, one of `rest` entries.

    The integral of P(max > x). Full groups are the largest: none is 40 below sqrt(k).
    """
    from scipy.special import chdtrc

    def log_cdf(df: int, x: Array) -> Array:
        return np.log1p(-np.minimum(chdtrc(df, x**2), 1.0))

    def above(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            total = groups * log_cdf(k, x) if groups else np.zeros_like(x)
            return -np.expm1(total + (log_cdf(rest, x) if rest else 0.0))

    middle = math.sqrt(k if groups else rest)
    start = max(middle - FAR, 0.0)
    value = start + integral(above, start, middle + FAR)
    return Width(value, QUADRATURE_ERROR * max(1.0, value))


def drawn(support: Callable[[Array], Array], p: int) -> Width:
    """The mean of support(g) over Gaussian draws g [draws, p]; public and the same every time."""
    rng = np.random.default_rng(_SEED)
    draws = min(max(_NUMBERS // p, _FEWEST_DRAWS), _MOST_DRAWS)
    block = max(1, _NUMBERS // (2 * p))
    counts = [min(block, draws - done) for done in range(0, draws, block)]
    values = np.concatenate([support(rng.standard_normal((count, p))) for count in counts])
    return Width(float(values.mean()), 3.0 * float(values.std(ddof=1)) / math.sqrt(draws))
