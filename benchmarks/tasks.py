"""Learning tasks on which automatic settings are compared with others: the tasks they were chosen on, and new ones.

Rules for lam, steps, batches and draws were chosen on drawn records, on the bundled sets as the dashboard offers them,
and on other classes and columns of these sets and 5,000 records of Cod-RNA: tasks that are `seen`. The others were
measured when the rules were fixed: further classes and columns, fewer and more records of Cod-RNA, recipes of other
sizes. Some of them share their public facts with another task and want other settings.
"""

import dataclasses as dc
import functools
import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.default_mechanism import TASKS as OTHER_CLASSES
from benchmarks.default_mechanism import classes
from dpcore import Data
from dpcore.core.arrays import Array
from dpcore.core.losses import get_loss
from dpcore.core.sets import NormBall, dual_order, norm_ball
from dpcore.data import SOURCES, get_source, load, load_classes
from dpcore.solvers import minimise_in_ball, minimise_on_l1_ball, minimise_on_simplex
from dpcore.solvers.frank_wolfe.vertices import risk_of
from dpcore.studies.geometry.synthetic_data import optimum, synthetic_records
from dpcore.studies.papers.reproductions.cod_rna import by_middle, by_range, by_row, cod_rna
from dpcore.studies.sparsity.streaming.adversaries import stream

Records = tuple[Data, Data]
Draw = Callable[[int], Records]
Change = Callable[[Data], Data]
# The smooth losses of bounded slope, which every mechanism takes; squared loss in other sets than the L2 ball.
CLASSES, NUMBERS, SQUARED = ("logistic",), ("huber",), ("squared",)
COSTS = ("linear",)
COD_RNA = "cod-rna.txt.gz"
_STRANDS = "Cod-RNA" if os.environ.get("DPCORE_DATA") else "stand-in for Cod-RNA"
_TESTED = 5_000  # test records of Cod-RNA


@dc.dataclass(frozen=True)
class Task:
    """Training and test records for each seed, and public facts about them.

    draw: records of a seed. losses: that are fitted. facts: further arguments of `dpcore.calibrate`. seen: whether
    rules were chosen on it.
    """

    name: str
    draw: Draw
    losses: tuple[str, ...]
    facts: dict[str, Any]
    seen: bool = False

    def counts_classes(self, loss: str) -> bool:
        """True if quality is accuracy: for classes and models in the L2 ball."""
        return get_loss(loss).classification and "set" not in self.facts

    def nothing(self, p: int) -> Array:
        """The model that has learned nothing, [p]."""
        return np.full(p, 1.0 / p if self.facts.get("set") == "simplex" else 0.0)

    def best(self, loss: str, train: Data) -> Array:
        """The best model of the set for these records, [p]; for l_p balls that of their law."""
        shape, size = self.facts.get("set", "ball"), self.facts["theta_norm"]
        if isinstance(shape, NormBall):
            return optimum(shape.order, train.p).theta
        if shape == "simplex":
            return minimise_on_simplex(get_loss(loss), train).theta
        if shape == "l1_ball":
            return minimise_on_l1_ball(risk_of(get_loss(loss), train), size).theta
        return minimise_in_ball(get_loss(loss), train, size).theta


def of_source(source: str, n: int, p: int, seed: int) -> Records:
    split = load(source, n, p, seed)
    return split.train, split.test


def changed(draw: Draw, change: Change, seed: int) -> Records:
    train, test = draw(seed)
    return change(train), change(test)


def column(j: int, data: Data) -> Data:
    """Column j as a number in [-1, 1] to predict from the others, which are scaled by the root of how many they are."""
    size = math.sqrt(data.p)
    rest = np.delete(np.asarray(data.X), j, axis=1)
    return Data(rest * size / math.sqrt(data.p - 1), np.clip(size * data.X[:, j], -1.0, 1.0))


def entries(data: Data) -> Data:
    """Records whose entries lie in [-1, 1], not their norms."""
    return Data(data.X * math.sqrt(data.p), data.y)


def signs(data: Data) -> Data:
    return Data(data.X, np.where(data.y > 0, 1.0, -1.0))


def above(j: int, data: Data) -> Data:
    """Whether column j is above the middle of its range, as a class."""
    return signs(column(j, data))


def digit(seed: int) -> Records:
    """The digit itself, as a number in [-1, 1], from all pixels."""
    (train, test), known = of_source("digits", 1_257, 65, seed), load_classes("digits", 1_257, seed=seed)
    return Data(train.X, known.train.y / 4.5 - 1.0), Data(test.X, known.test.y / 4.5 - 1.0)


def even(n: int, p: int, k: int, noise: float, seed: int, *, signed: bool) -> Records:
    """Entries -1 and +1; y is the mean of k of the columns, with signs if `signed`, plus noise of at most `noise`."""
    rng = np.random.default_rng([seed, n, p, k])
    truth = np.zeros(p)
    truth[rng.permutation(p)[:k]] = (rng.choice([-1.0, 1.0], k) if signed else 1.0) / k

    def draw(count: int) -> Data:
        X = rng.choice([-1.0, 1.0], (count, p))
        return Data(X, X @ truth + noise * rng.uniform(-1.0, 1.0, count))

    return draw(n), draw(_TESTED)


def costs(data: Data) -> Data:
    """A stream of costs in [-1, 1]: column j costs -y times its entry, so that the best arm predicts y best."""
    return Data(-entries(data).X * data.y[:, None], np.zeros(data.n))


@functools.cache
def _cod_rna(scaling: Callable[[Any], Any]) -> Data:
    folder = os.environ.get("DPCORE_DATA")
    found = scaling(cod_rna(Path(folder) / COD_RNA if folder else None, 0))
    data: Data = found[0] if isinstance(found, tuple) else found
    return Data(data.X / math.sqrt(data.p), data.y) if scaling is by_middle else data


def strands(scaling: Callable[[Any], Any], n: int, seed: int) -> Records:
    """n records of Cod-RNA and 5,000 to test; of a stand-in unless DPCORE_DATA names the folder of the file."""
    data = _cod_rna(scaling)
    order = np.random.default_rng([seed, data.n]).permutation(data.n)
    made = [Data(data.X[part], data.y[part]) for part in (order[:n], order[n : n + _TESTED])]
    return made[0], made[1]


def of_adversary(key: str, steps: int, p: int, seed: int) -> Records:
    """A stream of costs, twice: a player is measured on the costs that it is charged."""
    data = Data(stream(key, steps=steps, p=p, seed=seed), np.zeros(steps))
    return data, data


def of_norm(p_norm: float, n: int, d: int, seed: int) -> Records:
    return synthetic_records(p_norm, n, d, 2 * seed), synthetic_records(p_norm, 2 * _TESTED, d, 2 * seed + 1)


def _ball(name: str, draw: Draw, theta_norm: float, *, numbers: bool = False, seen: bool = False) -> Task:
    return Task(name, draw, NUMBERS if numbers else CLASSES, {"theta_norm": theta_norm}, seen)


def _source(key: str, n: int | None = None, p: int | None = None, *, seen: bool = True) -> Task:
    info = get_source(key)
    draw = partial(of_source, key, n or info.sample_size, p or info.p or 8)
    name = key if info.size else f"{key}, {n:,} x {p or info.p or 8}"
    return _ball(name, draw, info.theta_norm, numbers=info.task == "regression", seen=seen)


_REAL = {key: partial(of_source, key, info.sample_size, info.p or 8) for key, info in SOURCES.items() if info.size}
_SCALINGS = {"by row": by_row, "by range": by_range, "by middle": by_middle}


def _columns(named: dict[str, int], change: Callable[[int, Data], Data] = column) -> dict[str, Draw]:
    """Columns of real sources as what is to be predicted, by their name, which begins with the source's."""
    return {name: partial(changed, _REAL[name.split(", ")[0]], partial(change, j)) for name, j in named.items()}


_NEW_NUMBERS = {
    "iris, sepal length": 0,
    "wine, alcohol": 0,
    "wine, proline": 12,
    "breast_cancer, smoothness": 4,
    "diabetes, blood pressure": 3,
}
_ENERGY, _LENGTH = (partial(changed, partial(strands, by_range, 5_000), partial(column, j)) for j in (0, 1))
BALL_TASKS = [
    *(_source(key) for key in _REAL),
    *(_source(f"synthetic{end}", 1_000) for end in ("", "_padded", "_correlated", "_regression")),
    *(_ball(name, draw, 10.0, seen=True) for name, draw in OTHER_CLASSES.items()),
    *(_ball(f"{_STRANDS} {name}", partial(strands, how, 5_000), 10.0, seen=True) for name, how in _SCALINGS.items()),
    *(
        _ball(name, draw, 3.0, numbers=True, seen=True)
        for name, draw in _columns({"iris, petal length": 2, "breast_cancer, texture": 1, "diabetes, LDL": 5}).items()
    ),
    _ball("digits, the digit", digit, 3.0, numbers=True, seen=True),
    _ball(f"{_STRANDS}, energy", _ENERGY, 3.0, numbers=True, seen=True),
    _source("synthetic_regression", 200, 20),
    # New.
    *(
        _ball(f"digits, {name}", partial(classes, "digits", 1_257, chosen), 10.0)
        for name, chosen in {"0": (0,), "primes": (2, 3, 5, 7), "8 and 9": (8, 9)}.items()
    ),
    *(
        _ball(f"four classes in {d} columns", partial(classes, "gaussian_classes", n, (0,), d=d, classes=4), 10.0)
        for n, d in ((500, 5), (3_000, 12))
    ),
    *(
        _ball(name, draw, 10.0)
        for name, draw in _columns(
            {
                "iris, sign of sepal length": 0,
                "wine, sign of alcohol": 0,
                "breast_cancer, sign of smoothness": 4,
                "diabetes, sign of blood pressure": 3,
            },
            above,
        ).items()
    ),
    *(_source("synthetic", *size, seen=False) for size in ((200, 20), (5_000, 4), (5_000, 9))),
    *(_source("synthetic_correlated", *size, seen=False) for size in ((300, 16), (5_000, 16))),
    *(
        _ball(f"{_STRANDS} {name}, {n:,}", partial(strands, how, n), 10.0)
        for name, how in _SCALINGS.items()
        for n in (500, 20_000)
    ),
    *(_ball(name, draw, 3.0, numbers=True) for name, draw in _columns(_NEW_NUMBERS).items()),
    _source("synthetic_regression", 5_000, 4, seen=False),
    _ball(
        f"{_STRANDS}, energy, 500",
        partial(changed, partial(strands, by_range, 500), partial(column, 0)),
        3.0,
        numbers=True,
    ),
]


def _l1(name: str, draw: Draw, losses: tuple[str, ...], theta_norm: float, y_max: float = 1.0, *, seen: bool) -> Task:
    return Task(name, draw, losses, {"set": "l1_ball", "theta_norm": theta_norm, "y_max": y_max}, seen)


def _sparse(n: int, p: int, *, seen: bool = False) -> Task:
    return _l1(f"sparse, {n:,} x {p}", partial(of_source, "synthetic_sparse", n, p), SQUARED, 1.0, 1.1, seen=seen)


def _even_sparse(n: int, p: int, k: int) -> Task:
    draw = partial(even, n, p, k, 0.1, signed=True)
    return _l1(f"sparse, {n:,} x {p}, {_of(k)}", draw, SQUARED, 1.0, 1.1, seen=True)


def _of(k: int) -> str:
    return "one column" if k == 1 else f"{k} columns"


_L1_SEEN: dict[str, Draw] = {
    "diabetes": _REAL["diabetes"],
    **_columns({"diabetes, LDL": 5}),
    "digits, the digit": digit,
    "digits, even or odd": partial(of_source, "digits", 1_257, 65),
    f"{_STRANDS}, energy": _ENERGY,
}
_L1_NEW: dict[str, Draw] = {
    **_columns({"iris, sepal length": 0, "iris, petal length": 2, "wine, alcohol": 0, "wine, proline": 12}),
    **_columns({"diabetes, blood pressure": 3}),
    f"{_STRANDS}, length": _LENGTH,
}
_L1_CLASSES: dict[str, Draw] = {
    "signs, sparse, 398 x 31": partial(changed, partial(of_source, "synthetic_sparse", 398, 31), signs),
    f"{_STRANDS} by middle": partial(changed, partial(strands, by_middle, 5_000), entries),
}
L1_TASKS = [
    *(_sparse(*size, seen=True) for size in ((1_000, 64), (5_000, 200), (10_000, 200), (12_000, 300), (50_000, 64))),
    *(_even_sparse(1_000, 64, k) for k in (1, 16)),
    *(_l1(name, partial(changed, draw, entries), SQUARED, 3.0, seen=True) for name, draw in _L1_SEEN.items()),
    _l1("breast_cancer", partial(changed, _REAL["breast_cancer"], entries), CLASSES, 3.0, seen=True),
    # New.
    *(_sparse(*size) for size in ((500, 16), (3_000, 1_000), (20_000, 32))),
    *(_l1(name, partial(changed, draw, entries), SQUARED, 3.0, seen=False) for name, draw in _L1_NEW.items()),
    *(_l1(name, draw, CLASSES, 3.0, seen=False) for name, draw in _L1_CLASSES.items()),
]


def _mixture(n: int, p: int, *, seen: bool = False) -> Task:
    draw = partial(of_source, "synthetic_mixture", n, p)
    return Task(f"mixture, {n:,} x {p}", draw, SQUARED, {"set": "simplex", "theta_norm": 1.0, "y_max": 1.25}, seen)


def _even_mixture(n: int, p: int, k: int) -> Task:
    draw = partial(even, n, p, k, 0.25, signed=False)
    facts = {"set": "simplex", "theta_norm": 1.0, "y_max": 1.25}
    return Task(f"mixture, {n:,} x {p}, {_of(k)}", draw, SQUARED, facts)


def _of_norm(p_norm: float, n: int, d: int, *, seen: bool = False) -> Task:
    facts = {"set": norm_ball(p_norm), "q": dual_order(p_norm), "radius": 1.0, "theta_norm": 1.0}
    return Task(f"p = {p_norm:g}, {n:,} x {d}", partial(of_norm, p_norm, n, d), CLASSES, facts, seen)


SIMPLEX_TASKS = [
    *(_mixture(*size, seen=True) for size in ((500, 16), (2_000, 64), (5_000, 16))),
    *(_mixture(*size) for size in ((1_000, 32), (3_000, 8), (1_000, 200))),
    # Alike to others in all that a rule may use.
    *(_even_mixture(*size) for size in ((3_000, 8, 1), (3_000, 8, 6), (1_000, 200, 1), (1_000, 200, 16))),
]
_STREAM_SIZES = ((1_000, 16), (20_000, 16), (20_000, 200))
_STREAMS: dict[str, Draw] = {
    **{
        f"{key}, {T:,} x {p}": partial(of_adversary, key, T, p)
        for key in ("random", "switching", "drifting")
        for T, p in _STREAM_SIZES
    },
    **{f"{key}, the label": partial(changed, _REAL[key], costs) for key in ("breast_cancer", "diabetes")},
    f"{_STRANDS} by range, the label": partial(changed, partial(strands, by_range, 5_000), costs),
}
# No rule was chosen on streams: their lam follows from the proofs.
STREAM_TASKS = [Task(name, draw, COSTS, {"set": "simplex", "theta_norm": 1.0}) for name, draw in _STREAMS.items()]
_SIZES = {True: ((1_000, 16), (5_000, 64), (20_000, 16)), False: ((2_000, 32), (5_000, 8))}


def norm_tasks(*p_norms: float) -> list[Task]:
    return [_of_norm(p, *size, seen=seen) for seen, sizes in _SIZES.items() for p in p_norms for size in sizes]
