"""Injected bugs as changes to the target of an audit; each changes the mechanism's own code.

An `Inject` takes a plan and the target with the correct code and returns the target with the bug. Where another attack
detects the bug better, it also changes the records and the score: any score that is fixed beforehand is valid. A
function named `..._plan` makes a plan in which a bug shows. Both raise NotApplicable with the reason where the bug does
not apply.
"""

import dataclasses as dc
import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ...accounting.zcdp import zcdp_rho
from ...core.arrays import Array
from ...core.losses import get_loss
from ...core.privacy import Budget, NotApplicable
from ...core.records import Data
from ...core.rng import Generators
from ...core.specification import Domain, Spec
from ...mechanisms import Mechanism, make_mechanism
from ...mechanisms.base import Prepared, records_of
from ...mechanisms.frank_wolfe.one_pass import stream_of
from ...mechanisms.frank_wolfe.one_pass_sensitivity import Weight, slopes_of, stream_readings
from ...mechanisms.frank_wolfe.tree import runs_of
from ...mechanisms.frank_wolfe.tree_runs import Release, TreeRuns
from ...mechanisms.multiclass.gaussian_classifier import GaussianClassifier
from ...mechanisms.noise.spherical import Gamma
from ...mechanisms.objective.base import ObjectivePerturbation
from ...mechanisms.plan import Plan
from ...mechanisms.simplex.weight_range import weight_range
from ...mechanisms.worst_pairs import parts
from ...solvers.descent.phased_sgd import Phase
from ...solvers.frank_wolfe.tree import Node, batch_mean, walk
from ..target import Target, release_of, score_of

Inject = Callable[[Plan, Target], Target]

# Length of an unclipped record, in units of R.
_BEYOND = 3.0
# Radius within which noise carries a model past the kinks of Huberised hinge loss, so that slopes change on the way.
_WIDE = 4.0
# Rounding error of a difference that should be 0, as a share of the noise.
_ROUNDING = 1e-5
# Number of columns for which noise by the quoted kappa costs more than it claims.
_COLUMNS = 1000
# Share of epsilon that the determinant costs; Gaussian noise as published does not account for it.
_UNPAID = 0.97
# Distance to the kink of a record, in units of the noise's shift of the model: near enough for models to reach it, and
# far enough for the noise and the determinant to reveal the record together.
_AWAY = {"gamma": 0.5, "gaussian": 1.0}


def weaker(factor: Callable[[Plan], float]) -> Inject:
    """The same code with its noise multiplied by `factor` of the plan."""
    return lambda plan, target: dc.replace(target, release=release_of(plan.weakened(factor(plan))))


def square_the_scale(plan: Plan, target: Target) -> Target:
    if plan.noise != "gaussian":
        raise NotApplicable(f"variance_as_deviation needs noise with a standard deviation, got {plan.noise} noise")
    if plan.scale >= 1.0:
        raise NotApplicable(f"variance_as_deviation reduces the noise only if its scale is < 1, got {plan.scale:g}")
    return dc.replace(target, release=release_of(plan.weakened(plan.scale)))


@dc.dataclass(frozen=True)
class _ShortGamma(Gamma):
    """Uniform direction with a length from Gamma(1) for every p."""

    def direction(self, p: int, stored: int, rng: np.random.Generator) -> Array:
        whole = rng.standard_normal(p)
        return rng.gamma(1.0) * whole[:stored] / np.linalg.norm(whole)


def shorten_the_noise(plan: Plan, target: Target) -> Target:
    if plan.noise != "gamma" or plan.spec.p == 1:
        raise NotApplicable(f"wrong_gamma_shape needs gamma noise and p >= 2, got {plan.noise} and p = {plan.spec.p}")
    return dc.replace(target, release=release_of(_rewritten(plan, law=_ShortGamma())))


def reuse_the_seed(plan: Plan, target: Target) -> Target:
    release = target.release
    return dc.replace(
        target, release=lambda prepared, rngs: release(prepared, [np.random.default_rng(0) for _ in rngs])
    )


class _Unchecked(Data):
    """Records that are not checked against their declared bounds."""

    def check_domain(self, domain: Domain) -> None:
        pass

    def check_rows(self, domain: Domain) -> None:
        pass


def clip_nothing(plan: Plan, target: Target) -> Target:
    """Target in which the differing record is longer than R; the attacker knows the resulting law."""
    tables = [np.asarray(data.X) for data in target.pair]
    differs = np.any(tables[0] != tables[1], axis=1) | (target.pair[0].y != target.pair[1].y)
    factors = np.where(differs, _BEYOND, 1.0)[:, None]
    zero, one = (_Unchecked(factors * X, data.y) for X, data in zip(tables, target.pair, strict=True))
    mechanism = plan.mechanism
    sides = mechanism.prepare(plan, zero), mechanism.prepare(plan, one)
    if mechanism.separation(plan, *sides) <= plan.ledger[0].sensitivity * (1.0 + 1e-9):
        raise NotApplicable(
            f"clipping_off needs a loss whose gradient grows with the record, got {get_loss(plan.spec.loss).label}"
        )
    return Target((zero, one), sides, release_of(plan), score_of(plan, *sides))


class _Repeating(np.random.Generator):
    """Generator that repeats the normals of the first step in all steps: [steps, ...]."""

    first: Array | None = None

    def standard_normal(self, size: tuple[int, ...]) -> Array:  # type: ignore[override]
        if self.first is None:
            self.first = super().standard_normal(size[1:])
        return np.broadcast_to(self.first, size)


def reuse_the_noise(plan: Plan, target: Target) -> Target:
    """Target whose steps all add one noise: a transcript less its noiseless steps on the true records shows it."""
    mechanism = plan.mechanism
    if plan.steps == 1:
        raise NotApplicable("noise_reused needs several steps, got 1")

    def left(seen: Array, side: int) -> Array:
        noise = seen - mechanism.noiseless_steps(plan, target.sides[side], seen)
        steps = noise.reshape(len(seen), plan.steps, -1)
        return np.linalg.norm(steps - steps[:, :1], axis=(1, 2)) + _ROUNDING * plan.scale

    mechanism.noiseless_steps(plan, target.sides[0], np.full((1, plan.steps * plan.spec.p), plan.scale))
    return dc.replace(
        target,
        release=lambda prepared, rngs: target.release(prepared, [_Repeating(rng.bit_generator) for rng in rngs]),
        score=lambda seen: np.log(left(seen, 0) / left(seen, 1)),
    )


def bent_plan(mechanism: Mechanism, budget: Budget) -> Plan:
    """Plan on the worst records, in a set so wide that slopes change on the way."""
    spec = mechanism.worst_spec
    return mechanism.calibrate(dc.replace(spec, radius=_WIDE) if spec.radius else spec, budget)


def share_the_noise(plan: Plan, target: Target) -> Target:
    _only("shared_class_noise", plan.mechanism, "gaussian_classifier")
    correct = cast(Any, type(plan.mechanism)).direction

    def shared(mechanism: Any, spec: Spec, rng: np.random.Generator) -> Array:
        return np.repeat(correct(mechanism, spec, rng)[:1], spec.classes, axis=0)

    return dc.replace(target, release=release_of(_rewritten(plan, direction=shared)))


def publish_the_noise(bug: str, *keys: str) -> Inject:
    """Noise as published for the requested budget; the attacker knows its law."""

    def inject(plan: Plan, target: Target) -> Target:
        _only(bug, plan.mechanism, *keys)
        used = _as_published(plan.mechanism).calibrate(plan.spec, plan.requested)
        if used.spent <= plan.requested:
            raise NotApplicable(f"{bug} is no bug here: noise as published costs epsilon = {used.spent.epsilon:g}")
        mechanism = used.mechanism
        zero, one = (mechanism.prepare(used, data) for data in target.pair)
        return Target(target.pair, (zero, one), release_of(used), score_of(used, zero, one))

    return inject


def many_columns_plan(mechanism: Mechanism, budget: Budget) -> Plan:
    _only("quoted_kappa", mechanism, "generalized_gaussian")
    return mechanism.calibrate(dc.replace(mechanism.worst_spec, p=_COLUMNS), budget)


def unpaid_determinant_plan(mechanism: Mechanism, budget: Budget) -> Plan:
    """Plan with one column, Huber loss, and the smallest lam for which the published Gamma noise is stated.

    The published Gaussian noise is stated for any lam: here the determinant costs nearly all of epsilon.
    """
    _only("published_objective_noise", mechanism, "objective_gamma", "objective_gaussian")
    loss, n, epsilon = get_loss("huber"), 10, budget.epsilon
    bend = loss.curvature_bound / n
    lam = 2.0 * bend / epsilon if mechanism.noise == "gamma" else bend / math.expm1(min(_UNPAID * epsilon, 700.0))
    spec = Spec("huber", n, p=1, lam=lam)
    away = _AWAY[mechanism.noise] * _as_published(mechanism).calibrate(spec, budget).scale / lam
    return mechanism.calibrate(dc.replace(spec, domain=Domain(y_max=loss.shape + away)), budget)


def leave_unrounded(plan: Plan, target: Target) -> Target:
    """Target that releases raw sums of a number and noise: where the score saturates, last bits reveal the number."""
    _only("unrounded", plan.mechanism, "output_gamma")
    if plan.spec.p > 1:
        raise NotApplicable(f"unrounded needs p = 1, where scores saturate, got p = {plan.spec.p}")
    mechanism = plan.mechanism
    return dc.replace(target, release=lambda prepared, rngs: mechanism.transcripts(plan, prepared, rngs))


def one_column_plan(mechanism: Mechanism, budget: Budget) -> Plan:
    _only("unrounded", mechanism, "output_gamma")
    return mechanism.calibrate(dc.replace(mechanism.worst_spec, p=1), budget)


def forget_the_charge(plan: Plan, target: Target) -> Target:
    """Target whose noise pays for the gradient alone."""
    mechanism = cast(ObjectivePerturbation | GaussianClassifier, plan.mechanism)
    scale = mechanism.tight_scale(plan.spec, parts(plan.spent)[0], charge=0.0)
    return dc.replace(target, release=release_of(dc.replace(plan, scale=scale)))


def forget_later_batches(plan: Plan, target: Target) -> Target:
    """Target whose noise covers a record of the first batch only."""
    first, _ = stream_readings(slopes_of(plan.spec), stream_of(plan))
    weight = Weight(math.hypot(*first), math.fsum(first))
    scale = float(weight.scale(zcdp_rho(plan.spent), plan.spent.epsilon))
    return dc.replace(target, release=release_of(plan.weakened(scale / plan.scale)))


def reuse_the_batch(plan: Plan, target: Target) -> Target:
    """Target whose later batches all are the first of them."""
    route = stream_of(plan)
    later = route.first + np.arange(route.count * route.batch) % route.batch
    rows = np.concatenate([np.arange(route.first), later, np.arange(later.size + route.first, plan.spec.n)])
    zero, one = (plan.mechanism.prepare(plan, Data(data.X[rows], data.y[rows])) for data in target.pair)
    return dc.replace(target, sides=(zero, one))


def straighten_the_costs(plan: Plan, target: Target) -> Target:
    """Target with the lam whose range would be the plan's if costs were linear; the attacker knows the weights."""
    straight, eta = dc.replace(weight_range(plan.spec), bend=0.0), 2.0 * plan.ledger[0].sensitivity / plan.scale
    lam = straight.eta(1.0) / eta
    used = dc.replace(plan, spec=dc.replace(plan.spec, lam=lam), scale=lam, tol=straight.tol(lam))
    zero, one = (plan.mechanism.prepare(used, data) for data in target.pair)
    return Target(target.pair, (zero, one), release_of(used), score_of(used, zero, one))


def quieten_late_phases(plan: Plan, target: Target) -> Target:
    """Target whose noise of phase i falls by 8^-i, like the steps of a rule for a strongly convex objective."""
    correct = cast(Any, type(plan.mechanism)).phases

    def phases(mechanism: Any, plan: Plan) -> list[Phase]:
        return [dc.replace(phase, scale=phase.scale / 2.0**i) for i, phase in enumerate(correct(mechanism, plan))]

    return dc.replace(target, release=release_of(_rewritten(plan, phases=phases)))


class HalfAtRightChildren(TreeRuns):
    """Runs whose right children get half their noise, as if only one of two gradients could move."""

    def share(self, node: Node, away: Array | None) -> Array | float:
        return (0.5 if node.depth else 1.0) * super().share(node, away)


class WithoutDifferences(TreeRuns):
    """Runs whose right children release the mean of the gradients at their iterate, with the noise of a difference."""

    def walk(self, data: Data, count: int, release: Release, **asked: Any) -> Array:
        at = np.zeros((count, self.facts.d))
        loss = get_loss(self.loss)

        def forgetful(node: Node, mean: Array, away: Array | None) -> Array:
            return release(node, batch_mean(loss, data, node.batch, at), away)

        def choose(node: Node, estimate: Array) -> Array:
            nonlocal at
            to = self.facts.size * self.shape.extreme(estimate)
            at = (1.0 - node.step) * at + node.step * to
            return to

        return walk(loss, data, at, self.tree, release=forgetful, choose=choose, **asked)


def rewrite_the_tree(broken: type[TreeRuns]) -> Inject:
    """The same code with runs of another kind."""

    def inject(plan: Plan, target: Target) -> Target:
        runs = broken(**vars(runs_of(plan)))

        def transcripts(mechanism: Any, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
            return runs.transcripts(plan.scale, records_of(prepared), rngs)

        return dc.replace(target, release=release_of(_rewritten(plan, transcripts=transcripts)))

    return inject


def _only(bug: str, mechanism: Mechanism, *keys: str) -> None:
    if mechanism.key not in keys:
        raise NotApplicable(f"{bug} is a bug of {' and '.join(keys)}, got {mechanism.key}")


def _as_published(mechanism: Mechanism) -> Mechanism:
    return make_mechanism(mechanism.key, **(mechanism.knobs | {"accounting": "published"}))


def _rewritten(plan: Plan, **attributes: Any) -> Plan:
    """The plan with other attributes of the mechanism's class: another law of noise, another method."""
    broken = type("Broken", (type(plan.mechanism),), attributes)
    return dc.replace(plan, mechanism=broken(**plan.mechanism.knobs))
