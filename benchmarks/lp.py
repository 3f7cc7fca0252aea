"""Methods for l_p balls that read each record once against the plain loop one would write.

    python -m benchmarks lp

tree: logistic loss, dense records, p = 1.5, T and noise as `TreeFrankWolfe` chooses them for epsilon and delta = 1e-6.
Ours makes all repetitions together, as they are released, and in single precision, as they are drawn for pictures. The
loop is numpy, one repetition with the same T, batches, steps and law of noise; it is charged for each repetition. Risks
on the same records are means over repetitions with their standard errors: they should agree.

linear: gradients of single records and time of a release against n, for the mechanism of each norm: the paper's title
says linear time. Single releases, no peer.
"""

import dataclasses as dc
import math
from collections.abc import Iterator

import numpy as np

import dpcore
from benchmarks.frank_wolfe import risks
from benchmarks.runner import Rival, Work
from dpcore import Budget, Data, Domain, Spec
from dpcore.core.arrays import Array
from dpcore.core.sets import dual_order, norm_ball
from dpcore.mechanisms.frank_wolfe.tree import TreeFrankWolfe, runs_of
from dpcore.mechanisms.plan import Plan
from dpcore.studies.geometry import excess_by_n, synthetic_data

P_NORM, DELTA, ONE_TIMED = 1.5, 1e-6, "1 repetition timed"


@dc.dataclass(frozen=True)
class Sizes:
    n: int = 100_000
    d: int = 100
    repetitions: int = 50
    linear_n: tuple[int, ...] = (10_000, 30_000, 100_000, 300_000)
    linear_d: int = 32
    epsilon: float = 1.0
    rounds: int = 3


QUICK = Sizes(n=2_000, d=5, repetitions=4, linear_n=(500, 1_000), linear_d=4, rounds=1)


def records(n: int, d: int, q: float) -> Data:
    """Entries +-d^(-1/q), three of four positive."""
    rng = np.random.default_rng(0)
    return Data(np.where(rng.random((n, d)) < 0.75, 1.0, -1.0) / d ** (1.0 / q), np.ones(n))


def plain_tree(plan: Plan, data: Data, seed: int) -> Array:
    """One repetition as one would write it: logistic loss, Gaussian noise for the real displacement."""
    rng, facts = np.random.default_rng(seed), runs_of(plan).facts
    tree, d, q, used = runs_of(plan).tree, plan.spec.p, facts.q_star, 0
    phases, b = tree.phases, tree.batch
    M = plan.scale / plan.ledger[0].sensitivity * d ** (0.5 - 1.0 / q)

    def slope(A: Array, y: Array, x: Array) -> Array:
        return -y / (1.0 + np.exp(y * (A @ x)))

    x = np.zeros(d)
    for t in phases:
        path: list[tuple[Array, Array]] = []
        for k in range(2**t):
            depth = 0 if k == 0 else t - ((k & -k).bit_length() - 1)
            m = b >> depth
            A, y = data.X[used : used + m], data.y[used : used + m]
            used += m
            if depth == 0:
                estimate = slope(A, y, x) @ A / m + rng.normal(0.0, M * 2.0 * facts.L0 / b, d)
                path = [(x, estimate)] * (t + 1)
            else:
                before, known = path[depth - 1]
                moved = (np.abs(x - before) ** facts.p_norm).sum() ** (1.0 / facts.p_norm)
                s = min(2.0 * facts.L1 * moved, 4.0 * facts.L0) / m
                change = (slope(A, y, x) - slope(A, y, before)) @ A / m
                path[depth:] = [(x, known + change + rng.normal(0.0, M * s, d))] * (t + 1 - depth)
            v = path[t][1]
            size = np.abs(v) / np.abs(v).max()
            goal = -facts.size * np.sign(v) * size ** (q - 1.0) / (size**q).sum() ** (1.0 / facts.p_norm)
            eta = 2.0 / (2**t + k)
            x = (1.0 - eta) * x + eta * goal
    return x


def tree(sizes: Sizes) -> Work:
    n, d, repetitions, q = sizes.n, sizes.d, sizes.repetitions, dual_order(P_NORM)
    data, mechanism = records(n, d, q), TreeFrankWolfe()
    spec = Spec("logistic", n, d, 0.0, Domain(q), 1.0, set=norm_ball(P_NORM))
    plan = mechanism.calibrate(spec, Budget(sizes.epsilon, DELTA))
    prepared, runs = mechanism.prepare(plan, data), runs_of(plan)

    def rngs() -> list[np.random.Generator]:
        return [np.random.default_rng(k) for k in range(repetitions)]

    few = risks(plan, data, np.array([plain_tree(plan, data, seed) for seed in range(3)]))
    rivals = [
        Rival("ours", lambda: mechanism.release_many(plan, prepared, rngs()), lambda found: risks(plan, data, found)),
        Rival("ours, for pictures", lambda: runs.models([plan.scale], data, rngs(), single=True)),
        Rival("plain numpy", lambda: plain_tree(plan, data, 0), lambda _: few, times=repetitions, note=ONE_TIMED),
    ]
    facts = {"n": n, "d": d, "p": P_NORM, "repetitions": repetitions, "epsilon": sizes.epsilon}
    return Work("tree Frank-Wolfe, logistic", facts, rivals)


def linear(sizes: Sizes, p_norm: float, n: int) -> Work:
    mechanism, d = dpcore.make_mechanism(excess_by_n.learner_key(p_norm)), sizes.linear_d
    spec = Spec("logistic", n, d, 0.0, Domain(dual_order(p_norm)), 1.0, set=norm_ball(p_norm))
    plan = mechanism.calibrate(spec, Budget(sizes.epsilon, DELTA))
    prepared = mechanism.prepare(plan, synthetic_data.synthetic_records(p_norm, n, d, 0))
    gradients = {"gradients": float(mechanism.gradients(plan))}
    ours = Rival("ours", lambda: mechanism.release(plan, prepared, np.random.default_rng(0)), lambda _: gradients)
    return Work(f"linear time, {mechanism.key}", {"n": n, "d": d, "1 / p": 1.0 / p_norm}, [ours])


def works(sizes: Sizes) -> Iterator[Work]:
    yield tree(sizes)
    for p_norm in (1.0, 1.5, 2.0, math.inf):
        for n in sizes.linear_n:
            yield linear(sizes, p_norm, n)
