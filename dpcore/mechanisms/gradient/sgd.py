"""Gradient descent on random batches, or on one record at a time, with Gaussian noise in every step."""

import copy
import dataclasses as dc
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ...accounting.kamath import kamath_multiplier
from ...accounting.subsampled_rdp import Sampling, subsampled_epsilon, subsampled_multiplier
from ...accounting.tradeoff import BatchCurve
from ...core.arrays import Array
from ...core.cancel import Cancelled
from ...core.losses import get_loss
from ...core.privacy import Budget, Event, NotApplicable
from ...core.records import Data
from ...core.rng import Generators
from ...core.specification import Spec
from ...core.validation import positive
from ...solvers.descent.noisy_sgd import Iterates, noisy_descent
from ..base import Drawn, Prepared, gradients_apart, knob, records_of
from ..plan import Plan, Plans
from .base import AUTO_CLASSES_BATCHES, GradientPerturbation, constants_of, order_of, schedule_of
from .schedules import ProblemConstants, descent_of

# "auto": batches of n / 160 records, but enough that the choice of records does not dominate the noise; 16 passes over
# the records, in 400 to 1,600 steps.
_FEWEST_RECORDS, _BATCHES = 20, 160
_PASSES, _FEWEST_STEPS, _MOST_STEPS = 16, 400, 1_600
# Above, n^2 steps on single records take minutes.
_LARGEST_N = 3_000
# A visitor waits for the draws of a curve; more threads would take processors from other visitors.
_THREADS = 2


@dc.dataclass(frozen=True)
class NoisySGD(GradientPerturbation):
    """Release an average of the iterates theta <- Proj(theta - eta_t (estimate + lam theta + N(0, s^2 I_p))).

    The estimate of grad F is, by `batches`,
    poisson: the sum of the gradients over a batch that holds each record with probability q = batch / n on its own,
        divided by batch; "auto": max(20, n / 160) records (at most n), 16 n / batch steps, within 400 to 1,600;
    single: the gradient of one record drawn uniformly, q = 1 / n; "auto": n^2 steps, refused above n = 3,000.
        Steps fall like 1 / sqrt(t), and the last iterate is released (Theorem 2 of the lecture).
    One record adds at most C = G / (q n) to it, G the largest gradient of a record, and s = z C. The multiplier z is,
    by `accounting`,
    tight: the smallest whose T steps cost at most the budget, by Renyi divergences of random batches
    (`subsampled_rdp`); published: Kamath's, sqrt(32 ln(n / delta) ln(1 / delta)) / epsilon, for single records and
        n^2 steps only: its Algorithm 3 to the letter, in averages (n times the gradient and the noise with eta / n is
        the same run).

    Steps on batches as in `NoisyGD`; the error from the choice of records counts like noise.

    Source: Kamath's lecture, Algorithm 3; Bassily, Smith and Thakurta 2014; accounting derived in
    `dpcore.accounting.subsampled_rdp`.
    Randomness: see `dpcore.kernels.sgd`, all from the one generator of a release.
    Guarantee: (epsilon, delta)-differential privacy for replacing one record, delta > 0, for every convex loss whose
        gradients are bounded where theta can be, also if every iterate is published, whatever the other records are.
    Not protected: n, p, lam, steps, batch, the budget and the bounds R, L, y_max and radius are public; running time,
        which reveals the sizes of the batches, although the proof needs them secret; the low-order bits of
        floating-point noise; a release whose seed is known.
    """

    accounting: str = knob(
        "tight", choices=("tight", "published"), help="which proof sets the noise: Renyi divergences, or Kamath's"
    )
    batches: str = knob(
        "poisson", choices=("poisson", "single"), help="each record on its own coin, or one uniform record a step"
    )
    batch: float | str = knob(
        "auto", check=positive, help='poisson: expected records in a batch, "auto" or a number >= 1'
    )

    key: str = dc.field(default="noisy_sgd", init=False, repr=False)
    label = "gradient perturbation, random batches"
    source = "Kamath's lecture, Algorithm 3; Bassily, Smith and Thakurta 2014"
    # As for full batches, with so many records that a batch is a fifth of them; one column, for speed.
    worst_spec = dc.replace(GradientPerturbation.worst_spec, n=100, p=1)
    audit_knob = ("steps", 40)
    first_attack = ("steps", "the sensitivity of a gradient, its noise, the share of a batch and the number of steps")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch == "auto":
            return
        if self.batches == "single":
            raise ValueError(f'batch must be "auto" for batches of a single record, got {self.batch}')
        if float(self.batch) < 1.0:
            raise ValueError(f"batch must be at least 1, got {self.batch:g}")

    @property
    def last_iterate(self) -> bool:
        return self.batches == "single"

    @property
    def sampling(self) -> Sampling:
        return "poisson" if self.batches == "poisson" else "uniform"

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        spec = self.resolved(spec)
        steps, records = self._steps(spec.n), self._records(spec.n)
        rate = records / spec.n
        if self.accounting == "published":
            z = kamath_multiplier(spec.n, budget)
            # Kamath's noise is too large; the plan spends its actual cost.
            spent = dc.replace(budget, epsilon=subsampled_epsilon(z, rate, steps, budget.delta, self.sampling))
        else:
            z, spent = subsampled_multiplier(budget, rate, steps, self.sampling), budget
        part = get_loss(spec.loss).largest_gradient(spec) / records
        event = Event(self.noise, z * part, 2.0 * part, steps, sampling=self.sampling, rate=rate)
        plan = Plan(self, spec, budget, spent, (event,), steps, self.noise, event.scale, tol=0.0)
        return dc.replace(plan, descent=self.descent(self.facts(spec), steps, self.estimate_error(plan)))

    def _steps(self, n: int) -> int:
        if self.accounting == "published" and (self.batches, self.steps) != ("single", "auto"):
            raise NotApplicable(
                "published accounting is for n^2 steps on single records, got "
                f"batches = {self.batches!r}, steps = {self.steps!r}"
            )
        if self.steps != "auto":
            return int(self.steps)
        if self.batches == "poisson":
            return max(_FEWEST_STEPS, min(math.ceil(_PASSES * n / self._records(n)), _MOST_STEPS))
        if n > _LARGEST_N:
            raise NotApplicable(
                f"n^2 steps on single records are for n <= {_LARGEST_N:,}, got n = {n:,}, which takes {n * n:,} steps"
            )
        return n * n

    def _records(self, n: int) -> float:
        """Mean number of records in a batch."""
        if self.batches == "single":
            return 1.0
        if self.batch == "auto":
            return min(float(n), max(_FEWEST_RECORDS, n / _BATCHES))
        if float(self.batch) > n:
            raise ValueError(f"batch must be at most n = {n:,}, got {self.batch:g}")
        return float(self.batch)

    def facts(self, spec: Spec) -> ProblemConstants:
        facts = constants_of(spec, AUTO_CLASSES_BATCHES)
        # A single record's whole gradient counts as the error of its choice.
        return facts if self.batches == "poisson" else dc.replace(facts, gradient=0.0)

    def estimate_error(self, plan: Plan) -> float:
        """Error by noise and choice of records; the latter is <= (1 - q) G^2 / (q n), squared, for "poisson"."""
        facts, rate = constants_of(plan.spec), plan.ledger[0].rate
        noise = math.sqrt(facts.dimensions) * plan.scale
        if self.batches == "single":
            return math.hypot(noise, facts.gradient)
        G = get_loss(plan.spec.loss).largest_gradient(plan.spec)
        return math.hypot(noise, G * math.sqrt((1.0 - rate) / (rate * plan.spec.n)))

    def attack_limit(self, plan: Plan) -> float:
        event = plan.ledger[0]
        return self._curve(plan, 2.0 * plan.scale / event.sensitivity).attack_limit()

    def claimed_curve(self, plan: Plan) -> BatchCurve:
        """Claimed curve by privacy losses, which allow less than the Renyi divergences that set the noise."""
        event = plan.ledger[0]
        return self._curve(plan, subsampled_multiplier(plan.spent, event.rate, event.times, self.sampling))

    def _curve(self, plan: Plan, z: float) -> BatchCurve:
        event = plan.ledger[0]
        return BatchCurve(1.0 / z, event.rate, event.times, self.sampling)

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        data, asked = records_of(prepared), len(prepared.theta)
        return np.stack([_run(plan, data, rng, stored=_stored(plan, asked)).average[:asked] for rng in rngs])

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases for curves; 2i and 2i + 1 share batches too. A centre is a run without noise, on the first batches.

        All runs of a repetition share records and normals and advance together: those of `release` up to rounding.
        """
        data, alike = records_of(prepared[0]), dict[tuple[Any, ...], list[int]]()
        for k, plan in enumerate(plans):
            alike.setdefault(tuple(_shared(plan).items()), []).append(k)
        centres = np.empty((len(plans), data.stored))
        thetas = np.empty((len(plans), 2 * len(rngs), data.stored))

        def draw(ks: list[int], i: int) -> None:
            step = np.array([descent_of(plans[k]).step for k in ks])
            scale = np.array([plans[k].scale for k in ks])
            signs = np.array([1.0, -1.0, 0.0] if i == 0 else [1.0, -1.0])
            averages = noisy_descent(
                get_loss(plans[0].spec.loss),
                data,
                step=np.repeat(step, len(signs)),
                sigma=np.outer(scale, signs).ravel(),
                rng=copy.deepcopy(rngs[i]),
                stored=_stored(plans[0], data.stored),
                cancelled=cancelled,
                **_shared(plans[ks[0]]),
            ).average.reshape(len(ks), len(signs), -1)[..., : data.stored]
            thetas[ks, 2 * i : 2 * i + 2] = averages[:, :2]
            if i == 0:
                centres[ks] = averages[:, 2]

        with ThreadPoolExecutor(_THREADS) as pool:
            for drawn in [pool.submit(draw, ks, i) for ks in alike.values() for i in range(len(rngs))]:
                drawn.result()
        return Drawn(centres, thetas)

    def transcripts(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Noisy gradient of every step, [len(rngs), T p], from which all iterates and the release follow."""
        data = records_of(prepared)
        return np.stack([_run(plan, data, rng, stored=data.p, watch=True).seen.ravel() for rng in rngs])

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Distance between the estimates at the start, for batches with the differing record."""
        return gradients_apart(plan, zero, one, np.zeros((1, plan.spec.p))) / plan.ledger[0].rate

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """Sum over the steps, each given the iterate that follows from the transcript.

        For data in which only the last record has a gradient: a step's estimate is that of a batch with it, with
        probability q, or 0. Raises NotApplicable for others.
        """
        loss, schedule, rate = get_loss(plan.spec.loss), schedule_of(plan), plan.ledger[0].rate
        if not loss.linear or any(records_of(side).row_norms[:-1].any() for side in (zero, one)):
            raise NotApplicable(
                f"{self.key} is audited on losses of a linear prediction, with one record that has a gradient"
            )
        ends = [Data(side.X[-2:], side.y[-2:]) for side in map(records_of, (one, zero))]
        absent = math.log1p(-rate) if rate < 1.0 else -math.inf
        ratio, theta = np.zeros(len(outputs)), np.zeros((len(outputs), plan.spec.p))
        for t, seen in enumerate(np.split(outputs, plan.steps, axis=1)):
            noise = seen - schedule.lam * theta
            for end, sign in zip(ends, (1.0, -1.0), strict=True):
                shift = loss.gradients(end, theta) * 2.0 / (rate * plan.spec.n)
                present = np.sum((noise - 0.5 * shift) * shift, axis=1) / plan.scale**2
                ratio += sign * np.logaddexp(absent, math.log(rate) + present)
            theta = schedule.after(t, theta, seen, plan.spec.radius, order_of(plan.spec))
        return ratio


def _run(plan: Plan, data: Data, rng: np.random.Generator, *, stored: int, watch: bool = False) -> Iterates:
    """Iterates of one run, whose average is released."""
    return noisy_descent(
        get_loss(plan.spec.loss),
        data,
        step=descent_of(plan).step,
        sigma=plan.scale,
        rng=rng,
        stored=stored,
        watch=watch,
        **_shared(plan),
    )


def _stored(plan: Plan, asked: int) -> int:
    """Columns that a run follows: those asked for, or all where the projection is not radial."""
    return asked if order_of(plan.spec) == 2.0 else plan.spec.p


def _shared(plan: Plan) -> dict[str, Any]:
    """Arguments of the solver for a plan, without the sizes of its steps and of its noise."""
    descent, event = descent_of(plan), plan.ledger[0]
    return {
        "steps": plan.steps,
        "decaying": descent.decaying,
        "radius": math.inf if plan.spec.radius is None else plan.spec.radius,
        "order": order_of(plan.spec),
        "rate": event.rate if event.sampling == "poisson" else 0.0,
        "lam": float(plan.spec.lam),
        "first": descent.first,
    }
