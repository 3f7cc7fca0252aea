"""Private Frank-Wolfe on the L1 ball against the plain loop one would write without it, both in one run.

    python -m benchmarks.frank_wolfe [--part sparse|dense|url|all] [--columns 10000 100000 1000000] [--epsilon 1]

All draw every vertex by the exponential mechanism at the noise that epsilon and delta = 1e-6 ask for: ours as
`FrankWolfePolytope` does, the loops with Gumbel noise on all 2 p vertices, which is the same law.

sparse: logistic loss, n = 20,000 rows of about 100 entries in columns drawn uniformly, 1,000 steps, for each number of
columns; then squared loss, tables whose columns are as unequal as words (Zipf), and little noise. The loop is
scipy.sparse: a product with the model, a product with the transpose, Gumbel noise, argmin. Ours is timed on fresh data,
for which it builds the table by columns, and again on the same data. The loop takes 100 of the steps and its time is
multiplied by 10: a step costs the same early and late. Risks are those after 100 steps at the noise of all T.

dense: n = 2,000, p = 5,000, T = 200, 50 repetitions together, squared and logistic loss. The loop makes a few
repetitions and is charged for each.

url: logistic loss, n = 100,000, p = 20,000,000, about 100 entries a row, ours alone: seconds and the largest memory
that the process has had.

One BLAS thread, after one warm-up; competitors alternate and the medians count. CPU and wall time. Risks are means over
repetitions with their standard errors.
"""

from __future__ import annotations

import argparse
import dataclasses as dc
import resource
import sys

import numpy as np
from scipy.sparse import csr_array

from benchmarks.clock import median, timed
from dpcore import Budget, Data, Domain, Spec
from dpcore.losses import get_loss
from dpcore.mechanisms.frank_wolfe_polytope import FrankWolfePolytope
from dpcore.solvers.sparse_frank_wolfe import Table
from dpcore.threads import one_blas_thread
from dpcore.types import Plan

N, PER_ROW, SPARSE_T, SHORT, SPARSE_ROUNDS = 20_000, 100, 1_001, 100, 3
DENSE_N, DENSE_P, DENSE_T, REPETITIONS, DENSE_ROUNDS = 2_000, 5_000, 200, 50, 3
URL_N, URL_P, BLOCK_ROWS = 100_000, 20_000_000, 10_000
SIZE, DELTA = 5.0, 1e-6


def sparse_records(n: int, p: int, *, zipf: bool = False, classes: bool = True, seed: int = 0) -> Data:
    """About 100 entries of size up to 1 a row; labels follow the sign of the sum of a row's entries, one in ten not.

    Made in blocks of rows; where a column is drawn twice in a row its entry counts once.
    """
    rng = np.random.default_rng(seed)
    counts, columns = np.zeros(n + 1, np.int64), []
    for start in range(0, n, BLOCK_ROWS):
        shape = min(BLOCK_ROWS, n - start), PER_ROW
        # Columns of Zipf's law with exponent 1: the logarithm of the rank is uniform.
        drawn = np.exp(rng.random(shape) * np.log(p)) - 1.0 if zipf else rng.random(shape) * p
        rows = np.sort(np.minimum(drawn.astype(np.int32), p - 1), axis=1)
        kept = np.diff(rows, axis=1, prepend=-1) > 0
        counts[start + 1 : start + 1 + len(rows)] = kept.sum(axis=1)
        columns.append(rows[kept])
    indices = np.concatenate(columns)
    X = csr_array((rng.uniform(-1.0, 1.0, len(indices)), indices, counts.cumsum().astype(np.int32)), shape=(n, p))
    sums = X.sum(axis=1)
    y = np.where(sums * np.where(rng.random(n) < 0.1, -1.0, 1.0) > 0.0, 1.0, -1.0)
    return Data(X, y if classes else np.clip(sums / 10.0, -1.0, 1.0))


def planned(loss: str, data: Data, epsilon: float, T: int) -> Plan:
    spec = Spec(loss, data.n, data.p, 0.0, Domain(np.inf), SIZE, set="l1_ball")
    return FrankWolfePolytope(T=T).calibrate(spec, Budget(epsilon, DELTA))


def released(plan: Plan, data: Data, seed: int) -> np.ndarray:
    return plan.mechanism.release(plan, plan.mechanism.prepare(plan, data), np.random.default_rng(seed))


def plain_loop(plan: Plan, data: Data, seed: int) -> np.ndarray:
    """The same for dense and sparse tables; the noise is smaller near 0, as ours is."""
    rng, loss, size, p = np.random.default_rng(seed), get_loss(plan.spec.loss), plan.spec.size, data.p
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


def risk(plan: Plan, data: Data, theta: np.ndarray) -> float:
    return float(get_loss(plan.spec.loss).value(data.X @ theta, data.y).mean())


def said(values: list[float]) -> str:
    return f"{np.mean(values):.5f} +- {np.std(values, ddof=1) / len(values) ** 0.5:.5f}"


def one_sparse(p: int, epsilon: float, *, loss: str = "logistic", zipf: bool = False) -> None:
    data = sparse_records(N, p, zipf=zipf, classes=loss == "logistic")
    plan = planned(loss, data, epsilon, SPARSE_T)
    part, few = dc.replace(plan, steps=SHORT), dc.replace(plan, steps=2)
    released(few, data, 0), plain_loop(few, data, 0)
    first, again, plain = [], [], []
    ours_risks, plain_risks = [], []
    for seed in range(SPARSE_ROUNDS):
        prepared = plan.mechanism.prepare(plan, Data(data.X, data.y))
        for times in (first, again):
            times.append(timed(lambda: plan.mechanism.release(plan, prepared, np.random.default_rng(seed))))  # noqa: B023
        kept: list[np.ndarray] = []
        cpu, wall = timed(lambda: kept.append(plain_loop(part, data, seed)))  # noqa: B023
        plain.append((cpu * plan.steps / SHORT, wall * plan.steps / SHORT))
        plain_risks.append(risk(plan, data, kept[0]))
        ours_risks.append(risk(plan, data, released(part, data, seed)))
    heavy = Table(get_loss(loss), data, plan.scale, SIZE, signed=True, local=(1.0, 1.0))
    entries = "Zipf" if zipf else "uniform"
    print(
        f"{loss}, n {N:,}, p {p:,} ({entries}, {data.X.nnz / N:.0f} a row), {plan.steps:,} steps, epsilon {epsilon:g}: "
        f"{len(heavy.heavy):,} heavy columns{'' if heavy.lazy else ', all are looked at'}"
    )
    theirs = median(plain)
    for name, times in (("ours, fresh data", first), ("ours, same data", again), ("scipy.sparse", plain)):
        cpu, wall = median(times)
        print(
            f"  {name:<18} {cpu:8.4f} s CPU, {wall:8.4f} s wall, {1e6 * cpu / plan.steps:9.1f} us a step   "
            f"ratio {theirs[0] / cpu:7.1f}"
        )
    print(f"  mean risk after {SHORT} steps: ours {said(ours_risks)}, scipy.sparse {said(plain_risks)}", flush=True)


def sparse(columns: list[int], epsilon: float) -> None:
    for p in columns:
        one_sparse(p, epsilon)
    one_sparse(columns[0], epsilon, loss="squared")
    one_sparse(columns[0], 100.0 * epsilon)
    for factor in (1.0, 100.0):
        one_sparse(columns[len(columns) // 2], factor * epsilon, zipf=True)


def dense(epsilon: float) -> None:
    for loss in ("squared", "logistic"):
        rng = np.random.default_rng(0)
        X = rng.choice([-1.0, 1.0], (DENSE_N, DENSE_P))
        z = X[:, :4] @ [0.5, -0.3, 0.2, 0.1] + 0.1 * rng.standard_normal(DENSE_N)
        data = Data(X, np.clip(z, -1.0, 1.0) if loss == "squared" else np.where(z > 0.0, 1.0, -1.0))
        plan = planned(loss, data, epsilon, DENSE_T)
        short = planned(loss, data, epsilon, 3)
        released(short, data, 0), plain_loop(short, data, 0)
        ours, plain, thetas, plain_risks = [], [], np.empty(0), []
        for seed in range(DENSE_ROUNDS):
            prepared = plan.mechanism.prepare(plan, Data(X, data.y))
            rngs = [np.random.default_rng([seed, k]) for k in range(REPETITIONS)]
            kept: list[np.ndarray] = []
            ours.append(timed(lambda: kept.append(plan.mechanism.release_many(plan, prepared, rngs))))  # noqa: B023
            thetas = kept.pop()
            plain.append(timed(lambda: kept.append(plain_loop(plan, data, seed))))  # noqa: B023
            plain_risks.append(risk(plan, data, kept[0]))
        (cpu, wall), theirs = median(ours), median(plain)
        print(
            f"{loss}, n {DENSE_N:,}, p {DENSE_P:,}, T {DENSE_T}, epsilon {epsilon:g}: {REPETITIONS} repetitions "
            f"together {cpu:.2f} s CPU, {wall:.2f} s wall"
        )
        print(
            f"  a repetition: ours {cpu / REPETITIONS:.4f} s CPU, {wall / REPETITIONS:.4f} s wall, numpy "
            f"({DENSE_ROUNDS} repetitions) {theirs[0]:.3f} s CPU, {theirs[1]:.3f} s wall   "
            f"ratio {REPETITIONS * theirs[0] / cpu:.1f}"
        )
        print(
            f"  mean risk: ours {said([risk(plan, data, theta) for theta in thetas])}, numpy {said(plain_risks)}",
            flush=True,
        )


def peak_gigabytes() -> float:
    unit = 1 if sys.platform == "darwin" else 1_024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def url(epsilon: float) -> None:
    small = sparse_records(1_000, 5_000)
    released(planned("logistic", small, epsilon, 3), small, 0)
    for zipf in (False, True):
        kept: list[Data] = []
        made = timed(lambda: kept.append(sparse_records(URL_N, URL_P, zipf=zipf)))  # noqa: B023
        data = kept.pop()
        print(
            f"n {URL_N:,}, p {URL_P:,} ({'Zipf' if zipf else 'uniform'}), {data.X.nnz:,} entries, made in "
            f"{made[1]:.1f} s; {SPARSE_T - 1:,} steps, epsilon {epsilon:g}"
        )
        plan = planned("logistic", data, epsilon, SPARSE_T)
        for name in ("first release", "second release"):
            cpu, wall = timed(lambda: released(plan, data, 0))  # noqa: B023
            print(
                f"  {name:<15} {cpu:.2f} s CPU, {wall:.2f} s wall, largest memory {peak_gigabytes():.2f} GB",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description="Private Frank-Wolfe against plain loops.")
    parser.add_argument("--part", choices=("sparse", "dense", "url", "all"), default="all")
    parser.add_argument("--columns", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--epsilon", type=float, default=1.0)
    chosen = parser.parse_args()
    one_blas_thread()
    if chosen.part in ("sparse", "all"):
        sparse(chosen.columns, chosen.epsilon)
    if chosen.part in ("dense", "all"):
        dense(chosen.epsilon)
    if chosen.part in ("url", "all"):
        url(chosen.epsilon)


if __name__ == "__main__":
    main()
