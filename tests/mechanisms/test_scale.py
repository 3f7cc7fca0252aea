"""Sparse records from end to end: the same models as from tables, no second table on the way, and the full size."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
import weakref
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import csr_array

import dpcore.core.arrays
from dpcore import Data, Release, Unconverged, calibrate, solve
from dpcore.core.losses import get_loss
from dpcore.data import clip_rows
from dpcore.data.synthetic import sparse_records
from dpcore.mechanisms.noise.rounding import grid_of
from dpcore.solvers import minimise, minimise_many
from tests.harness import ROOT

N, P = 80, 60
# Mechanism, loss, and what else a problem needs; the budget makes noise small and lets Frank-Wolfe look at all columns.
PROBLEMS = {
    "output": ("output_gaussian", "logistic", {}),
    "output, pure, hinge": ("output_gamma", "hinge", {}),
    "output, in a ball": ("output_gaussian", "squared", {"radius": 0.3}),
    "objective": ("objective_gaussian", "logistic", {}),
    "objective, pure": ("objective_gamma", "huber", {}),
    "private LASSO": ("frank_wolfe_polytope", "squared", {"radius": 3.0, "T": 20}),
    "Frank-Wolfe, Laplace": ("frank_wolfe_polytope", "logistic", {"accounting": "published_safe", "T": 20}),
}


def records(seed: int = 0) -> Data:
    """CSR, rows within the unit ball; row 3, every other column and the last 10 are empty. Labels -1 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.2, 1.0, (N, P)) * (rng.random((N, P)) < 0.2)
    X[:, ::2] = X[:, P - 10 :] = X[3] = 0.0
    X /= max(1.0, np.linalg.norm(X, axis=1).max())
    return Data(csr_array(X), np.where(X @ rng.standard_normal(P) > 0.0, 1.0, -1.0))


def model(problem: str, X: object, y: np.ndarray) -> np.ndarray:
    key, loss, more = PROBLEMS[problem]
    return solve(key, X, y, epsilon=50.0, delta=0.0 if "pure" in problem else 1e-5, loss=loss, seed=7, **more).theta


def with_index(X: csr_array, dtype: type) -> csr_array:
    return csr_array((X.data, X.indices.astype(dtype), X.indptr.astype(dtype)), shape=X.shape)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_sparse_records_give_the_model_of_the_table(problem):
    """Solvers stop elsewhere, within plan.tol, and the grid of releases may make one step of it."""
    data, (key, loss, more) = records(), PROBLEMS[problem]
    plan = calibrate(key, n=N, p=P, epsilon=50.0, delta=0.0 if "pure" in problem else 1e-5, loss=loss, **more)
    step = 1e-12 if "frank_wolfe" in key else grid_of(plan.mechanism.resolution(plan)) + 2.0 * plan.tol
    sparse, table = model(problem, data.X, data.y), model(problem, data.X.toarray(), data.y)
    assert np.abs(sparse).max() > 1e3 * step
    np.testing.assert_allclose(sparse, table, rtol=0.0, atol=1.01 * step)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_how_indices_are_written_changes_nothing(problem):
    """64 bits; unsorted; in two parts that add up. What was handed over stays as it was."""
    data, rng = records(), np.random.default_rng(1)
    X = data.X
    order = np.lexsort((rng.random(X.nnz), np.repeat(np.arange(N), np.diff(X.indptr))))
    unsorted = csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)
    doubled = csr_array((np.repeat(0.5 * X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    expected = model(problem, X, data.y)
    for other in (with_index(X, np.int64), unsorted, doubled):
        before = other.data.copy(), other.indices.copy()
        np.testing.assert_array_equal(model(problem, other, data.y), expected)
        assert all(map(np.array_equal, before, (other.data, other.indices)))
    assert not unsorted.has_sorted_indices


@pytest.mark.parametrize("problem", PROBLEMS)
def test_indices_of_64_bits_go_all_the_way(problem, monkeypatch):
    """As for tables of more than 2^31 entries, which no test can hold."""
    data = records()
    expected = model(problem, data.X, data.y)
    monkeypatch.setattr(scipy.sparse, "get_index_dtype", lambda **_: np.dtype(np.int64))
    wide = with_index(data.X, np.int64)
    made = Data(wide, data.y)
    assert made.X.indices.dtype == made.nonempty[1].X.indptr.dtype == np.int64
    assert np.shares_memory(made.X.indices, wide.indices) and np.shares_memory(made.nonempty[1].X.data, wide.data)
    np.testing.assert_array_equal(model(problem, wide, data.y), expected)


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_the_minimiser_is_that_of_all_columns(loss):
    """The gradient of the whole problem, computed from the table, is below lam tol, also with a linear term."""
    data, rng, lam, tol = records(), np.random.default_rng(2), 0.01, 1e-8
    table, linear = data.X.toarray(), rng.standard_normal((3, P))
    many = minimise_many(get_loss(loss), data, lam, linear, tol=tol, start=np.zeros(P))
    for b, together in zip(linear, many, strict=True):
        found = minimise(get_loss(loss), data, lam, tol=tol, linear=b)
        assert found.distance <= tol
        for theta in (found.theta, together):
            pulled = get_loss(loss).derivative(table @ theta, data.y) @ table / N
            assert np.linalg.norm(pulled + lam * theta + b) <= lam * tol * (1.0 + 1e-6) + 1e-15
            np.testing.assert_array_equal(theta[::2], -b[::2] / lam)
    assert not minimise(get_loss(loss), data, lam, tol=tol).theta[::2].any()


def test_records_leave_memory_with_their_last_name():
    """A million records that wait for the garbage collector are a million too many."""
    for make in (records, lambda: Data(records().X.toarray(), records().y)):
        made = make()
        minimise(get_loss("logistic"), made, 0.1, tol=1e-6)
        seen = weakref.ref(made)
        gc.disable()
        try:
            del made
            assert seen() is None
        finally:
            gc.enable()


def test_a_closed_form_that_is_rounded_too_coarsely_is_refused():
    """-b / lam is 1e12 here: doubles are 1e-4 apart."""
    data, b = records(), np.full(P, 1e10)
    for refused in (
        lambda: minimise(get_loss("logistic"), data, 0.01, tol=1e-5, linear=b),
        lambda: minimise_many(get_loss("logistic"), data, 0.01, b[None], tol=1e-5, start=np.zeros(P)),
    ):
        with pytest.raises(Unconverged, match="columns without an entry"):
            refused()


def test_records_without_any_entry_are_released_as_noise():
    empty = csr_array((N, P))
    for problem in PROBLEMS:
        theta = model(problem, empty, np.where(np.arange(N) % 2, 1.0, -1.0))
        assert theta.shape == (P,) and np.isfinite(theta).all() and theta.any(), problem


def test_norms_and_masses_of_many_blocks_are_those_of_the_table(monkeypatch):
    data, table = records(), records().X.toarray()
    monkeypatch.setattr(dpcore.core.arrays, "_BLOCK_ENTRIES", 37)
    for q in (1.0, 2.0, 3.0, np.inf):
        np.testing.assert_allclose(data.norms(q), np.linalg.norm(table, q, axis=1), rtol=1e-14)
    np.testing.assert_allclose(data.masses, np.abs(table).sum(axis=0), rtol=1e-14)
    assert data.X.nnz > 10 * 37  # ten blocks, then
    assert clip_rows(data, 1.0)[0] is data


MECHANISMS = {"output": "output_gaussian", "objective": "objective_gaussian", "frank_wolfe": "frank_wolfe_polytope"}
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
# The peak of a release, records not counted: at most so many vectors of p numbers, and copies of the records. Output:
# the minimiser, the release, the rounded release. Objective: also the noise. Frank-Wolfe: masses, pointers, the model,
# two vectors of 0 behind which there is no memory yet; the records by columns. Others: the indices of filled columns
# and the values in single precision, a third of the records each.
VECTORS = {"output": 3.2, "objective": 4.2, "frank_wolfe": 4.6}
TABLES = {"output": 0.8, "objective": 0.9, "frank_wolfe": 1.4}


def released(name: str, data: Data, nonzeros: int) -> Release:
    """One release of `sparse_records` with labels as the mechanism wants them."""
    # No entry is larger, whatever the records are; the bound on a row's length would ask for more noise. With the
    # automatic T, at least Gamma / h = 800, noise leaves nothing to learn here.
    how = {"R": nonzeros**-0.5, "radius": 100.0, "T": 100} if name == "frank_wolfe" else {}
    return solve(MECHANISMS[name], data.X, labels(name, data), **BUDGET, **how, seed=0)


def labels(name: str, data: Data) -> np.ndarray:
    return data.y if name == "frank_wolfe" else np.where(data.y > 0.0, 1.0, -1.0)


def _peak(name: str, data: Data, nonzeros: int) -> int:
    """Bytes of a release; compiled code is loaded before."""
    released(name, sparse_records(2_000, 4_000, 10), 10)
    return _bytes(lambda: released(name, data, nonzeros))


def _bytes(call: Callable[[], object]) -> int:
    """What a call takes at most beside what is there already."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", MECHANISMS)
def test_many_columns_take_a_few_vectors(name):
    n, p = 200, 2_000_000
    peak = _peak(name, sparse_records(n, p, 20), 20)
    assert p * 8 < peak < VECTORS[name] * p * 8 + 2e6


@pytest.mark.parametrize("name", MECHANISMS)
def test_many_entries_are_not_copied_again_and_again(name, monkeypatch):
    monkeypatch.setattr(dpcore.core.arrays, "_BLOCK_ENTRIES", 1 << 14)
    data = sparse_records(20_000, 40_000, 60)
    table = data.X.data.nbytes + data.X.indices.nbytes
    # Besides, vectors of one number for a row or a column; plain steps, taken with so few columns, keep 10 pairs in
    # single precision.
    vectors = 12 * (data.n + data.p) + (10 * data.p if name != "frank_wolfe" else 0)
    assert _peak(name, data, 60) < TABLES[name] * table + 8 * vectors


# A release at full size, and how much memory the process had at most.
FULL_SIZE = """
import resource, sys
from dpcore.core.blas import one_blas_thread
from dpcore.data.synthetic import sparse_records
from dpcore.experiments.metrics import accuracy, r_squared
from tests.mechanisms.test_scale import labels, released

one_blas_thread()
name = sys.argv[1]
data = sparse_records(100_000, 20_000_000, 100)
theta = released(name, data, 100).theta
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
assert peak < 8e9
data = type(data)(data.X, labels(name, data))
assert data.X.nnz > 95 * data.n
assert r_squared(theta, data) > 0.05 if name == "frank_wolfe" else accuracy(theta, data) > 0.7
"""


@pytest.mark.nightly
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_full_size_stays_below_8_gb(name):
    """100,000 x 20,000,000 with about 100 non-zeros a row, records included, in a process of its own."""
    subprocess.run([sys.executable, "-c", FULL_SIZE, name], cwd=ROOT, check=True)
