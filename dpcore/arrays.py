"""What callers hand over as numbers, in the one form that everything here computes with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]


def as_matrix(values: Any) -> Array | csr_array:
    """A finite table of numbers in the form that `Data` keeps it, or ValueError; shapes are not checked."""
    return _sparse_array(values) if hasattr(values, "tocsr") else float_array("X", values)


def _sparse_array(values: Any) -> csr_array:
    """CSR with float64 values, sorted indices and no duplicates; indices take 32 bits where that is enough."""
    from scipy.sparse import csr_array, get_index_dtype

    if values.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers, got {values.dtype.name} values")
    array = csr_array(values).astype(np.float64, copy=False)
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    index = get_index_dtype(maxval=max(array.nnz, *array.shape))
    if array.indices.dtype != index:
        indices, indptr = array.indices.astype(index), array.indptr.astype(index)
        array = csr_array((array.data, indices, indptr), shape=array.shape)
    if not np.isfinite(array.data).all():
        raise ValueError(f"X must be finite, got {array.data[~np.isfinite(array.data)][0]}")
    return array


def float_array(name: str, values: object) -> Array:
    """A finite, writable, C-contiguous float64 array, or ValueError with the name of the argument.

    >>> float_array("y", [1, -1])
    array([ 1., -1.])
    """
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have a value in every place, got a masked array")
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "biufO" or (raw.dtype.kind == "O" and any(isinstance(v, str) for v in raw.flat)):
            raise ValueError(f"got {raw.dtype.name} values" if raw.dtype.kind != "O" else "got text")
        array = np.ascontiguousarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be a rectangular table of numbers ({error})") from None
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{name} must be finite, got {array[tuple(bad)]} at position {tuple(int(i) for i in bad)}")
    # Compiled functions are typed for writable arrays; pandas and worker processes hand out read-only ones.
    return array if array.flags.writeable else array.copy()
