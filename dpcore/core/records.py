"""Records: features and labels, dense or sparse, with checks of their declared bounds."""

from __future__ import annotations

import dataclasses as dc
import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, as_matrix, column_sums, filled_columns, float_array, sparse_norms
from .sets import length
from .validation import integer

if TYPE_CHECKING:
    from scipy.sparse import csr_array
from .specification import Domain


@dc.dataclass(frozen=True)
class Data:
    """Records as arrays: X float64 [n, r], C-contiguous or scipy.sparse CSR; y float64 [n].

    p: columns of the problem, >= r; 0 means r. Columns beyond those of X are zero in every record and are not stored.
    weights: [n], of mean 1, with which records enter a mean; only merged records have them. merged: the same records
    with equal ones as one, which has a weight; None where they were not counted, as after any change of the arrays.
    Construction copies nothing that already has this form and refuses tables that are not finite; the arrays must not
    be changed afterwards. `check_domain` checks the records against the bounds of a `Domain`.
    """

    X: Array | csr_array
    y: Array
    p: int = 0
    weights: Array | None = dc.field(default=None, repr=False)
    merged: Data | None = dc.field(default=None, init=False, repr=False)  # so that `replace` never keeps others' copies

    @classmethod
    def drawn(cls, X: Array | csr_array, y: Array, rows: NDArray[np.intp]) -> Data:
        """Records X[rows], y[rows], with `merged` if they are dense and most rows were drawn several times.

        >>> data = Data.drawn(np.array([[1.0], [2.0], [3.0]]), np.zeros(3), np.array([2, 0, 2, 2]))
        >>> data.X.ravel().tolist(), data.merged.X.ravel().tolist(), data.merged.weights.tolist()
        ([3.0, 1.0, 3.0, 3.0], [1.0, 3.0], [0.5, 1.5])
        """
        data, counts = cls(X[rows], y[rows]), np.bincount(rows)
        kept = np.flatnonzero(counts)
        if isinstance(X, np.ndarray) and 2 * len(kept) <= len(rows):
            merged = cls(X[kept], y[kept], weights=np.multiply(counts[kept], len(kept) / len(rows)))
            object.__setattr__(data, "merged", merged)
        return data

    def widened(self, p: int) -> Data:
        """The same records as a problem of p >= r columns, with all that has been computed of them.

        >>> wide = Data(np.array([[1.0], [2.0]]), np.zeros(2)).widened(5)
        >>> wide.p, wide.stored
        (5, 1)
        """
        integer("p", p, at_least=self.stored)
        wide = object.__new__(Data)  # made without checks, which these arrays have passed
        vars(wide).update({name: value for name, value in vars(self).items() if name != "_fewer"} | {"p": p})
        return wide

    def __post_init__(self) -> None:
        X = as_matrix(self.X)
        y = float_array("y", self.y)
        if X.ndim != 2 or X.shape[0] < 2 or X.shape[1] < 1:
            raise ValueError(f"X must have shape (n >= 2, p >= 1), got {X.shape}")
        if y.shape != X.shape[:1]:
            raise ValueError(f"y must have shape ({X.shape[0]},) to match X, got {y.shape}")
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "p", integer("p", self.p or X.shape[1], at_least=X.shape[1]))

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def stored(self) -> int:
        """Number r of stored columns; every other column is zero."""
        return self.X.shape[1]

    @property
    def sparse(self) -> bool:
        return not isinstance(self.X, np.ndarray)

    @functools.cached_property
    def row_norms(self) -> Array:
        """||x_i||_2, shape [n], inf where it is too large for a float; computed once."""
        with np.errstate(over="ignore"):
            if isinstance(self.X, np.ndarray):
                return np.linalg.norm(self.X, axis=1)
            return sparse_norms(self.X, 2.0)

    def norms(self, q: float) -> Array:
        """||x_i||_q for q from 1 to inf, shape [n]."""
        if q == 2.0:
            return self.row_norms
        if isinstance(self.X, np.ndarray):
            return length(self.X, q)[:, 0]
        return sparse_norms(self.X, q)

    @functools.cached_property
    def gram(self) -> Array:
        """X'X / n, shape [r, r]; computed once, since moving lam or epsilon does not change it."""
        gram = (self.X.T if self.weights is None else self.X.T * self.weights) @ self.X
        return (gram if isinstance(gram, np.ndarray) else gram.toarray()) / self.n

    @functools.cached_property
    def by_columns(self) -> Any:
        """X of sparse records as CSC, computed once."""
        return self.X.tocsc()  # type: ignore[union-attr]

    @functools.cached_property
    def masses(self) -> Array:
        """sum_i |x_ij| of each stored column, [r], of sparse records; computed once."""
        return column_sums(self.X, np.abs)

    @property
    def nonempty(self) -> tuple[NDArray[np.intp] | slice, Data]:
        """Stored columns of sparse records that have an entry, and the records on only these; computed once.

        slice(None) and the records themselves if every column has an entry or the records are dense. The values are
        shared; records without any entry keep their first column.

        >>> from scipy.sparse import csr_array
        >>> columns, records = Data(csr_array([[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 3.0]]), [1.0, -1.0]).nonempty
        >>> columns.tolist(), records.X.toarray().tolist(), records.p
        ([1, 3], [[1.0, 2.0], [0.0, 3.0]], 4)
        """
        return self._fewer or (slice(None), self)

    @functools.cached_property
    def _fewer(self) -> tuple[NDArray[np.intp], Data] | None:
        """`nonempty` if it has fewer columns, else None: records that cached themselves would never be freed."""
        few = None if isinstance(self.X, np.ndarray) else filled_columns(self.X)
        if few is None:
            return None
        # Made without checks, which these entries have passed.
        fewer = object.__new__(Data)
        for field, value in (("X", few[1]), ("y", self.y), ("p", self.p)):
            object.__setattr__(fewer, field, value)
        return few[0], fewer

    @functools.cached_property
    def single(self) -> Any:
        """X in single precision, computed once: products with it take a half to a quarter of the time.

        A dense table is stored column by column, so that a few columns are read fast.
        """
        if isinstance(self.X, np.ndarray):
            return self.X.astype(np.float32, order="F")
        return type(self.X)((self.X.data.astype(np.float32), self.X.indices, self.X.indptr), shape=self.X.shape)

    def margins(self, thetas: Array) -> Array:
        """<x_i, theta_k> for thetas [k, r], shape [k, n], C-contiguous."""
        if isinstance(self.X, np.ndarray):
            return thetas @ self.X.T
        return np.ascontiguousarray((self.X @ thetas.T).T)

    def check_rows(self, domain: Domain) -> None:
        """Raise ValueError if a row of X exceeds its declared bound; nothing is clipped."""
        norms = self.norms(domain.q)
        # Rows scaled to norm R exceed it by a few ulps, which hardly change a sensitivity.
        beyond = int(np.count_nonzero(norms > domain.R * (1 + 1e-12)))
        if beyond:
            raise ValueError(
                f"X must have ||x||_{domain.q:g} <= R = {domain.R:g} in every row, got {beyond} of {self.n} rows "
                f"beyond it, the longest by {norms.max() / domain.R - 1:.3g} R; scale such rows down to R (clip=True, "
                "or --clip), scale all rows by a public constant, or raise R"
            )

    def check_domain(self, domain: Domain) -> None:
        """Raise ValueError if a record exceeds its declared bounds; nothing is clipped."""
        self.check_rows(domain)
        if np.abs(self.y).max() > domain.y_max * (1 + 1e-12):
            raise ValueError(
                f"y must lie in [-{domain.y_max:g}, {domain.y_max:g}], got {np.abs(self.y).max():.17g}; clip y to "
                "these public bounds or raise y_max"
            )
