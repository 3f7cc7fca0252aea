"""The proof of `theory.frank_wolfe_bound`, followed along runs on given records: its chain, and a bound for these."""

import dataclasses as dc
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.privacy import Bound
from ...core.rng import Generators
from ...core.sets import ConvexSet, Polytope, Simplex
from ...core.specification import Spec
from ...solvers.frank_wolfe import vertices as fw
from ...solvers.frank_wolfe.noisy_gradient import noise_of_steps
from ..base import Lens, Link
from .step_count import constants_of
from .vertex_runs import idle_columns, start_of

LENS_PATHS = 4  # for each plan; the sum over the steps varies little from path to path
_ASK_EVERY = 32
_LEMMA = "Frank-Wolfe on polytopes, for given records"


class State(Protocol):
    """Places of K runs: grad F and F of the first `live` of them."""

    def gradients(self, live: int) -> Array: ...

    def risks(self, live: int) -> Array: ...


@dc.dataclass(frozen=True)
class Followed:
    """Numbers of the proof along K runs.

    T, last: [K], and F(theta_T). risks, gaps, losses: [K, max T - 1], for each step F(theta_t),
    <grad F(theta_t), theta_t - v> and <grad F(theta_t), s_t - v>, where s_t is the point to which it goes and v the
    point of the set with the smallest score; 0 after a run's last step.
    """

    T: Array
    last: Array
    risks: Array
    gaps: Array
    losses: Array

    @property
    def ends(self) -> Array:
        """T (T + 1), [K]."""
        return self.T * (self.T + 1.0)

    def summed(self, numbers: Array) -> Array:
        """sum_t 2 (t + 1) numbers_t, [K]."""
        return numbers @ np.arange(4.0, 2.0 * numbers.shape[1] + 4.0, 2.0)

    def proved(self, least: Array | float) -> Array:
        """Bound on F(theta_T) - least by convexity alone, [K]; least: F of any point of the set.

        Of F(theta_{t+1}) - least <= (1 - mu_t) (F(theta_t) - least) + the rest of the step, where only the gap takes
        the place of the excess F(theta_t) - least.
        """
        return self.last + (self.summed(self.gaps - self.risks) - 2.0 * least) / self.ends


def follow(
    state: State,
    shape: ConvexSet,
    size: float,
    start: Array,
    T: Sequence[int],
    step: Callable[[int, Array], Array],
    cancelled: Cancelled,
) -> Followed:
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
    return Followed(ends.astype(float), last, risks, gaps, losses)


def follow_vertices(
    spec: Spec, risk: fw.Walkable, runs: Sequence[fw.Run], chosen: fw.Chosen, cancelled: Cancelled
) -> Followed:
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
    return Followed(*(numbers[back] for numbers in dc.astuple(found)))


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
) -> Followed:
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
    return Followed(*(numbers[back] for numbers in dc.astuple(found)))


def chain_of(spec: Spec, found: Followed, best: float, loss: float, bound: Bound) -> tuple[Link, ...]:
    """Links from the measured excess of runs to the bound. best: F*. loss: bound on the mean of a step's loss."""
    facts, first = constants_of(spec), found.risks[:, 0] - best
    curved = 2.0 * facts.curvature * (found.T - 1.0)
    own = (2.0 * first + found.summed(found.losses) + curved) / found.ends
    worst = (2.0 * first[:1] + loss * (found.ends[:1] - 2.0) + curved[:1]) / found.ends[:1]
    return (
        Link("each model's gap instead of its excess", f"{_LEMMA}: convexity", found.proved(best)),
        Link("curvature of the whole set, not of the steps", f"{_LEMMA}: curvature", own, worst=True),
        Link("loss of a choice on the worst scores", f"{_LEMMA}: choices", worst, worst=True),
        Link("a start as far from the best as can be", f"{_LEMMA}: start", np.array([bound.value]), worst=True),
    )


def lens_of(proved: Array) -> Lens:
    """Lens of K plans from the proved bounds of paths, [K, paths]; nothing is provable below."""
    error = proved.std(axis=1, ddof=1) / np.sqrt(proved.shape[1])
    return Lens(np.full(len(proved), -np.inf), proved.mean(axis=1), error)
