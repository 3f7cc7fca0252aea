"""The proofs of the bounds of gradient perturbation, evaluated on given records along noisy runs.

Proofs: docs/formulas.md, "Gradient perturbation", *Where the bounds lose*.
"""

import copy
import dataclasses as dc
import functools
import itertools
import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.cancel import Cancelled
from ...core.losses import Loss, get_loss
from ...core.privacy import Descent
from ...core.records import Data
from ...core.rng import Generators
from ...theory.erm import regularisation_bias
from ..base import Link, Mechanism, Prepared
from ..plan import Plan
from ..regularisation import comparator_norm
from .schedules import ProblemConstants, averaged_mean_bound, descent_of, last_iterate_bound, smooth_mean_bound

Steps = NDArray[np.intp]

# An eigenvalue of so many columns is found at once; of more the mean of the squared lengths, which bounds it, will do.
_FEW_COLUMNS = 300


@dc.dataclass(frozen=True)
class Proof:
    """What the proof of a plan's bound needs, of the public and of given records; J = F + (lam/2) ||theta||^2.

    facts, error: as the plan's bound takes them. w: [r], the model with which it compares. most: a mean over steps is
    taken at so many of them, evenly spread.
    """

    plan: Plan
    facts: ProblemConstants
    error: float
    data: Data
    w: Array
    most: int

    @property
    def loss(self) -> Loss:
        return get_loss(self.plan.spec.loss)

    @property
    def lam(self) -> float:
        return float(self.plan.spec.lam)

    @property
    def descent(self) -> Descent:
        return descent_of(self.plan)

    @functools.cached_property
    def kind(self) -> Literal["smooth", "averaged", "last"]:
        """Which of the three proofs gives the plan's bound."""
        if self.descent.decaying:
            return "last"
        told = self.facts, self.plan.steps, self.descent, self.error
        return "smooth" if smooth_mean_bound(*told) < averaged_mean_bound(*told) else "averaged"

    @functools.cached_property
    def basis(self) -> Array | None:
        """Of the span of the records, [r, n], where noise outside it changes no prediction."""
        if self.plan.spec.radius is not None or not self.loss.linear or self.data.n >= self.data.stored:
            return None
        X = self.data.X if isinstance(self.data.X, np.ndarray) else self.data.X.toarray()
        return np.linalg.qr(X.T)[0]

    @property
    def noise(self) -> float:
        """E ||noise of a step||^2; without a ball only of what can change a prediction."""
        free = self.plan.spec.radius is None and self.loss.linear
        return (min(self.data.n, self.data.stored) if free else self.plan.spec.p) * self.plan.scale**2

    @property
    def curvature(self) -> float:
        """Smoothness of J on these records, or a bound on it."""
        if not self.loss.linear:
            return self.loss.curvature_bound + self.lam
        few = self.data.stored <= _FEW_COLUMNS
        square = np.linalg.eigvalsh(self.data.gram)[-1] if few else np.mean(self.data.row_norms**2)
        return self.loss.curvature_bound * float(square) + self.lam

    @property
    def bias(self) -> float:
        """(lam/2) ||w||^2."""
        return 0.5 * self.lam * float(self.w @ self.w)

    @property
    def counted(self) -> Steps:
        """Steps whose models are averaged."""
        return _spread(self.descent.first, self.plan.steps, self.most)

    @property
    def before(self) -> Steps:
        """Steps before those; up to the first of them where the proof counts it."""
        return _spread(1, max(1, self.descent.first - (self.kind == "smooth")), self.most)

    @property
    def blocks(self) -> list[tuple[int, int, int]]:
        """0, ..., T in blocks that are shorter and shorter, for the last iterate: first, middle and end (exclusive)."""
        count = self.plan.steps + 1
        ends = np.unique(np.round(count - count ** np.linspace(1.0, 0.0, self.most)).astype(int))
        return [(low, (low + high) // 2, high) for low, high in itertools.pairwise([*ends.tolist(), count])]

    @property
    def needed(self) -> Steps:
        """Steps after which `regret` looks at a run, ascending."""
        if self.kind == "last":
            return np.array([middle for _, middle, _ in self.blocks])
        if self.kind == "averaged":
            return np.unique([self.descent.first, *self.counted])
        sampled, penal = self.plan.ledger[0].sampling != "all", self.lam > 0.0
        parts = [self.counted - 1] * sampled + [self.counted] * penal
        return np.unique(np.concatenate([[self.descent.first - 1], *parts]))

    @property
    def visited(self) -> Steps:
        """Steps after which `links` looks at a run, ascending."""
        if self.kind == "last":
            return self.needed
        return np.unique([*self.needed, *self.counted, *(self.before - 1), self.plan.steps])


@dc.dataclass(frozen=True)
class Run:
    """R noisy runs of a plan. steps: [m], ascending. thetas: [m, R, r], the models after them."""

    proof: Proof
    steps: Steps
    thetas: Array

    def after(self, steps: Steps) -> Array:
        return self.thetas[np.searchsorted(self.steps, steps)]

    def distance(self, step: int) -> Array:
        """||theta_t - w||^2, [R]."""
        apart = self.after(np.array([step]))[0] - self.proof.w
        return _squares(apart if self.proof.basis is None else apart @ self.proof.basis)

    @property
    def penalty(self) -> Array | float:
        """Mean of (lam/2) ||theta_t||^2 over the models that are averaged, [R]."""
        if not self.proof.lam:
            return 0.0
        steps = self.steps[-1:] if self.proof.kind == "last" else self.proof.counted
        return 0.5 * self.proof.lam * _squares(self.after(steps)).mean(axis=0)

    def above(self, steps: Steps) -> Array:
        """Mean of F(theta_t) - F(w) over the steps, [R]."""
        (least,) = self._values(self.proof.w[None])
        return np.mean([self._values(thetas) for thetas in self.after(steps)], axis=0) - least

    def _values(self, thetas: Array) -> Array:
        loss, data = self.proof.loss, self.proof.data
        return loss.row_means(np.zeros(data.n), loss.predictions(data, thetas), 1.0, data.y)

    def slopes(self, steps: Steps) -> tuple[Array, Array]:
        """<grad F, theta - w> and ||grad J||^2 at theta_t, each [len(steps), R]."""
        thetas, loss, data = self.after(steps), self.proof.loss, self.proof.data
        slopes = np.array([loss.gradients(data, each) for each in thetas])
        along = np.einsum("mkj,mkj->mk", slopes, thetas - self.proof.w)
        return along, _squares(slopes + self.proof.lam * thetas)

    def errors(self, steps: Steps) -> Array:
        """E ||error of the gradient||^2 of a step from theta_t, by its noise and choice of records: [len(steps), R]."""
        event, loss, data = self.proof.plan.ledger[0], self.proof.loss, self.proof.data
        if event.sampling == "all":
            return np.full((len(steps), 1), self.proof.noise)
        found = []
        for thetas in self.after(steps):
            each = loss.derivatives(loss.predictions(data, thetas), data.y)
            each = np.mean((each * data.row_norms if loss.linear else each) ** 2, axis=1)
            single = event.sampling == "uniform"
            chosen = each - _squares(loss.gradients(data, thetas)) if single else _chance(event.rate, data.n) * each
            found.append(chosen + self.proof.noise)
        return np.array(found)


def _chance(rate: float, n: int) -> float:
    return (1.0 - rate) / (rate * n)


def _squares(vectors: Array) -> Array:
    squares: Array = np.einsum("...j,...j->...", vectors, vectors)
    return squares


def _spread(first: int, last: int, most: int) -> Steps:
    """All numbers from first to last, or `most` of them, one in the middle of each of equal parts."""
    count = last + 1 - first
    parts = min(count, most)
    return (first + (np.arange(parts) + 0.5) * count / parts).astype(np.intp)


def runs_of(
    mechanism: Mechanism,
    proofs: list[Proof],
    steps: list[Steps],
    prepared: Prepared,
    rngs: Generators,
    cancelled: Cancelled,
) -> list[Run]:
    """The 2 len(rngs) runs of `draws` for each plan, after its steps: they are what shorter runs release."""
    shorter = [_cut(proof.plan, int(step)) for proof, own in zip(proofs, steps, strict=True) for step in own]
    drawn = mechanism.draws(shorter, [prepared] * len(shorter), copy.deepcopy(rngs), cancelled)
    parts = np.split(drawn.thetas, np.cumsum([len(own) for own in steps])[:-1])
    return [Run(*each) for each in zip(proofs, steps, parts, strict=True)]


def _cut(plan: Plan, step: int) -> Plan:
    """The plan that releases the model after a step; after none, one that takes a step of length 0."""
    taken = max(step, 1)
    descent = dc.replace(descent_of(plan), first=taken)
    return dc.replace(plan, steps=taken, descent=descent if step else dc.replace(descent, step=0.0))


def regret(run: Run) -> Array:
    """Bound on the mean of F(release) - F(w), [R], by the distances and the squared errors that the proof meets."""
    proof = run.proof
    if proof.kind == "last":
        return _last_iterate(run)[0]
    eta, first = proof.descent.step, proof.descent.first
    counted, rest = 2.0 * eta * (proof.plan.steps + 1 - first), proof.bias - run.penalty
    if proof.kind == "averaged":
        squares = run.slopes(proof.counted)[1] + run.errors(proof.counted)
        return run.distance(first) / counted + 0.5 * eta * squares.mean(axis=0) + rest
    noise = eta * run.errors(proof.counted - 1).mean(axis=0) / (2.0 * (1.0 - eta * proof.curvature))
    return run.distance(first - 1) / counted + noise + rest


_Found = tuple[str, str, Array | float]  # claim, lemma, value
_WORST = "worst records"
_JENSEN = "convexity: losses averaged, not models", "convexity"
_HALF = "first half: it brings the model no nearer", "first half"
_FARTHEST = "best model: as long as ‖θ‖ ≤ B allows", "comparator"


def links(run: Run) -> tuple[Link, ...]:
    """The proof of the plan's bound on the mean, link by link."""
    *found, (claim, lemma, bound) = {"smooth": _smooth, "averaged": _averaged, "last": _last}[run.proof.kind](run)
    bound += regularisation_bias(run.proof.lam, comparator_norm(run.proof.plan.spec), math.inf)
    made = [Link(claim, lemma, np.atleast_1d(values), lemma == _WORST) for claim, lemma, values in found]
    return (*made, Link(claim, lemma, np.atleast_1d(bound), worst=True))


def _smooth(run: Run) -> list[_Found]:
    """Proof of `smooth_mean_bound`: 2 eta (J(theta_t) - J(w)) <= D_{t-1} - D_t + (eta error)^2 / (1 - eta beta)."""
    proof, own = run.proof, float(run.proof.w @ run.proof.w)
    eta, first, last = proof.descent.step, proof.descent.first, proof.plan.steps
    counted, met = 2.0 * eta * (last + 1 - first), regret(run)
    added = (first - 1) * eta**2 * run.errors(proof.before - 1).mean(axis=0) / (1.0 - eta * proof.curvature)
    grown = met + run.penalty + (own + added - run.distance(first - 1)) / counted
    near = dc.replace(proof.facts, norm=math.sqrt(own))
    worst, bound = (smooth_mean_bound(facts, last, proof.descent, proof.error) for facts in (near, proof.facts))
    return [
        (*_JENSEN, run.above(proof.counted)),
        ("steps: distance gained and squared noise", "smooth step", met - run.distance(last) / counted),
        ("end: no distance is left", "last distance", met),
        (*_HALF, grown),
        ("records: as curved and steep as any", _WORST, worst + proof.bias),
        (*_FARTHEST, bound),
    ]


def _averaged(run: Run) -> list[_Found]:
    """Proof of `averaged_mean_bound`: 2 eta (J(theta_t) - J(w)) <= D_t - D_{t+1} + (eta ||noisy gradient||)^2."""
    proof, own = run.proof, float(run.proof.w @ run.proof.w)
    eta, first, last = proof.descent.step, proof.descent.first, proof.plan.steps
    met = regret(run)
    added = first * eta**2 * (run.slopes(proof.before - 1)[1] + run.errors(proof.before - 1)).mean(axis=0)
    grown = met + run.penalty + (own + added - run.distance(first)) / (2.0 * eta * (last + 1 - first))
    near = dc.replace(proof.facts, norm=math.sqrt(own))
    worst, bound = (averaged_mean_bound(facts, last, proof.descent, proof.error) for facts in (near, proof.facts))
    return [
        (*_JENSEN, run.above(proof.counted)),
        ("tangents: slopes times distances", "tangents", run.slopes(proof.counted)[0].mean(axis=0)),
        ("steps: distance left and squared gradients", "regret", met),
        (*_HALF, grown),
        ("records: every gradient as long as G", _WORST, worst + proof.bias),
        (*_FARTHEST, bound),
    ]


def _last(run: Run) -> list[_Found]:
    """Proof of `theory.last_iterate_bound` without its integrals."""
    proof = run.proof
    met, wide, worst = _last_iterate(run)
    bound = last_iterate_bound(proof.facts, proof.plan.steps, proof.descent, proof.error)
    return [
        ("steps: distances and squared gradients", "regret", met),
        ("ball: its diameter, not the distances met", "diameter", wide),
        ("records: every gradient as long as G", _WORST, worst),
        ("sums over steps: rounded up", "comparator", bound),
    ]


def _last_iterate(run: Run) -> tuple[Array, Array, float]:
    """Bound by distances and gradients met, by the diameter, and by the largest gradients."""
    proof, T = run.proof, run.proof.plan.steps
    step, square = proof.descent.step, (2.0 * proof.facts.reach) ** 2
    squares = run.slopes(proof.needed)[1] + run.errors(proof.needed)
    weights, away = [], np.zeros(squares.shape[1])
    for low, middle, high in proof.blocks:
        t = np.arange(low, high)
        weights.append(float(np.sum(step / (2.0 * np.sqrt(t + 1.0) * np.maximum(1, T - t)))))
        away = away + (math.sqrt(high) - math.sqrt(low)) * run.distance(middle)
    k, N = np.arange(1, T + 1), T + 1.0
    later = square / (2.0 * step) * float(np.sum((math.sqrt(N) - np.sqrt(N - k)) / (k * (k + 1.0))))
    later, moved = later + proof.bias, np.array(weights) @ squares
    wide = later + square / (2.0 * step * math.sqrt(N))
    largest = float(np.sum(weights)) * proof.facts.second_moment(proof.error) ** 2
    return later + away / (2.0 * step * N) + moved - run.penalty, wide + moved, wide + largest
