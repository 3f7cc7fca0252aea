"""Uploads at the limit of their size: seconds and memory from a file's bytes to the records, each in a new process.

    python -m benchmarks.upload_limits [--only NAME ...]

Each file is as large as an upload may be, or has as many lines or cells. Seconds are those of `read_sheet` and of
`UploadedRecords`. The peak is what the operating system counts as resident (ru_maxrss), from before the file is loaded,
so the file's own bytes are included. It is told as a multiple of the larger of the decoded text and 8 bytes a number of
the table or of the records.
"""

import argparse
import dataclasses as dc
import io
import math
import string
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyarrow import parquet

from benchmarks.processes import in_new_process, peak
from benchmarks.runner import timed
from dpcore import data
from dpcore.data import Category, Declared, RawTable, UploadedRecords
from dpcore.data.sheets import MAX_SHEET_BYTES, MAX_SHEET_CELLS, MAX_SHEET_COLUMNS, MAX_SHEET_LINES, MAX_TEXTS

MOST = 5.0  # times the larger of the decoded text and 8 bytes a value
LABEL = "y"


@dc.dataclass(frozen=True)
class Cost:
    """Cost of one file. size: its bytes. text: bytes of the decoded text. values: numbers in the table or in
    the records, whichever are more. cpu, wall: seconds for both. peak: bytes beyond what the process had before."""

    size: int
    rows: int
    columns: int
    text: int
    values: int
    cpu: float
    wall: float
    peak: int

    @property
    def times(self) -> float:
        """Peak over the larger of the decoded text and 8 bytes a value."""
        return self.peak / max(self.text, 8 * self.values)


def _fill(header: str, rows: Iterator[str], encoding: str, most: int) -> bytes:
    """As many rows as an upload may have below a header, and at most `most`."""
    most = min(most, MAX_SHEET_LINES - 1)
    lines, size = [f"{header}\n".encode(encoding)], 0
    for row in rows:
        line = f"{row}\n".encode(encoding)
        size += len(line)
        if size + len(lines[0]) > MAX_SHEET_BYTES or len(lines) > most:
            break
        lines.append(line)
    return b"".join(lines)


def _table(columns: int, cell: Callable[[int], str], *, separator: str = ",", encoding: str = "utf-8") -> bytes:
    """CSV file whose cells are cell(0), cell(1), ..., with a label in front."""
    header = separator.join([LABEL, *(f"c{j}" for j in range(columns))])

    def rows() -> Iterator[str]:
        row = 0
        while True:
            yield separator.join([str(row // 2 % 2), *(cell(row * columns + j) for j in range(columns))])
            row += 1

    return _fill(header, rows(), encoding, MAX_SHEET_CELLS // columns)


def _libsvm(columns: int, entry: Callable[[int], str]) -> bytes:
    def rows() -> Iterator[str]:
        row = 0
        while True:
            yield f"{row % 2} {entry(row)}"
            row += 1

    return _fill(f"1 {columns}:1", rows(), "utf-8", MAX_SHEET_CELLS // columns - 1)


def _parquet(columns: int, cell: Callable[[int], Any], rows: int, **how: Any) -> bytes:
    """Parquet file as pandas writes it, whose cells are cell(0), cell(1), ..., with a label in front."""
    table = {LABEL: [i % 2 for i in range(rows)]}
    table |= {f"c{j}": [cell(i * columns + j) for i in range(rows)] for j in range(columns)}
    return bytes(pd.DataFrame(table).to_parquet(index=False, **how))


def _word(number: int, length: int) -> str:
    letters = string.ascii_lowercase
    return (letters[number % 26] + letters[number // 26 % 26] + letters[number // 676 % 26]) * length


_DIGITS = [f"{value:.10f}" for value in np.random.default_rng(0).random(9_973)]

FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "digits, 1,000 columns": ("csv", lambda: _table(MAX_SHEET_COLUMNS, lambda k: str(k % 10))),
    "long numbers, 20 columns": ("csv", lambda: _table(20, lambda k: _DIGITS[k % 9_973])),
    "numbers, 1 column": ("csv", lambda: _table(1, lambda k: _DIGITS[k % 9_973][:6])),
    "digits, 4 columns": ("csv", lambda: _table(4, lambda k: str(k % 9))),
    "numbers in quotes": ("csv", lambda: _table(10, lambda k: f'"{k % 9}"')),
    "decimal commas": ("csv", lambda: _table(10, lambda k: f"{k % 9},5", separator=";")),
    "gaps": ("csv", lambda: _table(500, lambda k: str(k % 7) if k // 500 % 2 else "")),
    "texts of a letter": ("csv", lambda: _table(4, lambda k: "abcd"[k % 4])),
    "1,000 texts, 99 columns": ("csv", lambda: _table(99, lambda k: _word(k // 99 % MAX_TEXTS, 1))),
    "long texts": ("csv", lambda: _table(3, lambda k: _word(k // 3 % MAX_TEXTS, 100))),
    "different texts": ("csv", lambda: _table(4, lambda k: f"x{k}")),
    "accents": ("csv", lambda: _table(10, lambda k: "äöüß"[k % 4] * 3, encoding="cp1252")),
    "UTF-16": ("csv", lambda: _table(10, lambda k: "жщ"[k % 2], encoding="utf-16-le")),
    "dates": ("csv", lambda: _table(10, lambda k: f"2026-0{k % 9 + 1}-1{k % 7}")),
    "thousands": ("csv", lambda: _table(10, lambda k: f"{k % 9 + 1},{k % 900 + 100}", separator=";")),
    "a text in each row": ("csv", lambda: _table(200, lambda k: str(k % 10) if k % 200 else "a")),
    "LIBSVM, 1,000 columns": ("svm", lambda: _libsvm(1_000, lambda i: " ".join(f"{j}:1" for j in range(1, 1_001)))),
    "LIBSVM, 5 columns": ("svm", lambda: _libsvm(5, lambda i: f"{i % 5 + 1}:1")),
    "Parquet, long numbers": ("parquet", lambda: _parquet(10, lambda k: math.sin(k), 99_000)),
    "Parquet, digits": ("parquet", lambda: _parquet(1_000, lambda k: k * k % 11, 5_000)),
    "Parquet, 1,000 texts": ("parquet", lambda: _parquet(4, lambda k: _word(k * k % 997, 5), 999_999)),
    "Parquet, different texts": ("parquet", lambda: _parquet(4, lambda k: f"x{k}", 300_000)),
    "Parquet, plain texts": ("parquet", lambda: _parquet(4, lambda k: f"x{k}", 300_000, use_dictionary=False)),
}


def declared(sheet: RawTable) -> Declared:
    """Each column that can be a feature: numbers between -10^9 and 10^9, and the levels that occur."""
    filled = zip(sheet.columns, sheet.gaps < len(sheet.labels), strict=True)
    numbers = tuple(column for column, known in filled if known and column not in sheet.texts)
    room, categories = MAX_SHEET_COLUMNS - len(numbers), []
    for column in sheet.texts:
        levels = sheet.levels(column)
        if 2 <= len(levels) <= room:
            categories.append(Category(column, levels))
            room -= len(levels)
    wide = len(numbers)
    return Declared(numbers, (-1e9,) * wide, (1e9,) * wide, sheet.values[0], "drop", None, tuple(categories))


def write(name: str, path: Path) -> None:
    path.write_bytes(FILES[name][1]())


def cost(path: Path) -> Cost:
    """Cost of reading one file, in this process, after small ones that load the code."""
    small = _parquet(1, str, 20)
    for content, name in (
        (small, "small.parquet"),
        (pd.read_parquet(io.BytesIO(small)).to_csv().encode(), "small.csv"),
    ):
        sheet = data.read_sheet(content, name, LABEL)
        UploadedRecords(sheet, declared(sheet), name)
    before = peak()
    content, name = path.read_bytes(), path.name
    cpu, wall, sheet = timed(lambda: data.read_sheet(content, name, LABEL))
    said, values = declared(sheet), sheet.numbers.size
    if said.features:
        more_cpu, more, records = timed(lambda: UploadedRecords(sheet, said, name))
        cpu, wall = cpu + more_cpu, wall + more
        values = max(values, (records.report.read - records.report.dropped) * (len(said.features) + 1))
    used = peak() - before
    encoding = sheet.form.encoding if sheet.form else "ascii"
    text = _unpacked(content) if path.suffix == ".parquet" else sys.getsizeof(content.decode(encoding))
    return Cost(len(content), len(sheet.labels), len(sheet.columns), text, values, cpu, wall, used)


def _unpacked(content: bytes) -> int:
    """Bytes of a Parquet file's pages."""
    found = parquet.read_metadata(io.BytesIO(content))
    groups = [found.row_group(k) for k in range(found.num_row_groups)]
    return sum(group.column(k).total_uncompressed_size for group in groups for k in range(group.num_columns))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upload_limits")
    parser.add_argument("--only", nargs="+", choices=FILES, default=list(FILES), metavar="NAME", help="of the table")
    print("| file | MB | rows | columns | CPU s | wall s | peak MB | times |\n|---|---|---|---|---|---|---|---|")
    beyond = []
    for name in parser.parse_args(arguments).only:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"people.{FILES[name][0]}"
            in_new_process(write, name, path)
            found = in_new_process(cost, path)
        shape = f"{found.size / 1e6:.1f} | {found.rows:,} | {found.columns:,}"
        times = f"{found.cpu:.1f} | {found.wall:.1f} | {found.peak / 1e6:.0f} | {found.times:.1f}"
        print(f"| {name} | {shape} | {times} |", flush=True)
        if found.times > MOST:
            beyond.append(name)
    if beyond:
        sys.exit(f"more than {MOST:g} times the larger of the text and 8 bytes a value: {', '.join(beyond)}")


if __name__ == "__main__":
    main()
