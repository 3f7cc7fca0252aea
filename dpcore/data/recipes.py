"""Synthetic records of a known law: generalised linear models with ||x||_2 <= 1 by construction."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ..types import Array, Data, Domain
from .population import Population, reflect
from .sources import Source, Split

TEST_RECORDS = 4_000
_LOGISTIC_NORM = 6.0
_REGRESSION_NORM, _REGRESSION_NOISE = 0.8, 0.2  # add up to 1, so that |y| <= 1

_PEOPLE = Source(
    "synthetic",
    "synthetic people",
    record="person",
    records="people",
    things="people",
    outcome="classified correctly",
    size=None,
    p=None,
    theta_norm=10.0,
    scaling="features drawn uniformly on the unit sphere",
)

RECIPES = {
    source.key: source
    for source in (
        _PEOPLE,
        dc.replace(
            _PEOPLE,
            key="synthetic_padded",
            label="synthetic people, idle columns",
            p=8,
            scaling="8 features drawn uniformly on the unit sphere; every further column is zero",
        ),
        dc.replace(
            _PEOPLE,
            key="synthetic_correlated",
            label="synthetic people, correlated columns",
            scaling="factors drawn uniformly on the unit sphere, the j-th divided by j, and mixed by a reflection",
        ),
        dc.replace(
            _PEOPLE,
            key="synthetic_regression",
            label="synthetic people, a number to predict",
            outcome="put on the right side of 0",
            theta_norm=1.0,
            scaling="features drawn uniformly on the unit sphere; y is a linear score of at most 0.8 plus noise of at "
            "most 0.2",
            task="regression",
        ),
    )
}


def draw_recipe(key: str, n: int, p: int, rng: np.random.Generator) -> Split:
    """n training and 4,000 test records of a recipe with p columns, and their population.

    Randomness: the truth first; then streams of their own, so that the first records, their labels and the test set do
    not change when n does.
    """
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


def _population(key: str, r: int, rng: np.random.Generator) -> Population:
    truth = rng.standard_normal(r)
    spectrum = None
    if key == "synthetic_correlated":
        # A power law, and a truth that lies along the strong factors, as far as they are strong.
        spectrum = 1.0 / np.arange(1.0, r + 1.0)
        truth = reflect(spectrum * truth)
    regression = RECIPES[key].task == "regression"
    truth *= (_REGRESSION_NORM if regression else _LOGISTIC_NORM) / np.linalg.norm(truth)
    return Population(truth, spectrum, _REGRESSION_NOISE if regression else None)


def _labels(population: Population, X: Array, rng: np.random.Generator) -> Array:
    scores, uniform = X @ population.truth, rng.random(len(X))
    if population.noise is not None:
        return scores + population.noise * (2.0 * uniform - 1.0)
    return np.where(uniform < 1 / (1 + np.exp(-scores)), 1.0, -1.0)
