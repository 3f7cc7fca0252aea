"""Conversion of callers' numbers to the one form in which everything here computes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]

# Entries of a sparse table that are processed at a time, so that no second table is made.
_BLOCK_ENTRIES = 1 << 20


def as_matrix(values: Any) -> Array | csr_array:
    """Finite table of numbers in the form in which `Data` keeps it, or ValueError; shapes are not checked."""
    return _sparse_array(values) if hasattr(values, "tocsr") else float_array("X", values)


def _sparse_array(values: Any) -> csr_array:
    """CSR with float64 values, sorted indices and no duplicates; indices take 32 bits where that is enough."""
    from scipy.sparse import csr_array, get_index_dtype

    if values.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers, got {values.dtype.name} values")
    array = csr_array(values).astype(np.float64, copy=False)
    # Compiled functions do not check indices before they read and write.
    for index in (array.indices.min(), array.indices.max()) if array.nnz else ():
        if not 0 <= index < array.shape[1]:
            raise ValueError(f"X must have column indices from 0 to {array.shape[1] - 1}, got {index}")
    if (np.diff(array.indptr) < 0).any():
        raise ValueError("X must have index pointers that never decrease, got some that do")
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    index = get_index_dtype(maxval=max(array.nnz, *array.shape))
    if array.indices.dtype != index:
        indices, indptr = array.indices.astype(index), array.indptr.astype(index)
        array = csr_array((array.data, indices, indptr), shape=array.shape)
    if not _finite(array.data):
        raise ValueError(f"X must be finite, got {array.data[~np.isfinite(array.data)][0]}; fill or drop it")
    return array


def _finite(array: Array) -> bool:
    """True if all numbers of a contiguous array are finite."""
    # The sum of squares is a fast test: it is finite only if all numbers are. Squares of large numbers may overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        certain = math.isfinite(array.ravel() @ array.ravel())
    return certain or bool(np.isfinite(array).all())


def column_sums(X: csr_array, of: Callable[[Array], Array]) -> Array:
    """sum_i of(x_ij) over the stored entries of each column, [r].

    >>> from scipy.sparse import csr_array
    >>> column_sums(csr_array([[1.0, -2.0, 0.0], [3.0, 0.0, 0.0]]), np.abs).tolist()
    [4.0, 2.0, 0.0]
    """
    sums = np.zeros(X.shape[1])
    for start in range(0, X.nnz, _BLOCK_ENTRIES):
        block = slice(start, start + _BLOCK_ENTRIES)
        np.add.at(sums, X.indices[block], of(X.data[block]))
    return sums


def sparse_norms(X: csr_array, q: float) -> Array:
    """||x_i||_q of the rows for q from 1 to inf, [n]; inf where the norm for q = 2 is too large for a float.

    >>> from scipy.sparse import csr_array
    >>> sparse_norms(csr_array([[3.0, -4.0], [0.0, 0.0]]), 2.0).tolist()
    [5.0, 0.0]
    """
    edges = np.searchsorted(X.indptr, np.arange(_BLOCK_ENTRIES, X.nnz, _BLOCK_ENTRIES))
    edges = np.unique([0, *edges, X.shape[0]])
    return np.concatenate([_block_norms(X[start:end], q) for start, end in itertools.pairwise(edges)])


def _block_norms(X: csr_array, q: float) -> Array:
    if q == 2.0:
        return np.sqrt(X.power(2).sum(axis=1))
    sizes = abs(X)
    largest = sizes.max(axis=1).toarray()
    if q == math.inf:
        return largest
    sizes.data /= np.repeat(np.where(largest > 0.0, largest, 1.0), np.diff(sizes.indptr))
    sizes.data **= q
    return largest * np.asarray(sizes.sum(axis=1)) ** (1.0 / q)


def filled_columns(X: csr_array) -> tuple[NDArray[np.intp], csr_array] | None:
    """Columns that have an entry, and a table of only these, which shares its values with X; None if all columns do.

    The first column is kept if no column has an entry.
    """
    here = np.zeros(X.shape[1], bool)
    for start in range(0, X.nnz, _BLOCK_ENTRIES):
        # numpy marks them twice as fast in the machine's own index type.
        here[X.indices[start : start + _BLOCK_ENTRIES].astype(np.intp)] = True
    here[0] |= not here.any()
    if here.all():
        return None
    places = np.cumsum(here, dtype=X.indices.dtype)
    places -= 1
    filled = np.flatnonzero(here)
    renumbered = places.take(X.indices, mode="wrap")  # all are within, so nothing wraps: the quickest way to take them
    return filled, type(X)((X.data, renumbered, X.indptr), shape=(X.shape[0], len(filled)))


def float_array(name: str, values: object) -> Array:
    """Finite, writable, C-contiguous float64 array, or ValueError with the name of the argument.

    >>> float_array("y", [1, -1])
    array([ 1., -1.])
    """
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have a value in every place, got a masked array; fill or drop masked values")
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "biufO" or (raw.dtype.kind == "O" and any(isinstance(v, str) for v in raw.flat)):
            raise ValueError(f"got {raw.dtype.name} values" if raw.dtype.kind != "O" else "got text")
        array = np.ascontiguousarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be a rectangular table of numbers ({error})") from None
    if not _finite(array):
        bad = np.argwhere(~np.isfinite(array))[0]
        place = tuple(int(i) for i in bad)
        raise ValueError(f"{name} must be finite, got {array[place]} at position {place}; fill or drop such values")
    # Compiled functions are typed for writable arrays; pandas and worker processes hand out read-only ones.
    return array if array.flags.writeable else array.copy()
