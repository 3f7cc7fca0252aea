"""Records of Cod-RNA, or a labelled stand-in, under public scalings: constants, or a rule for each row separately.

A record is a pair of strands of RNA: free energy, length, and for each strand the frequencies of three nucleotides.
+1 is RNA that codes for no protein, one record in three. Nothing is measured on the records: the constants below are
assumptions about the possible values of such measurements.
"""

import dataclasses as dc
from pathlib import Path

import numpy as np

from ....core.arrays import Array
from ....core.records import Data
from ....data import clip_rows, read_file, scale

FEATURES, ROWS = 8, 59_535
# Declared: the largest range of each feature; and a middle, with a distance from it at which it is called far.
_LOW = np.array([-2500.0, 50.0, *(0.0,) * 6])
_HIGH = np.array([0.0, 150.0, *(1.0,) * 6])
_MIDDLE = np.array([-500.0, 100.0, *(0.25,) * 6])
_FAR = np.array([500.0, 50.0, *(0.1,) * 6])


@dc.dataclass(frozen=True)
class CodRna:
    """Records of Cod-RNA. raw: [n, 8], unscaled features. y: [n], -1 or +1. words: a description."""

    raw: Array
    y: Array
    words: str


def cod_rna(file: Path | None, seed: int) -> CodRna:
    """The file's records, or a stand-in of the same size and shape. Raises ValueError for a file of another form."""
    if file is None:
        words = f"a stand-in, not Cod-RNA: {ROWS:,} drawn records of {FEATURES} features, about one in three positive"
        return CodRna(*_drawn(np.random.default_rng([seed, 0])), words=words)
    data = read_file(file).data
    if data.p != FEATURES:
        raise ValueError(f"{file.name} must have the {FEATURES} features of Cod-RNA, got {data.p}")
    if not np.isin(data.y, (-1.0, 1.0)).all():
        raise ValueError(f"{file.name} must have labels -1 and +1, got {data.y[np.abs(data.y) != 1.0][0]:g}")
    raw = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    return CodRna(raw, data.y, words=f"{file.name}: {data.n:,} records of {FEATURES} features")


def _drawn(rng: np.random.Generator) -> tuple[Array, Array]:
    """Energy grows with length; the labels follow energy by length, a little of the rest, and chance."""
    bound, length = rng.standard_normal(ROWS), rng.uniform(70.0, 130.0, ROWS)
    frequencies = np.clip(0.25 + 0.05 * rng.standard_normal((ROWS, 6)), 0.05, 0.45)
    energy = np.clip(-(4.6 + 1.6 * bound) * length, _LOW[0], 0.0)
    score = 6.0 * (bound - 0.5) + 20.0 * (frequencies[:, 0] - 0.25) + 0.02 * (length - 100.0)
    y = np.where(rng.random(ROWS) < 1.0 / (1.0 + np.exp(-score)), 1.0, -1.0)
    return np.column_stack([energy, length, frequencies]), y


def by_row(records: CodRna) -> tuple[Data, int]:
    """Records with every row divided by its norm if that is above 1, and the number of such rows.

    No constant has to be declared: the rule ensures ||x|| <= 1 for any record. Energy and length are hundreds of times
    the frequencies, so that a scaled record is mostly its energy by length.
    """
    return clip_rows(Data(records.raw, records.y), 1.0)


def by_range(records: CodRna) -> Data:
    """Every feature mapped from its declared range to [-1, 1], and a constant, over the root of how many they are.

    Raises ValueError for a value outside its range.
    """
    features = np.column_stack([scale(records.raw, _LOW, _HIGH), np.ones(len(records.y))])
    return Data(features / features.shape[1] ** 0.5, records.y)


def by_middle(records: CodRna) -> tuple[Data, int]:
    """Every feature less its declared middle, by its declared distance, clipped to [-1, 1]; and a constant.

    Also how many values were clipped, which depends on the records and is not private.
    """
    values = (records.raw - _MIDDLE) / _FAR
    kept = np.clip(values, -1.0, 1.0)
    return Data(np.column_stack([kept, np.ones(len(records.y))]), records.y), int(np.count_nonzero(kept != values))
