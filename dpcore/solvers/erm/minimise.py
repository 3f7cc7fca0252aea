"""Smallest regularised risk, also with many linear terms, and smallest risk in a ball or of all models, certified."""

import dataclasses as dc

import numpy as np

from ...core.arrays import Array
from ...core.cancel import never
from ...core.losses import Loss
from ...core.records import Data
from ...core.validation import positive
from .batched_lbfgs import Preconditioner, Records, descend, lengths
from .everywhere import separates, smooth_everywhere
from .in_ball import kinked_in_ball, smooth_in_ball, smooth_on_sphere
from .location import location_in_ball, location_regularised
from .nonsmooth import minimise_kinked, minimise_kinked_near
from .objective import Minimum, beside_filled
from .smooth import minimise_smooth

_SMOOTH_SHARE, _KINKED_SHARE = 1e-8, 1e-3
_GRADIENT_FLOOR, _GAP_FLOOR = 1e-12, 1e-13
_MAX_ENTRIES = 1_000_000


@dc.dataclass(frozen=True)
class Minimiser:
    """Approximate minimiser of J with its certificate.

    theta: [r]. distance: ||theta - theta_hat||_2 is at most this. steps: iterations taken.
    """

    theta: Array
    distance: float
    steps: int


def tolerance(loss: Loss, LR: float, n: int, lam: float) -> float:
    """Distance to theta_hat that `minimise` must certify; a public fact that enters the sensitivity twice.

    Smooth losses: 1e-8 of L R / (n lam), but no gradient below 1e-12 L R, where rounding begins. Losses with
    kinks: 1e-3 of L R / (n lam), but no duality gap below 1e-13.
    """
    if np.isfinite(loss.curvature_bound):
        return LR * max(_SMOOTH_SHARE / n, _GRADIENT_FLOOR) / lam
    return max(_KINKED_SHARE * LR / (n * lam), (2.0 * _GAP_FLOOR / lam) ** 0.5)


def minimise(
    loss: Loss,
    data: Data,
    lam: float,
    *,
    tol: float,
    radius: float | None = None,
    start: Array | None = None,
    linear: Array | None = None,
) -> Minimiser:
    """Minimise J(theta) = (1/n) sum_i l(z_i; y_i) + (lam/2) ||theta||^2, over R^r or a ball.

    z_i: the prediction <x_i, theta> or, for location losses, the distance ||theta - x_i||. linear: [r], adds
    <linear, theta> to J, for smooth losses of a prediction without radius. tol: ||theta - theta_hat|| <= tol is
    certified for the returned theta. radius: of the L2 ball. start: [r], default 0; it changes the work, not the
    result, and location losses do not use it.

    Raises Unconverged if tol cannot be certified; nothing is returned then.

    >>> from dpcore.core.losses import get_loss
    >>> found = minimise(get_loss("squared"), Data([[1.0], [1.0]], [1.0, 0.0]), lam=2.0, tol=1e-12)
    >>> round(float(found.theta[0]), 12), found.distance <= 1e-12
    (0.25, True)
    """
    lam = positive("lam", lam)
    positive("tol", tol)
    if start is not None and (start.shape != (data.stored,) or not np.isfinite(start).all()):
        raise ValueError(f"start must be a finite vector of {data.stored} entries, got shape {start.shape}")
    if radius is not None:
        positive("radius", radius)
    if linear is not None and (radius is not None or not loss.linear or not np.isfinite(loss.curvature_bound)):
        raise ValueError(f"linear must be None with a radius or with {loss.label}, got a vector")
    columns, records = data.nonempty
    theta, rounding = (np.zeros(data.stored), 0.0) if linear is None else beside_filled(data, lam, linear, tol)
    inside = None if start is None else start[columns], None if linear is None else linear[columns]
    found = _minimise_filled(loss, records, lam, tol - rounding, radius, *inside)
    theta[columns] = found.theta
    return Minimiser(theta, found.distance + rounding, found.steps)


def _minimise_filled(
    loss: Loss, data: Data, lam: float, tol: float, radius: float | None, start: Array | None, linear: Array | None
) -> Minimiser:
    """`minimise` for records with an entry in every column; records with empty columns only take longer."""
    if not loss.linear:
        point = location_regularised(loss, data, lam, np.inf if radius is None else radius, tol)
        return Minimiser(point.theta, point.residual, point.steps)
    if np.isfinite(loss.curvature_bound):
        data = data.merged or data
        point = minimise_smooth(loss, data, lam, tol * lam, start, 0.0 if linear is None else linear)
        if radius is not None and np.linalg.norm(point.theta) > radius:
            point = smooth_on_sphere(loss, data, lam, radius, tol * lam)
        return Minimiser(point.theta, point.residual / lam, point.steps)
    gap = 0.5 * lam * tol**2
    if start is None:
        point = minimise_kinked(loss, data, lam, gap)
    else:
        point = minimise_kinked_near(loss, data, lam, gap, start)
    if radius is not None and np.linalg.norm(point.theta) > radius:
        point = kinked_in_ball(loss, data, lam, radius, gap)
    return Minimiser(point.theta, (2.0 * point.residual / lam) ** 0.5, point.steps)


def minimise_many(loss: Loss, data: Data, lam: float, linear: Array, *, tol: float, start: Array) -> Array:
    """Models theta_i within tol of the minimiser of J(theta) + <linear_i, theta>, for linear [k, r]; shape [k, r].

    For smooth losses, in double precision. The certificate ||gradient|| <= lam tol is computed at the returned theta.
    start: [r], for all of them. Raises Unconverged.
    """
    columns, filled = data.nonempty
    filled = filled.merged or filled
    thetas, rounding = beside_filled(data, lam, linear, tol)
    inside, linear, tol = np.tile(start[columns], (len(linear), 1)), linear[:, columns], tol - rounding
    records = Records(loss, filled, single=False)
    step = max(1, _MAX_ENTRIES // filled.n)
    for first in range(0, len(inside), step):
        theta, tilt = inside[first : first + step], linear[first : first + step]
        z = records.predictions(theta)
        descend(records, theta, z, lam, tilt, lambda g: np.full(len(g), 0.5 * tol * lam), Preconditioner(), never)
        forces = records.forces(records.predictions(theta), np.arange(len(theta)))
        for row in np.flatnonzero(~(lengths(forces + lam * theta + tilt) <= tol * lam)):
            theta[row] = minimise_smooth(loss, filled, lam, tol * lam, theta[row], tilt[row]).theta
    thetas[:, columns] = inside
    return thetas


def minimise_in_ball(loss: Loss, data: Data, radius: float, *, tol: float = 1e-9) -> Minimum:
    """Minimise F(theta) = (1/n) sum_i l(z_i; y_i) over ||theta||_2 <= radius.

    z_i: the prediction <x_i, theta> or, for location losses, the distance ||theta - x_i||. tol: certified gap, in units
    of risk.

    Raises Unconverged when the gap stays above tol.

    >>> from dpcore.core.losses import get_loss
    >>> found = minimise_in_ball(get_loss("hinge"), Data([[1.0], [1.0]], [1.0, 1.0]), radius=0.25)
    >>> round(found.risk, 9), found.gap <= 1e-9
    (0.75, True)
    """
    positive("radius", radius)
    positive("tol", tol)
    if not loss.linear:
        point = location_in_ball(loss, data, radius, tol)
    elif np.isfinite(loss.curvature_bound):
        point = smooth_in_ball(loss, data.merged or data, radius, tol)
    else:
        point = kinked_in_ball(loss, data, 0.0, radius, tol)
    risk = float(loss.value(loss.predictions(data, point.theta[None])[0], data.y).mean())
    return Minimum(point.theta, risk, point.residual, radius)


def infimum(loss: Loss, data: Data, reach: float, *, tol: float = 1e-9) -> Minimum:
    """Infimum F* of F(theta) = (1/n) sum_i l(z_i; y_i) over all theta, and a model that attains or approaches it.

    Where a model separates the classes F* is 0, and gap too. Elsewhere F(t) >= risk - gap for every ||t|| <= reach, and
    beyond it F falls below by no more than gap grows in proportion to ||t|| (docs/formulas.md, "Reference risk F*");
    for location losses for every t. tol: of gap, in units of risk; gap is above it where rounding allows no better.

    Raises Unconverged for a loss with kinks whose gap stays above tol.

    >>> from dpcore.core.losses import get_loss
    >>> X = [[1.0], [1.0], [1.0], [1.0]]
    >>> found = infimum(get_loss("logistic"), Data(X, [1.0, 1.0, 1.0, -1.0]), reach=1e4)
    >>> round(float(found.theta[0]), 6), found.gap <= 1e-9, found.attained
    (1.098612, True, True)
    >>> apart = infimum(get_loss("logistic"), Data(X, [1.0, 1.0, 1.0, 1.0]), reach=1e4)
    >>> apart.risk, apart.gap, apart.attained
    (0.0, 0.0, False)
    """
    positive("reach", reach)
    positive("tol", tol)
    if not loss.linear:
        # The nearest point of a ball that holds all records is nearer to each of them.
        return dc.replace(minimise_in_ball(loss, data, max(float(data.row_norms.max()), 1.0), tol=tol), radius=np.inf)
    records = data.merged or data
    if np.isfinite(loss.curvature_bound):
        point = smooth_everywhere(loss, records, reach, tol)
    else:
        point = kinked_in_ball(loss, data, 0.0, reach, tol)
    theta = point.theta
    apart = separates(loss, records, theta)
    if apart:  # longer, every margin is on the flat part, if the loss has one
        theta = theta * (1.0 + loss.shape) * (1.0 + 1e-9) / float((records.y * (records.X @ theta)).min())
    risk = float(loss.value(loss.predictions(data, theta[None])[0], data.y).mean())
    return Minimum(theta, 0.0, 0.0, np.inf, risk == 0.0) if apart else Minimum(theta, risk, point.residual, np.inf)
