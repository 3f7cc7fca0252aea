"""Gradient perturbation with any batches: descent with noise in every step."""

import abc
import copy
import dataclasses as dc
import math
from functools import partial
from typing import cast

import numpy as np

from ...core.arrays import Array
from ...core.cancel import Cancelled
from ...core.losses import get_loss
from ...core.privacy import Bound, Descent, NotApplicable
from ...core.records import Data
from ...core.rng import Generators, generator
from ...core.sets import NormBall
from ...core.specification import Spec
from ...core.validation import positive
from ...solvers import Minimum
from ...solvers.descent.noisy_gd import Schedule
from ...theory import erm
from ...theory import gradient_descent as theory
from ...theory.lower_bounds import hardest_data
from ..base import Lens, Link, Prepared, ReadingMechanism, knob, whole
from ..plan import Plan, Plans
from ..regularisation import auto_size, comparator_norm, numbers_lam
from ..worst_pairs import check_ball
from . import proof
from .schedules import (
    LAST_SOURCE,
    MEAN_SOURCE,
    ProblemConstants,
    descent_of,
    last_iterate_bound,
    last_iterate_descent,
    mean_bound,
    mean_descent,
)

_MOST_STEPS = 10**8
# Under "auto" the noise of all steps together may move a coordinate of theta by this multiple of the size that
# lam="auto" allows output perturbation: for classes, with all records in each step or with a batch, and for points
# (docs/formulas.md, "Gradient perturbation").
AUTO_CLASSES, AUTO_CLASSES_BATCHES, AUTO_POINTS = 7.0, 14.0, 2.0
_FRESH = "fresh records by symmetrisation and contraction"
# Share of the noise for a run that is shown without noise: it draws the same batches as the run with noise.
_SILENT = 1e-15
# Steps at which the chain and the lens take a mean over steps, and pairs of runs of the latter.
_CHAIN_STEPS, _LENS_STEPS, _LENS_PAIRS = 16, 1, 3


@dc.dataclass(frozen=True)
class GradientPerturbation(ReadingMechanism):
    """Descend from 0 on F(theta) + (lam/2) ||theta||^2, with noise in every gradient.

    One replaced record moves the gradient that a step uses by at most twice the largest gradient of a record, over all
    possible theta; the steps compose. No exact minimiser is needed, no strong convexity and no smooth loss. The
    regulariser is public and costs nothing; "auto" means lam = 0.

    theta stays in the L2 ball of `radius` if that is set. Otherwise it is unconstrained, unless gradients are bounded
    only in a ball (squared losses, a regulariser) or the last iterate is released: then in the ball of theta_norm.
    For linear predictions the set may also be an l_p ball with p from 2 to inf, and records may be bounded in any norm:
    each step ends at the nearest point of the set in L2, and only the bound in L2 that follows for records matters,
    which for the dual norm, of order p / (p - 1) <= 2, is the same R.
    """

    steps: int | str = knob("auto", check=whole(1, _MOST_STEPS), help='how many noisy steps: "auto" or an integer')
    step: float | str = knob(
        "auto", check=positive, help='the step size (its first value, if it decays): "auto" or a number'
    )

    family = "gradient"
    place = "gradient"
    # A ball so small that the slope of the loss is 1 throughout.
    worst_spec = Spec("huber_hinge", n=10, p=3, lam=0.0, radius=0.4)

    @abc.abstractmethod
    def estimate_error(self, plan: Plan) -> float:
        """Root of E ||error of a step's gradient||^2, which includes its noise and its choice of records."""

    @property
    def last_iterate(self) -> bool:
        """Whether steps fall like 1 / sqrt(t) and the last iterate is released, not the mean of the second half."""
        return False

    def facts(self, spec: Spec) -> ProblemConstants:
        """Facts of a resolved problem for the rules."""
        return constants_of(spec)

    def descent(self, facts: ProblemConstants, steps: int, error: float) -> Descent:
        """Steps, except for a step that is set by hand. error: as `estimate_error`."""
        found = (last_iterate_descent if self.last_iterate else mean_descent)(facts, steps, error)
        return found if self.step == "auto" else dc.replace(found, step=float(self.step))

    def resolved(self, spec: Spec) -> Spec:
        """Problem with lam as a number, and with the ball that the loss or the last iterate needs."""
        check_set(self.key, spec)
        if spec.lam == "population":
            raise NotApplicable(f"{self.key} has no rule {spec.lam!r} for lam: its noise does not depend on lam")
        lam = 0.0 if isinstance(spec.lam, str) else spec.lam
        bounded = math.isfinite(get_loss(spec.loss).slope) and lam == 0.0 and not self.last_iterate
        ball = spec.theta_norm if spec.size is None and not bounded else spec.size
        return dc.replace(spec, lam=lam, radius=ball)

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over the best model of norm theta_norm, or of a set, on average; and the published order."""
        spec, loss = plan.spec, get_loss(plan.spec.loss)
        B = comparator_norm(spec)
        bound, proof = (last_iterate_bound, LAST_SOURCE) if self.last_iterate else (mean_bound, MEAN_SOURCE)
        found = bound(self.facts(spec), plan.steps, descent_of(plan), self.estimate_error(plan))
        found += erm.regularisation_bias(float(spec.lam), B, math.inf)
        G = loss.largest_gradient(spec)
        rate = theory.published_gradient_rate(G, spec.n, spec.p, B, plan.requested)
        source = "Bassily, Smith and Thakurta 2014, as in Kamath's section on private SGD"
        where = f"ball of {B:g}" if spec.set == "ball" else f"{spec.unit_set.label} of {spec.size:g}"
        ball = f"comparator in the {where}"
        upper = [Bound("excess_empirical_risk", "upper", found, "expectation", proof, ball)]
        if spec.set != "ball":
            fresh, within = found + theory.fresh_records_gap(G, B, spec.n), f"independent records; {ball}"
            upper.append(Bound("excess_population_risk", "upper", fresh, "expectation", f"{proof}; {_FRESH}", within))
        return (
            *(upper if math.isfinite(found) else ()),
            *hardest_data(loss, spec, plan.spent),
            Bound("excess_empirical_risk", "rate", rate, "expectation", source, ball),
        )

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        """As `Mechanism.chain`. Empty also if `draws` leaves out columns that a ball, or a distance, feels."""
        if not self._proves(plan, data):
            return ()
        asked = self._proof(plan, data, best, _CHAIN_STEPS)
        (run,) = proof.runs_of(self, [asked], [asked.visited], prepared, rngs, cancelled)
        return proof.links(run)

    def lens(
        self, plans: Plans, prepared: list[Prepared], data: Data, best: Minimum, seed: int, cancelled: Cancelled
    ) -> Lens | None:
        """Nothing below; above, the proof's inequality with the distance and the errors that other paths meet."""
        if not self._proves(plans[0], data):
            return None
        asked = [self._proof(plan, data, best, _LENS_STEPS) for plan in plans]
        rngs = [generator(seed, f"{self.key} lens", r) for r in range(_LENS_PAIRS)]
        runs = proof.runs_of(self, asked, [each.needed for each in asked], prepared[0], rngs, cancelled)
        pairs = np.array([proof.regret(run) for run in runs]).reshape(len(plans), _LENS_PAIRS, 2).mean(axis=2)
        high = pairs.mean(axis=1) + best.risk
        return Lens(np.full(len(plans), -math.inf), high, pairs.std(axis=1, ddof=1) / math.sqrt(_LENS_PAIRS))

    def _proves(self, plan: Plan, data: Data) -> bool:
        free = plan.spec.radius is None and get_loss(plan.spec.loss).linear
        bounded = self.step == "auto" or not self.last_iterate  # of the last iterate only the proof's steps are
        return bounded and (free or data.stored == plan.spec.p)

    def _proof(self, plan: Plan, data: Data, best: Minimum, most: int) -> proof.Proof:
        return proof.Proof(plan, self.facts(plan.spec), self.estimate_error(plan), data, best.theta, most)

    def paths(self, plan: Plan, prepared: Prepared, rng: np.random.Generator) -> tuple[Array, Array]:
        """Iterates from the start on, [T + 1, p], of the run that `release` makes of rng, and of the same steps on the
        same batches without noise."""
        schedule, made = schedule_of(plan), []
        for each in (plan, _silenced(plan)):
            (gradients,) = self.transcripts(each, prepared, [copy.deepcopy(rng)])
            path = [np.zeros((1, plan.spec.p))]
            for t, gradient in enumerate(gradients.reshape(plan.steps, 1, -1)):
                path.append(schedule.after(t, path[-1], gradient, plan.spec.radius, order_of(plan.spec)))
            made.append(np.concatenate(path))
        return made[0], made[1]

    def with_and_without_noise(self, plan: Plan, prepared: Prepared, rngs: Generators) -> tuple[Array, Array]:
        """For a picture, `release_many`, [len(rngs), p], and what the first makes of the same steps on the same batches
        without noise, [p]; every column must be stored."""
        quiet = self.release(_silenced(plan), prepared, copy.deepcopy(rngs[0]))
        return self.release_many(plan, prepared, rngs), quiet

    def resolution(self, plan: Plan) -> float:
        """Size of the noise that the last step adds to a model."""
        descent = descent_of(plan)
        return plan.scale * descent.step / (math.sqrt(plan.steps) if descent.decaying else 1.0)


def _silenced(plan: Plan) -> Plan:
    return dc.replace(plan, scale=_SILENT * plan.scale)


def check_set(key: str, spec: Spec) -> None:
    """Raise NotApplicable unless theta is one vector in R^p, an L2 ball or, for predictions, an l_p ball, p >= 2."""
    loss, shape = get_loss(spec.loss), spec.unit_set
    if spec.set == "ball" or not loss.linear or loss.task == "cost":
        check_ball(key, spec)
    elif not (isinstance(shape, NormBall) and shape.order >= 2.0):
        raise NotApplicable(f"{key} works on R^p or in an l_p ball with p from 2 to inf, got set {spec.set!r}")


def order_of(spec: Spec) -> float:
    """p of the l_p ball of a problem that `check_set` accepts."""
    return cast(NormBall, spec.unit_set).order


def constants_of(spec: Spec, classes: float = AUTO_CLASSES) -> ProblemConstants:
    """Facts of a resolved problem that the rules for steps need. classes: see `AUTO_CLASSES`."""
    loss, lam = get_loss(spec.loss), float(spec.lam)
    B = comparator_norm(spec)
    reach = math.inf if spec.radius is None else spec.radius * spec.unit_set.norm(2.0, spec.p)
    # Without a ball, noise orthogonal to all records changes no prediction.
    dimensions = min(spec.n, spec.p) if loss.linear and spec.radius is None else spec.p
    gradient = loss.largest_gradient(spec) + (lam * reach if lam else 0.0)
    curvature = loss.largest_curvature(spec) + lam
    length = partial(_auto_length, spec, classes)
    return ProblemConstants(B, reach, gradient, curvature, dimensions, length, spec.n)


def _auto_length(spec: Spec, classes: float, noise: float) -> float:
    """Length of the path under "auto" for noise of this standard deviation in the mean of all steps' gradients.

    Stopped after a path of length 1 / lam, descent learns about what it would with the regulariser lam. Numbers: lam as
    objective perturbation chooses it for this noise. Classes and points: noise that nothing resists moves a coordinate
    of theta by a fixed size. In other sets only the bound limits the path.
    """
    loss = get_loss(spec.loss)
    if spec.set != "ball":
        return math.inf
    if loss.linear and not loss.classification:
        return 1.0 / numbers_lam(spec, noise, loss.largest_replacement(spec) / spec.n)
    factor = classes if loss.classification else AUTO_POINTS
    return factor * auto_size(spec) / (loss.pull(spec) * noise)


def schedule_of(plan: Plan) -> Schedule:
    """Schedule of a plan's steps for its solver."""
    descent, steps = descent_of(plan), np.arange(1, plan.steps + 1)
    etas = descent.step / np.sqrt(steps) if descent.decaying else np.full(plan.steps, descent.step)
    return Schedule(etas, plan.scale, float(plan.spec.lam), descent.first)
