"""Ellipsoids for many classes against the loop one would write: scipy's L-BFGS-B on the same objective, draw by draw.

    python -m benchmarks.ellipsoids

F as in docs/formulas.md, "Large-margin Gaussian classifier", without cone, for draws of the noise; our answers are
certified to a relative duality gap of 1e-6. L-BFGS-B gets F and its gradient in plain numpy and is stopped, by its own
tolerance in steps of 10, where the same gap holds for every draw. The cone has no such peer: its time stands alone.
One BLAS thread, medians of CPU seconds, the two alternate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from benchmarks.clock import median, timed
from dpcore.data import load_classes
from dpcore.solvers.ellipsoid_minima import minimise_ellipsoids
from dpcore.solvers.ellipsoids import ClassRecords, Objective
from dpcore.threads import one_blas_thread
from dpcore.types import Array

GAP, H = 1e-6, 0.5


def random_classes(n: int, d: int, classes: int) -> ClassRecords:
    """Gaussian clusters around random centres, scaled to norm at most 1."""
    rng = np.random.default_rng([n, d, classes])
    labels = rng.integers(0, classes, n)
    X = rng.standard_normal((classes, d))[labels] + rng.standard_normal((n, d))
    return ClassRecords(X / np.linalg.norm(X, axis=1).max(), labels, classes, half_width=H)


def named_classes(source: str, n: int) -> ClassRecords:
    split = load_classes(source, n, seed=0)
    return ClassRecords(split.train.X, split.train.y, split.classes, half_width=H)


def plain(objective: Objective, draw: int) -> Callable[[Array], tuple[float, Array]]:
    """F and its gradient for one draw, as one would write them."""
    records = objective.records
    own = records.labels[:, None] == np.arange(records.classes)

    def at(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(records.classes, -1)
        scores = records.Z @ weights.T
        short = 1.0 - (scores - scores[own][:, None])
        slopes = np.where(own, 0.0, np.clip((short + H) / (2.0 * H), 0.0, 1.0))
        pull = np.where(own, slopes.sum(axis=1, keepdims=True), -slopes)
        value = (slopes * short + H * slopes * (1.0 - slopes)).sum() + 0.5 * objective.mu * (weights**2).sum()
        gradient = pull.T @ records.Z + objective.mu * weights + objective.linear[draw]
        return value + (objective.linear[draw] * weights).sum(), gradient.ravel()

    return at


def peer(objective: Objective) -> Callable[[], Array]:
    """L-BFGS-B for all draws, at the loosest tolerance that certifies them."""
    shape = objective.linear.shape

    def solve(power: int) -> Array:
        options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": 10.0**-power, "maxcor": 20}
        found = [
            minimize(
                plain(objective, draw), np.zeros(shape[1] * shape[2]), jac=True, method="L-BFGS-B", options=options
            ).x
            for draw in range(shape[0])
        ]
        return np.reshape(found, shape)

    for power in range(0, 10):
        gaps, sizes, _ = objective.gaps(solve(power))
        if (gaps <= GAP * sizes).all():
            return lambda: solve(power)
    raise RuntimeError(f"L-BFGS-B does not reach a relative gap of {GAP:g}")


def compare(name: str, records: ClassRecords, mu: float, draws: int, rounds: int) -> None:
    C, q = records.classes, records.p * (records.p + 1) // 2
    noise = np.random.default_rng(0).standard_normal((draws, C, q)) * np.sqrt(mu)
    objective = Objective(records, mu, noise=noise - noise.mean(axis=1, keepdims=True))
    theirs = peer(objective)
    cone = Objective(records, mu, tau=1.0, noise=objective.noise, cone=True)
    runs: list[Callable[[], object]] = [
        theirs,
        lambda: minimise_ellipsoids(objective, tol=GAP),
        lambda: minimise_ellipsoids(cone, tol=GAP),
    ]
    for run in runs[1:]:
        run()
    times = [[timed(run) for run in runs] for _ in range(rounds)]
    scipy_s, ours, over_cone = (median([row[k] for row in times])[0] for k in range(3))
    line = f"{name:34s} mu {mu:5g}, {draws:2d} draws: L-BFGS-B {1e3 * scipy_s:9.1f} ms  ours {1e3 * ours:7.1f} ms"
    print(f"{line}  ratio {scipy_s / ours:6.1f}  over the cone {1e3 * over_cone:8.1f} ms", flush=True)


def main() -> None:
    one_blas_thread()
    iris, digits = named_classes("iris", 105), named_classes("digits", 1_258)
    for mu in (10.0, 1.0):
        compare("iris, 105 x 4, 3 classes", iris, mu, draws=1, rounds=7)
        compare("iris, 105 x 4, 3 classes", iris, mu, draws=40, rounds=3)
    compare("digits, 1,258 x 10, 10 classes", digits, 10.0, draws=10, rounds=3)
    for mu in (50.0, 1.0):
        compare("random, 5,000 x 30, 10 classes", random_classes(5_000, 30, 10), mu, draws=1, rounds=3)


if __name__ == "__main__":
    main()
