"""Sensitivity of the scores of one-pass Frank-Wolfe on a polytope, and the choice of noise and steps.

A choice with probability ~ exp(-score / G) whose scores one record moves by half a range of at most s (the largest
move less the smallest, halved) has log-ratios in an interval of length 2 s / G: it is s^2 / (2 G^2)-zCDP and
(2 s / G)-DP. A record is read once, so its privacy cost is the sum over the choices after that reading.
"""

import dataclasses as dc
import math
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.sets import L1Ball
from ...core.specification import Spec
from ...theory import frank_wolfe as theory
from ..noise.rounding import ROUNDED_UP
from .step_count import constants_of

# "auto": the shares that count of the bound's terms for curvature and for errors of estimates, which hold for the worst
# records. The noise of choices is known and counts in full.
_CURVATURE, _ERRORS = 0.35, 0.03
# Candidates for the number of minibatches and for the lengths of all their steps together; the longest step.
_COUNTS, _PATHS, _LONGEST = 60, (0.5, 1.0, 2.0, 4.0, 8.0), 0.125
# Where choices are mostly noise: so many steps of a small length that vertices drawn by chance cancel.
_SAFE_COUNT, _SAFE_PATH = 32, _PATHS[0]


@dc.dataclass(frozen=True)
class Slopes:
    """Public constants of a problem over a polytope with J = `vertices` vertices v, and its diameter.

    steepness: L, a bound on |dl/dz|. width: D, the largest |<x, a - b>| for points a, b of the set. curvature:
    Gamma = c D^2 with c >= d2l/dz2. start: a bound on F(theta_0) - min F. at_start: L_0 / L, L_0 a bound on |dl/dz| at
    theta_0.
    reach: a bound on |<v, g>| for the gradient g of a record's loss, as the errors of means need it: E max_v - min_v of
    a mean's error is at most `theory.estimate_range` of the variance reach^2 / m. Or k L D with
    k^2 = ln(J (J - 1)) / (4 ln J), where that is less, for sets far from 0: the range is a maximum over J (J - 1)
    differences of proxy (L D)^2 / m.
    """

    spec: Spec
    vertices: int
    steepness: float
    width: float
    reach: float
    curvature: float
    start: float
    at_start: float

    @property
    def across(self) -> float:
        """L D, a bound on |<v - v', g>| for the gradient g of a record's loss."""
        return self.steepness * self.width

    def entering(self, step: Any) -> Any:
        """max |a| / L, a = l'(z_t; y) - (1 - eta) l'(z_{t-1}; y), over a record's predictions around a step eta."""
        domain, loss = self.spec.domain, get_loss(self.spec.loss)
        largest = domain.R * (self.spec.reach or 0.0)
        return loss.largest_correction(step, largest, self.width, domain.y_max) / self.steepness


def slopes_of(spec: Spec) -> Slopes:
    """Public constants of a problem over a polytope; width is 0 for a set of one point."""
    facts, loss = constants_of(spec), get_loss(spec.loss)
    width = spec.domain.R * (spec.size or 0.0) * spec.unit_set.diameter(spec.domain.dual_order, spec.p)
    vertices = spec.unit_set.n_vertices(spec.p) or 1
    # A set of one point has no differences.
    share = 0.5 * math.sqrt(math.log(vertices * (vertices - 1)) / math.log(vertices)) if vertices > 1 else 0.0
    reach = min(facts.extent, share * facts.steepness * width)
    # theta_0 is 0 on the L1 ball.
    zero = isinstance(spec.unit_set, L1Ball)
    at_start = float(loss.steepness(0.0, spec.domain.y_max)) / facts.steepness if zero else 1.0
    return Slopes(spec, vertices, facts.steepness, width, reach, facts.curvature, facts.start, at_start)


@dc.dataclass(frozen=True)
class Weight:
    """Privacy cost of the worst record. root: the largest root of the sum of s^2 over the choices after a reading.
    total: the largest sum of s.
    """

    root: Any
    total: Any

    def scale(self, rho: float, epsilon: float) -> Any:
        """G = min{root / sqrt(2 rho), 2 total / epsilon}: by zCDP, or by the sum, which is better for few choices."""
        return np.minimum(self.root / math.sqrt(2.0 * rho), 2.0 * self.total / epsilon) * ROUNDED_UP


@dc.dataclass(frozen=True)
class Stream:
    """`first` records for the first estimate, then `count` steps with `batch` records each, all of length `step`."""

    first: int
    batch: int
    count: int
    step: float

    @property
    def choices(self) -> int:
        return self.count + 1

    @property
    def gradients(self) -> int:
        """Number of gradients: one for each record of the first batch, two for each of the others."""
        return self.first + 2 * self.batch * self.count


def entry_moves(facts: Slopes, first: Any, batch: Any, step: Any) -> tuple[Any, Any]:
    """s_0 and s_1: half the range by which a replaced record changes the scores of the choice after its reading.

    In the first batch its part of <v, d_0> is <v, g> / n_0, g at theta_0: L_0 D / n_0. In a batch of m it is
    a <v, x> / m with a = l'(z_t; y) - (1 - eta) l'(z_{t-1}; y), z_t = <x, theta_t> = (1 - eta) z_{t-1} + eta w and
    w = <x, v_{t-1}>: the parts of the old record and of the new one differ by half a range of at most D max |a| / m.
    Each later estimate keeps a share 1 - eta of the earlier one, and reads other records: s (1 - eta)^j after j steps.
    """
    return facts.across * facts.at_start / first, facts.across * facts.entering(step) / batch


def stream_readings(facts: Slopes, stream: Stream) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """s (1 - eta)^j after the first batch and after the second; later batches have fewer choices after them."""
    s0, s1 = entry_moves(facts, stream.first, stream.batch, stream.step)
    fading = (1.0 - stream.step) ** np.arange(stream.choices)
    return tuple((s0 * fading).tolist()), tuple((s1 * fading[:-1]).tolist())


def stream_weight(facts: Slopes, stream: Stream) -> Weight:
    """Weight of the worst record."""
    readings = stream_readings(facts, stream)
    return Weight(max(math.hypot(*moves) for moves in readings), max(map(math.fsum, readings)))


def stream_error(facts: Slopes, first: Any, batch: Any, count: Any, step: Any, beta: float = 1.0) -> Any:
    """Bound on the range of the estimate's error, averaged over the choices with weights ~ (1 - eta)^(T - t).

    On average, or for beta < 1 in all runs but a share of beta.

    A record's part of the error lies in intervals of half a length w_0 / n_0 or w / m with w_0 = reach L_0 / L and
    w = reach max |a| / L (`entry_moves`), and shrinks by 1 - eta a step. Hence sigma_t^2 is at most
    (1 - eta)^(2 t) w_0^2 / n_0 + w^2 / (m eta (2 - eta)), and the mean of (1 - eta)^(2 t) is (1 - eta)^T. The range
    grows with sigma, and Jensen's inequality moves the mean inside.
    """
    opening, entering = facts.reach * facts.at_start, facts.reach * facts.entering(step)
    variance = (1.0 - step) ** count * opening**2 / first + entering**2 / (batch * step * (2.0 - step))
    return theory.estimate_range(variance, facts.vertices / beta)


def stream_bound(facts: Slopes, stream: Stream, worse: float, beta: float = 1.0) -> float:
    """Bound on the mean excess. worse: excess score of a choice over the best, in the same average; beta: as there."""
    error = stream_error(facts, stream.first, stream.batch, stream.count, stream.step, beta)
    return float(theory.constant_steps_bound(facts.start, facts.curvature, stream.step, stream.choices, worse + error))


def auto_stream(facts: Slopes, n: int, rho: float, epsilon: float, count: int | None = None) -> Stream:
    """Stream with half the records first, T steps, and eta T in 1/2, 1, 2, 4, 8 but eta at most 1/8.

    It has the smallest `stream_bound`, if only shares of its terms count. If that is no less than `facts.start`, the
    model stays near theta_0: eta T = 1/2 with T = 32, or with as many steps as there are records. count: T, if given.
    """
    first = n // 2
    rest = n - first
    counts = np.unique(np.geomspace(1, rest, _COUNTS).astype(int)) if count is None else np.array([count])
    T, paths = np.meshgrid(counts, _PATHS, indexing="ij")
    batch, step = rest // T, np.minimum(paths / T, _LONGEST)
    kept = 1.0 - step
    s0, s1 = entry_moves(facts, first, batch, step)

    def series(power: int, terms: Array) -> Array:
        """Root of order `power` of sum_{j < terms} kept^(power j)."""
        return ((1.0 - kept ** (power * terms)) / (1.0 - kept**power)) ** (1.0 / power)

    def largest(power: int) -> Array:
        return np.maximum(s0 * series(power, T + 1), s1 * series(power, T))

    worse = Weight(largest(2), largest(1)).scale(rho, epsilon) * math.log(facts.vertices)
    worse = worse + _ERRORS * stream_error(facts, first, batch, T, step)
    found = theory.constant_steps_bound(facts.start, _CURVATURE * facts.curvature, step, T + 1, worse)
    best = np.unravel_index(np.argmin(found), found.shape)
    if found[best] < facts.start:
        return Stream(first, int(batch[best]), int(T[best]), float(step[best]))
    steps = min(_SAFE_COUNT, rest) if count is None else count
    return Stream(first, rest // steps, steps, min(_SAFE_PATH / steps, _LONGEST))
