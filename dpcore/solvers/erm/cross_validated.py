"""The linear learner without privacy that private ones are compared with where prices are read.

It minimises the mean loss with an L2 penalty on the weights of columns, as they are or in units of their spread; which,
and how heavy a penalty, cross-validation on the training records decides. Losses are logistic for classes and squared
for numbers, whatever the private learner minimises.
"""

import dataclasses as dc
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ...core.arrays import Array
from ...core.losses import Loss, get_loss
from ...core.records import Data
from .minimise import minimise

_WEIGHTS: Array = np.logspace(2.0, -3.0, 6)
_FOLDS = 5
# The best weight of a penalty beside a sum hardly depends on how many records are summed.
_MOST_RECORDS = 1_000
_DISTANCE = 1e-3  # to the minimiser, of models whose predictions are of the size 1


@dc.dataclass(frozen=True)
class Penalty:
    """An L2 penalty. weight: n lam, beside the sum of the records' losses. by_spread: on columns in such units."""

    weight: float
    by_spread: bool


def choose_penalty(loss: Loss, data: Data) -> Penalty:
    """Penalty with the smallest mean loss on records that are left out, in five folds.

    The first 1,000 records decide. Equal records stay in one fold, since copies of a record foretell its label. With
    fewer than five different records it is the heaviest.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> useful, useless = Data(X, X[:, 0]), Data(X, X[::-1, 0])
    >>> choose_penalty(get_loss("squared"), useful).weight < choose_penalty(get_loss("squared"), useless).weight
    True
    """
    few = Data(data.X[:_MOST_RECORDS], data.y[:_MOST_RECORDS])
    mixed = few.X @ np.random.default_rng(0).normal(size=few.stored)  # equal for equal records
    _, number = np.unique(np.round(mixed, 9), return_inverse=True)
    if number.max() < _FOLDS - 1:
        return Penalty(float(_WEIGHTS[0]), True)
    tried = {
        Penalty(float(weight), by_spread): mean
        for by_spread in (True, False)
        for weight, mean in zip(_WEIGHTS, _left_out(_predictive(loss), few, number % _FOLDS, by_spread), strict=False)
    }
    return min(tried, key=tried.__getitem__)


def penalised(loss: Loss, data: Data, penalty: Penalty) -> Array:
    """Model [r] that minimises the mean loss with this penalty.

    >>> X = np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.3], [1.0, 0.4]])
    >>> (0.0 + penalised(get_loss("squared"), Data(X, X[:, 1]), Penalty(1e-6, True)).round(2)).tolist()
    [0.0, 1.0]
    """
    scaled, turned = _in_units(data.merged or data, penalty.by_spread)
    return turned(minimise(_predictive(loss), scaled, penalty.weight / data.n, tol=_DISTANCE).theta)


def _left_out(loss: Loss, data: Data, fold: NDArray[np.intp], by_spread: bool) -> list[float]:
    """Mean loss on the fold that is left out, for each weight from the heaviest on, until it rises."""
    scaled, _ = _in_units(data, by_spread)
    folds = [(fold != k, fold == k) for k in range(_FOLDS)]
    trains = [Data(scaled.X[inside], scaled.y[inside]) for inside, _ in folds]
    thetas, means = [np.zeros(data.stored)] * _FOLDS, list[float]()
    for weight in _WEIGHTS:
        total = 0.0
        for k, (_, outside) in enumerate(folds):
            thetas[k] = minimise(loss, trains[k], weight / trains[k].n, tol=_DISTANCE, start=thetas[k]).theta
            total += loss.value(scaled.X[outside] @ thetas[k], scaled.y[outside]).sum()
        means.append(total / data.n)
        if means[-1] > min(means):
            break
    return means


def _predictive(loss: Loss) -> Loss:
    return get_loss("logistic" if loss.classification else "squared")


def _in_units(data: Data, by_spread: bool) -> tuple[Data, Callable[[Array], Array]]:
    """Records in these units, and what turns a model of them into one of the columns as they are.

    Columns in units of their spread are centred where one of them is constant and can carry the means.
    """
    if not by_spread:
        return data, lambda theta: theta
    if data.sparse:
        X = cast(csr_array, data.X)
        unit = _units(np.sqrt(np.asarray(X.multiply(X).mean(axis=0))))
        return Data(csr_array(X.multiply(unit)), data.y), lambda theta: unit * theta
    table = cast(Array, data.X)

    def mean(values: Array) -> Array:
        return cast(Array, np.average(values, axis=0, weights=data.weights))

    centre = mean(table)
    spread = np.sqrt(mean((table - centre) ** 2))
    constant = spread <= 1e-9 * np.abs(table).max(axis=0)
    carriers = np.flatnonzero(constant & (table[0] != 0.0))
    if not len(carriers):
        unit = _units(np.sqrt(mean(table**2)))
        return dc.replace(data, X=table * unit), lambda theta: unit * theta
    carrier, unit = carriers[0], _units(np.where(constant, 0.0, spread))
    scaled = (table - centre) * unit
    scaled[:, carrier] = 1.0

    def turned(theta: Array) -> Array:
        model = unit * theta
        model[carrier] = (theta[carrier] - model @ centre) / table[0, carrier]
        return model

    return dc.replace(data, X=scaled), turned


def _units(spread: Array) -> Array:
    """Factors after which the k columns with a spread > 0 have that of 1 / sqrt(k), so that records have length 1."""
    varying = spread > 0.0
    return np.divide(1.0, spread * np.sqrt(max(varying.sum(), 1)), where=varying, out=np.zeros(len(spread)))
