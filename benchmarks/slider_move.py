"""One slider move about objective perturbation: every curve anew, against the loops one would write without us.

    python -m benchmarks.slider_move [--n 5000] [--p 100] [--diffprivlib PYTHON]

A move is K epsilons x R repetitions x two laws of noise: that many minimisations for objective perturbation, and output
perturbation; accuracy on test records and excess risk on training records. Ours adds the exact means of output
perturbation, which the loops sample. Logistic loss, the recipe "synthetic", noise as the mechanisms calibrate it.

The loops, by numpy and scipy's L-BFGS-B: "plain", with np.logaddexp, expit and default tolerances; "tuned", with one
exponential for risk and slope, each repetition started from its own solution at the epsilon before, at the loosest
tolerance (in steps of sqrt(10)) whose mean excess risk is within 0.5% everywhere; and the same with gradients below
1e-8. diffprivlib's LogisticRegression with its default tolerance does the Gamma half of objective perturbation. It
needs scikit-learn < 1.7, so it lives in an environment of its own, whose Python is an argument; without it its line
says "not run".

One BLAS thread, one warm-up, medians, all take turns. CPU time is that of one thread; the wall time of ours is with a
thread for each law. Errors are the largest relative ones of mean excess risk and of mean accuracy over all points of
objective perturbation, against gradients below 1e-10; gradients are those of the perturbed J.
"""

from __future__ import annotations

import argparse
import dataclasses as dc
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize
from scipy.special import expit

from dpcore import Budget, Spec, data, evaluate, make_mechanism
from dpcore.losses import get_loss
from dpcore.noises import NOISES
from dpcore.solvers import BallMinimum, minimise, minimise_in_ball
from dpcore.solvers.batched import DISPLAY_ACCURACY, perturbed_minimisers
from dpcore.threads import one_blas_thread
from dpcore.types import NoiseLaw

LOSS, DELTA, RADIUS = get_loss("logistic"), 1e-6, 10.0
LAWS: tuple[NoiseLaw, ...] = ("gaussian", "gamma")


@dc.dataclass(frozen=True)
class Task:
    """What is public and what is drawn: the same for everybody who takes part."""

    split: data.Split
    lam: float
    epsilons: np.ndarray
    objective: dict[str, np.ndarray]
    output: dict[str, np.ndarray]
    directions: dict[str, np.ndarray]
    reference: BallMinimum

    @property
    def lams(self) -> np.ndarray:
        return np.full(len(self.epsilons), self.lam)


def make_task(n: int, p: int, lam: float, points: int, repetitions: int) -> Task:
    split, rng = data.load("synthetic", n, p, 0), np.random.default_rng(0)
    epsilons, spec = np.geomspace(0.1, 10.0, points), Spec(LOSS.key, n, p, lam, split.domain)

    def scales(mechanism: str) -> np.ndarray:
        calibrate = make_mechanism(mechanism).calibrate
        return np.array([calibrate(spec, Budget(epsilon, DELTA)).scale for epsilon in epsilons])

    directions: dict[str, np.ndarray] = {}
    for law in LAWS:
        half = np.stack([NOISES[law].direction(p, p, rng) for _ in range(repetitions // 2)])
        directions[law] = np.stack([half, -half], axis=1).reshape(repetitions, p)
    return Task(
        split,
        lam,
        epsilons,
        {law: scales(f"objective_{law}") for law in LAWS},
        {law: scales(f"output_{law}") for law in LAWS},
        directions,
        minimise_in_ball(LOSS, split.train, RADIUS),
    )


@dc.dataclass(frozen=True)
class Curves:
    """What a move draws, for one law: means [K] of objective and of output perturbation, and the largest gradient."""

    accuracy: np.ndarray
    excess: np.ndarray
    output_accuracy: np.ndarray
    output_excess: np.ndarray
    gradient: float


def ours(task: Task, law: NoiseLaw, accuracy: float) -> Curves:
    train, test = task.split.train, task.split.test
    centre = minimise(LOSS, train, task.lam, tol=1e-6 / task.lam).theta
    centres = np.tile(centre, (len(task.epsilons), 1))
    path = perturbed_minimisers(LOSS, train, task.lams, task.objective[law], task.directions[law], accuracy=accuracy)
    drawn = evaluate.released_curves(LOSS, train, test, task.reference, centres, path.thetas, path.risks)
    releases = evaluate.Additive(centres, task.output[law], task.directions[law], NOISES[law].spread(train.p))
    exact = evaluate.additive_curves(LOSS, train, test, task.reference, releases)
    return Curves(*(curve.mean for curve in drawn + exact), float(path.residuals.max()))


def loop(task: Task, law: NoiseLaw, tuned: bool, **tolerances: float) -> Curves:
    """The same by numpy and scipy alone."""
    X, y, lam, n = task.split.train.X, task.split.train.y, task.lam, task.split.train.n
    X_test, y_test = task.split.test.X, task.split.test.y

    def plain_objective(theta: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray]:
        m = y * (X @ theta)
        value = np.logaddexp(0.0, -m).mean() + 0.5 * lam * theta @ theta + b @ theta
        return value, -X.T @ (y * expit(-m)) / n + lam * theta + b

    def tuned_objective(theta: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray]:
        m = y * (X @ theta)
        e = np.exp(-np.abs(m))
        value = (np.maximum(-m, 0.0) + np.log1p(e)).mean() + 0.5 * lam * theta @ theta + b @ theta
        return value, X.T @ (-y * np.where(m > 0.0, e, 1.0) / (1.0 + e)) / n + lam * theta + b

    objective = tuned_objective if tuned else plain_objective

    def solve(b: np.ndarray, start: np.ndarray) -> np.ndarray:
        return scipy_minimize(objective, start, (b,), jac=True, method="L-BFGS-B", options=tolerances).x

    def judge(thetas: np.ndarray) -> tuple[float, float]:
        risks = np.logaddexp(0.0, -y * (thetas @ X.T)).mean(axis=1)
        return (y_test * (thetas @ X_test.T) > 0.0).mean(), risks.mean() - task.reference.risk

    Z = task.directions[law]
    centre = solve(np.zeros(X.shape[1]), np.zeros(X.shape[1]))
    thetas, gradient, points = np.tile(centre, (len(Z), 1)), 0.0, []
    for k in np.argsort(task.objective[law]):
        B = task.objective[law][k] * Z
        thetas = np.stack([solve(b, start) for b, start in zip(B, thetas if tuned else [centre] * len(Z), strict=True)])
        gradient = max(gradient, *(float(np.linalg.norm(objective(t, b)[1])) for t, b in zip(thetas, B, strict=True)))
        points.append((k, *judge(thetas), *judge(centre + task.output[law][k] * Z)))
    return Curves(*np.array(sorted(points)).T[1:], gradient)


class Diffprivlib:
    """A process that fits its models and says how long that took, once for each line it is sent."""

    def __init__(self, python: str, task: Task, repetitions: int) -> None:
        self.folder = tempfile.TemporaryDirectory()  # lives as long as this object
        file, train = f"{self.folder.name}/task.npz", task.split.train
        np.savez(file, X=train.X, y=train.y, epsilons=task.epsilons)
        facts = {"C": 1.0 / (train.n * task.lam), "repetitions": repetitions, "task": file}
        command = [python, str(Path(__file__).with_name("diffprivlib_loop.py")), json.dumps(facts)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, **pipes, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})

    def turn(self) -> float:
        """Seconds of CPU time for one run."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def errors(curves: list[Curves], exact: list[Curves]) -> tuple[float, float]:
    """The largest relative errors of mean excess risk and of mean accuracy."""
    pairs = list(zip(curves, exact, strict=True))
    return (
        max(float(np.abs(c.excess / e.excess - 1.0).max()) for c, e in pairs),
        max(float(np.abs(c.accuracy / e.accuracy - 1.0).max()) for c, e in pairs),
    )


Move = Callable[[NoiseLaw], Curves]


def loosest(task: Task, exact: list[Curves]) -> dict[str, float]:
    """The largest tolerance of the tuned loop whose mean excess risks are within 0.5%."""
    for power in np.arange(3.0, 9.0, 0.5):
        tolerances = {"gtol": 10.0**-power, "ftol": 1e-15, "maxiter": 10_000}
        if errors([loop(task, law, True, **tolerances) for law in LAWS], exact)[0] <= 0.005:
            return tolerances
    raise RuntimeError("the loop does not get within 0.5%")


def timed(move: Move, law: NoiseLaw) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    move(law)
    return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("n", 5000), ("p", 100), ("epsilons", 12), ("repetitions", 50), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--lam", type=float, default=1e-3)
    parser.add_argument("--diffprivlib", metavar="PYTHON")
    words = parser.parse_args()
    one_blas_thread()
    task = make_task(words.n, words.p, words.lam, words.epsilons, words.repetitions)
    exact = [ours(task, law, 1e-10) for law in LAWS]
    tight = {"gtol": 1e-9, "ftol": 1e-15, "maxiter": 10_000}
    tuned = loosest(task, exact)
    moves: dict[str, Move] = {
        "ours, display": lambda law: ours(task, law, DISPLAY_ACCURACY),
        "ours, 1e-8": lambda law: ours(task, law, 1e-8),
        "plain loop": lambda law: loop(task, law, False),
        f"tuned loop, gtol {tuned['gtol']:.0e}": lambda law: loop(task, law, True, **tuned),
        "tuned loop, gtol 1e-09": lambda law: loop(task, law, True, **tight),
    }
    drawn = {name: [move(law) for law in LAWS] for name, move in moves.items()}
    peer = Diffprivlib(words.diffprivlib, task, words.repetitions) if words.diffprivlib else None
    cpu: dict[str, list[dict[str, float]]] = {name: [] for name in moves}
    walls: dict[str, list[float]] = {name: [] for name in moves if name.startswith("ours")}
    theirs = []
    with ThreadPoolExecutor(len(LAWS)) as pool:
        for _ in range(words.rounds):
            for name, move in moves.items():
                cpu[name].append({law: timed(move, law)[0] for law in LAWS})
                if name in walls:
                    started = time.perf_counter()
                    list(pool.map(move, LAWS))
                    walls[name].append(time.perf_counter() - started)
            if peer:
                theirs.append(peer.turn())
    size = f"{words.epsilons} epsilons x {words.repetitions} repetitions x {len(LAWS)} laws"
    print(f"{size}, n {words.n}, p {words.p}, lam {words.lam:g}")
    total = {name: statistics.median(sum(turn.values()) for turn in turns) for name, turns in cpu.items()}
    for name in moves:
        excess, right = errors(drawn[name], exact)
        line = f"{name:28s} {1e3 * total[name]:8.0f} ms CPU"
        line += f" {1e3 * statistics.median(walls[name]):6.0f} ms wall" if name in walls else " " * 15
        line += f"  errors {excess:.1e} {right:.1e}  gradients {max(c.gradient for c in drawn[name]):.1e}"
        goal = "ours, 1e-8" if name.endswith("1e-09") else "ours, display"
        print(line + ("" if name in walls else f"  ratio {total[name] / total[goal]:.1f}"))
    half = statistics.median(turn["gamma"] for turn in cpu["ours, display"])
    if theirs:
        slow = statistics.median(theirs)
        line = f"{'diffprivlib, Gamma half':28s} {1e3 * slow:8.0f} ms CPU"
        print(f"{line}  ours {1e3 * half:.0f} ms  ratio {slow / half:.1f}")
    else:
        print("diffprivlib: not run (--diffprivlib PYTHON)")


if __name__ == "__main__":
    main()
