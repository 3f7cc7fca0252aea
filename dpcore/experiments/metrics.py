"""How good released models are: on fresh records, on the training records, and in the population.

Excess empirical risk is F(theta) - F*, with F the unregularised average loss and F* its minimum over the L2 ball of a
public radius. Releases outside the ball are evaluated as they are, so the excess can be negative; it is never clipped.
`additive_curves` takes one product of the data with the noise directions for a whole curve over epsilon.
"""

import dataclasses as dc
import functools

import numpy as np
from scipy.special import ndtr

from .. import kernels
from ..core.arrays import Array
from ..core.losses import Loss, get_loss
from ..core.records import Data
from ..data import Population
from ..solvers import Minimum

_SQUARED = get_loss("squared")


@dc.dataclass(frozen=True)
class MetricCurve:
    """One metric along a curve of K points.

    mean: [K]. se: [K], its standard error; 0 where the mean is an integral over the noise. draws: [K, repetitions], the
    metric of each release. noiseless: [K], the metric of the model before noise. reference: the metric of the best
    model in the ball, one number.
    """

    metric: str
    mean: Array
    se: Array
    draws: Array
    noiseless: Array
    reference: float

    @property
    def exact(self) -> bool:
        """The mean is an integral over the noise, not a Monte-Carlo mean."""
        return not self.se.any()

    @property
    def q10(self) -> Array:
        """10% quantile of the draws at each point, [K]."""
        return self._quantiles[0]

    @property
    def q50(self) -> Array:
        """Median of the draws at each point, [K]."""
        return self._quantiles[1]

    @property
    def q90(self) -> Array:
        """90% quantile of the draws at each point, [K]."""
        return self._quantiles[2]

    @functools.cached_property
    def _quantiles(self) -> Array:
        return np.quantile(self.draws, (0.1, 0.5, 0.9), axis=1)


def accuracy(theta: Array, data: Data) -> float:
    """Share of records with y <x, theta> > 0."""
    return float(np.mean(data.y * (data.X @ theta) > 0.0))


def larger_class(data: Data) -> float:
    """The share of the larger class: the accuracy of whoever always answers with it.

    >>> larger_class(Data(np.ones((4, 1)), np.array([1.0, -1.0, -1.0, -1.0])))
    0.75
    """
    positive = float(np.mean(data.y > 0.0))
    return max(positive, 1.0 - positive)


def r_squared(theta: Array, data: Data) -> float:
    """1 - mean squared error / variance of y: the share of the variance of y that theta explains."""
    return 1.0 - risk(_SQUARED, theta, data) / float(data.y.var())


def risk(loss: Loss, theta: Array, data: Data) -> float:
    """F(theta) = (1/n) sum_i l(z_i; y_i), z_i the prediction or, for location, the distance."""
    return float(loss.value(loss.predictions(data, theta[None])[0], data.y).mean())


@dc.dataclass(frozen=True)
class Additive:
    """Releases centre_k + scale_k * direction_r: every repetition r at every point k of a curve.

    centres: [K, r]. scales: [K], >= 0. directions: [repetitions, r], shared by all K points (common random numbers).
    spread: quadrature nodes and weights for S, where direction = S Z and Z ~ N(0, I).
    """

    centres: Array
    scales: Array
    directions: Array
    spread: tuple[Array, Array]


def additive_curves(
    loss: Loss, train: Data, test: Data, reference: Minimum, releases: Additive
) -> tuple[MetricCurve, ...]:
    """How good on the test records (accuracy, or r_squared for regression), and excess empirical risk.

    The means over the noise are exact: <S Z, x> is N(0, S^2 ||x||^2), so the mean accuracy is that of
    Phi(y m / (s S ||x||)), the mean risk that of `Loss.gaussian_mean`, averaged over S.
    """
    mean, draws, noiseless = _risks(loss, train, releases)
    best = reference.risk
    excess = MetricCurve("excess_empirical_risk", mean - best, 0.0 * mean, draws - best, noiseless - best, 0.0)
    if loss.classification:
        return _accuracy_curve(test, reference, releases), excess
    mean, draws, noiseless = (1.0 - errors / test.y.var() for errors in _risks(_SQUARED, test, releases))
    return MetricCurve("r_squared", mean, 0.0 * mean, draws, noiseless, r_squared(reference.theta, test)), excess


def _accuracy_curve(data: Data, reference: Minimum, releases: Additive) -> MetricCurve:
    margins, noise = data.margins(releases.centres), data.margins(releases.directions)
    draws = np.empty((len(releases.scales), len(releases.directions)))
    for k, scale in enumerate(releases.scales):
        kernels.row_accuracies(margins[k], noise, scale, data.y, draws[k])
    noiseless = (data.y * margins > 0.0).mean(axis=1)
    sd = releases.scales[:, None] * data.row_norms
    # Where no noise reaches a prediction (a row of zeros) it counts as its draws do: right or not.
    certain = np.where(data.y * margins > 0.0, np.inf, -np.inf)
    ratio = np.divide(data.y * margins, sd, out=certain, where=sd > 0.0)
    mean = np.zeros(len(draws))
    for node, weight in zip(*releases.spread, strict=True):
        mean += weight * ndtr(ratio / node).mean(axis=1)
    return MetricCurve("accuracy", mean, 0.0 * mean, draws, noiseless, accuracy(reference.theta, data))


def _risks(loss: Loss, data: Data, releases: Additive) -> tuple[Array, Array, Array]:
    """Mean over the noise [K], each draw [K, repetitions] and the model before noise [K]."""
    margins, noise = data.margins(releases.centres), data.margins(releases.directions)
    draws = np.stack([loss.row_means(m, noise, s, data.y) for m, s in zip(margins, releases.scales, strict=True)])
    noiseless = np.array([loss.value(m, data.y).mean() for m in margins])
    mean = np.zeros(len(draws))
    for node, weight in zip(*releases.spread, strict=True):
        sd = node * releases.scales[:, None] * data.row_norms
        mean += weight * np.array([loss.gaussian_mean(m, data.y, s).mean() for m, s in zip(margins, sd, strict=True)])
    return mean, draws, noiseless


def additive_fresh(loss: Loss, test: Data, reference: Minimum, releases: Additive) -> MetricCurve:
    """The mean loss on the test records; its means over the noise are exact, as in `additive_curves`."""
    mean, draws, noiseless = _risks(loss, test, releases)
    return MetricCurve("fresh_risk", mean, 0.0 * mean, draws, noiseless, risk(loss, reference.theta, test))


def population_curve(loss: Loss, population: Population, radius: float, releases: Additive) -> MetricCurve:
    """Excess population risk over the best model with norm at most `radius`.

    The mean is taken over pairs of a direction and its opposite, equally likely: the zero-mean linear term of the
    noise, a control variate known exactly, cancels in each pair. se is that of the pairs.
    """
    steps = releases.scales[:, None, None] * releases.directions
    shape, r = steps.shape[:2], steps.shape[2]

    def excess(thetas: Array) -> Array:
        return population.risk(loss, np.ascontiguousarray(thetas.reshape(-1, r))) - best

    best = population.minimum(loss, radius)
    draws = excess(releases.centres[:, None] + steps).reshape(shape)
    pairs = 0.5 * (draws + excess(releases.centres[:, None] - steps).reshape(shape))
    se = pairs.std(axis=1, ddof=1) / np.sqrt(shape[1])
    return MetricCurve("excess_population_risk", pairs.mean(axis=1), se, draws, excess(releases.centres), 0.0)


def released_curves(
    loss: Loss,
    train: Data,
    test: Data,
    reference: Minimum,
    centres: Array,
    thetas: Array,
    risks: Array | None = None,
) -> tuple[MetricCurve, ...]:
    """The metrics of `additive_curves` for any releases, whose means are those of the draws; of location the last only.

    centres: [K, r], before noise. thetas: [K, R, r], R >= 4 and even: repetitions 2i and 2i + 1 are a pair, which may
    share a direction of the noise with opposite signs; pairs are independent. se is that of the pairs, from which the
    linear term of the noise then cancels. risks: [K, R], F(theta) on the training records where a solver knows it.

    Raises ValueError for another R.
    """
    if risks is None:
        risks = _mean_losses(loss, train, thetas)
    best = reference.risk
    excess = _paired_curve("excess_empirical_risk", risks - best, _mean_losses(loss, train, centres) - best, 0.0)
    if not loss.linear:
        return (excess,)
    if loss.classification:
        right = accuracy(reference.theta, test)
        return _paired_curve("accuracy", _accuracies(test, thetas), _accuracies(test, centres), right), excess
    shares, noiseless = (1.0 - _mean_losses(_SQUARED, test, t) / test.y.var() for t in (thetas, centres))
    return _paired_curve("r_squared", shares, noiseless, r_squared(reference.theta, test)), excess


def released_fresh(loss: Loss, test: Data, reference: Minimum, centres: Array, thetas: Array) -> MetricCurve:
    """The mean loss on the test records of any releases, in pairs as `released_curves` takes them."""
    best = risk(loss, reference.theta, test)
    return _paired_curve("fresh_risk", _mean_losses(loss, test, thetas), _mean_losses(loss, test, centres), best)


def population_released(
    loss: Loss, population: Population, radius: float, centres: Array, thetas: Array
) -> MetricCurve:
    """`population_curve` for any releases, in pairs as `released_curves` takes them."""
    best = population.minimum(loss, radius)
    draws = population.risk(loss, thetas.reshape(-1, thetas.shape[2])).reshape(thetas.shape[:2])
    return _paired_curve("excess_population_risk", draws - best, population.risk(loss, centres) - best, 0.0)


def _paired_curve(metric: str, draws: Array, noiseless: Array, reference: float) -> MetricCurve:
    R = draws.shape[1]
    if R < 4 or R % 2:
        raise ValueError(f"repetitions must be even and at least 4, got {R}")
    pairs = draws.reshape(len(draws), R // 2, 2).mean(axis=2)
    se = pairs.std(axis=1, ddof=1) / np.sqrt(R // 2)
    return MetricCurve(metric, pairs.mean(axis=1), se, draws, noiseless, reference)


def _mean_losses(loss: Loss, data: Data, thetas: Array) -> Array:
    """F(theta) for thetas [..., k, r], shape [..., k]."""
    if thetas.ndim > 2:
        return np.stack([_mean_losses(loss, data, t) for t in thetas])
    return loss.row_means(np.zeros(data.n), loss.predictions(data, thetas), 1.0, data.y)


def _accuracies(data: Data, thetas: Array) -> Array:
    """Share of records with y <x, theta> > 0 for thetas [..., k, r], shape [..., k].

    In single precision: the sign changes only where a prediction is 0 to seven digits.
    """
    X, y = data.single, data.y.astype(np.float32)
    flat = thetas.reshape(-1, *thetas.shape[-2:]).astype(np.float32)
    shares = [(y[:, None] * (X @ t.T) > 0.0).mean(axis=0) for t in flat]
    return np.array(shares).reshape(thetas.shape[:-1])


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
