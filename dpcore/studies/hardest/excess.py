"""A mechanism's mean excess risk on the hardest records known, beside the bound that holds for all records."""

import dataclasses as dc
import math
from collections.abc import Iterator

import numpy as np

from ... import solvers
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on, never
from ...core.losses import get_loss
from ...core.privacy import Budget, NotApplicable
from ...core.records import Data
from ...core.rng import generator
from ...core.specification import Spec
from ...core.validation import integer
from ...mechanisms.base import AdditiveMechanism, Mechanism
from ...mechanisms.plan import Plan
from ...solvers.frank_wolfe import vertices
from .families import Hard, hard_records
from .growth import bounds_of, enough_records, powers_of_n

_CHOOSING = 8  # releases on which records are chosen, of another seed than the releases that count


@dc.dataclass(frozen=True)
class Hardest:
    """Excess empirical risk along K budgets, each on the records on which it was largest; arrays [K].

    mean: on average over the noise. se: its standard error, 0 where the mean is an integral. family: what the records
    are, in words, "" where the mechanism has no guarantee: there the numbers are nan. bound: on the mean, for all
    records. lower: on the worst mean of every private mechanism, 0 where none is known.
    """

    epsilon: Array
    mean: Array
    se: Array
    family: tuple[str, ...]
    bound: Array
    lower: Array
    powers: Array
    enough: Array


@dc.dataclass(frozen=True)
class HardestQuestion:
    """The hardest records known of a mechanism for a public problem, along budgets of one delta.

    spec: with a loss of a linear prediction, on a ball, the simplex or the L1 ball. repetitions: releases behind each
    mean, even and at least 4. Excess is measured from the best model over which the bound holds: of norm theta_norm, or
    of the set.
    """

    mechanism: Mechanism
    spec: Spec
    epsilons: tuple[float, ...]
    delta: float
    seed: int
    repetitions: int = 50

    def __post_init__(self) -> None:
        if integer("repetitions", self.repetitions, at_least=4) % 2:
            raise ValueError(f"repetitions must be even, got {self.repetitions}")

    @property
    def source(self) -> None:
        """No one's records."""

    def share_done(self, snapshot: Hardest) -> float:
        return 1.0

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[Hardest | None]:
        """None after each of the records that were tried, then the answer; NotApplicable where there is none."""
        plans = self._plans()
        tried, means = hard_records(self.spec), []
        for hard in tried:
            go_on(cancelled)
            means.append(mean_excess(plans, hard.records(self.spec), self.seed, "choose", _CHOOSING, cancelled)[0])
            yield None
        chosen = np.argmax(means, axis=0)
        mean, se = np.empty(len(plans)), np.empty(len(plans))
        for k in np.unique(chosen):
            go_on(cancelled)
            mine = np.flatnonzero(chosen == k)
            data, of = tried[k].records(self.spec), [plans[i] for i in mine]
            mean[mine], se[mine] = mean_excess(of, data, self.seed, "measure", self.repetitions, cancelled)
            yield None
        yield self._answer(plans, mean, se, [tried[k] for k in chosen])

    def _plans(self) -> list[Plan]:
        """Plans of the budgets at which there is a guarantee; NotApplicable where there is none at all."""
        if not get_loss(self.spec.loss).linear:
            raise NotApplicable(f"hard records are known for losses of a linear prediction, got {self.spec.loss}")
        plans, reason = [], None
        for epsilon in self.epsilons:
            try:
                plans.append(self.mechanism.calibrate(self.spec, Budget(epsilon, self.delta)))
            except NotApplicable as error:
                reason = error
        if reason and not plans:
            raise reason
        if not bounds_of(plans[0], "upper"):
            raise NotApplicable(f"{self.mechanism.key} has no bound on the mean excess empirical risk")
        return plans

    def _answer(self, plans: list[Plan], mean: Array, se: Array, hard: list[Hard]) -> Hardest:
        numbers, names = np.full((7, len(self.epsilons)), np.nan), [""] * len(self.epsilons)
        nothing = get_loss(self.spec.loss).at_zero(self.spec)
        for i, plan in enumerate(plans):
            k = self.epsilons.index(plan.requested.epsilon)
            facts = self.mechanism, self.spec, plan.requested
            powers, enough = powers_of_n(*facts), enough_records(*facts, nothing)
            upper, lower = (bounds_of(plan, form) for form in ("upper", "lower"))
            numbers[:, k] = (
                *(mean[i], se[i], min(upper), max(lower, default=0.0)),
                *(powers or (np.nan, np.nan)),
                enough or np.nan,
            )
            names[k] = hard[i].name
        means, errors, bound, least = numbers[:4]
        return Hardest(np.array(self.epsilons), means, errors, tuple(names), bound, least, numbers[4:6], numbers[6])


def hardest(question: HardestQuestion, cancelled: Cancelled = never) -> Hardest:
    """Answer to a question. cancelled: if it returns True, CancelledError is raised.

    >>> from dpcore.mechanisms import make_mechanism
    >>> spec = Spec("logistic", n=2_000, p=8, lam=0.005, theta_norm=6.0)
    >>> found = hardest(HardestQuestion(make_mechanism("output_gaussian"), spec, (1.0,), 1e-7, seed=0))
    >>> round(float(found.bound[0] / found.mean[0]), 1), found.family[0]
    (1.4, 'all records 0.031 R from a boundary')
    """
    *_, answer = question.snapshots(cancelled)
    assert answer is not None
    return answer


def mean_excess(
    plans: list[Plan], data: Data, seed: int, purpose: str, repetitions: int, cancelled: Cancelled
) -> tuple[Array, Array]:
    """Mean excess on the records under each plan, and its standard error, [K] each."""
    spec, mechanism = plans[0].spec, plans[0].mechanism
    loss, rows = get_loss(spec.loss), data.merged or data
    shares = np.full(rows.n, 1.0 / rows.n) if rows.weights is None else rows.weights / rows.n
    least, prepared = least_risk(spec, data), mechanism.prepare_many(plans, data, cancelled)
    if isinstance(mechanism, AdditiveMechanism):
        means = np.full(len(plans), -least)
        for k, (plan, before) in enumerate(zip(plans, prepared, strict=True)):
            z = rows.X @ before.theta
            for node, weight in zip(*mechanism.law.spread(spec.p), strict=True):
                means[k] += weight * (loss.gaussian_mean(z, rows.y, node * plan.scale * rows.row_norms) @ shares)
        return means, np.zeros(len(plans))
    rngs = [generator(seed, f"{mechanism.key} {purpose}", r) for r in range(repetitions // 2)]
    thetas = mechanism.draws(plans, prepared, rngs, cancelled).thetas
    risks = [[loss.value(rows.X @ theta, rows.y) @ shares for theta in some] for some in thetas]
    pairs = np.array(risks).reshape(len(plans), -1, 2).mean(axis=2)
    return pairs.mean(axis=1) - least, pairs.std(axis=1, ddof=1) / math.sqrt(pairs.shape[1])


def least_risk(spec: Spec, data: Data) -> float:
    """F* over the models with which the bounds of a mechanism compare: of the set, or of norm theta_norm."""
    loss = get_loss(spec.loss)
    if spec.set == "simplex":
        return solvers.minimise_on_simplex(loss, data, spec.size or 1.0).risk
    if spec.set == "l1_ball":
        return solvers.minimise_on_l1_ball(vertices.risk_of(loss, data), spec.size or 1.0).risk
    if spec.set == "ball":
        return solvers.minimise_in_ball(loss, data, min(spec.theta_norm, spec.radius or math.inf)).risk
    raise NotApplicable(f"hard records are known on the ball, the simplex and the L1 ball, got {spec.set}")
