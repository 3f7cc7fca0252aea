"""Records that one holder uploads: they, and everything computed from them, are freed with the last reference.

The rest of the library knows them only by a random key. The holder of the `UploadedRecords` (a session of the
dashboard) keeps them alive; caches of results are stored in them (`kept_with`), not in the modules that fill them.
"""

import dataclasses as dc
import math
import re
import secrets
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.cache import SharedCache
from ..core.records import Data
from ..core.scaling import scale
from ..core.validation import one_of, shown
from .cells import class_in, number_in
from .sources import Source, Split, draw_split, training_records
from .tables import RawTable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PREFIX = "upload-"
MIN_RECORDS = 10
MAX_FEATURES = 1_000  # a level counting as one
_LARGEST_BOUND = 1e100
_HEAVILY = 0.01
_MOST_TOLD = 5  # columns, in a refusal
_DENSE = 2  # columns for each number that is no zero up to which zeros are stored, too: solvers are far faster then
_GAP, _UNKNOWN = -1, -2  # in the place of a level
_STREAM = b"upload"  # of random numbers: the same file and seed give the same split, while keys differ


@dc.dataclass(frozen=True)
class Category:
    """Feature that takes one of the declared levels, which are texts or numbers; equal numbers are one level."""

    column: str
    levels: tuple[str, ...]


@dc.dataclass(frozen=True)
class Declared:
    """Public declaration of the holder about a table, made before anything is computed from it.

    columns: the features that are numbers. low, high: their bounds, one for each; values beyond are clipped. positive:
    the label that counts as +1, or a threshold like ">= 50" for labels that are numbers; all others count as -1. gaps:
    "refuse", or "drop" the rows that lack a number in one of `columns`, a declared level in one of `categories`, or a
    label. categories: the other features. after_looking:
    features whose bounds or levels were chosen after looking at the records, which epsilon does not cover.
    """

    columns: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    positive: str
    gaps: str = "refuse"
    categories: tuple[Category, ...] = ()
    after_looking: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """All columns that are used."""
        return (*self.columns, *(category.column for category in self.categories))

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of scaled records, and so of a model."""
        levels = (f"{each.column} = {level}" for each in self.categories for level in each.levels)
        return (*self.columns, *levels, "constant 1")

    @property
    def squared_divisor(self) -> int:
        """Number whose square root divides scaled records: of features, a category counting as one, and the constant.

        >>> Declared(("age",), (0.0,), (120.0,), "yes", categories=(Category("ward", ("a", "b", "c")),)).squared_divisor
        3
        """
        return len(self.features) + 1

    @property
    def scaling(self) -> str:
        """How records are scaled, in words."""
        numbers, levels = len(self.columns), sum(len(category.levels) for category in self.categories)
        told = f"{numbers:,} columns clipped to the declared bounds, mapped to [-1, 1], " if numbers else ""
        if levels:
            told += f"{len(self.categories):,} categories with {levels:,} declared levels, 1 for the level and 0, "
        return f"{told}and a constant 1, all over sqrt({self.squared_divisor:,})"


@dc.dataclass(frozen=True)
class Report:
    """Changes made to the records; private, since they depend on the records, and for their holder only.

    read, dropped: rows. clipped: number of values of each column of numbers beyond its bounds, in rows that are kept.
    gaps, unknown: number of rows in which each feature has no value, or a text or number that is no declared level.
    unlabelled: rows without a label.
    """

    read: int
    dropped: int
    clipped: dict[str, int]
    gaps: dict[str, int] = dc.field(default_factory=dict)
    unknown: dict[str, int] = dc.field(default_factory=dict)
    unlabelled: int = 0

    def heavily_clipped(self) -> dict[str, float]:
        """Columns in which more than 1% of the records was clipped, with their shares, the largest first.

        >>> Report(110, 10, {"age": 1, "dose": 2, "weight": 40}).heavily_clipped()
        {'weight': 0.4, 'dose': 0.02}
        """
        whole = self.read - self.dropped
        shares = {column: count / whole for column, count in self.clipped.items() if count > _HEAVILY * whole}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))


@dc.dataclass(frozen=True, eq=False, repr=False)
class ScaledRows:
    """Rows of a table that have everything declared, scaled.

    X: [complete rows, p]. whole: [rows], which these are. clipped, gaps, unknown: as in `Report`.
    """

    X: "Array | csr_array"
    whole: NDArray[np.bool_]
    clipped: dict[str, int]
    gaps: dict[str, int]
    unknown: dict[str, int]


def scaled_rows(table: RawTable, declared: Declared, wanted: NDArray[np.bool_]) -> ScaledRows:
    """Scale the complete ones among the rows that are wanted, [rows]; ValueError for declarations that do not fit."""
    _check(table, declared)
    whole = wanted.copy()
    gaps, unknown, levels = {}, {}, []
    for column in declared.columns:
        lacking = np.isnan(table.columns[column].numbers)
        gaps[column] = int(lacking.sum())
        whole &= ~lacking
    for category in declared.categories:
        found = _levels_in(table, category)
        gaps[category.column] = int((found == _GAP).sum())
        unknown[category.column] = int((found == _UNKNOWN).sum())
        whole &= found >= 0
        levels.append(found)
    scaled: Array = np.ones((int(whole.sum()), len(declared.columns) + 1))
    clipped = {}
    # One column at a time: a copy of all would take as much memory again for each step.
    for i, (column, low, high) in enumerate(zip(declared.columns, declared.low, declared.high, strict=True)):
        numbers = table.columns[column].numbers[whole]
        clipped[column] = int(((numbers < low) | (numbers > high)).sum())
        scaled[:, i] = scale(np.clip(numbers, low, high), np.array(low), np.array(high))
    scaled /= math.sqrt(declared.squared_divisor)
    X = _one_hot(scaled, [found[whole] for found in levels], declared.categories) if levels else scaled
    return ScaledRows(X, whole, clipped, gaps, unknown)


class UploadedRecords:
    """Scaled records, their source and report, and the caches of results from them; never pickled or copied.

    Each column of numbers is clipped to [low, high] and mapped to [-1, 1], each category becomes a 1 in the column of
    its level (columns follow the order of `declared`), a constant 1 is appended, and all is divided by the square root
    of the number of features plus 1. A feature adds at most 1 to the squared length, a category exactly 1, so that
    ||x||_2 <= 1 for any records. They are stored sparse where more than half of each record would be zeros. 30% of the
    records are never used for training. `file`, `label`, `form` and `declared` suffice to make them again.
    """

    def __init__(self, table: RawTable, declared: Declared, name: str) -> None:
        """Scale the records of a table. name: of the file. Raises ValueError for declarations that do not fit it."""
        positive, labelled = table.answers(declared.positive)
        scaled = scaled_rows(table, declared, labelled)
        whole, gaps, unknown, unlabelled = scaled.whole, scaled.gaps, scaled.unknown, int((~labelled).sum())
        if declared.gaps == "refuse" and not whole.all():
            wrong = [(shown(column), gaps[column] + unknown.get(column, 0)) for column in gaps]
            wrong = [(column, count) for column, count in (*wrong, ("the label", unlabelled)) if count]
            worst = ", ".join(f"{column} in {count:,}" for column, count in wrong[:_MOST_TOLD])
            more = ", ..." if len(wrong) > _MOST_TOLD else ""
            lacks = " or a declared level" if declared.categories else ""
            raise ValueError(
                f"every row must have a label and a number{lacks} in every column that is used, got {(~whole).sum():,} "
                f"of {len(whole):,} rows without, {worst}{more}; leave these rows out, or "
                "remove the columns from the features"
            )
        if whole.sum() < MIN_RECORDS:
            raise ValueError(f"a table must hold at least {MIN_RECORDS} complete records, got {whole.sum()}")
        self._X, blocks = scaled.X, declared.squared_divisor
        p = self._X.shape[1]
        self.report = Report(len(whole), int((~whole).sum()), scaled.clipped, gaps, unknown, unlabelled)
        self._y: Array = np.where(positive[whole], 1.0, -1.0)
        if (self._y == self._y[0]).all():
            raise ValueError(
                "complete rows must have both answers, got one of them in every row; choose another value or threshold"
            )
        self.file, self.label, self.form, self.declared = name, table.label, table.form, declared
        self.key = PREFIX + secrets.token_hex(16)
        self.source = Source(
            self.key,
            f"{_harmless(name)} (your file)",
            record="record",
            records="records",
            things="records",
            outcome="classified correctly",
            size=training_records(self.rows),
            p=p,
            # The rule of the bundled sets: coefficients of norm about 5 on the mapped features, times what they are
            # divided by, rounded.
            theta_norm=float(round(5.0 * math.sqrt(blocks))),
            scaling=declared.scaling,
            stored=p if isinstance(self._X, np.ndarray) else blocks,
        )
        self._caches: dict[SharedCache[Any], SharedCache[Any]] = {}
        _HELD[self.key] = self

    @property
    def rows(self) -> int:
        """All complete records, those that are held out included."""
        return len(self._y)

    def first(self, n: int, seed: int) -> Data:
        """First n of all records in the random order of the split: training records come before those held out."""
        order = self._rng(seed).permutation(self.rows)[:n]  # as `draw_split`
        return Data(self._X[order], self._y[order])

    def draw(self, n: int, seed: int) -> Split:
        """Split with n of the training records, and the test records, as `dpcore.data.load` returns it."""
        return draw_split(self._X, self._y, n, self._rng(seed))

    def groups(self, column: str) -> tuple[tuple[str, ...], NDArray[np.intp]]:
        """Groups by a feature, and each complete row's place among them, [rows]: the levels of a category, and of
        numbers those below the middle of their bounds and the others; ValueError for another column."""
        said, place = self.declared, len(self.declared.columns)
        if column in said.columns:
            place = said.columns.index(column)
            middle = f"{(said.low[place] + said.high[place]) / 2:g}"
            return (f"below {middle}", f"from {middle} on"), (self._columns(place, 1)[:, 0] >= 0.0).astype(np.intp)
        for category in said.categories:
            if category.column == column:
                return category.levels, self._columns(place, len(category.levels)).argmax(axis=1)
            place += len(category.levels)
        raise ValueError(f"column must be one of {shown(said.features)}, got {shown(column)}")

    def _columns(self, start: int, count: int) -> Array:
        """So many scaled columns, as an array."""
        part = self._X[:, start : start + count]
        return part if isinstance(part, np.ndarray) else part.toarray()

    @staticmethod
    def _rng(seed: int) -> np.random.Generator:
        return np.random.default_rng([seed, *_STREAM])

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


def _levels_in(table: RawTable, category: Category) -> NDArray[np.int16]:
    """Place of each row's level among those declared, [rows]; -1 for a gap, -2 for what is none of them."""
    names, column = _names_of(table, category), table.columns[category.column]
    found = np.where(column.missing, _GAP, _UNKNOWN).astype(np.int16)
    for place, name in enumerate(names):
        if not math.isnan(number := number_in(name)):
            found[column.numbers == number] = place
        elif name in column.words:
            found[column.places == column.words.index(name)] = place
    return found


def _names_of(table: RawTable, category: Category) -> list[str]:
    """Levels with one name for equal numbers; ValueError if they cannot be the levels of a column of the table."""
    column, decimal = shown(category.column), table.form.decimal if table.form else "."
    names = [class_in(level, decimal) for level in category.levels]
    if len(set(names)) < len(names) or len(names) < 2 or not all(names):
        raise ValueError(
            f"levels of column {column} must be at least two, each once and none empty, got {shown(category.levels)}"
        )
    return names


def _one_hot(values: Array, levels: list[NDArray[np.int16]], categories: tuple[Category, ...]) -> "Array | csr_array":
    """Records [rows, p] with a column for each level. values: of the numbers, the constant in the last column.

    levels: the place of each record's level, for each category, in whose column the constant stands, too.
    """
    from scipy.sparse import csr_array

    rows, numbers, one = len(values), values.shape[1] - 1, float(values[0, -1])
    stored = numbers + len(levels) + 1
    starts = numbers + np.cumsum([0, *(len(category.levels) for category in categories)])
    p = int(starts[-1]) + 1
    if p <= _DENSE * stored:
        made = np.zeros((rows, p))
        made[:, :numbers], made[:, -1] = values[:, :-1], one
        for found, start in zip(levels, starts[:-1], strict=True):
            made[np.arange(rows), start + found] = one
        return made
    entries, columns = np.full((rows, stored), one), np.empty((rows, stored), np.int32)
    entries[:, :numbers] = values[:, :-1]
    columns[:, :numbers] = np.arange(numbers)
    for at, (found, start) in enumerate(zip(levels, starts[:-1], strict=True), numbers):
        columns[:, at] = start + found
    columns[:, -1] = p - 1
    ends = np.arange(0, rows * stored + 1, stored, dtype=np.int32)  # of 64 bits, it would have all columns copied
    return csr_array((entries.ravel(), columns.ravel(), ends), (rows, p))


def _check(table: RawTable, declared: Declared) -> None:
    """Raise ValueError for a declaration that does not fit the table."""
    if not declared.features or len(set(declared.features)) < len(declared.features):
        raise ValueError(f"columns must be at least one, each once, got {shown(declared.features)}")
    for category in declared.categories:
        one_of("columns", category.column, table.features)
        _names_of(table, category)
    wide = len(declared.columns) + sum(len(category.levels) for category in declared.categories)
    if wide > MAX_FEATURES:
        raise ValueError(f"features must be at most {MAX_FEATURES:,}, a level counting as one, got {wide:,}")
    for column in declared.after_looking:
        one_of("after_looking", column, declared.features)
    numbers = len([one_of("columns", column, table.features) for column in declared.columns])
    if not len(declared.low) == len(declared.high) == numbers:
        raise ValueError(
            f"low and high must have {numbers} bounds each, got {len(declared.low)} and {len(declared.high)}"
        )
    for column, low, high in zip(declared.columns, declared.low, declared.high, strict=True):
        if not -_LARGEST_BOUND <= low < high <= _LARGEST_BOUND:
            raise ValueError(
                f"bounds of column {shown(column)} must be numbers up to {_LARGEST_BOUND:g}, low below high, "
                f"got {low:g} and {high:g}"
            )
    one_of("gaps", declared.gaps, ("refuse", "drop"))


def _harmless(name: str) -> str:
    """Name of a file without its ending and without characters of markup, at most 40 letters."""
    return " ".join(re.sub(r"[^\w -]|_", " ", name.rpartition(".")[0] or name).split())[:40] or "records"
