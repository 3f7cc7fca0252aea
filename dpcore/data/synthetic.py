"""Synthetic records with ||x||_2 <= 1 by construction: generalised linear models of a known law, and points."""

import math

import numpy as np

from ..core.arrays import Array
from ..core.records import Data
from ..core.specification import Domain
from .population_risk import Population, reflect
from .sources import SOURCES, Split

TEST_RECORDS = 4_000
_LOGISTIC_NORM = 6.0
_REGRESSION_NORM, _REGRESSION_NOISE = 0.8, 0.2  # add up to 1, so that |y| <= 1
# Of a location: most points lie within _SPREAD of the centre, the others as close to a place on the other side.
_CENTRE_NORM, _OUTLIER_NORM, _OUTLIER_SHARE, _SPREAD = 0.4, 0.9, 0.2, 0.1
# Of a linear law with signs for features: weights, largest noise.
_FEW = {"synthetic_mixture": ((0.4, 0.3, 0.2, 0.1), 0.25), "synthetic_sparse": ((0.25, 0.25, 0.25, 0.25), 0.1)}


def draw_recipe(key: str, n: int, p: int, rng: np.random.Generator) -> Split:
    """n training and 4,000 test records of a recipe with p columns, and their population where its risk is known.

    Randomness: the truth first; then streams of their own, so that the first records, their labels and the test set do
    not change when n does.
    """
    if SOURCES[key].task == "location":
        return _draw_points(n, p, rng)
    if key in _FEW:
        return _draw_few(key, n, p, rng)
    population = _population(key, p, rng)
    features, labels, test_features, test_labels = rng.spawn(4)

    def draw(count: int, features: np.random.Generator, labels: np.random.Generator) -> Data:
        X = features.standard_normal((count, len(population.truth)))
        X /= np.linalg.norm(X, axis=1)[:, None]
        if population.spectrum is not None:
            X = reflect(X * population.spectrum)
        return Data(X, _labels(population, X, labels))

    test = draw(TEST_RECORDS, test_features, test_labels)
    return Split(draw(n, features, labels), test, Domain(), population)


def _draw_points(n: int, p: int, rng: np.random.Generator) -> Split:
    """Points around a centre, a share of them far outliers on one side, which pull the mean and not the median."""
    direction = rng.standard_normal(p)
    direction /= np.linalg.norm(direction)
    sides, places, test_sides, test_places = rng.spawn(4)

    def draw(count: int, sides: np.random.Generator, places: np.random.Generator) -> Data:
        side, distance = sides.random((count, 2)).T
        away = places.standard_normal((count, p))
        away *= (_SPREAD * distance / np.linalg.norm(away, axis=1))[:, None]
        along = np.where(side < _OUTLIER_SHARE, -_OUTLIER_NORM, _CENTRE_NORM)
        return Data(along[:, None] * direction + away, np.zeros(count))

    test = draw(TEST_RECORDS, test_sides, test_places)
    return Split(draw(n, sides, places), test, Domain())


def _draw_few(key: str, n: int, p: int, rng: np.random.Generator) -> Split:
    """Features of -1 and +1, and y = <x, w> + e: w has few weights, on some of the first eight columns.

    Features come as random bits in blocks of eight columns, each block from a stream of its own, so that neither the
    first columns nor the labels change when p does.
    """
    weights, noise = _FEW[key]
    places = rng.permutation(min(p, 8))[: len(weights)]
    truth = np.zeros(p)
    truth[places] = np.array(weights[: len(places)]) / sum(weights[: len(places)])
    if SOURCES[key].set == "l1_ball":
        truth[places] *= rng.choice([-1.0, 1.0], len(places))
    streams = rng.spawn(4)

    def draw(count: int, features: np.random.Generator, labels: np.random.Generator) -> Data:
        blocks = [block.integers(0, 256, count, np.uint8) for block in features.spawn(-(-p // 8))]
        bits = np.unpackbits(np.stack(blocks, axis=1), axis=1, count=p)
        X = 2.0 * bits - 1.0
        return Data(X, X @ truth + noise * labels.uniform(-1.0, 1.0, count))

    test = draw(TEST_RECORDS, *streams[2:])
    return Split(draw(n, *streams[:2]), test, Domain(q=math.inf, y_max=1.0 + noise), truth=truth)


def _population(key: str, r: int, rng: np.random.Generator) -> Population:
    truth = rng.standard_normal(r)
    spectrum = None
    if key == "synthetic_correlated":
        # A power law, and a truth that lies along the strong factors, as far as they are strong.
        spectrum = 1.0 / np.arange(1.0, r + 1.0)
        truth = reflect(spectrum * truth)
    regression = SOURCES[key].task == "regression"
    truth *= (_REGRESSION_NORM if regression else _LOGISTIC_NORM) / np.linalg.norm(truth)
    return Population(truth, spectrum, _REGRESSION_NOISE if regression else None)


def _labels(population: Population, X: Array, rng: np.random.Generator) -> Array:
    scores, uniform = X @ population.truth, rng.random(len(X))
    if population.noise is not None:
        return scores + population.noise * (2.0 * uniform - 1.0)
    return np.where(uniform < 1 / (1 + np.exp(-scores)), 1.0, -1.0)
