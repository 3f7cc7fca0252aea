"""Certified solver against scikit-learn: CPU time at equal gradient norm, both in one run.

    python -m benchmarks.solvers

Logistic loss; J as in docs/formulas.md, so scikit-learn's C is 1 / (n lam). Its tol is lowered until its own gradient
norm of J, in our normalisation, is at most 1e-8; both norms are printed. One BLAS thread, one warm-up, medians, the two
alternate. "cached" means that X'X was computed before, as in every solve after the first on the same records.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from dpcore import Data
from dpcore.losses import get_loss
from dpcore.solvers import minimise
from dpcore.threads import one_blas_thread

GOAL = 1e-8
LOSS = get_loss("logistic")


def correlated(n: int, p: int, *, common: float) -> Data:
    """Gaussian rows, scaled to norm at most 1, whose columns share a factor of weight `common`; noisy labels."""
    rng = np.random.default_rng([n, p])
    X = rng.standard_normal((n, p)) + common * rng.standard_normal((n, 1))
    X *= 1.0 / np.linalg.norm(X, axis=1).max()
    return Data(X, labels(X, rng))


def zipf(n: int, p: int, per_row: int) -> Data:
    """Sparse rows of norm at most 1 whose columns are drawn with probability proportional to 1 / rank."""
    rng = np.random.default_rng([n, p])
    chance = 1.0 / np.arange(1, p + 1)
    columns = rng.choice(p, n * per_row, p=chance / chance.sum())
    X = csr_array((np.ones(n * per_row), (np.repeat(np.arange(n), per_row), columns)), shape=(n, p))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    X /= np.sqrt(X.power(2).sum(axis=1)).max()
    return Data(X, labels(X, rng))


def labels(X: object, rng: np.random.Generator) -> np.ndarray:
    scores = X @ rng.standard_normal(X.shape[1])  # type: ignore[attr-defined, operator]
    return np.where(rng.random(len(scores)) < 1.0 / (1.0 + np.exp(-3.0 * scores / scores.std())), 1.0, -1.0)


def gradient_norm(data: Data, lam: float, theta: np.ndarray) -> float:
    slope = LOSS.derivative(data.X @ theta, data.y) @ data.X / data.n
    return float(np.linalg.norm(slope + lam * theta))


def peer(data: Data, lam: float, solver: str) -> tuple[Callable[[], np.ndarray], float]:
    """scikit-learn at the largest tol (in steps of sqrt(10)) that reaches GOAL, and that tol."""
    for power in np.arange(4.0, 15.0, 0.5):
        model = LogisticRegression(C=1.0 / (data.n * lam), fit_intercept=False, solver=solver, tol=10.0**-power)
        model.max_iter = 10_000

        def fit(model: LogisticRegression = model) -> np.ndarray:
            return model.fit(data.X, data.y).coef_.ravel()

        if gradient_norm(data, lam, fit()) <= GOAL:
            return fit, 10.0**-power
    raise RuntimeError(f"{solver} does not reach a gradient norm of {GOAL:g}")


def cpu_medians(functions: list[Callable[[], object]], rounds: int) -> list[float]:
    for function in functions:
        function()
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            started = time.process_time()
            function()
            taken.append(time.process_time() - started)
    return [statistics.median(taken) for taken in times]


def compare(name: str, data: Data, lam: float, solver: str, rounds: int) -> None:
    theirs, tol = peer(data, lam, solver)

    def cached() -> np.ndarray:
        return minimise(LOSS, data, lam, tol=GOAL / lam).theta

    def fresh() -> np.ndarray:
        return minimise(LOSS, Data(data.X, data.y, data.p), lam, tol=GOAL / lam).theta

    their_time, fresh_time = cpu_medians([theirs, fresh], rounds)
    line = f"{name:34s} {solver:17s} {1e3 * their_time:8.1f} ms  ours {1e3 * fresh_time:7.1f} ms"
    line += f"  ratio {their_time / fresh_time:5.2f}"
    if not data.sparse and data.active <= 200:
        _ = data.gram
        their_time, cached_time = cpu_medians([theirs, cached], rounds)
        line += f"  cached {1e3 * cached_time:6.1f} ms  ratio {their_time / cached_time:5.2f}"
    norms = gradient_norm(data, lam, theirs()), gradient_norm(data, lam, fresh())
    print(f"{line}  gradients {norms[0]:.1e} (tol {tol:.0e}) {norms[1]:.1e}", flush=True)


def main() -> None:
    one_blas_thread()
    for n, p in [(10_000, 50), (60_000, 8), (10_000, 120)]:
        for lam in (1e-3, 1e-5):
            data = correlated(n, p, common=1.0)
            compare(f"dense {n} x {p}, lam {lam:g}", data, lam, "newton-cholesky", rounds=15)
    square = correlated(2_000, 2_000, common=0.0)
    compare("dense 2000 x 2000, lam 0.01", square, 1e-2, "newton-cg", rounds=7)
    compare("dense 2000 x 2000, lam 1e-05", square, 1e-5, "newton-cg", rounds=7)
    wide = zipf(20_000, 100_000, per_row=100)
    for lam in (1e-3, 1e-5):
        compare(f"Zipf 20000 x 100000, lam {lam:g}", wide, lam, "newton-cg", rounds=5)


if __name__ == "__main__":
    main()
