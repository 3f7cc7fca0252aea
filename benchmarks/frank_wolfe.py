"""Private Frank-Wolfe on the L1 ball against the plain loop one would write without it.

    python -m benchmarks frank_wolfe

All draw every vertex by the exponential mechanism at the noise that epsilon and delta = 1e-6 ask for: ours as
`FrankWolfePolytope` does, the loops with Gumbel noise on all 2 p vertices, which is the same law.

sparse: logistic loss, rows of about 100 entries in columns drawn uniformly, for each number of columns; then squared
loss, tables whose columns are as unequal as words (Zipf), and little noise. The loop is scipy.sparse: a product with
the model, a product with the transpose, Gumbel noise, argmin. Ours is timed on fresh data, for which it builds the
table by columns, and again on the same data. The loop takes some of the steps and its time is multiplied: a step costs
the same early and late. "heavy" counts the columns whose noise is always drawn.

dense: all repetitions together, squared and logistic loss, in single precision as pictures draw them, and in double as
they are released. The loop makes one repetition in double precision and is charged for each.

Risks are means over repetitions with their standard errors, of sparse tables after the steps that the loop takes, at
the noise of all of them: they should agree.
"""

import dataclasses as dc
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from benchmarks.runner import Rival, Work
from dpcore import Budget, Data, Domain, Spec
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.mechanisms.base import Prepared
from dpcore.mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from dpcore.mechanisms.frank_wolfe.vertex_runs import descend, models_of, risk_behind
from dpcore.mechanisms.plan import Plan
from dpcore.solvers.frank_wolfe.sparse import Table

PER_ROW, SIZE, DELTA, SEEDS = 100, 5.0, 1e-6, 3
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
    dense_n: int = 2_000
    dense_p: int = 5_000
    dense_steps: int = 200
    repetitions: int = 50


QUICK = Sizes(
    n=100, columns=(200, 300, 400), steps=21, short=5, rounds=1, dense_n=50, dense_p=20, dense_steps=10, repetitions=4
)  # fmt: skip


def sparse_records(n: int, p: int, *, zipf: bool, classes: bool) -> Data:
    """About 100 entries of size up to 1 a row; labels follow the sign of the sum of a row's entries, one in ten not.

    Where a column is drawn twice in a row its entry counts once.
    """
    rng = np.random.default_rng(0)
    # Columns of Zipf's law with exponent 1: the logarithm of the rank is uniform.
    drawn = np.exp(rng.random((n, PER_ROW)) * np.log(p)) - 1.0 if zipf else rng.random((n, PER_ROW)) * p
    columns = np.sort(np.minimum(drawn.astype(np.int32), p - 1), axis=1)
    kept = np.diff(columns, axis=1, prepend=-1) > 0
    starts = np.append(0, kept.sum(axis=1).cumsum()).astype(np.int32)
    X = csr_array((rng.uniform(-1.0, 1.0, starts[-1]), columns[kept], starts), shape=(n, p))
    sums = X.sum(axis=1)
    y = np.where(sums * np.where(rng.random(n) < 0.1, -1.0, 1.0) > 0.0, 1.0, -1.0)
    return Data(X, y if classes else np.clip(sums / 10.0, -1.0, 1.0))


def planned(loss: str, data: Data, epsilon: float, T: int) -> Plan:
    spec = Spec(loss, data.n, data.p, 0.0, Domain(np.inf), SIZE, set="l1_ball")
    return dc.replace(MECHANISM, T=T).calibrate(spec, Budget(epsilon, DELTA))


def released(plan: Plan, data: Data, seed: int) -> Array:
    return MECHANISM.release(plan, MECHANISM.prepare(plan, data), np.random.default_rng(seed))


def plain_loop(plan: Plan, data: Data, seed: int) -> Array:
    """The same for dense and sparse tables; the noise is smaller near 0, as ours is."""
    rng, loss, size, p = np.random.default_rng(seed), get_loss(plan.spec.loss), SIZE, data.p
    theta, X, y = np.zeros(p), data.X, data.y
    steepest = loss.steepness(size, 1.0)
    for t in range(1, plan.steps + 1):
        z = X @ theta
        slopes = 2.0 * (z - y) if loss.key == "squared" else -y / (1.0 + np.exp(y * z))
        scores = size * (X.T @ slopes) / data.n
        noise = plan.scale * loss.steepness(np.abs(theta).sum(), 1.0) / steepest
        best = int(np.argmax(np.concatenate([-scores, scores]) + noise * rng.gumbel(size=2 * p)))
        theta *= 1.0 - 2.0 / (t + 2.0)
        theta[best % p] += 2.0 / (t + 2.0) * size * (1.0 if best < p else -1.0)
    return theta


def risk(plan: Plan, data: Data, theta: Array) -> float:
    return float(get_loss(plan.spec.loss).value(data.X @ theta, data.y).mean())


def risks(plan: Plan, data: Data, thetas: Array) -> dict[str, float]:
    values = [risk(plan, data, theta) for theta in thetas]
    return {"risk": float(np.mean(values)), "+-": float(np.std(values, ddof=1)) / len(values) ** 0.5}


def sparse(
    sizes: Sizes, p: int, target: str = "", *, loss: str = "logistic", zipf: bool = False, noise: float = 1.0
) -> Work:
    """noise: epsilon is that of the sizes, divided by this."""
    epsilon = sizes.epsilon / noise
    data = sparse_records(sizes.n, p, zipf=zipf, classes=loss == "logistic")
    plan = planned(loss, data, epsilon, sizes.steps)
    part = dc.replace(plan, steps=sizes.short)
    heavy = {"heavy": len(Table(get_loss(loss), data, plan.scale, SIZE, signed=True, local=(1.0, 1.0)).heavy)}
    prepared = MECHANISM.prepare(plan, data)
    mine = risks(plan, data, np.array([released(part, data, seed) for seed in range(SEEDS)]))
    theirs = risks(plan, data, np.array([plain_loop(part, data, seed) for seed in range(SEEDS)]))
    share, note = plan.steps / sizes.short, f"{sizes.short} steps timed"
    rivals = [
        Rival("ours, fresh data", lambda: released(plan, Data(data.X, data.y), 0), lambda _: mine | heavy),
        Rival("ours, same data again", lambda: MECHANISM.release(plan, prepared, np.random.default_rng(0))),
        Rival("plain scipy.sparse", lambda: plain_loop(part, data, 0), lambda _: theirs, target, share, note=note),
    ]
    facts = {"n": sizes.n, "p": p, "steps": plan.steps, "epsilon": epsilon}
    return Work(f"sparse, {loss}, {'Zipf' if zipf else 'uniform'} columns", facts, rivals)


def dense(sizes: Sizes, loss: str) -> Work:
    n, p, repetitions = sizes.dense_n, sizes.dense_p, sizes.repetitions
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, p))
    z = X[:, :4] @ [0.5, -0.3, 0.2, 0.1] + 0.1 * rng.standard_normal(n)
    data = Data(X, np.clip(z, -1.0, 1.0) if loss == "squared" else np.where(z > 0.0, 1.0, -1.0))
    plan = planned(loss, data, sizes.epsilon, sizes.dense_steps)

    def fresh() -> list[np.random.Generator]:
        return [np.random.default_rng([0, k]) for k in range(repetitions)]

    def prepared() -> Prepared:
        return MECHANISM.prepare(plan, Data(X, data.y))

    def drawn() -> Array:
        runs, chosen = descend([plan], risk_behind(plan, prepared(), repetitions, single=True), fresh())
        return models_of(plan.spec, chosen, runs, p)

    peer = Rival(
        "plain numpy",
        lambda: plain_loop(plan, data, 0),
        lambda theta: {"risk": risk(plan, data, theta)},
        "ratio >= 15",
        times=repetitions,
        note="1 repetition timed",
    )
    facts = {"n": n, "p": p, "steps": sizes.dense_steps, "repetitions": repetitions, "epsilon": sizes.epsilon}
    judge = partial(risks, plan, data)
    rivals = [
        Rival("ours, for pictures", drawn, judge),
        Rival("ours, as released", lambda: MECHANISM.release_many(plan, prepared(), fresh()), judge),
        peer,
    ]
    return Work(f"dense, {loss}", facts, rivals)


def works(sizes: Sizes) -> Iterator[Work]:
    first, middle = sizes.columns[0], sizes.columns[len(sizes.columns) // 2]
    for p, bound in zip(sizes.columns, (0.9, 2.5, 50.0), strict=True):
        yield sparse(sizes, p, f"ratio >= {bound:g}")
    yield sparse(sizes, first, loss="squared")
    yield sparse(sizes, first, noise=0.01)
    for noise in (1.0, 0.01):
        yield sparse(sizes, middle, zipf=True, noise=noise)
    for loss in ("squared", "logistic"):
        yield dense(sizes, loss)
