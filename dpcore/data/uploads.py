"""Records that one holder uploads: they, and everything computed from them, are freed with the last reference.

The rest of the library knows them only by a random key. The holder of the `UploadedRecords` (a session of the
dashboard) keeps them alive; caches of results are stored in them (`kept_with`), not in the modules that fill them.
"""

import dataclasses as dc
import math
import re
import secrets
import weakref
from typing import Any, NoReturn

import numpy as np

from ..core.arrays import Array
from ..core.cache import SharedCache
from ..core.scaling import scale
from ..core.validation import one_of, positive, shown
from .sheets import RawTable
from .sources import Source, Split, draw_split, training_records

PREFIX = "upload-"
MIN_RECORDS = 10
_LARGEST_BOUND = 1e100
_HEAVILY = 0.01
_STREAM = b"upload"  # of random numbers: the same file and seed give the same split, while keys differ


@dc.dataclass(frozen=True)
class Declared:
    """Public declaration of the holder about a table, made before anything is computed from it.

    columns: the features to use. low, high: their bounds, one for each; values beyond are clipped. positive: the label
    that counts as +1; all others count as -1. gaps: "refuse", or "drop" the rows that lack a number in one of `columns`
    or a label. theta_norm: as in `Source`; None for the rule of the bundled sets.
    """

    columns: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    positive: str
    gaps: str = "refuse"
    theta_norm: float | None = None


@dc.dataclass(frozen=True)
class Report:
    """Changes made to the records; private, since they depend on the records, and for their holder only.

    read, dropped: rows. clipped: number of values of each declared column beyond its bounds.
    """

    read: int
    dropped: int
    clipped: dict[str, int]

    def heavily_clipped(self) -> dict[str, float]:
        """Columns in which more than 1% of the records was clipped, with their shares, the largest first.

        >>> Report(110, 10, {"age": 1, "dose": 2, "weight": 40}).heavily_clipped()
        {'weight': 0.4, 'dose': 0.02}
        """
        whole = self.read - self.dropped
        shares = {column: count / whole for column, count in self.clipped.items() if count > _HEAVILY * whole}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))


class UploadedRecords:
    """Scaled records, their source and report, and the caches of results from them; never pickled or copied.

    Each declared column is clipped to [low, high] and mapped to [-1, 1], a constant 1 is appended, and all is divided
    by sqrt(p), so that ||x||_2 <= 1 for any records. 30% of the records are never used for training. `file`, `label`,
    `form` and `declared` suffice to make them again.
    """

    def __init__(self, sheet: RawTable, declared: Declared, name: str) -> None:
        """Scale the records of a table. name: of the file. Raises ValueError for declarations that do not fit it."""
        places = _declared_places(sheet, declared)
        whole = sheet.labels >= 0
        for place in places:
            whole &= ~np.isnan(sheet.numbers[:, place])
        if declared.gaps == "refuse" and not whole.all():
            raise ValueError(
                f"every row must have a label and a number in every column that is used, got {(~whole).sum():,} of "
                f"{len(whole):,} rows without"
            )
        if whole.sum() < MIN_RECORDS:
            raise ValueError(f"a table must hold at least {MIN_RECORDS} complete records, got {whole.sum()}")
        p = len(places) + 1
        self._X: Array = np.ones((int(whole.sum()), p))
        clipped = {}
        # One column at a time: a copy of all would take as much memory again for each step.
        for i, (place, low, high) in enumerate(zip(places, declared.low, declared.high, strict=True)):
            numbers = sheet.numbers[whole, place]
            clipped[declared.columns[i]] = int(((numbers < low) | (numbers > high)).sum())
            self._X[:, i] = scale(np.clip(numbers, low, high), np.array(low), np.array(high))
        self._X /= math.sqrt(p)
        self.report = Report(len(whole), int((~whole).sum()), clipped)
        self._y: Array = np.where(sheet.labels[whole] == sheet.values.index(declared.positive), 1.0, -1.0)
        if (self._y == self._y[0]).all():
            raise ValueError("complete records must have two classes, got one of them in every row")
        self.file, self.label, self.form, self.declared = name, sheet.label, sheet.form, declared
        self.key = PREFIX + secrets.token_hex(16)
        self.source = Source(
            self.key,
            f"{_harmless(name)} (your file)",
            record="record",
            records="records",
            things="records",
            outcome="classified correctly",
            size=training_records(len(self._X)),
            p=p,
            # The rule of the bundled sets: coefficients of norm about 5 on the mapped features, times sqrt(p), rounded.
            theta_norm=declared.theta_norm or float(round(5.0 * math.sqrt(p))),
            scaling=f"{p - 1:,} columns clipped to the declared bounds, mapped to [-1, 1], and a constant 1, all over "
            f"sqrt({p:,})",
        )
        self._caches: dict[SharedCache[Any], SharedCache[Any]] = {}
        _HELD[self.key] = self

    def draw(self, n: int, seed: int) -> Split:
        """Split with n of the training records, and the test records, as `dpcore.data.load` returns it."""
        return draw_split(self._X, self._y, n, np.random.default_rng([seed, *_STREAM]))

    def like(self, cache: SharedCache[Any]) -> SharedCache[Any]:
        """Cache of these records that replaces a module's."""
        return self._caches.setdefault(cache, cache.like())

    def __reduce__(self) -> NoReturn:
        raise TypeError("private records must stay in the memory of this process")


_HELD: weakref.WeakValueDictionary[str, UploadedRecords] = weakref.WeakValueDictionary()


def is_private(key: object) -> bool:
    """True if this is the key of private records, also of freed ones.

    >>> is_private("iris")
    False
    """
    return isinstance(key, str) and key.startswith(PREFIX)


def is_gone(key: object) -> bool:
    """True if this is the key of private records that have been freed.

    >>> is_gone("upload-0"), is_gone("iris")
    (True, False)
    """
    return is_private(key) and key not in _HELD


def held(key: str) -> UploadedRecords:
    """Private records with this key, if they are still held, else ValueError."""
    records = _HELD.get(key)
    if records is None:
        raise ValueError("source must be an upload that its session still holds, got one that is gone; upload it again")
    return records


def kept_with(source: str, cache: SharedCache[Any]) -> SharedCache[Any]:
    """Cache for results computed from a source's records: `cache`, or for private records their own.

    Every cache whose values depend on the records of a named source must be obtained through this function.

    >>> cache = SharedCache(2)
    >>> kept_with("iris", cache) is cache
    True
    """
    return held(source).like(cache) if is_private(source) else cache


def _declared_places(sheet: RawTable, declared: Declared) -> list[int]:
    """Indices of the used columns; ValueError for a declaration that does not fit the table."""
    if not declared.columns or len(set(declared.columns)) < len(declared.columns):
        raise ValueError(f"columns must be at least one, each once, got {shown(declared.columns)}")
    places = [sheet.columns.index(one_of("columns", column, sheet.columns)) for column in declared.columns]
    if not len(declared.low) == len(declared.high) == len(places):
        raise ValueError(
            f"low and high must have {len(places)} bounds each, got {len(declared.low)} and {len(declared.high)}"
        )
    for column, low, high in zip(declared.columns, declared.low, declared.high, strict=True):
        if not -_LARGEST_BOUND <= low < high <= _LARGEST_BOUND:
            raise ValueError(
                f"bounds of column {shown(column)} must be numbers up to {_LARGEST_BOUND:g}, low below high, "
                f"got {low:g} and {high:g}"
            )
    one_of("positive", declared.positive, sheet.values)
    one_of("gaps", declared.gaps, ("refuse", "drop"))
    if declared.theta_norm is not None:
        positive("theta_norm", declared.theta_norm)
    return places


def _harmless(name: str) -> str:
    """Name of a file without its ending and without characters of markup, at most 40 letters."""
    return " ".join(re.sub(r"[^\w -]|_", " ", name.rpartition(".")[0] or name).split())[:40] or "records"
