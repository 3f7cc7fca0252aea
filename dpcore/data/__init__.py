"""Data sets with a declared public scaling: synthetic recipes, bundled real records, and files.

Privacy proofs need ||x||_2 <= R for every record that *could* occur. R and the scaling that keeps it are constants
written down here; no code measures them on the records, but some of the bundled sets' were taken from published
summaries of these same records (`bundled.py`). Rows beyond R are refused, never clipped silently. Sets with
several classes (`multiclass.py`) name what is public in their scaling and clip rows by a declared rule. Private records
(`uploads.py`) have a random key while their holder keeps them.
"""

import dataclasses as dc

import numpy as np

from ..core.cache import SharedCache
from ..core.scaling import check_records, clip_rows, scale
from ..core.validation import integer, one_of
from .bundled import bundled_records
from .codebook import Codebook, levels_in, read_codebook
from .dictionary import check_unit, mismatches, read_dictionary, read_unit, write_dictionary
from .files import Table, check_learnable, read_file
from .formats import Format, sniff
from .guesses import ColumnFacts, Question, TableFacts, facts_of, guess_question
from .libsvm import MAX_COLUMNS
from .multiclass import CLASS_SOURCES, ClassSource, ClassSplit, load_classes
from .sources import SOURCES, Source, Split, draw_split
from .synthetic import TEST_RECORDS, draw_recipe
from .tables import LIBSVM_LABEL, UPLOAD, Limits, RawTable, kind_of, read_table
from .uploads import (
    Category,
    Declared,
    Report,
    UploadedRecords,
    held,
    is_gone,
    is_private,
    kept_with,
    scaled_rows,
)

MAX_VALUES = 50_000_000  # of a stored table: 400 MB


def get_source(key: str) -> Source:
    """Source with this key, bundled or of private records that are still held; ValueError names the known ones.

    >>> get_source("breast_cancer").size
    398
    """
    if is_private(key):
        return held(key).source
    return SOURCES[one_of("source", key, SOURCES)]


def load(source: str, n: int, p: int, seed: int) -> Split:
    """n training records and a test set from a source; the same arguments always give the same records.

    source: key in `SOURCES`, or of private records. n: training records >= 2; beyond the source's size they are
    resampled from its training records. p: columns, at least the source's own if it has a fixed number, at most 2^20;
    further columns are zeros that are not stored. seed: integer >= 0. Results are cached, up to 500 MB, and must not be
    changed.
    Randomness: one Generator from (seed, source), for private records from the seed alone; see the loaders for the
    order of draws.
    Raises ValueError for arguments outside these ranges and for tables of more than `MAX_VALUES` stored values.

    >>> load("breast_cancer", 398, 31, 0).train.X.shape
    (398, 31)
    """
    info = get_source(source)
    integer("n", n, at_least=2)
    integer("p", p, at_least=1)
    integer("seed", seed, at_least=0)
    if info.p is not None and p < info.p:
        raise ValueError(f"p must be at least {info.p} for source {source!r}, got {p}")
    if p > MAX_COLUMNS:
        raise ValueError(f"p must be at most {MAX_COLUMNS:,}, got {p:,}")
    if info.p is None and TEST_RECORDS * p > MAX_VALUES:
        raise ValueError(f"p must be at most {MAX_VALUES // TEST_RECORDS:,} for source {source!r}, got {p:,}")
    stored = info.p or p
    values = info.stored or stored
    if n * values > MAX_VALUES:
        raise ValueError(f"n must be at most {MAX_VALUES // values:,} with {values:,} columns to store, got {n:,}")
    kept = kept_with(source, _SPLITS)
    split = kept.get((source, n, stored, seed), lambda: _load(source, n, stored, seed))
    if p == stored:
        return split
    # The same records without a copy, with idle columns that are not stored.
    return dc.replace(split, train=split.train.widened(p), test=split.test.widened(p))


def _load(source: str, n: int, p: int, seed: int) -> Split:
    if is_private(source):
        split = held(source).draw(n, seed)
    else:
        rng = np.random.default_rng([seed, *source.encode()])
        split = draw_split(*bundled_records(source), n, rng) if SOURCES[source].size else draw_recipe(source, n, p, rng)
    split.train.check_domain(split.domain)
    split.test.check_domain(split.domain)
    return split


def _bytes(split: Split) -> int:
    # With the row norms and the copy in single precision, which Data keeps.
    return sum(12 * data.X.size + 16 * data.n for data in (split.train, split.test))


_SPLITS: SharedCache[Split] = SharedCache(500_000_000, _bytes)
