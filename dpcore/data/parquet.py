"""Parquet files in memory, read by pyarrow in a process of its own, with a limit of memory.

pyarrow may end its process on a damaged file; then this one is told so in a sentence.
"""

import dataclasses as dc
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

_CHILD = Path(__file__).with_name("parquet_child.py")
_TOO_LARGE = 3  # the exit status that says so
_MAX_UNPACKED = 50_000_000  # bytes
_MAX_WRITTEN = 100_000_000  # bytes of all cells as CSV
# One thread, and an allocator that reserves no address space ahead.
_SETTINGS = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dc.dataclass(frozen=True)
class ParquetFacts:
    """Facts of a file's footer. unpacked: bytes. unread: places of columns that are neither numbers nor texts."""

    rows: int
    columns: tuple[str, ...]
    unpacked: int
    unread: tuple[int, ...]


def read_parquet(content: bytes, name: str, rows: int, columns: int, cells: int) -> tuple[ParquetFacts, bytes]:
    """Facts of a Parquet file, and its table as CSV in UTF-8, without a line of names.

    rows, columns, cells: of a file with more of them, or with more than 50 MB once unpacked, only the footer is read.
    Raises ValueError for the latter, for a damaged file, and for one that would be more than 100 MB of CSV.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise ValueError(
            f"{name} must be a CSV or LIBSVM file where pyarrow is missing, got a Parquet file; install it with "
            "pip install pyarrow, or save the table as CSV"
        )
    limits = [rows, columns, cells, _MAX_UNPACKED, _MAX_WRITTEN]
    done = subprocess.run(
        [sys.executable, "-P", str(_CHILD), json.dumps(limits)],
        input=content,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | _SETTINGS,
        check=False,
    )
    if done.returncode == _TOO_LARGE:
        raise ValueError(f"{name} must hold at most {_MAX_WRITTEN // 10**6} MB of text, got more; leave columns out")
    if done.returncode:
        raise ValueError(
            f"{name} must be a whole Parquet file, got one that is damaged, encrypted or of another format"
        )
    first, _, table = done.stdout.partition(b"\n")
    found = json.loads(first)
    facts = ParquetFacts(found["rows"], tuple(found["columns"]), found["unpacked"], tuple(found["unread"]))
    if facts.unpacked > _MAX_UNPACKED:
        raise ValueError(f"{name} must unpack to at most {_MAX_UNPACKED // 10**6} MB, got more; leave columns out")
    return facts, table
