"""Tables of Parquet files in memory, which pyarrow reads once it is known what each page unpacks to.

A few bytes can stand for gigabytes: a page may be compressed, a text that occurs in every row is stored once, and texts
may share their beginnings. So the headers of all pages are read first, and texts stay places in a dictionary. Errors
are ValueErrors of one sentence that names the file and the rule.
"""

import contextlib
import dataclasses as dc
import functools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.validation import shown
from .lines import LONGEST_CELL, MAX_TEXTS, Progress, at_least_two, column_names, number_in, place_of_label, word_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

_MAX_FOOTER = 2 * 2**20  # bytes, which take some twenty times as many in memory
_MAX_LIST = 20_000  # columns, or groups of rows, that a footer may list
_MAX_PAGES = 50_000
_MAX_UNPACKED = 50_000_000  # bytes
_MAX_WRITTEN = 500_000_000  # characters of all cells, were they written out
_BATCH = 2**14  # rows of a column in memory at a time
_DEEPEST = 12  # lists and structs in one another
_SHARED_BEGINNINGS = 7  # the encoding DELTA_BYTE_ARRAY
_CODED = (2, 8)  # the encodings PLAIN_DICTIONARY and RLE_DICTIONARY
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12  # kinds of Thrift
_Shape: TypeAlias = dict[int, tuple[int, "_Shape"]]  # by field: the kind in a list, and what is in its structs
_SIZES: _Shape = {2: (_I64, {}), 3: (_I64, {})}
_PLACES: _Shape = {2: (_I32, {})}
_COLUMN: _Shape = {
    **{2: (_I32, {}), 3: (_BINARY, {}), 8: (_STRUCT, {}), 13: (_STRUCT, {})},
    **{16: (0, _SIZES), 17: (0, _PLACES)},
}
_GROUP: _Shape = {1: (_STRUCT, {3: (0, _COLUMN)}), 4: (_STRUCT, {})}
_FOOTER: _Shape = {2: (_STRUCT, {}), 4: (_STRUCT, _GROUP), 5: (_STRUCT, {}), 7: (_STRUCT, {})}


class ParquetTable:
    """Parquet file in memory: the names of its columns, how many rows it has, and its records, which are read once.

    form: none, unlike that of a CSV file. Raises ValueError for a damaged file, for fewer than two columns or two of
    one name.
    """

    form = None

    def __init__(self, content: bytes, name: str, progress: Progress) -> None:
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise ValueError(
                f"{name} must be a CSV or LIBSVM file where pyarrow is missing, got a Parquet file; install pyarrow or "
                "save the table as CSV"
            ) from None
        self.name, self._content, self._progress = name, content, progress
        self._written = 0
        if not content.endswith(b"PAR1"):
            raise self._damaged()
        footer = int.from_bytes(content[-8:-4], "little")
        if footer > _MAX_FOOTER:
            raise ValueError(f"{name} must have a footer of at most {_MAX_FOOTER:,} bytes, got {footer:,}")
        with self._whole():
            file = parquet.ParquetFile(
                pa.BufferReader(content),
                pre_buffer=False,
                thrift_container_size_limit=_MAX_LIST,
                thrift_string_size_limit=_MAX_FOOTER,
            )
            fields = list(file.schema_arrow)
        self.columns = column_names([field.name for field in fields], name)
        if len(self.columns) < 2:
            raise ValueError(f"{name} must have a label and at least one feature, got {len(self.columns)} columns")
        self._metadata = file.metadata
        self._leaves = [file.schema.column(k).path for k in range(len(file.schema))]
        self.rows = int(file.metadata.num_rows)
        self._fields = dict(zip(self.columns, fields, strict=True))

    @functools.cached_property
    def unread(self) -> dict[str, str]:
        """Columns that are left out, each with the reason: dates, times, what is no number, text or boolean, and texts
        that are too many for levels.

        Raises ValueError, before anything is unpacked, for pages that unpack to more than 50 MB, or whose encoding sets
        no limit.
        """
        reasons = {column: _unread(field.type, self._stored[field.name]) for column, field in self._fields.items()}
        return {column: reason for column, reason in reasons.items() if reason}

    def read(
        self,
        label: str,
        label_of: Callable[[str, int], float],
        gap: Callable[[str, str, int, int], None],
    ) -> tuple[tuple[str, ...], Array, Array]:
        """Records as `CsvTable.read` returns them; the line of a cell is its row, from 1."""
        at = place_of_label(label, self.columns, self.name)
        if label in self.unread:
            raise ValueError(
                f"label must be a column of numbers or texts, got {shown(label)}, which {self.unread[label]}"
            )
        features = self.columns[:at] + self.columns[at + 1 :]
        at_least_two(self.name, self.rows)
        numbers, labels = np.full((self.rows, len(features)), math.nan), np.empty(self.rows)
        with self._whole():
            for start, cells in self._batches(label):
                words, places = self._words(cells)
                for row, place in enumerate(places.tolist(), start):
                    labels[row] = label_of(words[place], row + 1)
            for done, column in enumerate(features):
                self._progress(done / len(features))
                if column in self.unread:
                    continue
                for start, cells in self._batches(column):
                    stop = start + len(cells)
                    if _is_number(self._fields[column].type):
                        numbers[start:stop, done] = cells.cast("float64", safe=False).to_numpy(zero_copy_only=False)
                        continue
                    words, places = self._words(cells)
                    known = np.array([*map(number_in, words)])[places]
                    numbers[start:stop, done] = known
                    for row in np.flatnonzero(np.isnan(known) & (places < len(words) - 1)).tolist():
                        gap(column, words[places[row]], start + row + 1, start + row)
        return features, numbers, labels

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Turn what pyarrow says about a damaged file into a sentence."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, UnicodeError):
            raise self._damaged() from None

    def _damaged(self) -> ValueError:
        return ValueError(
            f"{self.name} must be a whole Parquet file, got one that is damaged, encrypted or of another format"
        )

    @functools.cached_property
    def _file(self) -> "parquet.ParquetFile":
        """The file, whose texts stay places in a dictionary where they are stored so."""
        import pyarrow as pa
        from pyarrow import parquet

        texts = [field.name for field in self._fields.values() if _is_text(field.type)]
        coded = [name for name in texts if self._stored[name].coded]
        return parquet.ParquetFile(
            pa.BufferReader(self._content), metadata=self._metadata, read_dictionary=coded, pre_buffer=False
        )

    def _batches(self, column: str) -> Iterator[tuple[int, "pa.Array"]]:
        """Cells of a column, some rows at a time, each time with the first row."""
        start, name = 0, self._fields[column].name
        for batch in self._file.iter_batches(_BATCH, columns=[name], use_threads=False):
            cells = batch.column(name)
            if start + len(cells) > self.rows:
                break
            yield start, cells
            start += len(cells)
        if start != self.rows:
            raise self._damaged()

    def _words(self, cells: "pa.Array") -> tuple[list[str], NDArray[np.int32]]:
        """The different cells as texts, the last one empty, and each cell's place among them; a gap is empty, too."""
        from pyarrow import compute, types

        coded = cells if types.is_dictionary(cells.type) else cells.dictionary_encode()
        used = compute.drop_null(coded.indices.unique())
        words = [_word(value) for value in coded.dictionary.take(used).to_pylist()]
        if any(len(word) > LONGEST_CELL for word in words):
            raise ValueError(f"{self.name} must have at most {LONGEST_CELL:,} characters in a cell, got more")
        places = compute.index_in(coded.indices, value_set=used).fill_null(len(words)).to_numpy(zero_copy_only=False)
        words.append("")
        self._written += int(np.array([*map(len, words)])[places].sum())
        if self._written > _MAX_WRITTEN:
            raise ValueError(
                f"{self.name} must hold at most {_MAX_WRITTEN // 10**6} MB of text if each cell is written out, got "
                "more; leave columns out"
            )
        return words, places

    @functools.cached_property
    def _stored(self) -> dict[str, "_Stored"]:
        """How each column is stored; ValueError for pages that unpack to too much, or whose encoding sets no limit."""
        found = {field.name: _Stored() for field in self._fields.values()}
        unpacked = pages = 0
        for column, start, stop in self._chunks():
            while start < stop:
                try:
                    page = _page(self._content, start)
                except LookupError:
                    raise self._damaged() from None
                start, unpacked, pages = page.stop, unpacked + page.unpacked, pages + 1
                if unpacked > _MAX_UNPACKED or pages > _MAX_PAGES:
                    raise ValueError(
                        f"{self.name} must unpack to at most {_MAX_UNPACKED // 10**6} MB in {_MAX_PAGES:,} pages, got "
                        "more; leave columns out"
                    )
                if page.encoding == _SHARED_BEGINNINGS:
                    raise ValueError(
                        f"{self.name} must hold each text whole, got the encoding DELTA_BYTE_ARRAY; write the file "
                        "with a dictionary or with plain texts"
                    )
                if column in found:
                    found[column].add(page)
        return found

    def _chunks(self) -> Iterator[tuple[str, int, int]]:
        """Where the pages of each column begin and end in the file.

        The numbers are those of fields in parquet.thrift. pyarrow, asked about a damaged footer, may end the process.
        """
        left = len(self._content)  # bytes that two columns share would be read twice
        begin = left - 8 - int.from_bytes(self._content[-8:-4], "little")
        try:
            footer, _ = _struct(self._content, begin, _FOOTER)
            for group in footer[4, _LIST]:
                for leaf, chunk in zip(self._leaves, group[1, _LIST], strict=True):
                    facts = chunk[3, _STRUCT]
                    start, size = facts[9, _I64], facts[7, _I64]
                    if 0 < facts.get((11, _I64), 0) < start:
                        start = facts[11, _I64]  # of the dictionary
                    left -= size
                    if not 0 <= start <= start + size <= len(self._content) or left < 0:
                        raise LookupError
                    yield leaf, start, start + size
        except (LookupError, ValueError):
            raise self._damaged() from None


@dc.dataclass
class _Stored:
    """How the values of a column are stored. entries: of its largest dictionary. coded: whether there are pages of
    places in one. plain: whether there are pages of values."""

    entries: int = 0
    coded: bool = False
    plain: bool = False

    def add(self, page: "_Page") -> None:
        self.entries = max(self.entries, page.entries)
        self.coded |= page.encoding in _CODED
        self.plain |= page.encoding is not None and page.encoding not in _CODED


def _value_type(kind: "pa.DataType") -> "pa.DataType":
    """Type of a column's values, also of those in a dictionary."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _is_number(kind: "pa.DataType") -> bool:
    from pyarrow import types

    kind = _value_type(kind)
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_text(kind: "pa.DataType") -> bool:
    from pyarrow import types

    kind = _value_type(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _unread(kind: "pa.DataType", stored: _Stored) -> str | None:
    """Reason why a column is no feature, else None."""
    from pyarrow import types

    if _is_number(kind) or types.is_boolean(kind):
        return None
    if _is_text(kind):
        # pyarrow looks all texts up in one dictionary, at ten times their size, if it makes one; else it copies them.
        makes_one = stored.coded or types.is_dictionary(kind)
        many = stored.entries > MAX_TEXTS or (makes_one and stored.plain)
        return "holds too many or too long texts for levels" if many else None
    if types.is_temporal(kind):
        return "holds dates or times"
    return "has no value" if types.is_null(kind) else "holds neither numbers nor texts"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return word_of(value)
    return "" if value is None else str(value).strip()


class _Page(NamedTuple):
    """Facts of a page. stop: where it ends. unpacked: its bytes once unpacked. entries: of a dictionary. encoding: of
    values, None for a dictionary."""

    stop: int
    unpacked: int
    entries: int
    encoding: int | None


def _page(content: bytes, start: int) -> _Page:
    """Page whose header begins at `start`. Raises LookupError if there is none.

    A header is a struct in Thrift's compact protocol, whose fields have the numbers of parquet.thrift.
    """
    header, begin = _struct(content, start, {})
    unpacked, packed = header[2, _I32], header[3, _I32]
    entries = header[7, _STRUCT][1, _I32] if (7, _STRUCT) in header else 0
    encodings = [header[kind, _STRUCT][field, _I32] for kind, field in ((5, 2), (8, 4)) if (kind, _STRUCT) in header]
    # A dictionary has no more values than bytes; pyarrow makes room for all of them at once.
    if not (0 <= packed <= len(content) - begin and 0 <= entries <= unpacked and len(encodings) < 2):
        raise LookupError
    return _Page(begin + packed, unpacked, entries, *encodings or (None,))


def _struct(content: bytes, at: int, shape: _Shape, depth: int = 0) -> tuple[dict[tuple[int, int], Any], int]:
    """Values of a struct in Thrift's compact protocol, by field and kind, and where it ends.

    shape: what is in the lists and structs that parquet.thrift knows. Raises LookupError for a struct that does not
    end, and for one that pyarrow might read otherwise.
    """
    found: dict[tuple[int, int], Any] = {}
    field = 0
    if depth > _DEEPEST:
        raise LookupError
    while head := content[at]:
        at += 1
        kind = head & 15
        if head >> 4:
            field += head >> 4
        else:
            field, at = _number(content, at, 32)
        if not 0 <= field < 2**15:
            raise LookupError
        if kind in (1, 2):  # true and false
            continue
        found[field, kind], at = _value(content, at, kind, shape.get(field, (0, {})), depth)
    return found, at + 1


def _value(content: bytes, at: int, kind: int, known: tuple[int, _Shape], depth: int) -> tuple[Any, int]:
    """A value, and where it ends."""
    match kind:
        case 1 | 2 | 3:
            return None, at + 1
        case 4 | 5:
            return _number(content, at, 32)
        case 6:
            return _number(content, at, 64)
        case 7:
            return None, at + 8
        case 8:
            length, at = _varint(content, at, 32)
            return None, at + length
        case 9:
            size, inner = content[at] >> 4, content[at] & 15
            at += 1
            if size == 15:
                size, at = _varint(content, at, 32)
            if inner != known[0]:  # pyarrow would take the kind that parquet.thrift knows
                raise LookupError
            values = []
            for _ in range(size):
                value, at = _value(content, at, inner, (0, known[1]), depth + 1)
                values.append(value)
            return values, at
        case 12:
            return _struct(content, at, known[1], depth + 1)
    raise LookupError


def _number(content: bytes, at: int, bits: int) -> tuple[int, int]:
    """Number with a sign, and where it ends."""
    value, at = _varint(content, at, bits)
    return (value >> 1) ^ -(value & 1), at


def _varint(content: bytes, at: int, bits: int) -> tuple[int, int]:
    """Number without a sign, and where it ends; LookupError if it has more bits."""
    value = 0
    for shift in range(0, bits, 7):
        value |= (content[at] & 127) << shift
        at += 1
        if content[at - 1] < 128:
            break
    else:
        raise LookupError
    if value >> bits:
        raise LookupError
    return value, at
