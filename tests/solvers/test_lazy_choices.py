"""Choices that look at few columns follow the exponential mechanism exactly, whatever they look at."""

import numpy as np
import pytest
from numba import njit
from scipy import stats
from scipy.sparse import csr_array

from dpcore import Data, kernels
from dpcore.core.losses import get_loss
from dpcore.kernels import frank_wolfe_sparse
from dpcore.solvers.frank_wolfe import sparse
from dpcore.solvers.frank_wolfe import vertices as fw
from dpcore.solvers.frank_wolfe.sparse import Table, descend_sparse

from .looks import looks

SIZE, TIMES, RUNS = 2.0, 60_000, 4_000
FALSE_ALARM = 1e-5  # of each chi-square test here, for seeds not seen; the seeds are fixed


def records(key, n, counts, p, seed=0):
    """Column j has counts[j] entries. Every other column is its label's image: its gradient is as large as can be."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = np.zeros((n, len(counts)))
    for j, count in enumerate(counts):
        rows = rng.permutation(n)[:count]
        X[rows, j] = y[rows] * rng.uniform(0.5, 1.0, count) * (-1.0) ** (j // 2) if j % 2 == 0 else 0.0
        X[rows, j] += rng.uniform(-1.0, 1.0, count) if j % 2 else 0.0
    return Data(csr_array(X), y if get_loss(key).classification else 0.8 * y, p)


def table(key, data, noise, signed):
    return Table(get_loss(key), data, noise, SIZE, signed=signed, local=(1.0, 1.0) if signed else None)


@njit
def _repeat(
    rng, found, derivative, h, y, by_columns, masses, light, heavy, scores, p, signed, size, sharp, reach, z,
    sums, first, second, third,
):  # fmt: skip
    for k in range(found.size):
        found[k] = frank_wolfe_sparse._pick(
            derivative, h, y, by_columns, masses, light, heavy, scores, p, signed, size, sharp, reach, z, 1.0, rng,
            sums, first, second, third,
        )[0]  # fmt: skip


def columns_at(key, data, noise, signed, theta, made):
    """TIMES independent choices of a column at theta, by proposals."""
    loss, n, norm = get_loss(key), data.n, np.abs(theta).sum()
    z = data.X @ theta[: data.stored]
    scores = (SIZE * (loss.derivative(z, data.y) @ data.X / n))[made.heavy]
    b = local_noise(loss, noise, norm) if signed else noise
    reach = SIZE * float(loss.steepness(np.abs(data.X.data).max() * norm, np.abs(data.y).max())) / (n * b)
    found = np.empty(TIMES, np.int64)
    _repeat(
        np.random.default_rng(1), found, kernels.DERIVATIVE[key], loss.shape, data.y,
        kernels.records_of(data.by_columns)[1:], data.masses, made.light, made.heavy, scores, data.p, signed, SIZE,
        1.0 / b, reach, z, np.empty(len(scores)), np.empty(n), np.empty(n), np.empty(n),
    )  # fmt: skip
    return found


def vertices(key, data, noise, signed, T, lazy=True):
    """Numbers below 2 p of what RUNS independent runs choose, [RUNS, T - 1]."""
    runs, rngs = [fw.Run(T, noise, k) for k in range(RUNS)], [np.random.default_rng([2, k]) for k in range(RUNS)]
    local = (1.0, 1.0) if signed else None
    with looks(lazy):
        chosen = descend_sparse(get_loss(key), data, runs, rngs, size=SIZE, signed=signed, local=local)
    return chosen.columns + data.p * (chosen.signs < 0)


def local_noise(loss, noise, norm):
    return noise * float(loss.steepness(norm, 1.0) / loss.steepness(SIZE, 1.0))


def law(key, data, noise, signed, theta):
    """P(vertex) at theta [p], by its definition; [2 p], the second half zero on the simplex."""
    loss = get_loss(key)
    X = np.zeros((data.n, data.p))
    X[:, : data.stored] = data.X.toarray()
    gradient = loss.derivative(X @ theta, data.y) @ X / data.n
    if signed:
        noise = local_noise(loss, noise, np.abs(theta).sum())
    scores = -SIZE * np.r_[gradient, -gradient] / noise
    if not signed:
        scores[data.p :] = -np.inf
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def first_theta(data, signed):
    return np.zeros(data.p) if signed else np.full(data.p, SIZE / data.p)


def vertex(v, p):
    theta = np.zeros(p)
    theta[v % p] = SIZE if v < p else -SIZE
    return theta


def p_value(counts, chances):
    """Of a chi-square test; cells of which fewer than 8 are expected count as one."""
    expected = chances * counts.sum()
    rare = expected < 8.0
    assert counts[chances == 0.0].sum() == 0
    seen, wanted = counts[~rare], expected[~rare]
    if expected[rare].sum() >= 8.0:
        seen, wanted = np.append(seen, counts[rare].sum()), np.append(wanted, expected[rare].sum())
    assert len(seen) > 5, "a test of few cells shows little"
    return stats.chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue


# One choice

COUNTS = [120, 40] + [20, 20, 12, 12, 6, 6, 3, 3, 1, 0] * 3


@pytest.mark.pairwise
@pytest.mark.parametrize("key, signed", [("logistic", True), ("logistic", False), ("squared", True), ("huber", False)])
@pytest.mark.parametrize(
    "sharp, reaches, p",
    [
        (0.5, (3.0,), 40),
        (3.0, (3.0,), 40),
        (3.0, (1.0,), 40),
        (5.0, (8.0,), 40),
        (6.0, (3.0,), 400),
        (9.0, (5.0,), 400),
    ],
)
def test_a_proposed_column_has_the_softmax_law_at_any_model_and_threshold(monkeypatch, key, signed, sharp, reaches, p):
    monkeypatch.setattr(sparse, "_REACHES", reaches)
    loss, data = get_loss(key), records(key, 200, COUNTS, p)
    noise = noise_for(loss, data, sharp)
    made = table(key, data, noise, signed)
    assert made.lazy and made.light * made._reach() <= max(reaches)
    first = first_theta(data, signed)
    for theta in (first, 0.4 * first + 0.5 * vertex(1, p) + 0.1 * vertex(p + 2 if signed else 2, p)):
        chances = law(key, data, noise, signed, theta)
        found = columns_at(key, data, noise, signed, theta, made)
        assert p_value(np.bincount(found, minlength=p), chances[:p] + chances[p:]) > FALSE_ALARM


def noise_for(loss, data, sharp):
    """At which the heaviest column's score can be `sharp` times the noise from 0 at the most."""
    return SIZE * float(loss.steepness(SIZE, 1.0)) * data.masses.max() / (data.n * sharp)


# Two choices, signs included


@pytest.mark.pairwise
@pytest.mark.parametrize("regime, sharp, reaches", [("none", 2.5, 3.0), ("few", 3.5, 3.0), ("all", 3.5, 0.5)])
@pytest.mark.parametrize("key", ["logistic", "squared"])
@pytest.mark.parametrize("signed", [True, False])
def test_two_choices_in_a_row_have_the_law_of_the_mechanism(monkeypatch, key, signed, regime, sharp, reaches):
    monkeypatch.setattr(sparse, "_REACHES", (reaches if signed else 2.0 * reaches,))
    loss, data = get_loss(key), records(key, 60, [50, 8, 20, 20, 20, 6, 20, 8, 20, 0], 12)
    noise = noise_for(loss, data, sharp)
    made = table(key, data, noise, signed)
    assert (made.lazy, len(made.heavy)) == {"none": (True, 0), "few": (True, 1), "all": (False, data.stored)}[regime]
    first = first_theta(data, signed)
    joint = np.array([law(key, data, noise, signed, first / 3.0 + vertex(v, 12) / 1.5) for v in range(24)])
    joint *= law(key, data, noise, signed, first)[:, None]
    found = vertices(key, data, noise, signed, 3)
    counts = np.bincount(24 * found[:, 0] + found[:, 1], minlength=24**2)
    assert p_value(counts, joint.ravel()) > FALSE_ALARM


@pytest.mark.parametrize("lazy", [True, False])
def test_gradients_that_grow_with_the_model_keep_the_law(monkeypatch, lazy):
    """Labels near 0 give gradients near 0; after one step every column would undo it."""
    monkeypatch.setattr(sparse, "_REACHES", (5.0,))
    data = records("squared", 60, [50] * 8, 12)
    data = Data(data.X, 0.05 * data.y, data.p)
    noise = noise_for(get_loss("squared"), data, 6.0)
    made = table("squared", data, noise, True)
    assert made.lazy and len(made.heavy) == 0
    first = first_theta(data, True)
    joint = np.array([law("squared", data, noise, True, first / 3.0 + vertex(v, 12) / 1.5) for v in range(24)])
    joint *= law("squared", data, noise, True, first)[:, None]
    found = vertices("squared", data, noise, True, 3, lazy)
    counts = np.bincount(24 * found[:, 0] + found[:, 1], minlength=24**2)
    assert p_value(counts, joint.ravel()) > FALSE_ALARM


# What the proposals rest on


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("key", ["logistic", "squared", "huber_hinge"])
def test_no_score_exceeds_its_bound_along_a_run_and_some_come_close(key, signed):
    loss, data = get_loss(key), records(key, 200, COUNTS, 40)
    noise, T = noise_for(loss, data, 3.0), 60
    made = table(key, data, noise, signed)
    local = (1.0, 1.0) if signed else None
    run, rng = fw.Run(T, noise), np.random.default_rng(4)
    chosen = descend_sparse(loss, data, [run], [rng], size=SIZE, signed=signed, local=local)
    theta, closest = first_theta(data, signed), 0.0
    for t in range(1, T):
        norm = np.abs(theta).sum()
        b = local_noise(loss, noise, norm) if signed else noise
        z = data.X @ theta[: data.stored]
        scores = np.abs(SIZE * (loss.derivative(z, data.y) @ data.X) / data.n / b)
        bounds = made._reach() * data.masses
        assert np.all(scores <= bounds * (1.0 + 1e-12))
        closest = max(closest, (scores[bounds > 0] / bounds[bounds > 0]).max())
        v = chosen.columns[0, t - 1] + (data.p if chosen.signs[0, t - 1] < 0 else 0)
        theta = (1.0 - 2.0 / (t + 2.0)) * theta + 2.0 / (t + 2.0) * vertex(v, data.p)
    assert closest > 0.4
