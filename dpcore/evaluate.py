"""How good released models are: accuracy on fresh records, excess risk on the training records.

Excess empirical risk is F(theta) - F*, with F the unregularised average loss and F* its minimum over the L2 ball of a
public radius. Releases outside the ball are evaluated as they are, so the excess can be negative; it is never clipped.
`additive_curve` evaluates a whole curve over epsilon at the price of one product of the data with the noise directions.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from .losses import Loss
from .solvers import BallMinimum
from .types import Array, Data


@dc.dataclass(frozen=True)
class Curve:
    """One metric along a curve of K points.

    mean: [K]. exact: the mean is an integral over the noise, not a Monte-Carlo mean. draws: [K, repetitions], the
    metric of each release. noiseless: [K], the metric of the model before noise. reference: the metric of the best
    model in the ball, one number.
    """

    metric: str
    mean: Array
    exact: bool
    draws: Array
    noiseless: Array
    reference: float

    @property
    def se(self) -> Array:
        """Standard error of the mean, [K]; 0 where the mean is exact."""
        if self.exact:
            return np.zeros(len(self.mean))
        return self.draws.std(axis=1, ddof=1) / np.sqrt(self.draws.shape[1])

    def quantile(self, q: float) -> Array:
        """Quantile of the draws at each point, [K]."""
        return np.quantile(self.draws, q, axis=1)


def accuracy(theta: Array, data: Data) -> float:
    """Share of records with y <x, theta> > 0."""
    return float(np.mean(data.y * (data.X @ theta) > 0.0))


def risk(loss: Loss, theta: Array, data: Data) -> float:
    """F(theta) = (1/n) sum_i l(<x_i, theta>; y_i)."""
    return float(loss.value(data.X @ theta, data.y).mean())


def additive_curve(
    loss: Loss,
    train: Data,
    test: Data,
    reference: BallMinimum,
    centres: Array,
    scales: Array,
    directions: Array,
    spread: tuple[Array, Array],
) -> tuple[Curve, Curve]:
    """Accuracy (test records) and excess empirical risk (training records) of theta = centre_k + scale_k * direction_r.

    centres: [K, r]. scales: [K], >= 0. directions: [repetitions, r], shared by all K points (common random
    numbers). spread: quadrature nodes and weights for S, where direction = S Z and Z ~ N(0, I). The mean over the noise
    is exact: <S Z, x> is N(0, S^2 ||x||^2), so the mean accuracy is that of Phi(y m / (s S ||x||)), the mean risk that
    of `Loss.gaussian_mean`, averaged over S.
    """
    return (
        _accuracy_curve(test, reference, centres, scales, directions, spread),
        _risk_curve(loss, train, reference, centres, scales, directions, spread),
    )


def _accuracy_curve(
    data: Data,
    reference: BallMinimum,
    centres: Array,
    scales: Array,
    directions: Array,
    spread: tuple[Array, Array],
) -> Curve:
    from . import kernels

    margins, noise = data.margins(centres), data.margins(directions)
    draws = np.empty((len(scales), len(directions)))
    for k, scale in enumerate(scales):
        kernels.row_accuracies(margins[k], noise, scale, data.y, draws[k])
    noiseless = (data.y * margins > 0.0).mean(axis=1)
    sd = scales[:, None] * data.row_norms
    # Where no noise reaches a prediction (a row of zeros) it counts as its draws do: right or not.
    certain = np.where(data.y * margins > 0.0, np.inf, -np.inf)
    ratio = np.divide(data.y * margins, sd, out=certain, where=sd > 0.0)
    mean = sum(weight * ndtr(ratio / node).mean(axis=1) for node, weight in zip(*spread, strict=True))
    return Curve("accuracy", mean, True, draws, noiseless, accuracy(reference.theta, data))


def _risk_curve(
    loss: Loss,
    data: Data,
    reference: BallMinimum,
    centres: Array,
    scales: Array,
    directions: Array,
    spread: tuple[Array, Array],
) -> Curve:
    margins, noise = data.margins(centres), data.margins(directions)
    draws = np.stack([loss.row_means(m, noise, s, data.y) for m, s in zip(margins, scales, strict=True)])
    noiseless = np.array([loss.value(m, data.y).mean() for m in margins])
    mean = np.zeros(len(scales))
    for node, weight in zip(*spread, strict=True):
        sd = node * scales[:, None] * data.row_norms
        mean += weight * np.array([loss.gaussian_mean(m, data.y, s).mean() for m, s in zip(margins, sd, strict=True)])
    best = reference.risk
    return Curve("excess_empirical_risk", mean - best, True, draws - best, noiseless - best, 0.0)


def released_curve(
    loss: Loss, train: Data, test: Data, reference: BallMinimum, centres: Array, thetas: Array
) -> tuple[Curve, Curve]:
    """The metrics of `additive_curve` for any releases: thetas [K, repetitions, p], and centres [K, p] before noise."""

    def curve(metric: str, of: Callable[[Array], float], best: float, shown: float) -> Curve:
        draws = np.array([[of(theta) for theta in row] for row in thetas]) - best
        noiseless = np.array([of(theta) for theta in centres]) - best
        return Curve(metric, draws.mean(axis=1), False, draws, noiseless, shown)

    return (
        curve("accuracy", lambda theta: accuracy(theta, test), 0.0, accuracy(reference.theta, test)),
        curve("excess_empirical_risk", lambda theta: risk(loss, theta, train), reference.risk, 0.0),
    )


def smallest_epsilon(epsilons: Array, lost: Array, at_most: float) -> float | None:
    """The smallest epsilon of the grid from which on every larger one loses at most `at_most`; None if none does.

    epsilons: [K], increasing. lost: [K], what privacy costs at each, in the unit of at_most.

    >>> smallest_epsilon(np.array([0.1, 1.0, 10.0]), np.array([9.0, 1.5, 0.2]), 2.0)
    1.0
    """
    answer = None
    for epsilon, cost in zip(epsilons[::-1], lost[::-1], strict=True):
        if not cost <= at_most:
            break
        answer = float(epsilon)
    return answer
