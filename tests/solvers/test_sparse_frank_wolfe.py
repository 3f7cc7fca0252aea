"""Frank-Wolfe on sparse records: the same run as on a table, from the same random numbers."""

import dataclasses as dc
from concurrent.futures import CancelledError

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from dpcore import Budget, Data, Domain, Spec
from dpcore.core.losses import get_loss
from dpcore.mechanisms.frank_wolfe import vertex_runs
from dpcore.mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from dpcore.solvers.frank_wolfe import sparse
from dpcore.solvers.frank_wolfe import vertices as fw
from dpcore.solvers.frank_wolfe.sparse import Table, descend_sparse

from .looks import looks

SIZE = 3.0
LOSSES = ["squared", "logistic", "huber_hinge", "huber"]
# n, r, p and the share of entries: more columns than records, fewer, and tables of which few rows are ever touched.
WIDE, TALL, THIN = (50, 180, 200), (250, 30, 30), (400, 900, 950)


def records(key, n, r, p, density, seed=0):
    """Some columns and rows are empty; entries of both signs, up to 1."""
    rng = np.random.default_rng(seed)
    X = random_array((n, r), density=density, format="csr", rng=rng, data_sampler=lambda size: rng.uniform(-1, 1, size))
    X = X.multiply((np.arange(r) % 11 != 4)[None, :]).multiply((np.arange(n) % 13 != 2)[:, None]).tocsr()
    X.eliminate_zeros()
    z = 3.0 * (X @ np.sin(np.arange(r))) + 0.3 * rng.standard_normal(n)
    y = np.where(z > 0.0, 1.0, -1.0) if get_loss(key).classification else np.clip(z, -1.0, 1.0)
    return Data(csr_array(X), y, p)


def start(data, signed):
    return np.zeros(data.stored) if signed else np.full(data.stored, SIZE / data.p)


def dense_run(loss, data, run, signed, seed=1):
    """By the solver that computes every gradient in full."""

    def steepness(norms):
        return loss.steepness(norms, 1.0) / loss.steepness(SIZE, 1.0)

    choice = fw.Exponential([np.random.default_rng(seed)], data.p - data.stored, signed=signed)
    local = steepness if signed else None
    return fw.descend(
        fw.Records(loss, data), [run], choice, size=SIZE, start=start(data, signed), steepness=local, trace=True
    )


def sparse_run(loss, data, run, signed, seed=1, lazy=False):
    local = (1.0, 1.0) if signed else None
    with looks(lazy):
        return descend_sparse(loss, data, [run], [np.random.default_rng(seed)], size=SIZE, signed=signed, local=local)


def model(chosen, data, run, signed):
    return fw.models(chosen, [run], SIZE, start(data, signed), data.stored)[0]


def touched_share(data, columns):
    """Of the entries, those in rows that hold one of the columns."""
    stored = np.unique(columns[(columns >= 0) & (columns < data.stored)])
    rows = np.unique(data.X[:, stored].nonzero()[0])
    return data.X[rows].nnz / data.X.nnz


# The same run


@pytest.mark.pairwise
@pytest.mark.parametrize("noise", [0.003, 0.05])
@pytest.mark.parametrize("shape, density", [(WIDE, 0.08), (TALL, 0.2), (TALL, 0.02)])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("key", LOSSES)
def test_looking_at_every_column_makes_the_choices_of_the_dense_solver(key, signed, shape, density, noise):
    loss, data, run = get_loss(key), records(key, *shape, density), fw.Run(150, noise)
    ours, theirs = sparse_run(loss, data, run, signed), dense_run(loss, data, run, signed)
    np.testing.assert_array_equal(ours.columns, theirs.columns)
    np.testing.assert_array_equal(ours.signs, theirs.signs)
    theta = model(ours, data, run, signed)
    assert np.abs(theta - model(theirs, data, run, signed)).max() <= 1e-12
    assert loss.value(data.X @ theta, data.y).mean() == pytest.approx(theirs.risks[0, -1], abs=1e-12)


@pytest.mark.parametrize("key", ["squared", "logistic", "huber_hinge"])
@pytest.mark.parametrize("density, T, noise, beyond", [(0.004, 12, 0.002, False), (0.02, 90, 0.1, True)])
def test_both_ways_of_keeping_gradients_up_to_date_agree_with_the_dense_solver(key, density, T, noise, beyond):
    loss, data, run = get_loss(key), records(key, *THIN, density), fw.Run(T, noise)
    ours, theirs = sparse_run(loss, data, run, True), dense_run(loss, data, run, True)
    share = touched_share(data, theirs.columns)
    assert share > 0.5 if beyond else share < 0.3, f"the switch at a third is to be crossed or not: {share:.2f}"
    np.testing.assert_array_equal(ours.columns, theirs.columns)
    np.testing.assert_array_equal(ours.signs, theirs.signs)


def test_a_square_step_that_touches_most_entries_starts_again_from_the_predictions():
    X = np.zeros((40, 30))
    X[:, 0] = X[:, 1] = 0.5
    X[np.arange(40), 2 + np.arange(40) % 28] = 1.0
    data, run, loss = Data(csr_array(X), np.r_[np.ones(25), -np.ones(15)]), fw.Run(80, 0.02), get_loss("squared")
    ours, theirs = sparse_run(loss, data, run, True), dense_run(loss, data, run, True)
    assert {0, 1} < set(theirs.columns[0]), "columns whose rows hold all entries, and others"
    np.testing.assert_array_equal(ours.columns, theirs.columns)


# What is kept up to date over a long run


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("key", ["squared", "logistic", "huber_hinge"])
def test_predictions_and_gradients_do_not_drift_in_two_thousand_steps(key, signed, lazy):
    loss, data = get_loss(key), records(key, 500, 700, 750, 0.01)
    # A few columns that every 25th row holds stand out of the noise: they are chosen again and again.
    X = data.X.tolil()
    X[::25, :3] = data.y[::25, None] * [1.0, 0.9, 0.8]
    noise = (0.1 if key == "squared" else 0.01) if lazy else 0.002
    data, run = Data(csr_array(X), data.y, data.p), fw.Run(2_000, noise)
    with looks(lazy):
        table = Table(loss, data, run.noise, SIZE, signed=signed, local=(1.0, 1.0) if signed else None)
    assert table.lazy == lazy and len(table.heavy) > 0
    columns, signs = np.full((1, 1_999), -1), np.zeros((1, 1_999))
    predictions, gradient = table.descend(run, np.random.default_rng(2), columns[0], signs[0])
    assert np.bincount(columns[0]).max() > 9, "one column's rows are touched many times"
    theta = model(fw.Chosen(columns, signs, np.empty((1, 0))), data, run, signed)
    z = data.X @ theta
    np.testing.assert_allclose(predictions, z, rtol=0.0, atol=1e-12)
    wanted = (loss.derivative(z, data.y) @ data.X / data.n)[table.heavy]
    np.testing.assert_allclose(gradient, wanted, rtol=0.0, atol=1e-12)


# Many runs, and what is refused


def test_runs_of_several_scales_and_lengths_are_those_one_by_one_and_leave_their_generators_behind():
    loss, data = get_loss("logistic"), records("logistic", *WIDE, 0.08)
    runs = [fw.Run(T, noise, stream) for T, noise in ((40, 0.01), (25, 0.05), (40, 0.2)) for stream in (0, 1)]
    rngs = [np.random.default_rng(seed) for seed in (5, 6)]
    together = descend_sparse(loss, data, runs, rngs, size=SIZE, signed=True)
    for k, run in enumerate(runs):
        rng = np.random.default_rng(5 + run.stream)
        alone = descend_sparse(loss, data, [dc.replace(run, stream=0)], [rng], size=SIZE, signed=True)
        np.testing.assert_array_equal(together.columns[k, : run.T - 1], alone.columns[0])
        np.testing.assert_array_equal(together.columns[k, run.T - 1 :], -1)
        np.testing.assert_array_equal(together.signs[k, run.T - 1 :], 0.0)
        if k >= 4:
            then = rng.random()
            assert rngs[run.stream].random() == then, "the stream goes on from where its last run ended"
            assert then != np.random.default_rng(5 + run.stream).random(), "what was used is not used again"


def test_what_is_not_sparse_or_not_private_is_refused():
    loss, data = get_loss("logistic"), records("logistic", *TALL, 0.2)
    rngs = [np.random.default_rng(0)]
    with pytest.raises(ValueError, match="X must be sparse, got"):
        descend_sparse(loss, Data(data.X.toarray(), data.y), [fw.Run(3, 1.0)], rngs, size=1.0, signed=True)
    with pytest.raises(ValueError, match="noise must be > 0 in every run, got 0"):
        descend_sparse(loss, data, [fw.Run(3, 1.0), fw.Run(3, 0.0)], rngs, size=1.0, signed=True)
    with pytest.raises(ValueError, match=r"y must lie in \[-1, 1\] for logistic loss, got 2"):
        descend_sparse(loss, Data(data.X, 2.0 * data.y), [fw.Run(3, 1.0)], rngs, size=1.0, signed=True)
    with pytest.raises(CancelledError):
        descend_sparse(loss, data, [fw.Run(3, 1.0)], rngs, size=1.0, signed=True, cancelled=lambda: True)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("key", ["squared", "logistic"])
def test_the_mechanism_runs_it_at_its_own_noise(monkeypatch, key, signed):
    data = records(key, 300, 40, 44, 0.1)
    spec = Spec(key, data.n, data.p, 0.0, Domain(np.inf, 1.5, 2.0), SIZE, set="l1_ball" if signed else "simplex")
    plans = [FrankWolfePolytope(T=30).calibrate(spec, Budget(epsilon, 1e-6)) for epsilon in (20.0, 200.0)]
    releases, curves, looked = [], [], []
    # Looking at all columns, it makes the choices of the dense solver.
    monkeypatch.setattr(sparse, "_MOST_HEAVY", -1.0)
    monkeypatch.setattr(vertex_runs, "descend_sparse", lambda *a, **k: looked.append(1) or descend_sparse(*a, **k))
    for table in (data, Data(data.X.toarray(), data.y, data.p)):
        prepared = plans[0].mechanism.prepare(plans[0], table)
        releases.append(plans[0].mechanism.release_many(plans[0], prepared, rngs()))
        curves.append(plans[0].mechanism.draws(plans, [prepared] * 2, rngs(), lambda: False))
    assert len(looked) == 2, "a release and a curve of the sparse table"
    np.testing.assert_allclose(*releases, rtol=0.0, atol=1e-12)
    for part in ("centres", "thetas"):
        np.testing.assert_allclose(*(getattr(curve, part) for curve in curves), rtol=0.0, atol=1e-12)


def rngs():
    return [np.random.default_rng([3, k]) for k in range(5)]
