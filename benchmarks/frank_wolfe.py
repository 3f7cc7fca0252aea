"""Private Frank-Wolfe on the L1 ball against the plain loop one would write without it.

    python -m benchmarks frank_wolfe

All draw every vertex by the exponential mechanism at the noise that epsilon and delta = 1e-6 ask for: ours as
`FrankWolfePolytope` does, the loops with Gumbel noise on all 2 p vertices, which is the same law.

Logistic loss, rows of about 100 entries in columns drawn uniformly, for each number of columns. The loop is
scipy.sparse: a product with the model, a product with the transpose, Gumbel noise, argmin. Ours is timed on fresh data,
for which it builds the table by columns. The loop takes some of the steps and its time is multiplied: a step costs the
same early and late.

Risks are means over repetitions with their standard errors, of sparse tables after the steps that the loop takes, at
the noise of all of them: they should agree.
"""

import dataclasses as dc
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from benchmarks.runner import Rival, Work
from dpcore import Budget, Data, Domain, Spec
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from dpcore.mechanisms.plan import Plan

PER_ROW, SIZE, DELTA, SEEDS = 100, 5.0, 1e-6, 3
LOSS = get_loss("logistic")
MECHANISM = FrankWolfePolytope()


@dc.dataclass(frozen=True)
class Sizes:
    """steps: of sparse runs; loops take `short` of them."""

    n: int = 20_000
    columns: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    steps: int = 1_001
    short: int = 100
    epsilon: float = 1.0
    rounds: int = 3


QUICK = Sizes(n=100, columns=(200, 300, 400), steps=21, short=5, rounds=1)


def sparse_records(n: int, p: int) -> Data:
    """About 100 entries of size up to 1 a row; labels follow the sign of the sum of a row's entries, one in ten not.

    Where a column is drawn twice in a row its entry counts once.
    """
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(p, size=(n, PER_ROW), dtype=np.int32), axis=1)
    kept = np.diff(columns, axis=1, prepend=-1) > 0
    starts = np.append(0, kept.sum(axis=1).cumsum()).astype(np.int32)
    X = csr_array((rng.uniform(-1.0, 1.0, starts[-1]), columns[kept], starts), shape=(n, p))
    return Data(X, np.where(X.sum(axis=1) * np.where(rng.random(n) < 0.1, -1.0, 1.0) > 0.0, 1.0, -1.0))


def planned(data: Data, epsilon: float, T: int) -> Plan:
    spec = Spec(LOSS.key, data.n, data.p, 0.0, Domain(np.inf), SIZE, set="l1_ball")
    return dc.replace(MECHANISM, T=T).calibrate(spec, Budget(epsilon, DELTA))


def released(plan: Plan, data: Data, seed: int) -> Array:
    return MECHANISM.release(plan, MECHANISM.prepare(plan, data), np.random.default_rng(seed))


def plain_loop(plan: Plan, data: Data, seed: int) -> Array:
    """The same for dense and sparse tables; the noise is smaller near 0, as ours is."""
    rng, size, p = np.random.default_rng(seed), SIZE, data.p
    theta, X, y = np.zeros(p), data.X, data.y
    steepest = LOSS.steepness(size, 1.0)
    for t in range(1, plan.steps + 1):
        z = X @ theta
        slopes = -y / (1.0 + np.exp(y * z))
        scores = size * (X.T @ slopes) / data.n
        noise = plan.scale * LOSS.steepness(np.abs(theta).sum(), 1.0) / steepest
        best = int(np.argmax(np.concatenate([-scores, scores]) + noise * rng.gumbel(size=2 * p)))
        theta *= 1.0 - 2.0 / (t + 2.0)
        theta[best % p] += 2.0 / (t + 2.0) * size * (1.0 if best < p else -1.0)
    return theta


def risk(data: Data, theta: Array) -> float:
    return float(LOSS.value(data.X @ theta, data.y).mean())


def risks(data: Data, thetas: Array) -> dict[str, float]:
    values = [risk(data, theta) for theta in thetas]
    return {"risk": float(np.mean(values)), "+-": float(np.std(values, ddof=1)) / len(values) ** 0.5}


def sparse(sizes: Sizes, p: int) -> Work:
    data = sparse_records(sizes.n, p)
    plan = planned(data, sizes.epsilon, sizes.steps)
    part = dc.replace(plan, steps=sizes.short)
    mine = risks(data, np.array([released(part, data, seed) for seed in range(SEEDS)]))
    theirs = risks(data, np.array([plain_loop(part, data, seed) for seed in range(SEEDS)]))
    share, note = plan.steps / sizes.short, f"{sizes.short} steps timed"
    rivals = [
        Rival("ours", lambda: released(plan, Data(data.X, data.y), 0), lambda _: mine),
        Rival("plain scipy.sparse", lambda: plain_loop(part, data, 0), lambda _: theirs, share, note),
    ]
    return Work("sparse", {"n": sizes.n, "p": p, "steps": plan.steps, "epsilon": sizes.epsilon}, rivals)


def works(sizes: Sizes) -> Iterator[Work]:
    for p in sizes.columns:
        yield sparse(sizes, p)
