"""Gaussian classes of a known law, with an ellipse each, cut at norm 1: the records of `gaussian_classes`."""

import dataclasses as dc
import math
from typing import Any

import numpy as np

from ..core.arrays import Array

# Of C classes in the plane of the first two coordinates: a + b / C each.
_RADIUS, _LONG, _SHORT = (0.55, -0.8), (0.15, 0.3), (0.03, 0.08)
_WIDER = 1.5  # the short axis of every second class
_MEAN, _SPREADS = 0.03, (0.08, 0.12)  # in every further coordinate


@dc.dataclass(frozen=True)
class Mixture:
    """Gaussian classes with equal shares: means [C, d], covariances [C, d, d], positive definite.

    This is the law before the cut at norm 1, which divides the density of class c by its probability of norm <= 1.

    >>> law = Mixture(np.zeros((2, 1)), np.array([[[0.01]], [[0.09]]]))
    >>> law.classify(np.array([[0.1], [-0.5]])).tolist()  # the narrow class inside the wide one
    [0, 1]
    """

    means: Array
    covariances: Array

    @property
    def classes(self) -> int:
        return len(self.means)

    def ellipsoids(self) -> tuple[Array, Array, Array]:
        """Bayes' rule as an ellipsoid for each class: centres [C, d], precisions [C, d, d], offsets [C], all >= 0.

        The class of x has the smallest (x - centre)' precision (x - centre) + offset. The precision is half the inverse
        covariance; the offset is half the logarithm of its determinant, less the smallest over the classes.
        """
        halves = 0.5 * np.linalg.slogdet(self.covariances)[1]
        return self.means, np.asarray(0.5 * np.linalg.inv(self.covariances)), np.asarray(halves - halves.min())

    def classify(self, X: Array) -> Any:
        """Likeliest class of each row of X [n, d], by Bayes' rule, which no rule outperforms; integers [n]."""
        values = []
        for centre, precision, offset in zip(*self.ellipsoids(), strict=True):
            away = X - centre
            values.append(((away @ precision) * away).sum(axis=1) + offset)
        return np.argmin(values, axis=0)


def crossing_ellipses(classes: int, d: int, rng: np.random.Generator) -> Mixture:
    """Law of `gaussian_classes` for C >= 2 classes in d >= 2 coordinates.

    Means are evenly spaced on a circle, and the long axes of the ellipses, no two of them parallel, are spread over a
    half turn (docs/data.md, "Several classes"). Randomness: a rotation of all classes, then signs of the further means,
    then their spreads.
    """
    turn, c = rng.uniform(0.0, 2.0 * math.pi), np.arange(classes)
    radius, long, short = (a + b / classes for a, b in (_RADIUS, _LONG, _SHORT))
    means = np.empty((classes, d))
    around = turn + 2.0 * math.pi * c / classes
    means[:, :2] = radius * np.stack([np.cos(around), np.sin(around)], axis=1)
    means[:, 2:] = rng.choice([-_MEAN, _MEAN], (classes, d - 2))
    spreads = np.empty((classes, d))
    spreads[:, 0], spreads[:, 1] = long, short * np.where(c % 2, _WIDER, 1.0)
    spreads[:, 2:] = rng.choice(_SPREADS, (classes, d - 2))
    axes = np.tile(np.eye(d), (classes, 1, 1))  # in columns
    lean = turn + math.pi * c / classes
    axes[:, 0, 0] = axes[:, 1, 1] = np.cos(lean)
    axes[:, 1, 0] = np.sin(lean)
    axes[:, 0, 1] = -axes[:, 1, 0]
    return Mixture(means, (axes * spreads[:, None, :] ** 2) @ axes.swapaxes(1, 2))


def draw_within(law: Mixture, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """`count` records X [count, d] with ||x|| <= 1 and their classes y, as floats; longer records are drawn again.

    A class keeps its share: only the record is drawn again, not its class.
    Randomness: the classes, then one stream for each round of draws, so that the first records stay when count grows.
    """
    y = rng.integers(law.classes, size=count)
    factors = np.linalg.cholesky(law.covariances)
    X = np.empty((count, law.means.shape[1]))
    left = np.arange(count)
    while len(left):
        (fresh,) = rng.spawn(1)
        normal = fresh.standard_normal((len(left), X.shape[1]))
        drawn = law.means[y[left]]
        for j in range(X.shape[1]):  # not a product of matrices, whose last bits depend on their size
            drawn += factors[y[left], :, j] * normal[:, j, None]
        X[left] = drawn
        left = left[np.linalg.norm(drawn, axis=1) > 1.0]
    return X, y.astype(float)
