"""Records of numbers from a file: a table, or LIBSVM. Nothing is scaled, clipped or dropped.

Errors are ValueErrors of one sentence that names the file, the place and the rule.
"""

import dataclasses as dc
import gzip
import io
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..core.arrays import Array
from ..core.records import Data
from ..core.validation import integer, shown
from .cells import class_in, has_thousands, number_in, word_of
from .formats import Format
from .libsvm import MAX_COLUMNS, read_libsvm
from .tables import FILE, Column, RawTable, kind_of, line_of, read_table

_UNPACKED_BYTES = 100_000_000
_LONGEST_WORD = 40  # of a label that a message writes as code


@dc.dataclass(frozen=True)
class Table:
    """Records read from a file, with the names of the feature columns that are stored.

    names: of the classes, if y counts them: 0.0 for the first, 1.0 for the second, and so on.
    """

    data: Data
    columns: tuple[str, ...]
    names: tuple[str, ...] = ()


def read_file(
    path: Path,
    label: str | None = None,
    *,
    form: Format | None = None,
    names: Sequence[str | float] | None = None,
    p: int | None = None,
) -> Table:
    """Numeric records from a file, which `read_table` reads; a LIBSVM file, plain or .gz, stays sparse.

    label: the column of y, for every file but LIBSVM. form: of a CSV file, guessed by `sniff` if None. names: if labels
    are classes, as text or as numbers (1 and 1.0 are one class), the public list of all classes, in order, at least
    two; the list of those that occur would depend on the records. p: of a LIBSVM file, the columns of the problem; by
    default the largest index that occurs, which depends on the records, so a private release should give p. Raises
    ValueError, naming the line and column, if a cell is missing or is no finite number or no class of the list.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "flowers.csv").write_text("width,kind\\n0.2,setosa\\n1.3,virginica\\n")
    ...     table = read_file(Path(folder) / "flowers.csv", "kind", names=("setosa", "versicolor", "virginica"))
    >>> table.columns, table.data.y.tolist()
    (('width',), [0.0, 2.0])
    """
    path, classes = _existing(path), _classes(names)
    plain = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    if kind_of(plain) == "libsvm":
        if label is not None:
            raise ValueError(f"label must be left out for a LIBSVM file, whose lines begin with y, got {label!r}")
        return _sparse(path, p, classes, names)
    if label is None:
        raise ValueError(f"label must name the column of y in {path.name}, got none")
    if p is not None:
        raise ValueError(f"p must be left out for {path.name}, which has the columns, got {p}")
    if plain != path.name:
        raise ValueError(f"{path.name} must be a plain file, got a compressed one")
    FILE.check(path.name, bytes=path.stat().st_size)
    content = path.read_bytes()
    table = read_table(content, path.name, label, form, FILE)
    X = np.column_stack([table.columns[column].numbers for column in table.features])
    y = _numbered(table.columns[label], classes) if classes else table.columns[label].numbers
    for column, numbers in ((label, y), *zip(table.features, X.T, strict=True)):
        wrong = np.flatnonzero(np.isnan(numbers))
        if len(wrong):
            raise ValueError(_no_number(content, path.name, table, column, int(wrong[0]), len(classes)))
    return Table(Data(X, y), table.features, _spelled(names))


def _no_number(content: bytes, name: str, table: RawTable, column: str, row: int, classes: int) -> str:
    """Sentence about a cell that is no number or no class."""
    rule, advice, place = "a number", "", f"row {row + 1}"
    word = table.columns[column].places[row]
    found = table.columns[column].words[word] if word >= 0 else ""
    if table.form is not None:
        line, cells = line_of(content, name, table.form, row)
        found, place = cells[[*table.columns].index(column)].strip(), f"line {line}"
    if column == table.label and found:
        advice = _text_label_advice(found)
    if has_thousands(found):
        advice = "; write numbers without thousands separators, or name these in form="
    if classes and column == table.label:
        rule, advice = f"one of the {classes} declared classes", ""
    return f"column {column!r} of {name} must hold {rule} in every row, got {shown(found)} in {place}{advice}"


def _sparse(path: Path, p: int | None, classes: dict[str, float], names: Sequence[str | float] | None) -> Table:
    if p is not None and integer("p", p, at_least=1) > MAX_COLUMNS:
        raise ValueError(f"p must be at most {MAX_COLUMNS:,}, got {p:,}")
    text = next((name for name in classes if math.isnan(number_in(name))), None)
    if text is not None:
        raise ValueError(f"names must be numbers if labels are, got {shown(text)}")
    with _opened(path) as file:
        X, y = read_libsvm(file, path.name, p)
    if classes:
        numbers = np.array([classes.get(word_of(label), math.nan) for label in y.tolist()])
        if np.isnan(numbers).any():
            wrong = y[np.isnan(numbers)][0]
            raise ValueError(
                f"labels must be one of the {len(classes)} declared classes in every record, got {wrong:g}"
            )
        y = numbers
    columns = tuple(map(str, range(1, X.shape[1] + 1)))
    return Table(Data(X, y, p or X.shape[1]), columns, _spelled(names))


def _numbered(column: Column, classes: dict[str, float]) -> Array:
    """Number of each row's class, nan for none of them."""
    words = np.array([*(classes.get(word, math.nan) for word in column.words), math.nan])
    known, places = np.unique(column.numbers, return_inverse=True)
    numbers = np.array(
        [math.nan if math.isnan(each) else classes.get(word_of(each), math.nan) for each in known.tolist()]
    )
    return np.where(np.isnan(column.numbers), words[column.places], numbers[places])


def _classes(names: Sequence[str | float] | None) -> dict[str, float]:
    """Number of each class; empty if labels are no classes."""
    if names is None:
        return {}
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) < 2:
        raise ValueError(f"names must be a list of at least two classes, got {shown(names)}")
    numbers: dict[str, float] = {}
    for number, name in enumerate(names):
        if numbers.setdefault(class_in(str(name)), float(number)) != number:
            raise ValueError(f"names must differ from each other, got {shown(name)} twice")
    return numbers


def _spelled(names: Sequence[str | float] | None) -> tuple[str, ...]:
    return tuple(str(name).strip() for name in names or ())


def _existing(path: Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"path must be a file, got {path}, which is a folder")
    if not path.exists():
        raise ValueError(f"path must be a file, got {path} (No such file or directory)")
    if not path.is_file():
        raise ValueError(f"path must be a file, got {path}, which is a pipe or a device")
    return path


def _opened(path: Path) -> BinaryIO:
    """Open file of bytes, unpacked if its name ends in .gz; ValueError if that is more than 100 MB."""
    if path.suffix.lower() != ".gz":
        return path.open("rb")
    try:
        with gzip.open(path, "rb") as file:
            content = file.read(_UNPACKED_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} must be a whole gzip file, got one that cannot be unpacked ({error})") from None
    if len(content) > _UNPACKED_BYTES:
        raise ValueError(
            f"{path.name} must unpack to at most {_UNPACKED_BYTES // 10**6} MB, got more; unpack it and read that file"
        )
    return io.BytesIO(content)


def _text_label_advice(found: str) -> str:
    bare = found.strip('"')
    word = f'"{bare}"' if bare.isalnum() and len(bare) <= _LONGEST_WORD else "WORD"
    return f"; np.where(y == {word}, 1, -1) makes a text label a number"


def check_learnable(table: Table, classification: bool) -> None:
    """Raise ValueError if nothing can be learned: labels of only one class, or features that are all constant.

    The check depends on the records: it helps their holder before a release and is not private.

    >>> check_learnable(Table(Data(np.eye(2), np.ones(2)), ("a", "b")), classification=True)
    Traceback (most recent call last):
        ...
    ValueError: y must hold two classes, got 1 in every row
    """
    X, y = table.data.X, table.data.y
    if classification and (y == y[0]).all():
        only = repr(table.names[int(y[0])]) if table.names else f"{y[0]:g}"
        raise ValueError(f"y must hold two classes, got {only} in every row")
    low, high = (edge if isinstance(edge, np.ndarray) else edge.toarray() for edge in (X.min(axis=0), X.max(axis=0)))
    if (low == high).all():
        raise ValueError(f"X must have a column that varies, got {X.shape[1]} constant columns")
