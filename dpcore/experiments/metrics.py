"""Metrics of released models, on fresh records and on the training records.

Excess empirical risk is F(theta) - F*, with F the unregularised average loss and F* its infimum over all models that
may be released: a set, the ball of a radius, or all theta. Releases are evaluated as they are, and nothing is clipped.
For a mechanism that adds noise to a model, one product of the data with the directions serves a whole curve.
"""

import dataclasses as dc
import functools

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from .. import kernels
from ..core.arrays import Array
from ..core.losses import Loss, get_loss
from ..core.privacy import NotApplicable
from ..core.records import Data
from ..mechanisms.base import Drawn
from ..solvers import Minimum

_SQUARED = get_loss("squared")
_LARGEST_SCORE = 40.0  # of a prediction for all records: with one class alone the best score is infinite


@dc.dataclass(frozen=True)
class MetricCurve:
    """Metric along a curve of K points.

    mean: [K]. se: [K], its standard error; 0 where the mean is an integral over the noise. draws: [K, repetitions], the
    metric of each release. noiseless: [K], the metric of the model before noise. reference, nothing_learned: the metric
    of the best model, and of one that has learned nothing.
    """

    metric: str
    mean: Array
    se: Array
    draws: Array
    noiseless: Array
    reference: float
    nothing_learned: float

    @property
    def exact(self) -> bool:
        """True if the mean is an integral over the noise, not a Monte-Carlo mean."""
        return not self.se.any()

    @functools.cached_property
    def quantiles(self) -> Array:
        """Quantiles of the draws at each point: 10%, 50% and 90%, [3, K]."""
        return np.quantile(self.draws, (0.1, 0.5, 0.9), axis=1)


def accuracy(theta: Array, data: Data) -> float:
    """Share of records with y <x, theta> > 0."""
    return float(np.mean(data.y * (data.X @ theta) > 0.0))


def larger_class(data: Data) -> float:
    """Share of the larger class, which is the accuracy of always predicting it.

    >>> larger_class(Data(np.ones((4, 1)), np.array([1.0, -1.0, -1.0, -1.0])))
    0.75
    """
    positive = float(np.mean(data.y > 0.0))
    return max(positive, 1.0 - positive)


def separated(scores: Array, y: Array) -> Array:
    """Of each record the share of the other class's records that its score is on the right side of; ties count half.

    scores: [..., n]. The mean over either class is the AUC. Raises NotApplicable where y has one class alone.

    >>> separated(np.array([2.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, -1.0, -1.0]))
    array([1.  , 0.25, 0.5 , 0.75])
    """
    if scores.ndim > 1:
        return np.stack([separated(each, y) for each in scores])
    yes = y > 0.0
    members, others = np.sort(scores[yes]), np.sort(scores[~yes])
    if not len(members) or not len(others):
        raise NotApplicable("AUC needs both classes among test records, and a split has one alone: use more records")
    found = np.empty(len(y))
    found[yes] = _below(others, scores[yes])
    found[~yes] = 1.0 - _below(members, scores[~yes])
    return found


def _below(ordered: Array, values: Array) -> Array:
    """Share of the ordered numbers that each value is above; ties count half."""
    both = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(both / (2.0 * len(ordered)))


def auc(theta: Array, data: Data) -> float:
    """Share of pairs of a record of each class in which <x, theta> puts them in the right order; ties count half."""
    return float(separated(data.X @ theta, data.y)[data.y > 0.0].mean())


def r_squared(theta: Array, data: Data) -> float:
    """1 - mean squared error / variance of y: the share of the variance of y that theta explains."""
    return 1.0 - risk(_SQUARED, theta, data) / float(data.y.var())


def risk(loss: Loss, theta: Array, data: Data) -> float:
    """F(theta) = (1/n) sum_i l(z_i; y_i), z_i the prediction or, for location, the distance."""
    return float(loss.value(loss.predictions(data, theta[None])[0], data.y).mean())


def constant_risk(loss: Loss, data: Data) -> float:
    """Smallest average loss of one prediction for all records; for location, the average loss of theta = 0.

    >>> from dpcore.core.losses import get_loss
    >>> data = Data(np.ones((4, 1)), np.array([1.0, -1.0, -1.0, -1.0]))
    >>> round(constant_risk(get_loss("logistic"), data), 4), round(constant_risk(get_loss("hinge"), data), 4)
    (0.5623, 0.5)
    """
    if not loss.linear:
        return risk(loss, np.zeros(data.stored), data)
    labels, counts = np.unique(data.y, return_counts=True)
    shares = counts / data.n

    def average(prediction: float) -> float:
        return float(shares @ loss.value(np.full(len(labels), prediction), labels))

    reach = _LARGEST_SCORE if loss.classification else float(np.abs(labels).max())
    return float(minimize_scalar(average, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-6}).fun)


@dc.dataclass(frozen=True)
class Additive:
    """Releases centre_k + scale_k * direction_r for every repetition r at every point k of a curve.

    centres: [K, r]. scales: [K], >= 0. directions: [repetitions, r], shared by all K points (common random numbers).
    spread: quadrature nodes and weights for S, where direction = S Z and Z ~ N(0, I).
    """

    centres: Array
    scales: Array
    directions: Array
    spread: tuple[Array, Array]


Releases = Additive | Drawn


def curves_of(
    loss: Loss,
    train: Data,
    test: Data,
    reference: Minimum,
    releases: Releases,
    *,
    learner: Array | None = None,
    fresh: bool = False,
    ranked: bool = False,
) -> tuple[MetricCurve, ...]:
    """Accuracy on the test records (r_squared for regression), and excess empirical risk.

    For location only the latter. reference: of the excess risk. learner: model [r] whose accuracy is that without
    privacy, by default the reference's. fresh: also the mean loss on the test records. ranked: also the AUC on them.
    Means over the noise of `Additive` are exact: <S Z, x> is N(0, S^2 ||x||^2), so the mean accuracy is that of
    Phi(y m / (s S ||x||)), the mean risk that of `Loss.gaussian_mean`, averaged over S. In `Drawn`, repetitions 2i and
    2i + 1 are a pair, and pairs are independent: se is that of the pairs, in which the linear term of noise with
    opposite signs cancels.

    Raises ValueError for draws whose repetitions are odd or fewer than 4.
    """
    known = releases.risks if isinstance(releases, Drawn) else None
    excess = [values - reference.risk for values in _losses(loss, train, releases, known)]
    constant = constant_risk(loss, train)
    found = [_curve("excess_empirical_risk", 0.0, constant - reference.risk, *excess)]
    learner = reference.theta if learner is None else learner
    if loss.classification:
        best = accuracy(learner, test)
        found.insert(0, _curve("accuracy", best, larger_class(test), *_accuracies(test, releases)))
    elif loss.linear:
        shares = [1.0 - errors / test.y.var() for errors in _losses(_SQUARED, test, releases)]
        found.insert(0, _curve("r_squared", r_squared(learner, test), 0.0, *shares))
    if ranked:
        draws, centres = _aucs(test, releases)
        found.append(_curve("auc", auc(learner, test), 0.5, draws, centres))
    if fresh:
        best = risk(loss, learner, test)
        found.append(_curve("fresh_risk", best, constant_risk(loss, test), *_losses(loss, test, releases)))
    return tuple(found)


def _curve(
    metric: str, reference: float, nothing: float, draws: Array, noiseless: Array, exact: Array | None = None
) -> MetricCurve:
    """Curve of exact means, or of means over pairs of draws."""
    if exact is not None:
        return MetricCurve(metric, exact, 0.0 * exact, draws, noiseless, reference, nothing)
    R = draws.shape[1]
    if R < 4 or R % 2:
        raise ValueError(f"repetitions must be even and at least 4, got {R}")
    pairs = draws.reshape(len(draws), R // 2, 2).mean(axis=2)
    se = pairs.std(axis=1, ddof=1) / np.sqrt(R // 2)
    return MetricCurve(metric, pairs.mean(axis=1), se, draws, noiseless, reference, nothing)


def _losses(loss: Loss, data: Data, releases: Releases, known: Array | None = None) -> tuple[Array, ...]:
    """F of each draw [K, repetitions] and of the model before noise [K], then the mean over the noise [K] if exact.

    known: [K, repetitions], F of draws where a solver knows it.
    """
    if isinstance(releases, Drawn):
        draws = _mean_losses(loss, data, releases.thetas) if known is None else known
        return draws, _mean_losses(loss, data, releases.centres)
    margins, noise = data.margins(releases.centres), data.margins(releases.directions)
    draws = np.stack([loss.row_means(m, noise, s, data.y) for m, s in zip(margins, releases.scales, strict=True)])
    noiseless = np.array([loss.value(m, data.y).mean() for m in margins])
    mean = np.zeros(len(draws))
    for node, weight in zip(*releases.spread, strict=True):
        sd = node * releases.scales[:, None] * data.row_norms
        mean += weight * np.array([loss.gaussian_mean(m, data.y, s).mean() for m, s in zip(margins, sd, strict=True)])
    return draws, noiseless, mean


def _accuracies(data: Data, releases: Releases) -> tuple[Array, ...]:
    """Like `_losses`, for the share of records with y <x, theta> > 0."""
    if isinstance(releases, Drawn):
        return _shares_right(data, releases.thetas), _shares_right(data, releases.centres)
    margins, noise = data.margins(releases.centres), data.margins(releases.directions)
    draws = np.empty((len(releases.scales), len(releases.directions)))
    for k, scale in enumerate(releases.scales):
        kernels.row_accuracies(margins[k], noise, scale, data.y, draws[k])
    return draws, (data.y * margins > 0.0).mean(axis=1), _probabilities(data, releases).mean(axis=1)


def _scores(data: Data, releases: Releases, k: int) -> Array:
    """Predictions of the releases at the k-th point, [repetitions, n]."""
    if isinstance(releases, Drawn):
        return data.margins(releases.thetas[k])
    return data.margins(releases.centres[[k]]) + releases.scales[k] * data.margins(releases.directions)


def _aucs(data: Data, releases: Releases) -> tuple[Array, Array]:
    """AUC of each draw [K, repetitions], and of the model before noise [K]."""
    yes, points = data.y > 0.0, range(len(releases.centres))
    draws = np.stack([separated(_scores(data, releases, k), data.y)[:, yes].mean(axis=1) for k in points])
    return draws, separated(data.margins(releases.centres), data.y)[:, yes].mean(axis=1)


def influences(theta: Array, data: Data, releases: Releases) -> Array:
    """Of each record what the releases lose on it of the AUC of a model theta, [K, n]; its mean is the mean loss.

    L + (n / n_c) (d - L): L is the mean loss, d how much less of the other class the record is on the right side of,
    and n_c the number of its class. To first order the AUC is the mean of such records (Hoeffding's projection), of
    which those of the smaller class weigh more.
    """
    best, points = separated(data.X @ theta, data.y), range(len(releases.centres))
    less = best - np.stack([separated(_scores(data, releases, k), data.y).mean(axis=0) for k in points])
    yes = data.y > 0.0
    lost = less[:, yes].mean(axis=1, keepdims=True)
    found: Array = lost + (less - lost) / np.where(yes, yes.mean(), 1.0 - yes.mean())
    return found


def _probabilities(data: Data, releases: Additive) -> Array:
    """Of each record the probability that a release predicts it right, [K, n]."""
    margins = data.y * data.margins(releases.centres)
    sd = releases.scales[:, None] * data.row_norms
    # A prediction without noise (a row of zeros) counts like its draws: right or not.
    ratio = np.divide(margins, sd, out=np.where(margins > 0.0, np.inf, -np.inf), where=sd > 0.0)
    found = np.zeros_like(ratio)
    for node, weight in zip(*releases.spread, strict=True):
        found += weight * ndtr(ratio / node)
    return found


def shares_right(data: Data, releases: Releases) -> Array:
    """Of each record the share of releases that predict it right, [K, n]; of `Additive` the probability."""
    if isinstance(releases, Drawn):
        return np.stack([_right(data, thetas).mean(axis=0) for thetas in releases.thetas])
    return _probabilities(data, releases)


def _mean_losses(loss: Loss, data: Data, thetas: Array) -> Array:
    """F(theta) for thetas [..., k, r], shape [..., k]."""
    if thetas.ndim > 2:
        return np.stack([_mean_losses(loss, data, t) for t in thetas])
    return loss.risks(data, thetas)


def _shares_right(data: Data, thetas: Array) -> Array:
    """Share of records with y <x, theta> > 0 for thetas [..., k, r], shape [..., k]."""
    flat = thetas.reshape(-1, *thetas.shape[-2:])
    return np.array([_right(data, some).mean(axis=1) for some in flat]).reshape(thetas.shape[:-1])


def _right(data: Data, thetas: Array) -> Array:
    """Whether y <x, theta> > 0, for thetas [k, r] and all records, [k, n].

    In single precision: the sign changes only where a prediction is 0 to seven digits.
    """
    right: Array = (data.single @ thetas.astype(np.float32).T * data.y.astype(np.float32)[:, None] > 0.0).T
    return right
