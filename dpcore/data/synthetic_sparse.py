"""Sparse records with as many columns as words or addresses have, drawn where a real table is too large."""

import numpy as np
from scipy.sparse import csr_array

from ..core.records import Data

_BLOCK_ROWS, _FLAT, _TELLING = 10_000, 10.0, 200


def sparse_records(rows: int, columns: int, nonzeros: int, *, uniform: bool = False, seed: int = 0) -> Data:
    """Rows of about `nonzeros` entries in the unit ball; y in [-1, 1], whose sign is the class.

    Columns are drawn by the law of Zipf and Mandelbrot, 1 / (10 + rank), or all alike where `uniform`, which fills more
    of them; a column that is drawn twice counts once. Entries lie between half of 1 / sqrt(nonzeros) and that. y
    follows a model of 200 frequent columns and noise. Records are made in blocks of rows.

    >>> records = sparse_records(100, 1_000, 10)
    >>> records.X.shape, bool(records.row_norms.max() <= 1.0)
    ((100, 1000), True)
    """
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
