"""Large-margin Gaussian classifier against the loop one would write: scipy's L-BFGS-B on the same objective.

    python -m benchmarks gaussian_classifier

F as in docs/formulas.md, "Large-margin Gaussian classifier", for draws of the noise; our answers are
certified to a relative duality gap of 1e-6. L-BFGS-B gets F and its gradient in plain numpy and is stopped, by its own
tolerance in steps of 10, where the same gap holds for every draw.
"""

import dataclasses as dc
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import minimize

from benchmarks.runner import Accuracy, Rival, Work
from dpcore.core.arrays import Array
from dpcore.data import load_classes
from dpcore.solvers.multiclass.objective import ClassRecords, MulticlassObjective
from dpcore.solvers.multiclass.solver import minimise_ellipsoids

GAP, H = 1e-6, 0.5


@dc.dataclass(frozen=True)
class Sizes:
    """draws: of the noise, together. random_*: of classes drawn around random centres."""

    draws: int = 40
    digits: int = 1_258
    random_n: int = 5_000
    random_d: int = 30
    rounds: int = 3


QUICK = Sizes(draws=2, digits=100, random_n=100, random_d=3, rounds=1)


def random_classes(n: int, d: int, classes: int) -> ClassRecords:
    """Gaussian clusters around random centres, scaled to norm at most 1."""
    rng = np.random.default_rng([n, d, classes])
    labels = rng.integers(0, classes, n)
    X = rng.standard_normal((classes, d))[labels] + rng.standard_normal((n, d))
    return ClassRecords(X / np.linalg.norm(X, axis=1).max(), labels, classes, half_width=H)


def named_classes(source: str, n: int) -> ClassRecords:
    split = load_classes(source, n, seed=0)
    return ClassRecords(split.train.X, split.train.y, split.classes, half_width=H)


def plain(objective: MulticlassObjective, draw: int) -> Callable[[Array], tuple[float, Array]]:
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


def peer(objective: MulticlassObjective) -> Callable[[], Array]:
    """L-BFGS-B for all draws, at the loosest tolerance that certifies them."""
    shape, start = objective.linear.shape, np.zeros(objective.linear[0].size)

    def solve(power: int) -> Array:
        options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": 10.0**-power, "maxcor": 20}
        loops = [plain(objective, draw) for draw in range(shape[0])]
        found = [minimize(loop, start, jac=True, method="L-BFGS-B", options=options).x for loop in loops]
        return np.reshape(found, shape)

    for power in range(0, 10):
        gaps, sizes, _ = objective.gaps(solve(power))
        if (gaps <= GAP * sizes).all():
            return lambda: solve(power)
    raise RuntimeError(f"L-BFGS-B does not reach a relative gap of {GAP:g}")


def compare(name: str, records: ClassRecords, mu: float, draws: int) -> Work:
    C, q = records.classes, records.p * (records.p + 1) // 2
    noise = np.random.default_rng(0).standard_normal((draws, C, q)) * np.sqrt(mu)
    objective = MulticlassObjective(records, mu, noise=noise - noise.mean(axis=1, keepdims=True))

    def gap(weights: Array) -> Accuracy:
        gaps, values, _ = objective.gaps(weights)
        return {"relative gap": float((gaps / values).max())}

    rivals = [
        Rival("ours", lambda: minimise_ellipsoids(objective, tol=GAP).weights, gap),
        Rival("scipy L-BFGS-B", peer(objective), gap),
    ]
    return Work(name, {"n": records.n, "p": records.p, "classes": C, "mu": mu, "draws": draws}, rivals)


def works(sizes: Sizes) -> Iterator[Work]:
    iris, digits = named_classes("iris", 105), named_classes("digits", sizes.digits)
    for mu in (10.0, 1.0):
        for draws in (1, sizes.draws):
            yield compare("iris", iris, mu, draws)
    yield compare("digits", digits, 10.0, sizes.draws // 4 or 1)
    drawn = random_classes(sizes.random_n, sizes.random_d, 10)
    for mu in (50.0, 1.0):
        yield compare("random classes", drawn, mu, 1)
