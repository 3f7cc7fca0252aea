"""Minimisers of location losses: the mean, the smoothed and the plain geometric median.

For these losses F depends on the distances z_i = ||theta - x_i||. The mean has a closed form. The medians take Newton
steps for the smoothed distance sqrt(z_i^2 + m^2), with m falling from the size of the data to that of the loss, 0 for
the plain one. Every step minimises its quadratic model over the whole ball, so a minimiser on the sphere needs no
special care.

The certificate of the result does not depend on the steps: over a ball a bound on F(theta) - min F (`_gap`), with a
regulariser one on the distance from the minimiser (`_distance`).
"""

import dataclasses as dc
import math
from collections.abc import Iterable, Iterator

import numpy as np
from scipy.optimize import brentq

from ...core.arrays import Array
from ...core.losses import Loss, get_loss
from ...core.privacy import Unconverged
from ...core.records import Data
from .objective import Point, dense, shortened

# Newton models of more columns than this are restricted to a few directions: theta, the gradient and the last moves.
_MAX_COLUMNS, _MAX_MOVES = 300, 10
_FALL, _SOLVED = 10.0, 0.1  # m falls by the first factor once the risk is within the second share of m of its minimum
_MAX_STEPS, _HALVINGS = 500, 60
_SLOPE, _ROUNDING, _FLAT = 1e-4, 1e-14, 1e-15
_NEAR, _BLOCK = 1e-6, 2_000_000


def location_in_ball(loss: Loss, data: Data, radius: float, tol: float) -> Point:
    """Minimiser of F over the ball for a location loss; residual: a bound <= tol on F(theta) - min F."""
    return _minimise(loss, data, 0.0, radius, tol)


def location_regularised(loss: Loss, data: Data, lam: float, radius: float, tol: float) -> Point:
    """Minimiser of F + (lam/2) ||.||^2, lam > 0, over the ball, or over R^r for radius inf.

    residual: a bound <= tol on ||theta - theta_hat||.
    """
    return _minimise(loss, data, lam, radius, tol)


def _minimise(loss: Loss, data: Data, lam: float, radius: float, tol: float) -> Point:
    # For squared distances J(theta) = (1 + lam/2) ||theta - mean / (1 + lam/2)||^2 + a constant, smallest at the point
    # of the ball that is nearest to mean / (1 + lam/2). The medians begin there.
    theta = shortened(np.asarray(data.X.mean(axis=0)).ravel() / (1.0 + 0.5 * lam), radius)
    point = Point(theta, _certificate(loss, data, lam, theta, radius), 0)
    if loss.key != "mean":
        point = _median(loss, data, lam, radius, tol, point)
    if not point.residual <= tol:
        raise Unconverged(
            f"no point of the ball of radius {radius:g} could be certified to {tol:.3g}, "
            f"the best one to {point.residual:.3g}"
        )
    return point


def _median(loss: Loss, data: Data, lam: float, radius: float, tol: float, best: Point) -> Point:
    """Best point found by steps for less and less smoothed distances, until it is certified to tol."""
    theta, moves = best.theta, list[Array]()
    m = max(loss.shape, float(loss.predictions(data, theta[None]).mean()))
    for step in range(1, _MAX_STEPS + 1):
        if best.residual <= tol:
            break
        smooth = dc.replace(get_loss("smooth_median"), shape=m)
        before, theta = theta, _step(smooth, data, lam, theta, radius, moves)
        moves = [*moves[1 - _MAX_MOVES :], theta - before]
        candidates = [theta]
        if not loss.shape:
            nearest = int(loss.predictions(data, theta[None])[0].argmin())
            candidates.append(shortened(dense(data.X[[nearest]])[0], radius))
        found = [Point(at, _certificate(loss, data, lam, at, radius), step) for at in candidates]
        best = min(best, *found, key=lambda point: point.residual)
        left = _certificate(smooth, data, lam, theta, radius)
        if m > loss.shape and (0.5 * lam * left**2 if lam else left) <= _SOLVED * m:
            m = max(loss.shape, m / _FALL)
    return best


def _step(smooth: Loss, data: Data, lam: float, theta: Array, radius: float, moves: list[Array]) -> Array:
    """Point after one Newton step over the ball for a smoothed median, shortened until J falls."""
    gradient = smooth.gradients(data, theta[None])[0] + lam * theta
    s = np.hypot(smooth.predictions(data, theta[None])[0], smooth.shape)
    if data.stored <= _MAX_COLUMNS:
        move = _model_step(_hessian(theta - dense(data.X), s, lam), gradient, theta, radius)
    else:
        spanning = [v / max(float(np.linalg.norm(v)), 1e-300) for v in (theta, gradient, *moves)]
        basis = np.linalg.qr(np.stack(spanning, axis=1))[0]
        differences = theta @ basis - data.X @ basis
        move = basis @ _model_step(_hessian(differences, s, lam), gradient @ basis, theta @ basis, radius)

    def risk(at: Array) -> float:
        mean = float(smooth.value(smooth.predictions(data, at[None])[0], data.y).mean())
        return mean + 0.5 * lam * float(at @ at)

    here, slope, share = risk(theta), float(gradient @ move), 1.0
    for _ in range(_HALVINGS):
        if risk(theta + share * move) <= here + _SLOPE * share * slope + _ROUNDING * (here + smooth.shape):
            break
        share /= 2.0
    return shortened(theta + share * move, radius)


def _hessian(differences: Array, s: Array, lam: float) -> Array:
    """Hessian of J for s_i = sqrt(z_i^2 + m^2): lam I + mean of I / s_i - d_i d_i' / s_i^3, d_i = theta - x_i."""
    scaled = differences * (s**-1.5)[:, None]
    return np.eye(differences.shape[1]) * (lam + (1.0 / s).mean()) - scaled.T @ scaled / len(s)


def _model_step(hessian: Array, gradient: Array, theta: Array, radius: float) -> Array:
    """Step d that minimises <gradient, d> + d' hessian d / 2 with theta + d in the ball.

    It solves (hessian + nu I) d = -(gradient + nu theta), with nu = 0 or theta + d on the sphere. The step is computed,
    not its end, which would lose digits where the curvature is small.
    """
    values, vectors = np.linalg.eigh(hessian)
    values = np.maximum(values, max(_FLAT * values[-1], 1e-300))
    g, at = gradient @ vectors, theta @ vectors

    def step(nu: float) -> Array:
        return -(g + nu * at) / (values + nu)

    def room(nu: float) -> float:
        return 1.0 / max(float(np.linalg.norm(at + step(nu))), 1e-300) - 1.0 / radius

    nu = 0.0
    if room(0.0) < 0.0:
        highest = 2.0 * float(np.linalg.norm(values * at - g)) / radius
        nu = float(brentq(room, 0.0, highest, xtol=1e-300, rtol=1e-15))
    return vectors @ step(nu)


def _certificate(loss: Loss, data: Data, lam: float, theta: Array, radius: float) -> float:
    """Bound on F(theta) - min F over the ball for lam = 0, else on the distance from the minimiser of J."""
    return _distance(loss, data, lam, theta, radius) if lam else _gap(loss, data, theta, radius)


def _gap(loss: Loss, data: Data, theta: Array, radius: float) -> float:
    """Bound on F(theta) - min F over the ball: cost + <g, theta> + B ||g|| for g of `_subgradients`.

    For the gradient itself it is the Frank-Wolfe gap. g is brought to 0 or, which is as good on the sphere, to a
    multiple of -theta.
    """
    g = loss.gradients(data, theta[None])[0]
    outward = max(-float(g @ theta), 0.0) / max(float(theta @ theta), 1e-300)
    return min(
        cost + max(float(g @ theta + radius * np.linalg.norm(g)), 0.0)
        for g, cost in _subgradients(loss, data, theta, (np.zeros_like(theta), -outward * theta))
    )


def _distance(loss: Loss, data: Data, lam: float, theta: Array, radius: float) -> float:
    """Bound on ||theta - theta_hat|| by r = ||g + (lam + t) theta||: r / mu at cost 0, mu the strong convexity of J.

    t >= 0 is 0 inside the ball and free on its sphere, where t theta points out of it. J(theta_hat) >= J(theta) - cost
    - r d + (mu/2) d^2 for the distance d, and J(theta) >= J(theta_hat) + (mu/2) d^2: together mu d^2 <= r d + cost.
    """
    mu, norm = lam + loss.strong_convexity, float(np.linalg.norm(theta))

    def beyond(g: Array) -> float:
        outside = norm >= radius * (1.0 - _ROUNDING) and norm > 0.0
        return lam + (max(-float(g @ theta) / norm**2 - lam, 0.0) if outside else 0.0)

    found = []
    aim = -beyond(loss.gradients(data, theta[None])[0]) * theta
    for g, cost in _subgradients(loss, data, theta, (aim,)):
        r = float(np.linalg.norm(g + beyond(g) * theta))
        found.append((r + math.sqrt(r**2 + 4.0 * mu * cost)) / (2.0 * mu))
    return min(found)


def _subgradients(loss: Loss, data: Data, theta: Array, aims: Iterable[Array]) -> Iterator[tuple[Array, float]]:
    """Vectors g and costs c with F(t) >= F(theta) - c + <g, t - theta> for every t: the gradient, with c = 0.

    Of the plain median also one for each aim, as near to it as can be. For any vectors v_i of norm at most 1,
    ||t - x_i|| >= <v_i, t - x_i>; averaged, g is the mean of the v_i and c that of z_i - <v_i, theta - x_i>. Unit
    vectors v_i = (theta - x_i) / z_i cost nothing. For a record that equals theta no v_i does (Vardi and Zhang 2000),
    for a record near it at most 2 z_i / n: these v_i are changed, the nearest first.
    """
    g = loss.gradients(data, theta[None])[0]
    yield g, 0.0
    if loss.key != "geometric_median":
        return
    z, n = loss.predictions(data, theta[None])[0], data.n
    close = np.flatnonzero((z > 0.0) & (z <= _NEAR * (float(np.linalg.norm(theta)) + data.row_norms)))
    close = close[np.argsort(z[close])][: max(1, _BLOCK // len(theta))]
    differences = theta - dense(data.X[close])
    for aim in aims:
        bent, cost = g + shortened((aim - g) * n, float(np.sum(z == 0.0))) / n, 0.0
        for d, distance in zip(differences, z[close], strict=True):
            unit = d / distance
            v = shortened(unit + (aim - bent) * n, 1.0)
            bent, cost = bent + (v - unit) / n, cost + max(float(distance - v @ d), 0.0) / n
        yield bent, cost
