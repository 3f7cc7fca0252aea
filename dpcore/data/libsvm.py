"""Sparse records of the LIBSVM format, read by scikit-learn."""

import io
import re
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from ..core.arrays import Array
from ..core.validation import shown

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_COLUMNS = 2**20  # of a problem, in any form
_UNREAD = re.compile(rb"^[^#\n]*(_|qid:)", re.MULTILINE)  # 1_0, which only Python reads as 10, and what is left out
_RULE = (
    "line {:,} of {} must be a number as its label and then pairs index:value of finite numbers, with indices that "
    "increase from 1 to {:,} at most and no qid, got {}; a table with columns is read if its name ends in .csv"
)


def read_libsvm(file: BinaryIO, name: str, p: int | None = None) -> "tuple[csr_array, Array]":
    """Records [n, largest index] and labels [n] of an open file; messages call it `name`.

    p: largest index that is allowed. Raises ValueError, naming the line, for a file that is not in the format.
    """
    most = p or MAX_COLUMNS
    content = file.read()
    try:
        X, y = _loaded(content, most)
    except (ValueError, OverflowError):
        lines = content.splitlines()
        wrong = _first_wrong(lines, most)
        text = shown(lines[wrong].decode("utf-8", "replace"))
        raise ValueError(_RULE.format(wrong + 1, name, most, text)) from None
    if len(y) < 2:
        raise ValueError(f"{name} must hold at least 2 records, got {len(y)}")
    if not X.nnz:
        raise ValueError(f"{name} must hold at least one index:value, got labels only")
    return X[:, : int(X.indices.max()) + 1], y


def _loaded(content: bytes, most: int) -> "tuple[csr_array, Array]":
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    if _UNREAD.search(content):
        raise ValueError
    X, y = load_svmlight_file(io.BytesIO(content), n_features=most, zero_based=False)
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError
    return csr_array(X), y


def _first_wrong(lines: list[bytes], most: int) -> int:
    """Place of the first line that cannot be read, by halves: there is one."""
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _loaded(b"\n".join(lines[low:middle]), most)
            low = middle
        except (ValueError, OverflowError):
            high = middle
    return low
