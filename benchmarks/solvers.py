"""Certified solvers against scikit-learn and scipy, to the same gradient norm or gap.

    python -m benchmarks solvers

J as in docs/formulas.md, so scikit-learn's C is 1 / (n lam). Logistic loss: a peer's tolerance is lowered, in steps of
sqrt(10), until its own gradient norm of J, in our normalisation, is at most 1e-8; both norms are shown. scipy is
L-BFGS-B on J and its gradient in plain numpy, with one exponential for both. Every solve begins with fresh records, of
which nothing was computed before. Hinge loss: the tol of LIBLINEAR is lowered until J is
within the gap that we certify; both gaps are shown.
"""

import dataclasses as dc
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from scipy.optimize import minimize as scipy_minimize
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks.runner import Accuracy, Rival, Work
from dpcore import Data
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.solvers import minimise, tolerance

GOAL = 1e-8
LOSS, HINGE = get_loss("logistic"), get_loss("hinge")


@dc.dataclass(frozen=True)
class Sizes:
    """dense_n, dense_p: records and columns of each dense problem. The rest is the sparse problem."""

    dense_n: tuple[int, ...] = (10_000, 60_000, 30_000)
    dense_p: tuple[int, ...] = (50, 8, 120)
    sparse_n: int = 20_000
    sparse_p: int = 300_000
    per_row: int = 100
    rounds: int = 7


QUICK = Sizes(dense_n=(300, 300, 300), dense_p=(5, 4, 6), sparse_n=100, sparse_p=300, per_row=5, rounds=1)


def correlated(n: int, p: int) -> Data:
    """Gaussian rows, scaled to norm at most 1, whose columns share a factor of weight 1; noisy labels."""
    rng = np.random.default_rng([n, p])
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
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


def labels(X: Array | csr_array, rng: np.random.Generator) -> Array:
    scores = X @ rng.standard_normal(X.shape[1])
    return np.where(rng.random(len(scores)) < 1.0 / (1.0 + np.exp(-3.0 * scores / scores.std())), 1.0, -1.0)


def gradient_norm(data: Data, lam: float, theta: Array) -> float:
    slope = LOSS.derivative(data.X @ theta, data.y) @ data.X / data.n
    return float(np.linalg.norm(slope + lam * theta))


def sklearn_fit(data: Data, lam: float, solver: str, tol: float) -> Array:
    model = LogisticRegression(C=1.0 / (data.n * lam), fit_intercept=False, solver=solver, tol=tol, max_iter=100_000)
    return model.fit(data.X, data.y).coef_.ravel()


def scipy_fit(data: Data, lam: float, tol: float) -> Array:
    X, y = data.X, data.y

    def objective(theta: Array) -> tuple[float, Array]:
        m = y * (X @ theta)
        e = np.exp(-np.abs(m))
        value = (np.maximum(-m, 0.0) + np.log1p(e)).mean() + 0.5 * lam * theta @ theta
        return value, X.T @ (-y * np.where(m > 0.0, e, 1.0) / (1.0 + e)) / len(y) + lam * theta

    options = {"gtol": tol, "ftol": 0.0, "maxiter": 100_000, "maxfun": 100_000}
    return scipy_minimize(objective, np.zeros(data.p), jac=True, method="L-BFGS-B", options=options).x


def loosest(data: Data, lam: float, who: str) -> Rival:
    """A peer at the largest tolerance that reaches GOAL."""

    def fit(tol: float) -> Array:
        return scipy_fit(data, lam, tol) if who == "scipy L-BFGS-B" else sklearn_fit(data, lam, who, tol)

    for power in np.arange(4.0, 15.0, 0.5):
        tol = 10.0**-power
        if gradient_norm(data, lam, fit(tol)) <= GOAL:
            return Rival(who, partial(fit, tol), note=f"tol {tol:.0e}")
    return Rival(who, f"does not reach a gradient norm of {GOAL:g}")


def logistic(words: str, data: Data, lam: float, peers: Sequence[str]) -> Work:
    """peers: scikit-learn's solvers that are fast there."""
    rivals = [loosest(data, lam, who) for who in (*peers, "scipy L-BFGS-B")]

    def judge(theta: Array) -> Accuracy:
        return {"gradient": gradient_norm(data, lam, theta)}

    def solve() -> Array:
        return minimise(LOSS, Data(data.X, data.y, data.p), lam, tol=GOAL / lam).theta

    theirs = [dc.replace(rival, judge=judge) for rival in rivals]
    return Work(words, {"n": data.n, "p": data.p, "lam": lam}, [Rival("ours", solve, judge), *theirs])


def hinge(data: Data, lam: float) -> Work:
    tol = tolerance(HINGE, 1.0, data.n, lam)
    found = minimise(HINGE, data, lam, tol=tol)

    def risk(theta: Array) -> float:
        return float(HINGE.value(data.X @ theta, data.y).mean() + lam / 2.0 * theta @ theta)

    lowest = risk(found.theta) - lam / 2.0 * found.distance**2

    def liblinear(tol: float) -> Array:
        C = 1.0 / (data.n * lam)
        model = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=tol, random_state=0, max_iter=100_000)
        return model.fit(data.X, data.y).coef_.ravel()

    def gap(theta: Array) -> Accuracy:
        return {"gap": risk(theta) - lowest}

    for power in range(1, 12):
        theirs = 10.0**-power
        if gap(liblinear(theirs))["gap"] <= lam / 2.0 * tol**2:
            break
    rivals = [
        Rival("ours", lambda: minimise(HINGE, Data(data.X, data.y, data.p), lam, tol=tol).theta, gap),
        Rival("liblinear", partial(liblinear, theirs), gap, note=f"tol {theirs:.0e}"),
    ]
    return Work("hinge, Zipf columns", {"n": data.n, "p": data.p, "lam": lam}, rivals)


def works(sizes: Sizes) -> Iterator[Work]:
    for n, p in zip(sizes.dense_n, sizes.dense_p, strict=True):
        data = correlated(n, p)
        for lam in (1e-3, 1e-5):
            yield logistic("logistic, dense and correlated", data, lam, ("newton-cholesky", "lbfgs"))
    wide = zipf(sizes.sparse_n, sizes.sparse_p, sizes.per_row)
    for lam in (1e-1, 1e-3, 1e-5):
        yield logistic("logistic, Zipf columns", wide, lam, ("newton-cg", "lbfgs"))
    for lam in (1e-4, 1e-6):
        yield hinge(wide, lam)
