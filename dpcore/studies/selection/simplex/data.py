"""The records of a mixture at the size of a picture, and what excess is measured from."""

import dataclasses as dc

import numpy as np
from scipy.sparse import csr_array

from .... import data as records
from .... import solvers
from ....core.arrays import Array
from ....core.cache import SharedCache
from ....core.losses import Loss, get_loss
from ....core.records import Data
from ....core.specification import LamRule, Spec
from ....data.synthetic import TEST_RECORDS

SOURCE = "synthetic_mixture"
# Values of a table, training or test, that a move of a slider leaves time for: 5,000 records of 512 columns.
MAX_FILLED = 2_560_000
_FEW = 0.1  # of the columns

_REFERENCES: SharedCache[solvers.Minimum] = SharedCache(64)


def stored_columns(n: int, p: int, most: int = MAX_FILLED) -> int:
    """Number of the p columns that are filled: all, as far as `most` values for n records and for the test records go.

    >>> stored_columns(5_000, 512), stored_columns(5_000, 65_536), stored_columns(1_000_000, 64)
    (512, 512, 8)
    """
    return min(p, max(8, most // max(n, TEST_RECORDS)))


def split_of(n: int, p: int, stored: int, seed: int) -> records.Split:
    """Records of p columns, of which `stored` are filled; the truth does not reach beyond the first eight."""
    split = records.load(SOURCE, n, stored, seed)
    return dc.replace(split, train=dc.replace(split.train, p=p), test=dc.replace(split.test, p=p))


def spec_of(loss: str, split: records.Split, lam: float | LamRule) -> Spec:
    return Spec(loss, split.train.n, split.train.p, lam, split.domain, set="simplex")


def minimum_of(loss: str, n: int, p: int, stored: int, seed: int) -> solvers.Minimum:
    """F* over the simplex of p columns. Idle ones take weight that filled ones do not want; one does that for all."""
    split = split_of(n, p, stored, seed)
    key = (loss, n, stored, p > stored, seed)
    return _REFERENCES.get(key, lambda: solvers.minimise_on_simplex(get_loss(loss), split.train))


def risks_of(loss: Loss, data: Data, thetas: Array) -> Array:
    """F(theta) for thetas [k, r], shape [k]. Predictions are in single precision, half the work; F is right to 1e-6."""
    thetas, z = thetas.astype(np.float32), np.empty((len(thetas), data.n), np.float32)
    # Few draws name few columns.
    few = np.count_nonzero(thetas, axis=1) <= _FEW * thetas.shape[1]
    z[few] = csr_array(thetas[few]) @ data.single.T
    z[~few] = thetas[~few] @ data.single.T
    return loss.row_means(np.zeros(data.n), z.astype(np.float64), 1.0, data.y)
