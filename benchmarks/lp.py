"""Methods for l_p balls that read each record once against the plain loop one would write, both in one run.

    python -m benchmarks.lp [--part tree|linear|all] [--epsilon 1]

tree: logistic loss, n = 100,000 dense records of d = 100 columns, p = 1.5, T and noise as `TreeFrankWolfe` chooses them
for epsilon and delta = 1e-6. Ours makes 50 repetitions together, as they are released and in single precision, as they
are drawn for pictures. The loop is numpy, one repetition after another, with
the same T, batches, steps and law of noise; it makes a few repetitions and is charged for each.

linear: gradients of single records and time of a release against n, for the mechanism of each norm, with fitted powers:
the paper's title says linear time. d = 32, single releases.

One BLAS thread, after one warm-up; competitors alternate and the medians count. CPU time of the process, wall time
beside it. Risks on the same records are means over repetitions with their standard errors: they should agree.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import dpcore
from benchmarks.clock import median, timed
from dpcore import Budget, Data, Domain, Spec, geometry
from dpcore.mechanisms.tree_frank_wolfe import TreeFrankWolfe, runs_of
from dpcore.sets import dual_order, norm_ball
from dpcore.threads import one_blas_thread
from dpcore.types import Plan

N, D, P_NORM, DELTA = 100_000, 100, 1.5, 1e-6
REPETITIONS, PLAIN_REPETITIONS, ROUNDS = 50, 3, 3
LINEAR_N, LINEAR_D = (10_000, 30_000, 100_000, 300_000), 32


def records(n: int, d: int, q: float, seed: int = 0) -> Data:
    """Entries +-d^(-1/q), three of four positive."""
    rng = np.random.default_rng(seed)
    return Data(np.where(rng.random((n, d)) < 0.75, 1.0, -1.0) / d ** (1.0 / q), np.ones(n))


def plain_tree(plan: Plan, data: Data, seed: int) -> np.ndarray:
    """One repetition as one would write it: logistic loss, Gaussian noise for the real displacement."""
    rng, land = np.random.default_rng(seed), runs_of(plan).land
    tree, d, q, used = runs_of(plan).tree, plan.spec.p, land.q_star, 0
    phases, b = tree.phases, tree.batch
    M = plan.scale / plan.ledger[0].sensitivity * d ** (0.5 - 1.0 / q)

    def slope(A: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        return -y / (1.0 + np.exp(y * (A @ x)))

    x = np.zeros(d)
    for t in phases:
        path: list[tuple[np.ndarray, np.ndarray]] = []
        for k in range(2**t):
            depth = 0 if k == 0 else t - ((k & -k).bit_length() - 1)
            m = b >> depth
            A, y = data.X[used : used + m], data.y[used : used + m]
            used += m
            if depth == 0:
                estimate = slope(A, y, x) @ A / m + rng.normal(0.0, M * 2.0 * land.L0 / b, d)
                path = [(x, estimate)] * (t + 1)
            else:
                before, known = path[depth - 1]
                moved = (np.abs(x - before) ** land.p_norm).sum() ** (1.0 / land.p_norm)
                s = min(2.0 * land.L1 * moved, 4.0 * land.L0) / m
                change = (slope(A, y, x) - slope(A, y, before)) @ A / m
                path[depth:] = [(x, known + change + rng.normal(0.0, M * s, d))] * (t + 1 - depth)
            v = path[t][1]
            size = np.abs(v) / np.abs(v).max()
            goal = -land.size * np.sign(v) * size ** (q - 1.0) / (size**q).sum() ** (1.0 / land.p_norm)
            eta = 2.0 / (2**t + k)
            x = (1.0 - eta) * x + eta * goal
    return x


def said(data: Data, thetas: np.ndarray) -> str:
    risks = np.logaddexp(0.0, -data.y[:, None] * (data.X @ thetas.T)).mean(axis=0)
    return f"{risks.mean():.5f} +- {risks.std(ddof=1) / len(risks) ** 0.5:.5f}"


def tree(epsilon: float) -> None:
    q = dual_order(P_NORM)
    data = records(N, D, q)
    spec = Spec("logistic", N, D, 0.0, Domain(q), 1.0, set=norm_ball(P_NORM))
    plan = TreeFrankWolfe().calibrate(spec, Budget(epsilon, DELTA))
    prepared = plan.mechanism.prepare(plan, data)
    runs, scales = runs_of(plan), [plan.scale]
    ours, quick, plain, together, alone = [], [], [], [], []
    for seed in range(ROUNDS + 1):
        rngs = [np.random.default_rng([seed, k]) for k in range(REPETITIONS)]
        ours.append(timed(lambda: together.append(plan.mechanism.release_many(plan, prepared, rngs))))  # noqa: B023
        quick.append(timed(lambda: runs.models(scales, data, rngs, single=True)))  # noqa: B023
        for k in range(PLAIN_REPETITIONS):
            plain.append(timed(lambda: alone.append(plain_tree(plan, data, 1_000 * seed + k))))  # noqa: B023
    # The first round warms up.
    (cpu, wall), (fast, _), theirs = median(ours[1:]), median(quick[1:]), median(plain[PLAIN_REPETITIONS:])
    print(
        f"logistic, n {N:,}, d {D:,}, p {P_NORM:g}, T {plan.mechanism.T}, epsilon {epsilon:g}, {plan.noise} noise: "
        f"{REPETITIONS} repetitions together {cpu:.2f} s CPU, {wall:.2f} s wall"
    )
    print(
        f"  a repetition: ours {cpu / REPETITIONS:.4f} s CPU, {wall / REPETITIONS:.4f} s wall, numpy {theirs[0]:.4f} s "
        f"CPU, {theirs[1]:.4f} s wall   ratio {REPETITIONS * theirs[0] / cpu:.1f}"
    )
    print(f"  for pictures {fast / REPETITIONS:.4f} s CPU a repetition   ratio {REPETITIONS * theirs[0] / fast:.1f}")
    print(f"  mean risk: ours {said(data, together[-1])}, numpy {said(data, np.array(alone))}", flush=True)


def linear(epsilon: float) -> None:
    for p_norm in (1.0, 1.5, 2.0, math.inf):
        key, counts, times = geometry.learner_key(p_norm), [], []
        for n in LINEAR_N:
            spec = Spec("logistic", n, LINEAR_D, 0.0, Domain(dual_order(p_norm)), 1.0, set=norm_ball(p_norm))
            plan = dpcore.make_mechanism(key).calibrate(spec, Budget(epsilon, DELTA))
            prepared = plan.mechanism.prepare(plan, geometry.people(p_norm, n, LINEAR_D, 0))
            rng = np.random.default_rng(0)
            counts.append(plan.mechanism.gradients(plan))
            seconds = [timed(lambda: plan.mechanism.release(plan, prepared, rng)) for _ in range(ROUNDS + 1)]  # noqa: B023
            times.append(median(seconds[1:])[0])
        work, time_ = (float(np.polyfit(np.log(LINEAR_N), np.log(v), 1)[0]) for v in (counts, times))
        spent = ", ".join(f"{n:,}: {c:,} in {1e3 * s:.1f} ms" for n, c, s in zip(LINEAR_N, counts, times, strict=True))
        print(f"{key}, p {p_norm:g}, d {LINEAR_D}: gradients like n^{work:.2f}, time like n^{time_:.2f}")
        print(f"  {spent}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="One-pass methods for l_p balls against plain loops.")
    parser.add_argument("--part", choices=("tree", "linear", "all"), default="all")
    parser.add_argument("--epsilon", type=float, default=1.0)
    chosen = parser.parse_args()
    one_blas_thread()
    if chosen.part in ("tree", "all"):
        tree(chosen.epsilon)
    if chosen.part in ("linear", "all"):
        linear(chosen.epsilon)


if __name__ == "__main__":
    main()
