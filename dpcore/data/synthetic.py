"""Synthetic records with ||x||_q <= 1 by construction: linear models of a known law, points, and sparse ones."""

import math
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.hard_blocks import hard_blocks
from ..core.records import Data
from ..core.specification import Domain
from .sources import SOURCES, Split

TEST_RECORDS = 4_000
_LOGISTIC_NORM = 6.0
_REGRESSION_NORM, _REGRESSION_NOISE = 0.8, 0.2  # add up to 1, so that |y| <= 1
# Location: most points lie within _SPREAD of the centre, the others as close to a point on the opposite side.
_CENTRE_NORM, _OUTLIER_NORM, _OUTLIER_SHARE, _SPREAD = 0.4, 0.9, 0.2, 0.1
# Linear law with features -1 and +1: weights, largest noise.
_FEW = {"synthetic_mixture": ((0.4, 0.3, 0.2, 0.1), 0.25), "synthetic_sparse": ((0.25, 0.25, 0.25, 0.25), 0.1)}
_BLOCK_ROWS, _FLAT, _TELLING = 10_000, 10.0, 200  # of `sparse_records`

# Function that draws n records from two streams, and the known facts: domain, truth.
Recipe = tuple[Callable[[int, np.random.Generator, np.random.Generator], Data], Domain, Array | None]


def reflect(rows: Array) -> Array:
    """Rows [..., r] mirrored at the hyperplane orthogonal to (1, ..., 1): symmetric, orthogonal, its own inverse.

    >>> reflect(np.array([1.0, 0.0, 0.0, 0.0]))
    array([ 0.5, -0.5, -0.5, -0.5])
    """
    return rows - 2.0 * rows.mean(axis=-1, keepdims=True)


def draw_recipe(key: str, n: int, p: int, rng: np.random.Generator) -> Split:
    """n training and 4,000 test records of a recipe with p columns.

    Randomness: the truth first; then separate streams, so that the first records, their labels and the test set do not
    change with n.
    """
    recipe = _points if SOURCES[key].task == "location" else _few if key in _FEW else _model
    if key == "synthetic_hardest":
        recipe = _hardest
    draw, domain, truth = recipe(key, p, rng)
    streams = rng.spawn(4)
    return Split(draw(n, *streams[:2]), draw(TEST_RECORDS, *streams[2:]), domain, truth)


def _model(key: str, r: int, rng: np.random.Generator) -> Recipe:
    """Recipe with features on the sphere, or on a reflected ellipsoid, and y by a logistic or a linear model."""
    truth, spectrum = rng.standard_normal(r), None
    if key == "synthetic_correlated":
        # A power law, and a truth along the strong factors, in proportion to their strength.
        spectrum = 1.0 / np.arange(1.0, r + 1.0)
        truth = reflect(spectrum * truth)
    noise = _REGRESSION_NOISE if SOURCES[key].task == "regression" else None
    truth *= (_LOGISTIC_NORM if noise is None else _REGRESSION_NORM) / np.linalg.norm(truth)

    def draw(count: int, features: np.random.Generator, labels: np.random.Generator) -> Data:
        X = features.standard_normal((count, r))
        X /= np.linalg.norm(X, axis=1)[:, None]
        if spectrum is not None:
            X = reflect(X * spectrum)
        scores, uniform = X @ truth, labels.random(count)
        if noise is None:
            return Data(X, np.where(uniform < 1 / (1 + np.exp(-scores)), 1.0, -1.0))
        return Data(X, scores + noise * (2.0 * uniform - 1.0))

    return draw, Domain(), truth


def _points(key: str, p: int, rng: np.random.Generator) -> Recipe:
    """Recipe with points around a centre and some far outliers on one side, which pull the mean, not the median."""
    direction = rng.standard_normal(p)
    direction /= np.linalg.norm(direction)

    def draw(count: int, sides: np.random.Generator, places: np.random.Generator) -> Data:
        side, distance = sides.random((count, 2)).T
        away = places.standard_normal((count, p))
        away *= (_SPREAD * distance / np.linalg.norm(away, axis=1))[:, None]
        along = np.where(side < _OUTLIER_SHARE, -_OUTLIER_NORM, _CENTRE_NORM)
        return Data(along[:, None] * direction + away, np.zeros(count))

    return draw, Domain(), None


def _few(key: str, p: int, rng: np.random.Generator) -> Recipe:
    """Recipe with features -1 and +1, and y = <x, w> + e: w has few weights, on some of the first eight columns."""
    weights, noise = _FEW[key]
    places = rng.permutation(min(p, 8))[: len(weights)]
    truth = np.zeros(p)
    truth[places] = np.array(weights[: len(places)]) / sum(weights[: len(places)])
    if SOURCES[key].set == "l1_ball":
        truth[places] *= rng.choice([-1.0, 1.0], len(places))

    def draw(count: int, features: np.random.Generator, labels: np.random.Generator) -> Data:
        X = 2.0 * np.unpackbits(np.stack(_octets(count, p, features), axis=1), axis=1, count=p) - 1.0
        return Data(X, X @ truth + noise * labels.uniform(-1.0, 1.0, count))

    return draw, Domain(q=math.inf, y_max=1.0 + noise), truth


def _octets(count: int, p: int, features: np.random.Generator) -> list[NDArray[np.uint8]]:
    """Signs of eight columns after eight, the last of them perhaps of fewer, as the bits of bytes [count], 1 for +1.

    One stream for each eight columns: the first columns do not change with p.
    """
    return [block.integers(0, 256, count, np.uint8) for block in features.spawn(-(-p // 8))]


def draw_octets(key: str, n: int, p: int, rng: np.random.Generator) -> tuple[list[NDArray[np.uint8]], Array]:
    """The training records that `draw_recipe` draws of features -1 and +1, as `_octets`, and their labels.

    They take a 64th of the table's room.

    >>> (signs,), y = draw_octets("synthetic_sparse", 3, 8, np.random.default_rng(0))
    >>> train = draw_recipe("synthetic_sparse", 3, 8, np.random.default_rng(0)).train
    >>> (2.0 * np.unpackbits(signs[:, None], axis=1) - 1.0 == train.X).all(), (y == train.y).all()
    (np.True_, np.True_)
    """
    truth = cast(Array, _few(key, p, rng)[2])
    features, labels = rng.spawn(2)
    octets = _octets(n, p, features)
    first = 2.0 * np.unpackbits(octets[0][:, None], axis=1, count=min(p, 8)) - 1.0  # no other column has a weight
    return octets, first @ truth[:8] + _FEW[key][1] * labels.uniform(-1.0, 1.0, n)


def _hardest(key: str, p: int, rng: np.random.Generator) -> Recipe:
    """Recipe with `hard_blocks` on the first axes, each with its own random label, in random order; they depend on n.

    Records at 0, which no model can use, make both labels equally frequent, if there are enough. On these records the
    lower bound `dpcore.theory.lower_bounds.hardest_data` is proved (Assouad's lemma; docs/formulas.md).
    """
    signs = rng.choice([-1.0, 1.0], p)

    def draw(count: int, order: np.random.Generator, _: np.random.Generator) -> Data:
        X, y, start = np.zeros((count, p)), np.zeros(count), 0
        for j, (own, other) in enumerate(hard_blocks(count)[:p].astype(int)):
            block = slice(start, start + own + other)
            X[block, j], y[block], start = 1.0, signs[j], start + own + other
            y[start - other : start] *= -1.0
        y[start:] = np.where(np.arange(start, count) < (start + count - y.sum()) / 2, 1.0, -1.0)
        shuffled = order.permutation(count)
        return Data(X[shuffled], y[shuffled])

    return draw, Domain(), None


def sparse_records(rows: int, columns: int, nonzeros: int, *, uniform: bool = False, seed: int = 0) -> Data:
    """Rows of about `nonzeros` entries in the unit ball; y in [-1, 1], whose sign is the class.

    They have as many columns as tables of words or addresses, and replace real tables that are too large. Columns are
    drawn by the law of Zipf and Mandelbrot, 1 / (10 + rank), or uniformly if `uniform`, which fills more of them; a
    column that is drawn twice counts once. Entries lie between half of 1 / sqrt(nonzeros) and 1 / sqrt(nonzeros). y
    follows a model of 200 frequent columns and noise. Records are made in blocks of rows.

    >>> records = sparse_records(100, 1_000, 10)
    >>> records.X.shape, bool(records.row_norms.max() <= 1.0)
    ((100, 1000), True)
    """
    from scipy.sparse import csr_array

    rng = np.random.default_rng([seed, rows, columns, nonzeros])
    telling = np.append(rng.standard_normal(min(_TELLING, columns)), 0.0)
    pointers, indices, values, scores = np.zeros(rows + 1, np.int64), [], [], np.empty(rows)
    for start in range(0, rows, _BLOCK_ROWS):
        shape = min(_BLOCK_ROWS, rows - start), nonzeros
        drawn = rng.random(shape)
        drawn = drawn * columns if uniform else _FLAT * ((columns + _FLAT) / _FLAT) ** drawn - _FLAT
        table = np.sort(np.minimum(drawn.astype(np.int32), columns - 1), axis=1)
        kept = np.diff(table, axis=1, prepend=-1) > 0
        entries = rng.uniform(0.5, 1.0, shape) / nonzeros**0.5 * kept
        block = slice(start, start + shape[0])
        scores[block] = (entries * telling[np.minimum(table, len(telling) - 1)]).sum(axis=1)
        pointers[start + 1 : start + 1 + shape[0]] = kept.sum(axis=1)
        indices.append(table[kept])
        values.append(entries[kept])
    X = csr_array(
        (np.concatenate(values), np.concatenate(indices), pointers.cumsum().astype(np.int32)), shape=(rows, columns)
    )
    scores += 0.3 * scores.std() * rng.standard_normal(rows)
    return Data(X, np.clip(scores / (3.0 * scores.std() + 1e-300), -1.0, 1.0))
