"""The exponential mechanism over a cover of the L2 ball, which has no vertices, beside noisy gradients.

A cover is a finite set of models of which one lies within a distance gap of every model of the ball. One is drawn with
probability proportional to exp(-F / b). Derived in docs/formulas.md, "A cover of the ball".
"""

import itertools
import math

import numpy as np
from scipy.optimize import minimize_scalar

from ...accounting.gaussian import hockey_stick
from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.records import Data
from ...core.specification import Spec
from ...mechanisms.noise.spherical import NOISES

_FARTHEST = 40.0  # powers of e below the radius that the gap is sought in


def temperature(spec: Spec, epsilon: float) -> float:
    """b = 4 L R B / (n epsilon) for models of norm B = spec.radius, which makes the draw epsilon-private (delta = 0).

    Raises ValueError without a radius.
    """
    if spec.radius is None:
        raise ValueError("radius must be a number for a cover of the ball, got None; set radius")
    return 4.0 * get_loss(spec.loss).largest_gradient(spec) * spec.radius / (spec.n * epsilon)


def cover_bound(spec: Spec, epsilon: float) -> tuple[float, float]:
    """Bound on the mean excess b p ln(1 + 2 B / gap) + L R gap over the ball, and the gap > 0 that minimises it.

    The ball has a cover of at most (1 + 2 B / gap)^p models.

    >>> bound, gap = cover_bound(Spec("absolute", n=10_000, p=2, radius=1.0), epsilon=1.0)
    >>> round(bound, 5), round(gap, 5)
    (0.00706, 0.0008)
    """
    b, B, LR = temperature(spec, epsilon), float(spec.radius or 0.0), get_loss(spec.loss).largest_gradient(spec)

    def bound(log_gap: float) -> float:
        gap = math.exp(log_gap)
        return b * spec.p * math.log1p(2.0 * B / gap) + LR * gap

    reach = math.log(B)
    best = minimize_scalar(bound, bounds=(reach - _FARTHEST, reach), method="bounded", options={"xatol": 1e-9})
    return float(best.fun), math.exp(best.x)


def gradient_bound(spec: Spec, mu: float) -> float:
    """Bound 2 L R B sqrt(p) / (n mu) on the mean excess of noisy gradient descent that is mu-GDP, as its steps grow."""
    LR, B = get_loss(spec.loss).largest_gradient(spec), float(spec.radius or 0.0)
    return 2.0 * LR * B * math.sqrt(spec.p) / (spec.n * mu)


def output_bound(spec: Spec, epsilon: float) -> float:
    """Bound 2 L R B sqrt(E |b_1| / (n epsilon)) on the mean excess of output perturbation with Gamma noise, best lam.

    For a linear prediction; b has the density exp(-||b||). Its guarantee has delta = 0, too.
    """
    LR, B = get_loss(spec.loss).largest_gradient(spec), float(spec.radius or 0.0)
    return 2.0 * LR * B * math.sqrt(NOISES["gamma"].reach(spec.p)[0] / (spec.n * epsilon))


def even_delta(spec: Spec, epsilon: float) -> float:
    """delta at which both bounds are equal: noisy gradients have the smaller bound for every larger delta.

    >>> even_delta(Spec("absolute", n=1_000, p=1, radius=1.0), epsilon=1.0) < 1e-40
    True
    """
    mu = gradient_bound(spec, 1.0) / cover_bound(spec, epsilon)[0]
    return float(hockey_stick(epsilon, mu))


def lattice(radius: float, p: int, gap: float) -> Array:
    """A cover of the ball, [N, p]: points of a cubic lattice within gap of it, each moved to its nearest model.

    That move brings no model farther away. For p up to 3 or so: N grows as (radius / gap)^p.
    """
    step = 2.0 * gap / math.sqrt(p)
    axis = step * np.arange(-math.ceil((radius + gap) / step), math.ceil((radius + gap) / step) + 1)
    points = np.array(list(itertools.product(axis, repeat=p)))
    norms = np.linalg.norm(points, axis=1)
    points, norms = points[norms <= radius + gap], norms[norms <= radius + gap]
    return points * np.minimum(1.0, radius / np.maximum(norms, 1e-300))[:, None]


def mean_risk(spec: Spec, data: Data, epsilon: float, cover: Array) -> float:
    """Mean of F over the draw from this cover, exact."""
    loss = get_loss(spec.loss)
    risks = loss.row_means(np.zeros(data.n), loss.predictions(data, cover), 1.0, data.y)
    weights = np.exp(-(risks - risks.min()) / temperature(spec, epsilon))
    return float(weights @ risks / weights.sum())
