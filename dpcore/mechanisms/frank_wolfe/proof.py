"""The proof of `theory.frank_wolfe_bound`, followed along runs on given records: its chain, and a bound for these."""

import abc
import dataclasses as dc
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import Loss
from ...core.privacy import Bound
from ...core.records import Data
from ...core.rng import Generators, generator
from ...core.sets import ConvexSet, Polytope, Simplex
from ...core.specification import Spec
from ...solvers import Minimum
from ...solvers.frank_wolfe import vertices as fw
from ...solvers.frank_wolfe.noisy_gradient import noise_of_steps
from ..base import Lens, Link, Mechanism, Prepared
from ..plan import Plan, Plans
from .step_count import constants_of
from .vertex_runs import idle_columns, start_of

LENS_PATHS = 4  # for each plan; the sum over the steps varies little from path to path
SAMPLED = 16  # steps of a run of one pass at which F of all records is evaluated for a lens
_ASK_EVERY = 32
_LEMMA = "Frank-Wolfe on polytopes, for given records"


class State(Protocol):
    """Places of K runs: grad F and F of the first `live` of them."""

    def gradients(self, live: int) -> Array: ...

    def risks(self, live: int) -> Array: ...


@dc.dataclass(frozen=True)
class Evaluated:
    """Numbers of the proof along K runs.

    last: [K], F at the end. weights, risks, gaps, losses: [K, steps], for each step from theta_t to
    (1 - eta_t) theta_t + eta_t s_t its share eta_t prod_{s > t} (1 - eta_s) of the end, F(theta_t),
    <grad F(theta_t), theta_t - v> and <grad F(theta_t), s_t - v>, where v is the point of the set with the smallest
    score; 0 after a run's last step.
    """

    last: Array
    weights: Array
    risks: Array
    gaps: Array
    losses: Array

    @property
    def left(self) -> Array:
        """Share of the start in the end, [K]."""
        return 1.0 - self.weights.sum(axis=1)

    def summed(self, numbers: Array) -> Array:
        """Sum over the steps, each by its weight, [K]."""
        return np.einsum("kt,kt->k", self.weights, numbers)

    def proved(self, least: Array | float) -> Array:
        """Bound on F at the end less `least` by convexity alone, [K]; least: F of any point of the set.

        In every step the gap takes the place of the excess F(theta_t) - least.
        """
        return self.last + self.summed(self.gaps - self.risks) - self.left * least


def follow(
    state: State,
    shape: ConvexSet,
    size: float,
    start: Array,
    T: Sequence[int],
    step: Callable[[int, Array], Array],
    cancelled: Cancelled,
) -> Evaluated:
    """Follow runs of T - 1 steps, T falling, in the set of this shape and size from theta_1 = start, [w].

    state: where the runs are. step: called with t and the gradients, [k, w], of the k runs that make this step; moves
    the state and returns their s_t, [k, w]. Columns beyond those of the state's gradients are 0 in every record.
    """
    ends, count = np.array(T), len(T)
    thetas, gradients = np.tile(start, (count, 1)), np.zeros((count, len(start)))
    last, (risks, gaps, losses) = np.empty(count), np.zeros((3, count, ends[0] - 1))
    for t in range(1, ends[0] + 1):
        if t % _ASK_EVERY == 0:
            go_on(cancelled)
        there, live, mu = int(np.count_nonzero(ends >= t)), int(np.count_nonzero(ends > t)), 2.0 / (t + 2.0)
        last[:there] = state.risks(there)
        if not live:
            break
        risks[:live, t - 1] = last[:live]
        own = state.gradients(live)
        g, theta = gradients[:live], thetas[:live]
        g[:, : own.shape[1]] = own
        smallest = size * np.einsum("kw,kw->k", g, shape.extreme(g))
        gaps[:live, t - 1] = np.einsum("kw,kw->k", g, theta) - smallest
        taken = step(t, g)
        losses[:live, t - 1] = np.einsum("kw,kw->k", g, taken) - smallest
        theta += mu * (taken - theta)
    share = np.arange(4.0, 2.0 * ends[0] + 2.0, 2.0) / (ends * (ends + 1.0))[:, None]
    weights = np.where(np.arange(1, ends[0]) < ends[:, None], share, 0.0)
    return Evaluated(last, weights, risks, gaps, losses)


def follow_vertices(
    spec: Spec, risk: fw.Walkable, runs: Sequence[fw.Run], chosen: fw.Chosen, cancelled: Cancelled
) -> Evaluated:
    """`follow` for vertices that were chosen, in the order of the runs; all idle columns count as one."""
    shape = Simplex() if isinstance(spec.unit_set, Polytope) else spec.unit_set
    size, order = spec.size or 1.0, np.argsort([-run.T for run in runs], kind="stable")
    columns, signs = chosen.columns[order], chosen.signs[order]
    state = risk.state(len(runs), start_of(spec, risk.stored))
    width = risk.stored + (idle_columns(spec, risk) > 0)

    def step(t: int, gradients: Array) -> Array:
        live = len(gradients)
        taken, lengths = columns[:live, t - 1], size * signs[:live, t - 1]
        state.move(2.0 / (t + 2.0), taken, lengths)
        found = np.zeros((live, width))
        found[np.arange(live), np.minimum(taken, risk.stored)] = lengths
        return found

    found = follow(state, shape, size, start_of(spec, width), [runs[k].T for k in order], step, cancelled)
    back = np.argsort(order)
    return Evaluated(*(numbers[back] for numbers in dc.astuple(found)))


class _Anywhere:
    """State of runs that go to any points."""

    def __init__(self, risk: fw.Risk, start: Array, count: int) -> None:
        self.risk, self.thetas = risk, np.tile(start[: risk.stored], (count, 1))

    def gradients(self, live: int) -> Array:
        return self.risk.gradients(self.thetas[:live])

    def risks(self, live: int) -> Array:
        return self.risk.values(self.thetas[:live])

    def move(self, mu: float, points: Array) -> None:
        moving = self.thetas[: len(points)]
        moving += mu * (points[:, : self.risk.stored] - moving)


def follow_noisy(
    spec: Spec, risk: fw.Risk, runs: Sequence[fw.Run], rngs: Generators, start: Array, cancelled: Cancelled
) -> Evaluated:
    """`follow` for runs in their order, each with the noise that it has in `descend_noisy`."""
    shape, size, order = spec.unit_set, spec.size or 1.0, np.argsort([-run.T for run in runs], kind="stable")
    scales, streams = np.array([runs[k].noise for k in order])[:, None], np.array([runs[k].stream for k in order])
    state, normals = _Anywhere(risk, start, len(runs)), noise_of_steps(rngs, len(start))

    def step(t: int, gradients: Array) -> Array:
        live = len(gradients)
        points = size * shape.extreme(scales[:live] * next(normals)[streams[:live]] + gradients)
        state.move(2.0 / (t + 2.0), points)
        return points

    found = follow(state, shape, size, start, [runs[k].T for k in order], step, cancelled)
    back = np.argsort(order)
    return Evaluated(*(numbers[back] for numbers in dc.astuple(found)))


def chain_of(spec: Spec, found: Evaluated, best: float, loss: float, bound: Bound) -> tuple[Link, ...]:
    """Links from the measured excess of runs of one plan to its bound. best: F*. loss: bound on a step's mean loss."""
    facts, T, left = constants_of(spec), found.risks.shape[1] + 1.0, found.left[:1]
    rest = left * (found.risks[:1, 0] - best) + 2.0 * facts.curvature * (T - 1.0) / (T * (T + 1.0))
    own, worst = found.summed(found.losses) + rest, loss * (1.0 - left) + rest
    return (
        Link("convexity: the gap in place of the excess", f"{_LEMMA}: convexity", found.proved(best)),
        Link("curvature: of the set, not of the steps", f"{_LEMMA}: curvature", own, worst=True),
        Link("choices: as poor as any scores allow", f"{_LEMMA}: choices", worst, worst=True),
        Link("start: as far from the best as can be", f"{_LEMMA}: start", np.array([bound.value]), worst=True),
    )


class Follower:
    """Runs from one start whose steps are told one after the other, on records that they need not have read.

    loss, data: F. shape, size: the set. start: [w], w columns of which the records store the first. weights: [steps],
    those of `sampled`; where a weight is 0 F is not evaluated. None for all steps.
    """

    def __init__(
        self,
        loss: Loss,
        data: Data,
        shape: ConvexSet,
        size: float,
        start: Array,
        count: int,
        weights: Array | None = None,
    ) -> None:
        self.risk, self.shape, self.size, self.weights = fw.Records(loss, data), shape, size, weights
        self.thetas = np.tile(start, (count, 1))
        self.steps, self.numbers = list[float](), list[Array]()

    def smallest(self, scores: Array) -> Array:
        """Smallest <scores, v> over the set, [K, w] -> [K]."""
        return self.size * np.einsum("kw,kw->k", scores, self.shape.extreme(scores))

    def go(self, step: float, taken: Array) -> Array:
        """Make a step of this length to the points taken, [K, w]; returns grad F before it, [K, w], 0 if it is not
        evaluated."""
        g, numbers = np.zeros_like(self.thetas), np.zeros((3, len(taken)))
        if self.weights is None or self.weights[len(self.steps)]:
            stored = np.ascontiguousarray(self.thetas[:, : self.risk.stored])
            g[:, : self.risk.stored] = self.risk.gradients(stored)
            gap, loss = (np.einsum("kw,kw->k", g, points) - self.smallest(g) for points in (self.thetas, taken))
            numbers[:] = self.risk.values(stored), gap, loss
        self.numbers.append(numbers)
        self.steps.append(step)
        self.thetas += step * (taken - self.thetas)
        return g

    def followed(self) -> Evaluated:
        """Numbers of all steps."""
        weights = shares(self.steps) if self.weights is None else self.weights
        risks, gaps, losses = np.stack(self.numbers, axis=2)
        last = self.risk.values(np.ascontiguousarray(self.thetas[:, : self.risk.stored]))
        return Evaluated(last, np.tile(weights, (len(last), 1)), risks, gaps, losses)


def shares(steps: Sequence[float]) -> Array:
    """Weights of all steps of these lengths in the end, eta_t prod_{s > t} (1 - eta_s)."""
    eta = np.array(steps)
    return np.asarray(eta * np.append(np.cumprod(1.0 - eta[:0:-1])[::-1], 1.0))


def sampled(steps: Sequence[float], rng: np.random.Generator) -> Array:
    """Random weights, most of them 0, of the same sum as `shares`, which are their means."""
    edges = np.cumsum(shares(steps))
    places = (rng.random() + np.arange(SAMPLED)) / SAMPLED * edges[-1]
    found = np.minimum(np.searchsorted(edges, places, side="right"), len(edges) - 1)
    return np.bincount(found, minlength=len(edges)) * (edges[-1] / SAMPLED)


class Watched(fw.Choice):
    """Another choice, whose scores, columns and signs `see` is told."""

    def __init__(self, choice: fw.Choice, see: Callable[[Array, NDArray[np.int64], Array], None]) -> None:
        super().__init__(choice.rngs, choice.idle, signed=choice.signed)
        self.choice, self.see = choice, see

    def choose(self, scores: Array, noise: Array, streams: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        found = self.choice.choose(scores, noise, streams)
        self.see(scores, *found)
        return found


def lens_of(proved: Array) -> Lens:
    """Lens of K plans from the proved bounds of paths, [K, paths]; nothing is provable below."""
    error = proved.std(axis=1, ddof=1) / np.sqrt(proved.shape[1])
    return Lens(np.full(len(proved), -np.inf), proved.mean(axis=1), error)


@dc.dataclass(frozen=True)
class OnePassLens(Mechanism):
    """Mechanism whose runs read each record once, and whose convexity is proved at some steps of a few runs."""

    def lens(
        self, plans: Plans, prepared: list[Prepared], data: Data, best: Minimum, seed: int, cancelled: Cancelled
    ) -> Lens:
        """The proof with these records' numbers; it has no lower end."""
        proved = np.empty((len(plans), LENS_PATHS))
        for k, (plan, side) in enumerate(zip(plans, prepared, strict=True)):
            rngs = [generator(seed, f"{self.key} lens", r) for r in range(LENS_PATHS)]
            proved[k] = [self.proved_run(plan, side, data, best.risk, rng, cancelled) for rng in rngs]
        return lens_of(best.risk + proved)

    @abc.abstractmethod
    def proved_run(
        self, plan: Plan, prepared: Prepared, data: Data, least: float, rng: np.random.Generator, cancelled: Cancelled
    ) -> float:
        """Bound on the mean of F(release) - least from one run and some of its steps, at random.

        data: records whose mean loss is F. least: F of any point of the set.
        """
