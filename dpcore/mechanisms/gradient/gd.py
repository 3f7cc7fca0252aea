"""Gradient descent on all records with Gaussian noise in every step."""

import dataclasses as dc
import math
from collections.abc import Callable

import numpy as np

from ...accounting.gaussian import gaussian_mu
from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.privacy import Budget, Event
from ...core.records import Data
from ...core.rng import Generators
from ...core.specification import Spec
from ...solvers.descent.noisy_gd import gradient_descent
from ..base import Drawn, GaussianGuarantee, Prepared, gradients_apart, records_of
from ..plan import Plan, Plans
from .base import GradientPerturbation, constants_of, order_of, schedule_of
from .schedules import full_batch_steps


@dc.dataclass(frozen=True)
class NoisyGD(GaussianGuarantee, GradientPerturbation):
    """Release an average of the iterates theta <- Proj(theta - eta (grad F(theta) + lam theta + N(0, s^2 I_p))).

    One replaced record moves grad F by at most D = 2 G / n, G the largest gradient of a record (for squared distances,
    where theta cancels, by 4 R / n). T such steps are exactly mu-GDP with mu = D sqrt(T) / s for any path of theta, so
    s = D sqrt(T) / mu(epsilon, delta). For a given budget the noise of all steps together does not depend on T.

    Constant steps, as long a path as the noise allows, and the mean of the second half of the iterates. steps and step
    are chosen from public facts unless they are set by hand.

    Source: Bassily, Smith and Thakurta 2014; Kamath's lecture, Algorithm 1 with noise; accounting by Dong, Roth and Su
    2022 (constants derived in docs/formulas.md).
    Randomness: r standard normal draws a step, one a stored column (see `dpcore.solvers.descent.noisy_gd`).
    Guarantee: (epsilon, delta)-differential privacy for replacing one record, delta > 0, for every convex loss whose
        gradients are bounded where theta can be, also if every iterate is published, whatever the other records are.
    Not protected: n, p, lam, steps, the budget and the bounds R, L, y_max and radius are public; running time; the
        low-order bits of floating-point noise; a release whose seed is known.
    """

    key: str = dc.field(default="noisy_gd", init=False, repr=False)
    label = "gradient perturbation, full batch"
    source = "Kamath's lecture, section Gradient Perturbation; Bassily, Smith and Thakurta 2014"
    first_attack = ("steps", "the sensitivity of a gradient, its noise and the number of steps")

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        spec = self.resolved(spec)
        sensitivity = get_loss(spec.loss).largest_replacement(spec) / spec.n
        drift = sensitivity / gaussian_mu(budget)
        facts = constants_of(spec)
        steps = full_batch_steps(facts, drift) if self.steps == "auto" else int(self.steps)
        scale = drift * math.sqrt(steps)
        descent = self.descent(facts, steps, math.sqrt(facts.dimensions) * scale)
        event = Event(self.noise, scale, sensitivity, times=steps)
        return Plan(self, spec, budget, budget, (event,), steps, self.noise, scale, tol=0.0, descent=descent)

    def estimate_error(self, plan: Plan) -> float:
        return math.sqrt(constants_of(plan.spec).dimensions) * plan.scale

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        data, asked = records_of(prepared), len(prepared.theta)
        return _descend([plan], data, _stored(plan, asked), rngs, np.ones(1))[0][:, :asked]

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        data, linear = records_of(prepared[0]), get_loss(plans[0].spec.loss).linear
        stored, pairs = _stored(plans[0], data.stored), np.array([1.0, -1.0])
        thetas = _descend(plans, data, stored, rngs, pairs, pictures=True, quiet=True, cancelled=cancelled)
        thetas = thetas[..., : data.stored if linear else data.p]
        return Drawn(thetas[:, -1], thetas[:, :-1])

    def with_and_without_noise(self, plan: Plan, prepared: Prepared, rngs: Generators) -> tuple[Array, Array]:
        data, p = records_of(prepared), plan.spec.p
        (thetas,) = _descend([plan], data, p, rngs, np.ones(1), pictures=True, quiet=True)
        return thetas[:-1], thetas[-1]

    def transcripts(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Noisy gradient of every step, [len(rngs), T p], from which all iterates and the release follow."""
        seen: list[Array] = []
        _descend([plan], records_of(prepared), plan.spec.p, rngs, np.ones(1), watch=seen.append)
        return np.concatenate(seen, axis=1)

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Distance between the gradients at the start."""
        return gradients_apart(plan, zero, one, np.zeros((1, plan.spec.p)))

    def noiseless_steps(self, plan: Plan, prepared: Prepared, outputs: Array) -> Array:
        loss, schedule, data = get_loss(plan.spec.loss), schedule_of(plan), records_of(prepared)
        means, theta = [], np.zeros((len(outputs), plan.spec.p))
        for t, seen in enumerate(np.split(outputs, plan.steps, axis=1)):
            means.append(loss.gradients(data, theta) + schedule.lam * theta)
            theta = schedule.after(t, theta, seen, plan.spec.radius, order_of(plan.spec))
        return np.concatenate(means, axis=1)


def _stored(plan: Plan, asked: int) -> int:
    """Columns of the models that descent follows: those asked for, or all where they depend on the others."""
    return asked if get_loss(plan.spec.loss).linear and order_of(plan.spec) == 2.0 else plan.spec.p


def _descend(
    plans: Plans,
    data: Data,
    stored: int,
    rngs: Generators,
    signs: Array,
    *,
    pictures: bool = False,
    quiet: bool = False,
    cancelled: Cancelled = never,
    watch: Callable[[Array], object] | None = None,
) -> Array:
    spec = plans[0].spec
    # Without a ball, columns that are not stored do not affect the stored ones.
    idle = spec.p - stored if spec.radius is not None else 0
    return gradient_descent(
        get_loss(spec.loss),
        data,
        [schedule_of(plan) for plan in plans],
        rngs,
        signs,
        radius=spec.radius,
        order=order_of(spec),
        stored=stored,
        idle=idle,
        single=pictures,
        quiet=quiet,
        cancelled=cancelled,
        watch=watch,
    )
