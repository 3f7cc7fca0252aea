"""What one release of each mechanism really adds, seen from outside.

Records of 0 have no gradient, so that the path of a run is its noise. Each way of looking also follows that noise by
plain arithmetic to the model that is released: what was seen is what was added.
"""

import dataclasses as dc
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.linalg import helmert
from scipy.sparse import csr_array
from scipy.special import gammainc

import dpcore
from dpcore import Data
from dpcore.core.sets import Box, ConvexSet, LqBall, Polytope
from dpcore.mechanisms.frank_wolfe.one_pass import PolyhedralFrankWolfe, stream_of
from dpcore.mechanisms.frank_wolfe.step_count import lp_constants_of
from dpcore.mechanisms.gradient.schedules import descent_of
from dpcore.mechanisms.multiclass import models
from dpcore.mechanisms.plan import Plan
from dpcore.solvers.multiclass.objective import svec

from .classifiers import class_data

Streams = Callable[[], list[np.random.Generator]]
Parts = dict[str, np.ndarray]
# So many columns that no two fair choices of one are the same by chance.
COLUMNS = 1 << 40


@dc.dataclass(frozen=True)
class Seen:
    """The randomness of one release, step after step.

    steps: [k, d], of each step its noise over what the plan says that its size is, or, with d = 1, the place of what
    was chosen, symmetric about 0. parts: the phase, block or level of each step, [k], for each way to cut the run.
    distinct: whether no two steps may be the same or opposite; False where there is little to choose from.
    chances: how likely noise of the planned size is to be no larger, of the whole run and of each part.
    """

    steps: np.ndarray
    parts: Parts = dc.field(default_factory=dict)
    distinct: bool = True
    chances: dict[str, float] = dc.field(default_factory=dict)


Look = Callable[[Plan, Any, Streams], list[Seen]]


@dc.dataclass(frozen=True)
class Case:
    """plan, data: of one release. look: what each generator's run added."""

    plan: Callable[[], Plan]
    data: Callable[[], Data]
    look: Look

    def made(self) -> tuple[Plan, Any]:
        """The plan and what its mechanism prepares of the records, all columns stored if there are not too many."""
        plan, data = self.plan(), self.data()
        prepared = plan.mechanism.prepare(plan, data)
        return plan, plan.mechanism.padded(prepared, plan.spec.p - data.stored) if plan.spec.p < 1 << 20 else prepared


def planned(key: str, n: int, p: int, *, epsilon: float = 1.0, delta: float = 1e-6, **facts) -> Callable[[], Plan]:
    return lambda: dpcore.calibrate(key, n=n, p=p, epsilon=epsilon, delta=delta, **facts)


def zeros(n: int, r: int, p: int = 0) -> Callable[[], Data]:
    return lambda: Data(np.zeros((n, r)), np.ones(n), p)


def sparse_zeros(n: int, r: int, p: int = 0) -> Callable[[], Data]:
    return lambda: Data(csr_array((n, r)), np.ones(n), p)


def agree(model: np.ndarray, released: np.ndarray) -> None:
    """What was seen makes the release, up to rounding."""
    assert model.shape == released.shape
    assert np.abs(model - released).max() <= 1e-9 * max(np.abs(released).max(), 1e-300), "other noise was released"


def blocks(k: int) -> Parts:
    return {f"blocks of {size}": np.arange(k) // size for size in (32, 64, 256) if size < k}


def gaussian_chances(steps: np.ndarray, parts: Parts) -> dict[str, float]:
    """Of the sums of squares of standard normal steps."""
    squares = (steps**2).sum(axis=1)
    return chi_square_chances(squares, steps.shape[1], parts)


def chi_square_chances(squares: np.ndarray, degrees: int, parts: Parts) -> dict[str, float]:
    """Of steps that each have a chi-square law of so many degrees."""
    found = {"all": float(gammainc(0.5 * degrees * len(squares), 0.5 * squares.sum()))}
    for name, labels in parts.items():
        for label in np.unique(labels):
            of_part = squares[labels == label]
            found[f"{name}: {label}"] = float(gammainc(0.5 * degrees * len(of_part), 0.5 * of_part.sum()))
    return found


# Noise in every step


def descended(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of noisy descent on records without a gradient, where a step is lam theta and noise."""
    mechanism, descent, lam = plan.mechanism, descent_of(plan), float(plan.spec.lam)
    R, T = len(streams()), plan.steps
    seen = mechanism.transcripts(plan, prepared, streams()).reshape(R, T, -1)
    noise, theta, total = np.empty_like(seen), np.zeros((R, plan.spec.p)), np.zeros((R, plan.spec.p))
    for t in range(T):
        noise[:, t] = seen[:, t] - lam * theta
        theta = theta - (descent.step / math.sqrt(t + 1.0) if descent.decaying else descent.step) * seen[:, t]
        if plan.spec.radius is not None:
            theta = theta * np.minimum(1.0, plan.spec.radius / np.linalg.norm(theta, axis=1, keepdims=True))
        if t + 1 >= descent.first:
            total += theta
    agree(total / (T + 1 - descent.first), mechanism.release_many(plan, prepared, streams()))
    steps, parts = noise / plan.scale, blocks(T)
    return [Seen(run, parts, chances=gaussian_chances(run, parts)) for run in steps]


def batches(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Which records are in the batches of steps without noise: record i pulls at column i alone, with slope 1."""
    R, n, T, event = len(streams()), plan.spec.n, plan.steps, plan.ledger[0]
    quiet = dc.replace(plan, scale=1e-12 * plan.scale)
    seen = plan.mechanism.transcripts(quiet, prepared, streams()).reshape(R, T, n)
    chosen = np.abs(seen) * event.rate * n
    there = (chosen > 0.5).astype(float)
    np.testing.assert_allclose(chosen, there, atol=1e-3)
    if event.sampling == "poisson":
        steps = (there - event.rate) / math.sqrt(event.rate * (1.0 - event.rate))
        return [Seen(run, blocks(T)) for run in steps]
    assert (there.sum(axis=2) == 1.0).all()
    places = (there.argmax(axis=2) + 0.5) * 2.0 / n - 1.0
    return [Seen(run[:, None], blocks(T), distinct=False) for run in places]


def identity(n: int) -> Callable[[], Data]:
    return lambda: Data(np.eye(n), np.ones(n))


def phased(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of phases in a box: the mean of a phase without gradients is where it starts."""
    R, size = len(streams()), plan.spec.size or 1.0
    seen = plan.mechanism.transcripts(plan, prepared, streams()).reshape(R, plan.steps, -1)
    ends = np.clip(seen, -size, size)
    starts = np.concatenate([np.zeros_like(ends[:, :1]), ends[:, :-1]], axis=1)
    agree(ends[:, -1], plan.mechanism.release_many(plan, prepared, streams()))
    sizes = np.array([plan.spec.n >> i for i in range(1, plan.steps + 1)], float)
    shares = sizes / (sizes + 1.0) / 4.0 ** np.arange(plan.steps)
    steps = (seen - starts) / (plan.scale * shares / shares[0])[:, None]
    parts = {"phases": np.arange(plan.steps)}
    return [Seen(run, parts, chances=gaussian_chances(run, parts)) for run in steps]


class _TreeWalk:
    """The trees of one run by recursion, along what its nodes release.

    shape, size: of the set. share: the planned size of a node's noise, by its depth and the iterate less the parent's.
    noise, phases, depths, halves: of every node that was read, in order; noise over its planned size.
    """

    def __init__(
        self, seen: np.ndarray, size: float, shape: ConvexSet, share: Callable[[int, np.ndarray | None], float]
    ) -> None:
        self.seen, self.size, self.shape, self.share = iter(seen), size, shape, share
        self.x, self.tau = np.zeros(seen.shape[1]), 0
        self.noise: list[np.ndarray] = []
        self.phases: list[int] = []
        self.depths: list[int] = []
        self.halves: list[str] = []

    def walk(self, phases: int) -> None:
        for t in range(1, phases + 1):
            self._visit(t, 0, self.x, self._read(t, 0, None, "left"), "left")

    def _read(self, t: int, depth: int, away: np.ndarray | None, half: str) -> np.ndarray:
        noise = next(self.seen)
        self.noise.append(noise / self.share(depth, away))
        self.phases.append(t)
        self.depths.append(depth)
        self.halves.append(f"{half} half of phase {t}")
        return noise

    def _visit(self, t: int, depth: int, x: np.ndarray, estimate: np.ndarray, half: str) -> None:
        if depth == t:
            step = 2.0 / (self.tau + 2.0)
            self.x = (1.0 - step) * self.x + step * self.size * self.shape.extreme(estimate)
            self.tau += 1
            return
        self._visit(t, depth + 1, x, estimate, half)
        half = "right" if depth == 0 else half
        here = self.x
        estimate = estimate + self._read(t, depth + 1, here - x, half)
        self._visit(t, depth + 1, here, estimate, half)


def trees(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of the nodes of gradient trees whose means are 0."""
    mechanism: Any = plan.mechanism
    R, d = len(streams()), plan.spec.p
    facts = lp_constants_of(mechanism.key, plan.spec, 1.0, 2.0)
    seen = mechanism.transcripts(plan, prepared, streams()).reshape(R, plan.steps, d)
    released, found = mechanism.release_many(plan, prepared, streams()), []

    def share(depth: int, away: np.ndarray | None) -> float:
        if away is None:
            return plan.scale
        far = 2.0 * facts.diameter / 2.0**depth
        moved = float((np.abs(away) ** facts.p_norm).sum() ** (1.0 / facts.p_norm))
        assert moved <= far * (1.0 + 1e-12)
        return plan.scale * min(2.0 ** (-2.0 / facts.q_star) * facts.L1 * moved, facts.turn) / facts.L0 * 2.0**depth

    for run, model in zip(seen, released, strict=True):
        walk = _TreeWalk(run, plan.spec.size or 1.0, plan.spec.unit_set, share)
        walk.walk(mechanism.T)
        agree(walk.x, model)
        steps = np.array(walk.noise)
        parts = {
            "phases": np.array(walk.phases),
            "levels": np.array(walk.depths),
            "children": np.where(np.array(walk.depths) > 0, "right child", "root"),
            "halves": np.array(walk.halves),
            **blocks(len(steps)),
        }
        # Either law has a chi-square law of d degrees for the square of its own length.
        order = 2.0 if plan.noise == "gaussian" else order_of(plan)
        squares = (np.abs(steps) ** order).sum(axis=1) ** (2.0 / order)
        found.append(Seen(steps, parts, chances=chi_square_chances(squares, d, parts)))
    return found


def order_of(plan: Plan) -> float:
    """r of generalised Gaussian noise in the norm dual to the set's: the dual order q, or less where d is small."""
    d, q = plan.spec.p, plan.spec.domain.q
    orders = np.linspace(2.0, min(q, 60.0), 200_001)
    return float(orders[np.argmin((orders - 1.0) * d ** (2.0 / orders - (0.0 if math.isinf(q) else 2.0 / q)))])


def noisy_gradients(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of Frank-Wolfe with noise in gradients that are 0."""
    R, T, p, size = len(streams()), plan.steps + 1, plan.spec.p, plan.spec.size or 1.0
    seen = plan.mechanism.transcripts(plan, prepared, streams()).reshape(R, T - 1, p)
    theta = np.full((R, p), size / p if plan.spec.set == "simplex" else 0.0)
    for t in range(1, T):
        mu = 2.0 / (t + 2.0)
        theta = (1.0 - mu) * theta + mu * size * plan.spec.unit_set.extreme(seen[:, t - 1])
    agree(theta, plan.mechanism.release_many(plan, prepared, streams()))
    steps, parts = seen / plan.scale, blocks(T - 1)
    return [Seen(run, parts, chances=gaussian_chances(run, parts)) for run in steps]


# Choices


def idle_best(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of noisy gradients on the L1 ball nearly all of whose columns are idle: each vertex that a model shows."""
    T, p, size = plan.steps + 1, plan.spec.p, plan.spec.size or 1.0
    found = []
    for model in plan.mechanism.release_many(plan, prepared, streams()):
        weights = model * T * (T + 1.0) / (2.0 * size)
        (columns,) = np.nonzero(weights)
        order = np.argsort(np.abs(weights[columns]))
        columns = columns[order]
        assert np.abs(weights[columns]).round(6).tolist() == list(range(2, T + 1)), "a vertex came twice"
        places = np.sign(weights[columns]) * (columns + 0.5) / p
        found.append(Seen(places[:, None], blocks(T - 1)))
    return found


def chosen(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of Frank-Wolfe that chooses vertices: with scores of 0 all are alike."""
    mechanism: Any = plan.mechanism
    size = plan.spec.size or 1.0
    runs, width = mechanism.transcripts(plan, prepared, streams()), len(prepared.theta)
    released, found = mechanism.release_many(plan, prepared, streams()), []
    shape, vertices = plan.spec.unit_set, plan.spec.unit_set.n_vertices(plan.spec.p) or 1
    listed = shape.table if isinstance(shape, Polytope) else None
    signed = plan.spec.set == "l1_ball"
    outcomes = vertices // 2 if signed else vertices
    for run, model in zip(runs, released, strict=True):
        columns, signs = np.abs(run).astype(np.int64) - 1, np.sign(run)
        assert signed or (signs > 0.0).all()
        start = np.full(listed.shape[0] if listed is not None else width, 0.0 if signed else size / vertices)
        theta = start.copy()
        for t, eta in enumerate(_lengths(plan)):
            theta *= 1.0 - eta
            if columns[t] < len(theta):
                theta[columns[t]] += eta * size * signs[t]
        agree(theta if listed is None else theta @ listed[:, :width], model)
        places = (columns + 0.5) / outcomes
        places = signs * places if signed else 2.0 * places - 1.0
        found.append(Seen(places[:, None], blocks(len(run)), distinct=outcomes >= COLUMNS))
    return found


def _lengths(plan: Plan) -> Iterator[float]:
    """Of the steps of Frank-Wolfe: 2 / (t + 2), from t = 1, or all the same in one pass."""
    if isinstance(plan.mechanism, PolyhedralFrankWolfe):
        yield from [stream_of(plan).step] * plan.steps
    else:
        yield from (2.0 / (t + 2.0) for t in range(1, 1 + plan.steps))


def played(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of arms that all cost nothing."""
    arms, p = plan.mechanism.release_many(plan, prepared, streams()), plan.spec.p
    places = 2.0 * (arms + 0.5) / p - 1.0
    return [Seen(run[:, None], blocks(plan.steps), distinct=p >= COLUMNS) for run in places]


def counted(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of draws of columns that all have the same weight: how often each came up."""
    p, m = plan.spec.p, plan.steps
    counts = plan.mechanism.release_many(plan, prepared, streams()) * m / (plan.spec.reach or 1.0)
    np.testing.assert_allclose(counts, counts.round(), atol=1e-6)
    assert (counts.sum(axis=1).round() == m).all()
    steps = (counts - m / p) / math.sqrt(m / p)
    # Pearson's statistic: draws that come twice make it twice as large.
    return [
        Seen(run[:, None], distinct=False, chances={"spread": float(gammainc(0.5 * (p - 1), 0.5 * (run**2).sum()))})
        for run in steps
    ]


# One draw of noise


def in_one(parts: dict[str, np.ndarray], law: str, order: float = 2.0) -> Seen:
    """Of a release that draws noise once, or once and solver noise after it: each coordinate is a step."""
    chances = {}
    for name, noise in parts.items():
        length = float((np.abs(noise) ** order).sum() ** (1.0 / order))
        gamma = law == "gamma"
        chances[name] = float(gammainc(len(noise), length) if gamma else gammainc(0.5 * len(noise), 0.5 * length**2))
    labels = np.repeat(list(parts), [len(noise) for noise in parts.values()])
    # Gamma-norm noise is as long as chance has it.
    scaled = [noise / math.sqrt(float((noise**2).mean())) for noise in parts.values()]
    return Seen(np.concatenate(scaled)[:, None], {"noises": labels}, chances=chances)


def added(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of noise that is added to 0."""
    assert not prepared.theta.any()
    noise = plan.mechanism.release_many(plan, prepared, streams()) / plan.scale
    order = order_of(plan) if plan.noise == "generalized_gaussian" else 2.0
    return [in_one({"output": run}, plan.noise, order) for run in noise]


def without_solver_noise(plan: Plan) -> Plan:
    main, solver_noise = plan.ledger
    return dc.replace(plan, ledger=(main, dc.replace(solver_noise, scale=0.0)))


def asked(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of a linear term b beside (lam / 2) ||theta||^2, whose minimiser is -b / lam; and of solver noise."""
    bare = plan.mechanism.release_many(without_solver_noise(plan), prepared, streams())
    whole = plan.mechanism.release_many(plan, prepared, streams())
    main, solver_noise = -float(plan.spec.lam) * bare / plan.scale, (whole - bare) / plan.ledger[1].scale
    return [in_one({"objective": b, "solver": t}, plan.noise) for b, t in zip(main, solver_noise, strict=True)]


def matrices(plan: Plan, prepared: Any, streams: Streams) -> list[Seen]:
    """Of a matrix for each class: in coordinates of the space of families that add up to 0."""
    basis = helmert(plan.spec.classes)

    def coordinates(families: np.ndarray) -> np.ndarray:
        return (basis @ families).reshape(len(families), -1)

    def weights(of: Plan) -> np.ndarray:
        return models.centred(svec(of.mechanism.release_many(of, prepared, streams())))

    if len(plan.ledger) == 1:
        noise = coordinates(weights(plan) - prepared.theta) / plan.scale
        return [in_one({"output": run}, plan.noise) for run in noise]
    bare, whole = weights(without_solver_noise(plan)), weights(plan)
    main = -coordinates(models.gradients(plan.spec, prepared.data, bare)) / plan.scale
    solver_noise = coordinates(whole - bare) / plan.ledger[1].scale
    return [in_one({"objective": b, "solver": t}, plan.noise) for b, t in zip(main, solver_noise, strict=True)]


def classes(n: int, p: int, count: int) -> Callable[[], Data]:
    return lambda: class_data(n, p, count)


def _vertices(count: int, p: int) -> Polytope:
    points = np.random.default_rng(count).standard_normal((count, p))
    return Polytope(tuple(map(tuple, points / np.linalg.norm(points, axis=1)[:, None])))


# By key of the registry: every way in which a mechanism draws its noise. A mechanism that is not here must say why.
CASES: dict[str, dict[str, Case]] = {
    "output_gaussian": {"plain": Case(planned("output_gaussian", 20, 1500, lam=0.1), zeros(20, 1500), added)},
    "output_gamma": {"plain": Case(planned("output_gamma", 20, 1500, lam=0.1), zeros(20, 1500), added)},
    "objective_gaussian": {
        "stored": Case(planned("objective_gaussian", 20, 1200, lam=1.0), zeros(20, 1200), asked),
        "half idle": Case(planned("objective_gaussian", 20, 1200, lam=1.0), zeros(20, 600, 1200), asked),
    },
    "objective_gamma": {
        "half idle": Case(planned("objective_gamma", 20, 1200, lam=1.0), zeros(20, 600, 1200), asked),
    },
    "noisy_gd": {
        "free": Case(planned("noisy_gd", 20, 300, steps=300), zeros(20, 300), descended),
        "in a ball": Case(
            planned("noisy_gd", 20, 300, steps=300, radius=1.0, lam=0.2),
            zeros(20, 300),
            descended,
        ),
        "wide": Case(planned("noisy_gd", 20, 2000, steps=40), zeros(20, 2000), descended),
    },
    "noisy_sgd": {
        "poisson": Case(planned("noisy_sgd", 50, 300, steps=300), zeros(50, 300), descended),
        "single": Case(
            planned("noisy_sgd", 50, 300, steps=300, batches="single", radius=1.0, lam=0.2), zeros(50, 300), descended
        ),
        "batches": Case(
            planned("noisy_sgd", 128, 128, steps=600, batch=40, loss="huber_hinge", radius=0.1), identity(128), batches
        ),
        "records": Case(
            planned("noisy_sgd", 128, 128, steps=600, batches="single", loss="huber_hinge", radius=0.1),
            identity(128),
            batches,
        ),
    },
    "simplex_sampling": {
        "plain": Case(planned("simplex_sampling", 20, 1000, lam=20.0, m=20_000, epsilon=5.0), zeros(20, 1000), counted),
    },
    "ftrl": {
        "idle": Case(planned("ftrl", 1000, COLUMNS), zeros(1000, 1, COLUMNS), played),
        # So many columns that the costs are spelled out in several pieces.
        "sparse": Case(planned("ftrl", 500, 20_000), sparse_zeros(500, 20_000), played),
    },
    "frank_wolfe_polytope": {
        "l1 ball": Case(planned("frank_wolfe_polytope", 20, COLUMNS, T=301), zeros(20, 1, COLUMNS), chosen),
        "simplex": Case(
            planned("frank_wolfe_polytope", 20, COLUMNS, T=301, set="simplex"), zeros(20, 1, COLUMNS), chosen
        ),
        "stored": Case(planned("frank_wolfe_polytope", 20, 500, T=301), zeros(20, 500), chosen),
        "list": Case(planned("frank_wolfe_polytope", 20, 3, T=301, set=_vertices(200, 3)), zeros(20, 3), chosen),
        "sparse": Case(planned("frank_wolfe_polytope", 20, COLUMNS, T=601), sparse_zeros(20, 5, COLUMNS), chosen),
        "sparse simplex": Case(
            planned("frank_wolfe_polytope", 20, 2000, T=601, set="simplex"), sparse_zeros(20, 2000), chosen
        ),
        "laplace": Case(
            planned("frank_wolfe_polytope", 20, COLUMNS, T=301, accounting="published"), zeros(20, 1, COLUMNS), chosen
        ),
        "laplace stored": Case(
            planned("frank_wolfe_polytope", 20, 500, T=301, accounting="published"), zeros(20, 500), chosen
        ),
    },
    "frank_wolfe_general": {
        "l1 ball": Case(planned("frank_wolfe_general", 20, 300, T=301), zeros(20, 300), noisy_gradients),
        "simplex": Case(planned("frank_wolfe_general", 20, 300, T=301, set="simplex"), zeros(20, 300), noisy_gradients),
        "box": Case(planned("frank_wolfe_general", 20, 300, T=301, set=Box()), zeros(20, 300), noisy_gradients),
        "lq ball": Case(
            planned("frank_wolfe_general", 20, 300, T=301, set=LqBall(1.5)), zeros(20, 300), noisy_gradients
        ),
        "wide": Case(planned("frank_wolfe_general", 20, 2000, T=41, set="box"), zeros(20, 2000), noisy_gradients),
        "idle": Case(planned("frank_wolfe_general", 20, (1 << 20) - 1, T=101), zeros(20, 1, (1 << 20) - 1), idle_best),
    },
    "generalized_gaussian": {
        "fitted": Case(planned("generalized_gaussian", 20, 1200), zeros(20, 1200), added),
        "gaussian": Case(planned("generalized_gaussian", 20, 1200, noise="gaussian"), zeros(20, 1200), added),
    },
    "tree_frank_wolfe": {
        "displacement": Case(planned("tree_frank_wolfe", 3000, 100, T=7), zeros(3000, 100), trees),
        "fitted": Case(
            planned("tree_frank_wolfe", 3000, 100, T=7, noise="generalized_gaussian"), zeros(3000, 100), trees
        ),
    },
    "polyhedral_frank_wolfe": {
        "minibatch": Case(planned("polyhedral_frank_wolfe", 400, COLUMNS, T=150), zeros(400, 1, COLUMNS), chosen),
        "stored": Case(planned("polyhedral_frank_wolfe", 400, 500, T=150), zeros(400, 500), chosen),
    },
    "phased_sgd": {"plain": Case(planned("phased_sgd", 1 << 12, 300), zeros(1 << 12, 300), phased)},
    "gaussian_classifier": {
        "objective": Case(planned("gaussian_classifier", 12, 20, lam=1.0, classes=3), classes(12, 20, 3), matrices),
        "gamma": Case(
            planned("gaussian_classifier", 12, 20, lam=1.0, classes=3, noise="gamma"), classes(12, 20, 3), matrices
        ),
        "output": Case(
            planned("gaussian_classifier", 12, 20, lam=1.0, classes=3, perturbed="output"), classes(12, 20, 3), matrices
        ),
    },
}
# Of registered mechanisms whose noise is not looked at here, the reason.
EXEMPT: dict[str, str] = {}


def cases() -> Sequence[tuple[str, str]]:
    """(key, way) of the whole registry; a mechanism that is neither looked at nor exempt comes with the way "missing",
    which no table has."""
    return [
        (key, way) for key in dpcore.list_mechanisms() if key not in EXEMPT for way in CASES.get(key, {"missing": None})
    ]
