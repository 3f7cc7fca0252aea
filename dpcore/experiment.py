"""Experiments: a frozen description in, a table out.

An `Experiment` takes the same words as `dpcore.solve`. It is cut into cells; a cell is a whole curve of one
mechanism over a grid of epsilons, computed once and kept in a bounded cache. Randomness comes from (seed, mechanism
key, repetition) and from nothing else, so that curves share their noise along a sweep, 20 repetitions are a prefix
of 50, and a cell does not depend on the grid around it.
"""

from __future__ import annotations

import dataclasses as dc
import hashlib
import json
import math
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import numpy as np

from . import data as records
from . import evaluate, solvers
from .accounting import attack_cap
from .api import check_records
from .caching import BoundedCache
from .losses import get_loss
from .mechanisms import Mechanism, make_mechanism
from .mechanisms.base import AdditiveMechanism, Prepared
from .types import Array, Budget, Data, NotApplicable, Plan, Spec, integer, positive

if TYPE_CHECKING:
    import pandas as pd

EPSILON_GRID = (
    *(round(mantissa * 10.0**power, 3) for power in (-2, -1, 0) for mantissa in (1, 1.5, 2, 3, 5, 7)),
    10.0,
)

COLUMNS = (
    *("mechanism", "label", "accounting", "axis", "x", "metric", "repetitions", "mean", "exact", "se"),
    *("q10", "q50", "q90", "noiseless", "reference", "reference_gap"),
    *("bound", "bound_form", "bound_source"),
    *("epsilon", "delta", "spent_epsilon", "spent_delta", "attack_limit", "attack_cap"),
    *("n", "test_records", "p", "lam", "steps", "scale", "seconds", "status", "reason"),
)
_AXES = ("epsilon", "delta", "n", "p", "lam")


@dc.dataclass(frozen=True)
class Axis:
    """What an experiment sweeps: one of its own fields and the values it takes.

    >>> Axis("epsilon", (0.1, 1.0)).values
    (0.1, 1.0)
    """

    name: str
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.name not in _AXES:
            raise ValueError(f"axis must be one of {', '.join(_AXES)}, got {self.name!r}")
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise ValueError("axis values must not be empty")
        if list(self.values) != sorted(set(self.values)):
            raise ValueError(f"axis values must be increasing, got {self.values}")


@dc.dataclass(frozen=True)
class Experiment:
    """One chart's worth of runs.

    source: key of a data set (`dpcore.data.SOURCES`). mechanisms: keys or mechanism objects (which carry knobs).
    n: training records, p: columns, theta_norm: as in `dpcore.solve`; None takes the source's own. epsilon, delta,
    loss, lam: as in `dpcore.solve`. The reference risk F* is taken over the L2 ball of radius theta_norm. sweep:
    replaces one of these by a list of values. repetitions: releases per point, >= 2. seed: of the data and the noise.

    >>> Experiment(n=200).digest() == Experiment.from_json(Experiment(n=200).to_json()).digest()
    True
    """

    source: str = "breast_cancer"
    mechanisms: tuple[Mechanism | str, ...] = ("output_gaussian",)
    n: int | None = None
    p: int | None = None
    epsilon: float = 1.0
    delta: float = 1e-6
    loss: str = "logistic"
    lam: float | str = "auto"
    theta_norm: float | None = None
    sweep: Axis = Axis("epsilon", EPSILON_GRID)
    repetitions: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        info = records.get_source(self.source)
        get_loss(self.loss)
        set_field = object.__setattr__
        chosen = tuple(make_mechanism(m) if isinstance(m, str) else m for m in self.mechanisms)
        if not chosen:
            raise ValueError("mechanisms must name at least one mechanism, got none")
        set_field(self, "mechanisms", chosen)
        set_field(self, "n", integer("n", info.people if self.n is None else self.n, at_least=2))
        set_field(self, "p", integer("p", info.p or 8 if self.p is None else self.p, at_least=1))
        B = info.theta_norm if self.theta_norm is None else self.theta_norm
        set_field(self, "theta_norm", positive("theta_norm", B))
        integer("repetitions", self.repetitions, at_least=2)
        integer("seed", self.seed, at_least=0)
        for cell in self.cells():  # every value of the sweep meets the rules of its field
            for epsilon in cell.epsilons:
                Budget(epsilon, cell.delta)
            Spec(cell.loss, cell.n, cell.p, cell.lam, theta_norm=cell.theta_norm)  # type: ignore[arg-type]

    def cells(self) -> Iterator[Cell]:
        """The independent pieces of work, mechanism by mechanism along the sweep."""
        for mechanism in self.mechanisms:
            if self.sweep.name == "epsilon":
                yield self._cell(mechanism, epsilons=self.sweep.values)
            else:
                for value in self.sweep.values:
                    yield self._cell(mechanism, epsilons=(self.epsilon,), **{self.sweep.name: value})

    def _cell(self, mechanism: Any, epsilons: tuple[float, ...], **changed: Any) -> Cell:
        shared = {f.name: getattr(self, f.name) for f in dc.fields(Cell) if f.name in _SHARED}
        return Cell(mechanism=mechanism, epsilons=tuple(map(float, epsilons)), **(shared | changed))

    def to_json(self) -> str:
        """Canonical JSON: equal experiments give equal text."""
        plain = {f.name: getattr(self, f.name) for f in dc.fields(self)}
        plain["mechanisms"] = [dc.asdict(m) for m in self.mechanisms]  # type: ignore[arg-type]
        plain["sweep"] = {"name": self.sweep.name, "values": list(self.sweep.values)}
        return json.dumps(plain, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Experiment:
        """The inverse of `to_json`; fields that are left out take their defaults, unknown ones are refused."""
        try:
            plain = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"an experiment must be a JSON object, got text that is none ({error})") from None
        if not isinstance(plain, dict):
            raise ValueError(f"an experiment must be a JSON object, got {type(plain).__name__}")
        known = [f.name for f in dc.fields(cls)]
        for name in plain:
            if name not in known:
                raise ValueError(f"an experiment has no field {name!r}; it has {', '.join(known)}")
        if "mechanisms" in plain:
            plain["mechanisms"] = _mechanisms_from(plain["mechanisms"])
        if "sweep" in plain:
            plain["sweep"] = _axis_from(plain["sweep"])
        return cls(**plain)

    def digest(self) -> str:
        """A short name of everything the table depends on."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]


def _mechanisms_from(plain: object) -> tuple[Mechanism, ...]:
    if not isinstance(plain, list) or not all(isinstance(m, (str, dict)) for m in plain):
        raise ValueError(f"mechanisms must be a list of keys or of objects with a key, got {plain!r}")
    return tuple(make_mechanism(m) if isinstance(m, str) else make_mechanism(**({"key": ""} | m)) for m in plain)


def _axis_from(plain: object) -> Axis:
    if not isinstance(plain, dict) or set(plain) != {"name", "values"} or not isinstance(plain["values"], list):
        raise ValueError(f'sweep must be an object {{"name": ..., "values": [...]}}, got {plain!r}')
    return Axis(plain["name"], tuple(plain["values"]))


@dc.dataclass(frozen=True)
class Cell:
    """One mechanism's curve over epsilon; hashable and picklable, it is its own cache key."""

    mechanism: Mechanism
    epsilons: tuple[float, ...]
    source: str
    n: int
    p: int
    delta: float
    loss: str
    lam: float | str
    theta_norm: float
    repetitions: int
    seed: int


_SHARED = ("source", "n", "p", "delta", "loss", "lam", "theta_norm", "repetitions", "seed")
_CELLS: BoundedCache[list[dict[str, Any]]] = BoundedCache(256)
_REFERENCES: BoundedCache[solvers.BallMinimum] = BoundedCache(64)


def run(
    experiment: Experiment,
    executor: Executor | None = None,
    on_row: Callable[[dict[str, Any]], None] | None = None,
) -> pd.DataFrame:
    """The experiment's table: one row per point of the sweep, mechanism and metric (columns: `COLUMNS`).

    executor: any concurrent.futures executor; its workers compute cells, None computes here. on_row: called with each
    row as it arrives. A mechanism that does not apply leaves a row with status "not applicable" and its reason.

    >>> table = run(Experiment(source="synthetic", n=200, sweep=Axis("epsilon", (1.0,)), repetitions=2))
    >>> list(table.metric)
    ['accuracy', 'excess_empirical_risk']
    """
    import pandas as pd

    cells = list(experiment.cells())
    arriving = map(run_cell, cells) if executor is None else executor.map(run_cell, cells)
    rows = []
    for cell, points in zip(cells, arriving, strict=True):
        for point in points:
            axis = experiment.sweep.name
            x = point["epsilon"] if axis == "epsilon" else getattr(cell, axis)
            row = {"axis": axis, "x": x, **point}
            rows.append({column: row.get(column) for column in COLUMNS})
            if on_row is not None:
                on_row(rows[-1])
    return pd.DataFrame(rows, columns=list(COLUMNS))


def run_cell(cell: Cell) -> list[dict[str, Any]]:
    """The rows of one cell, from the cache or computed."""
    return _CELLS.get(cell, lambda: _compute(cell))


def reference_minimum(source: str, n: int, p: int, seed: int, loss: str, radius: float) -> solvers.BallMinimum:
    """F* of a source's training records over the L2 ball of `radius`, certified, from a cache."""

    def compute() -> solvers.BallMinimum:
        return solvers.minimise_in_ball(get_loss(loss), records.load(source, n, p, seed).train, radius)

    return _REFERENCES.get((source, n, p, seed, loss, radius), compute)


def generator(seed: int, key: str, repetition: int) -> np.random.Generator:
    """The noise of one repetition of one mechanism; the same for every epsilon and every grid."""
    return np.random.default_rng([seed, zlib.crc32(key.encode()), repetition])


def _compute(cell: Cell) -> list[dict[str, Any]]:
    started = time.perf_counter()
    loss = get_loss(cell.loss)
    split = records.load(cell.source, cell.n, cell.p, cell.seed)
    spec = Spec(cell.loss, cell.n, cell.p, cell.lam, split.domain, theta_norm=cell.theta_norm)  # type: ignore[arg-type]
    check_records(split.train, spec)
    reference = reference_minimum(cell.source, cell.n, cell.p, cell.seed, cell.loss, cell.theta_norm)

    plans: list[Plan] = []
    rows: list[dict[str, Any]] = []
    for epsilon in cell.epsilons:
        try:
            plans.append(cell.mechanism.calibrate(spec, Budget(epsilon, cell.delta)))
        except NotApplicable as error:
            rows.append(_public(cell, epsilon) | {"status": "not applicable", "reason": str(error)})
    if not plans:
        return rows

    prepared = _prepare(cell.mechanism, plans, split.train)
    centres = np.stack([p.theta for p in prepared])
    rngs = [generator(cell.seed, cell.mechanism.key, r) for r in range(cell.repetitions)]
    if isinstance(cell.mechanism, AdditiveMechanism):
        curves = evaluate.additive_curve(
            loss,
            split.train,
            split.test,
            reference,
            centres,
            scales=np.array([plan.scale for plan in plans]),
            directions=np.stack([cell.mechanism.direction(cell.p, rng) for rng in rngs]),
            gaussian=plans[0].noise == "gaussian",
        )
    else:
        released = [cell.mechanism.release_many(plan, p, rngs) for plan, p in zip(plans, prepared, strict=True)]
        curves = evaluate.released_curve(loss, split.train, split.test, reference, centres, np.stack(released))
    seconds = (time.perf_counter() - started) / len(plans)
    for k, plan in enumerate(plans):
        for curve in curves:
            about = {"reference_gap": reference.gap, "test_records": split.test.n, "seconds": seconds}
            rows.append(_public(cell, plan.requested.epsilon) | _measured(plan, curve, k) | about)
    return sorted(rows, key=lambda row: row["epsilon"])


def _prepare(mechanism: Mechanism, plans: list[Plan], train: Data) -> list[Prepared]:
    """One solve for each distinct lam, from large to small, started where the last two point in log lam."""
    by_lam: dict[float, Prepared] = {}
    path: list[tuple[float, Array]] = []
    for lam in sorted({float(plan.spec.lam) for plan in plans}, reverse=True):
        plan = next(plan for plan in plans if plan.spec.lam == lam)
        by_lam[lam] = mechanism.prepare(plan, train, _extrapolated(path, math.log(lam)))
        path.append((math.log(lam), by_lam[lam].theta))
    return [by_lam[float(plan.spec.lam)] for plan in plans]


def _extrapolated(path: list[tuple[float, Array]], at: float) -> Array | None:
    if len(path) < 2:
        return path[-1][1] if path else None
    (x0, theta0), (x1, theta1) = path[-2:]
    return theta1 + (theta1 - theta0) * ((at - x1) / (x1 - x0))


def _public(cell: Cell, epsilon: float) -> dict[str, Any]:
    return {
        "mechanism": cell.mechanism.key,
        "label": cell.mechanism.label,
        "accounting": getattr(cell.mechanism, "accounting", ""),
        "repetitions": cell.repetitions,
        "epsilon": epsilon,
        "delta": cell.delta,
        "n": cell.n,
        "p": cell.p,
        "attack_cap": attack_cap(Budget(epsilon, cell.delta)),
    }


def _measured(plan: Plan, curve: evaluate.Curve, k: int) -> dict[str, Any]:
    upper = [b for b in plan.mechanism.bounds(plan) if (b.quantity, b.form) == (curve.metric, "upper")]
    bound = min(upper, key=lambda b: b.value, default=None)
    return {
        "metric": curve.metric,
        "mean": float(curve.mean[k]),
        "exact": curve.exact,
        "se": float(curve.se[k]),
        "q10": float(curve.quantile(0.1)[k]),
        "q50": float(curve.quantile(0.5)[k]),
        "q90": float(curve.quantile(0.9)[k]),
        "noiseless": float(curve.noiseless[k]),
        "reference": curve.reference,
        "bound": bound.value if bound else None,
        "bound_form": bound.form if bound else None,
        "bound_source": bound.source if bound else None,
        "spent_epsilon": plan.spent.epsilon,
        "spent_delta": plan.spent.delta,
        "attack_limit": plan.mechanism.attack_limit(plan),
        "lam": float(plan.spec.lam),
        "steps": plan.steps,
        "scale": plan.scale,
        "status": "ok",
    }
