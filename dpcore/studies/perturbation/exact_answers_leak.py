"""Releases without noise that reveal a person's record.

Three small data sets, each before and after one record is replaced. Nothing here is private.
"""

import dataclasses as dc

import numpy as np

from ... import solvers
from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.records import Data

SALARIES = 9
MARGINS, MARGIN_LAM, MARGIN_TOL = 8, 0.004, 1e-5
POINTS = 10
_FARTHEST, _CLOSEST, _MOVE = 0.95, 0.25, 0.85
_CURVE_POINTS = 200


@dc.dataclass(frozen=True)
class Leak:
    """A number published without noise, before and after one record was replaced.

    before, after: [n], the records; they differ in `replaced` only. published_before, published_after: the published
    numbers. owner_before, owner_after: index of the record that each reveals.
    """

    before: Array
    after: Array
    replaced: int
    published_before: float
    published_after: float
    owner_before: int
    owner_after: int


def median_leak(seed: int) -> Leak:
    """The median of nine salaries is one of the nine; once the lowest becomes the highest, it is another's.

    Salaries are different multiples of 10. Randomness: gaps between neighbours, then who earns what.

    >>> leak = median_leak(0)
    >>> leak.published_before in leak.before, leak.published_after in leak.after, leak.owner_before == leak.owner_after
    (True, True, False)
    """
    rng = np.random.default_rng([seed, *b"median"])
    ladder = 24_000.0 + 10.0 * np.cumsum(rng.integers(60, 700, SALARIES + 1))
    before = rng.permutation(ladder[:-1])
    replaced = int(before.argmin())
    after = _replace(before, replaced, ladder[-1])
    one, other = float(np.median(before)), float(np.median(after))
    return Leak(before, after, replaced, one, other, _nearest(before, one), _nearest(after, other))


def support_vector_leak(seed: int) -> Leak:
    """A classifier trained with hinge loss puts its margin exactly on the closest record, and moves along with it.

    One feature x, labels sign(x), and theta_hat minimises J with lam = 0.004, to 1e-5. What is published is theta_hat,
    and 1 / theta_hat is the smallest |x|: there the slope of the average loss jumps by |x| / n, which is more than the
    lam / |x| with which the regulariser pulls back, so that the minimiser sits in that kink.
    Randomness: the distances |x|, then who has which.

    >>> leak = support_vector_leak(0)
    >>> bool(abs(1 / leak.published_before - abs(leak.before).min()) < 1e-4)
    True
    """
    rng = np.random.default_rng([seed, *b"support"])
    # One record in each of n bands: no two are close, and the closest can come closer.
    edges = np.linspace(_CLOSEST, _FARTHEST, MARGINS + 1)
    distance = rng.permutation(rng.uniform(edges[:-1], edges[:-1] + 0.6 * np.diff(edges)))
    before: Array = np.where(np.arange(MARGINS) % 2, distance, -distance).round(3)
    replaced = int(np.abs(before).argmin())
    after = _replace(before, replaced, round(_MOVE * before[replaced], 3))
    one, other = _hinge_weight(before), _hinge_weight(after)
    owners = _nearest(np.abs(before), 1.0 / one), _nearest(np.abs(after), 1.0 / other)
    return Leak(before, after, replaced, one, other, *owners)


@dc.dataclass(frozen=True)
class Fit:
    """A curve through every record, before and after one record was replaced.

    x: [n], public times in [-1, 1]. before, after: [n], the records; they differ in `replaced` only. grid: [m];
    curve_before, curve_after: [m], what is published. miss: the largest distance of a curve from its records.
    """

    x: Array
    before: Array
    after: Array
    replaced: int
    grid: Array
    curve_before: Array
    curve_after: Array
    miss: float


def polynomial_fit(seed: int) -> Fit:
    """Least squares with a polynomial of degree 9 on ten records: it passes through each of them, wherever one goes.

    The times are Chebyshev's, so that the curve stays calm between them. Randomness: the records, then who is replaced.

    >>> polynomial_fit(0).miss < 1e-12
    True
    """
    rng = np.random.default_rng([seed, *b"polynomial"])
    x = -np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS)
    before = np.sin(2.5 * x) + 0.15 * rng.standard_normal(POINTS)
    replaced = int(rng.integers(2, POINTS - 2))
    after = _replace(before, replaced, before[replaced] - 1.2 * np.sign(before[replaced]))
    grid = np.linspace(-1.0, 1.0, _CURVE_POINTS)
    curves = [np.polynomial.Chebyshev.fit(x, y, POINTS - 1, domain=[-1, 1]) for y in (before, after)]
    miss = max(float(np.abs(curve(x) - y).max()) for curve, y in zip(curves, (before, after), strict=True))
    return Fit(x, before, after, replaced, grid, curves[0](grid), curves[1](grid), miss)


def _replace(records: Array, index: int, value: float) -> Array:
    changed = records.copy()
    changed[index] = value
    return changed


def _hinge_weight(x: Array) -> float:
    data = Data(x[:, None], np.sign(x))
    return float(solvers.minimise(get_loss("hinge"), data, MARGIN_LAM, tol=MARGIN_TOL).theta[0])


def _nearest(values: Array, value: float) -> int:
    return int(np.abs(values - value).argmin())
