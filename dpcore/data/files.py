"""Records from files: CSV with a header line, and LIBSVM. Nothing is scaled, clipped or dropped.

Errors are ValueErrors of one sentence that names the file, the place and the rule.
"""

import dataclasses as dc
import itertools
import math
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np

from ..core.records import Data
from ..core.validation import integer, shown
from .lines import (
    CsvTable,
    Format,
    at_least_two,
    class_in,
    existing_file,
    has_thousands,
    in_ascii,
    number_in,
    numbered_lines,
    opened,
    word_of,
)

MAX_COLUMNS = 2**20  # of a problem, in any form
_CSV_COLUMNS, _CSV_BYTES = 10_000, 100_000_000
_LONGEST_WORD = 40  # of a label that a message writes as code
_USE_LIBSVM = "write such records in the LIBSVM format and use read_libsvm"


@dc.dataclass(frozen=True)
class Table:
    """Records read from a file, with the names of the feature columns that are stored.

    names: of the classes, if y counts them: 0.0 for the first, 1.0 for the second, and so on.
    """

    data: Data
    columns: tuple[str, ...]
    names: tuple[str, ...] = ()


def read_csv(path: Path, label: str, form: Format | None = None, names: Sequence[str | float] | None = None) -> Table:
    """Numeric records from a CSV file; `label` names the column of y. form: its format, guessed by `sniff` if None.

    names: if labels are classes, as text or as numbers (1 and 1.0 are one class), the public list of all classes, in
    order, at least two; the list of those that occur would depend on the records. Cells may be in quotes. Raises
    ValueError, naming the line and column, if a field is missing or is no finite number or no class of the list, or a
    quote is never closed, and for files beyond 100 MB or 10,000 columns, before they are read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "flowers.csv").write_text("width,kind\\n0.2,setosa\\n1.3,virginica\\n")
    ...     table = read_csv(Path(folder) / "flowers.csv", "kind", names=("setosa", "versicolor", "virginica"))
    >>> table.columns, table.data.y.tolist()
    (('width',), [0.0, 2.0])
    """
    classes = _classes(names)
    path = existing_file(path)
    if path.stat().st_size > _CSV_BYTES:
        raise ValueError(
            f"{path.name} must be at most {_CSV_BYTES // 10**6} MB as a dense table, "
            f"got {path.stat().st_size / 1e6:.0f} MB; {_USE_LIBSVM}"
        )
    table = CsvTable(path.read_bytes(), path.name, form)
    if len(table.columns) > _CSV_COLUMNS:
        raise ValueError(
            f"{path.name} must have at most {_CSV_COLUMNS:,} columns as a dense table, "
            f"got {len(table.columns):,}; {_USE_LIBSVM}"
        )
    decimal = table.form.decimal

    def refuse(column: str, cell: str, line: int, row: int = 0) -> NoReturn:
        found = cell.strip()
        rule = "a number"
        advice = _text_label_advice(found) if column == label and found else ""
        if has_thousands(found):
            advice = "; write numbers without thousands separators"
        if classes and column == label:
            rule, advice = f"one of the {len(classes)} declared classes", ""
        raise ValueError(
            f"column {column!r} of {path.name} must hold {rule} in every row, got {shown(found)} in line {line}{advice}"
        )

    def label_of(cell: str, line: int) -> float:
        number = classes.get(class_in(cell, decimal), math.nan) if classes else number_in(cell, decimal)
        return number if math.isfinite(number) else refuse(label, cell, line)

    features, X, y = table.read(label, label_of, refuse)
    return Table(Data(X, y), features, _spelled(names))


def read_libsvm(path: Path, p: int | None = None, names: Sequence[str | float] | None = None) -> Table:
    """Sparse records from a LIBSVM file, plain or .gz: "label index:value index:value ..." on each line.

    Indices start at 1 and increase along a line; text after a # is a comment; labels are read unchanged, or are classes
    of the list `names`, as for `read_csv`, all of them numbers. p: columns of the problem; by default the largest index
    that occurs, which depends on the records, so a private release should give p. X is CSR and ends with the largest
    index. Raises ValueError, naming the line, for anything else, "qid" included.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "people.txt").write_text("-1 1:0.5 3:1\\n+1 2:0.25 # the second\\n")
    ...     read_libsvm(Path(folder) / "people.txt").data.X.toarray()
    array([[0.5 , 0.  , 1.  ],
           [0.  , 0.25, 0.  ]])
    """
    if p is not None and integer("p", p, at_least=1) > MAX_COLUMNS:
        raise ValueError(f"p must be at most {MAX_COLUMNS:,}, got {p:,}")
    path, classes = existing_file(path), _classes(names)
    text = next((name for name in classes if math.isnan(number_in(name))), None)
    if text is not None:
        raise ValueError(f"names must be numbers if labels are, got {shown(text)}")
    table = libsvm_table(path.name, opened(path), p)
    if not classes:
        return table
    y = np.array([classes.get(word_of(label), math.nan) for label in table.data.y.tolist()])
    if np.isnan(y).any():
        wrong = table.data.y[np.isnan(y)][0]
        raise ValueError(f"labels must be one of the {len(classes)} declared classes in every record, got {wrong:g}")
    return Table(dc.replace(table.data, y=y), table.columns, _spelled(names))


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


def libsvm_table(name: str, file: BinaryIO, p: int | None = None) -> Table:
    """Records of an open file as `read_libsvm` returns them; messages call the file `name`."""
    from scipy.sparse import csr_array

    labels, indices, values, starts = array("d"), array("i"), array("d"), array("i", [0])
    for number, line in numbered_lines(name, file):
        fields = line.partition("#")[0].split()
        if fields:
            try:
                label, row_indices, row_values = _libsvm_row(fields, p or MAX_COLUMNS)
            except ValueError as error:
                raise ValueError(f"line {number} of {name} must {error}") from None
            labels.append(label)
            indices.extend(row_indices)
            values.extend(row_values)
            starts.append(len(indices))
    at_least_two(name, len(labels))
    if not indices:
        raise ValueError(f"{name} must hold at least one index:value, got labels only")
    columns = np.frombuffer(indices, np.intc) - 1
    shape = (len(labels), int(columns.max()) + 1)
    X = csr_array((np.frombuffer(values), columns, np.frombuffer(starts, np.intc)), shape)
    return Table(Data(X, np.frombuffer(labels), p or shape[1]), tuple(map(str, range(1, shape[1] + 1))))


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


def _text_label_advice(found: str) -> str:
    bare = found.strip('"')
    word = f'"{bare}"' if bare.isalnum() and len(bare) <= _LONGEST_WORD else "WORD"
    return f"; np.where(y == {word}, 1, -1) makes a text label a number"


def _libsvm_row(fields: list[str], p: int) -> tuple[float, list[int], list[float]]:
    """Label, indices and values of a line; the text of a ValueError completes "line 3 of people.txt must ..."."""
    try:
        label = float(in_ascii(fields[0]))
    except ValueError:
        advice = _text_label_advice(fields[0])
        raise ValueError(f"begin with a number as its label, got {shown(fields[0])}{advice}") from None
    if len(fields) > 1 and fields[1].startswith("qid:"):
        raise ValueError(f"hold no query ids, got {shown(fields[1])}")
    indices, values = [], []
    try:
        for field in fields[1:]:
            index, _, value = field.partition(":")
            indices.append(int(in_ascii(index)))
            values.append(float(in_ascii(value)))
    except ValueError:
        raise ValueError(f"hold index:value pairs of numbers, got {shown(field)}") from None
    if not all(map(math.isfinite, (label, *values))):
        raise ValueError(f"hold finite numbers, got {next(v for v in (label, *values) if not math.isfinite(v))}")
    for before, after in itertools.pairwise((0, *indices)):
        if after <= before:
            raise ValueError(f"have increasing indices from 1 on, got {after}")
    if indices and indices[-1] > p:
        raise ValueError(f"have indices up to {p:,}, got {indices[-1]:,}")
    return label, indices, values
