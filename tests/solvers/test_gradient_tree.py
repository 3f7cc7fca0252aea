"""The walk through trees of gradient estimates: its order, which records it reads, and the estimates themselves."""

from concurrent.futures import CancelledError

import numpy as np
import pytest
from scipy import sparse

from dpcore import Data
from dpcore.core.losses import Loss, get_loss
from dpcore.core.sets import LqBall
from dpcore.solvers.frank_wolfe import tree as gradient_tree
from dpcore.solvers.frank_wolfe.tree import Tree, batch_mean, nodes, tree_of, walk

LOGISTIC = get_loss("logistic")


def phases(T: int, b: int) -> Tree:
    return Tree(range(1, T + 1), b)


def depth_first(depth: int) -> list[str]:
    """All vertices below the root, as the paths that lead to them."""

    def below(path: str) -> list[str]:
        return [path, *(below(path + "0") + below(path + "1") if len(path) < depth else [])]

    return below("0") + below("1")


def slope(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -y / (1.0 + np.exp(y * z))


def recursive_walk(X, y, start, T, b, bump, extreme):
    """One run, written as a recursion over the vertices of each tree; `bump` stands for noise in what is read."""
    x, read = start, 0

    def fresh(count):
        nonlocal read
        read += count
        return X[read - count : read], y[read - count : read]

    def visit(path, t, parent):
        """parent: its iterate and its estimate."""
        nonlocal x
        if path.endswith("1"):
            A, labels = fresh(b // 2 ** len(path))
            moved = (slope(A @ x, labels) - slope(A @ parent[0], labels)) @ A / len(A)
            own = (x, parent[1] + moved + bump(t, len(path), len(A)))
        else:
            own = parent
        if len(path) < t:
            visit(path + "0", t, own)
            visit(path + "1", t, own)
        else:
            eta = 2.0 / (2**t + int(path, 2))
            x = (1.0 - eta) * x + eta * extreme(own[1])

    for t in range(1, T + 1):
        A, labels = fresh(b)
        root = (x, slope(A @ x, labels) @ A / b + bump(t, 0, b))
        visit("0", t, root)
        visit("1", t, root)
    return x


def records(n: int, p: int, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    return Data(rng.uniform(-1.0, 1.0, (n, p)), rng.choice([-1.0, 1.0], n))


def test_the_order_is_depth_first_and_right_children_read():
    assert depth_first(2) == ["0", "00", "01", "1", "10", "11"], "the worked example"
    for t in range(1, 6):
        right = [path for path in depth_first(t) if path.endswith("1")]
        expected = [(0, 0)] + [(len(path), int(path.ljust(t, "0"), 2)) for path in right]
        assert [(v.depth, v.leaf) for v in nodes(phases(5, 64)) if v.phase == t] == expected
    assert [v.depth for v in nodes(phases(3, 8)) if v.phase == 3] == [0, 3, 2, 3, 1, 3, 2, 3]
    steps = [v.step for v in nodes(phases(3, 8))]
    assert np.allclose(steps, 2.0 / np.arange(2, 16)), "2 / (tau + 2)"


@pytest.mark.parametrize("T", range(1, 15))
def test_every_record_is_read_once_at_most_and_no_larger_batch_would_do(T):
    for n in (3, 14, 100, 1_000, 12_345, 100_000, 10_000_000):
        tree = tree_of(n, T)
        b = tree.batch if tree else 0
        assert b % 2**T == 0 and phases(T, b).used <= n < phases(T, b + 2**T).used
        if tree and T <= 8:
            visited = nodes(tree)
            assert len(visited) == tree.choices == 2 ** (T + 1) - 2
            assert [v.batch.start for v in visited] == [0, *(v.batch.stop for v in visited[:-1])]
            assert visited[-1].batch.stop == tree.used and min(len(v.batch) for v in visited) >= 1
            assert tree.gradients == sum(len(v.batch) * (2 if v.depth else 1) for v in visited)


def test_a_run_reads_each_record_once_and_in_the_order_given(monkeypatch):
    n, tree = 500, tree_of(500, 3)
    seen, derivatives = [], Loss.derivatives
    data = Data(np.ones((n, 2)), np.arange(n) / n)

    def watched(loss, z, y):
        seen.extend(np.round(y * n).astype(int))
        return derivatives(loss, z, y)

    monkeypatch.setattr(Loss, "derivatives", watched)
    walk(get_loss("squared"), data, np.zeros((3, 2)), tree, release=lambda v, m, a: m, choose=lambda v, g: -g)
    assert seen == list(range(tree.used))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("idle", [0, 2])
def test_runs_together_are_the_recursion_one_by_one(form, idle, monkeypatch):
    """Blocks of 32 records, so that batches end within blocks."""
    monkeypatch.setattr(gradient_tree, "_BLOCK_NUMBERS", 64)
    n, r, T, shape = 700, 3, 3, LqBall(1.5)
    data, tree = records(n, r), tree_of(n, T)
    rng = np.random.default_rng(1)
    bumps = 0.1 * rng.standard_normal((4, T + 1, T + 1, r + idle))
    starts = 0.2 * rng.standard_normal((4, r + idle))
    wide = np.pad(data.X, ((0, 0), (0, idle)))
    found = walk(
        LOGISTIC,
        Data(form(data.X), data.y, p=r + idle),
        starts,
        tree,
        release=lambda v, mean, away: mean + bumps[:, v.phase, v.depth] * (1.0 if away is None else 0.5),
        choose=lambda v, g: shape.extreme(g),
    )
    for k in range(4):
        own = recursive_walk(
            wide,
            data.y,
            starts[k],
            T,
            tree.batch,
            lambda t, j, m: bumps[k, t, j] * (0.5 if j else 1.0),  # noqa: B023
            lambda g: shape.extreme(g[None])[0],
        )
        assert np.allclose(found[k], own, rtol=1e-10, atol=1e-13)


def test_a_batch_mean_is_the_gradient_of_its_records_alone():
    data, rng = records(50, 4), np.random.default_rng(3)
    here, there = rng.standard_normal((2, 5, 4))
    batch = range(17, 25)
    X, y = data.X[batch], data.y[batch]
    gradients = [LOGISTIC.gradients(Data(X, y), at) for at in (here, there)]
    assert np.allclose(batch_mean(LOGISTIC, data, batch, here), gradients[0], rtol=1e-12)
    assert np.allclose(batch_mean(LOGISTIC, data, batch, here, there), gradients[0] - gradients[1], atol=1e-14)


def test_single_precision_is_near_double_and_only_where_it_is_asked_for():
    data, rng = records(50, 4), np.random.default_rng(3)
    here, there = rng.standard_normal((2, 5, 4))
    double, single = (batch_mean(LOGISTIC, data, range(17, 25), here, there, single=how) for how in (False, True))
    assert np.allclose(double, single, atol=1e-6) and not np.array_equal(double, single)

    def end(how):
        return walk(LOGISTIC, data, here, phases(2, 8), release=lambda v, m, a: m, choose=lambda v, g: -g, single=how)

    assert np.allclose(end(True), end(False), atol=1e-5) and not np.array_equal(end(True), end(False))


def test_whoever_cancels_stops_the_walk_at_the_next_node():
    visited = []

    def release(v, mean, away):
        visited.append(v)
        return mean

    def walked(cancelled):
        walk(
            LOGISTIC,
            records(40, 2),
            np.zeros((1, 2)),
            phases(2, 8),
            release=release,
            choose=lambda v, g: g,
            cancelled=cancelled,
        )

    with pytest.raises(CancelledError):
        walked(lambda: len(visited) == 3)
    assert len(visited) == 3
