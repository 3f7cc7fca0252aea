"""Private classifiers of many classes on one data set: an ellipsoid for each class in one model, or one-vs-rest.

One-vs-rest solves a binary problem for each class, and every record enters all of them. Under objective perturbation
each problem gets epsilon / C and delta / C (basic composition). Gaussian output perturbation composes exactly: C
releases that are mu / sqrt(C)-GDP are mu-GDP together. The class with the largest score wins. Records enter as in the
ellipsoids, as svec(x~ x~'), so that only the split differs.
"""

import dataclasses as dc
import math
from typing import Literal, get_args

import numpy as np

from ... import solvers
from ...accounting.gaussian import gaussian_epsilon, gaussian_mu
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on, never
from ...core.losses import get_loss
from ...core.privacy import Bound, Budget, NotApplicable
from ...core.records import Data
from ...core.rng import generator
from ...core.specification import Spec
from ...core.validation import integer, one_of
from ...data import ClassSplit
from ...mechanisms import make_mechanism
from ...mechanisms.multiclass.models import class_records, direction
from ...mechanisms.noise.spherical import NOISES
from ...solvers.multiclass.objective import features
from ...theory.erm import linear_term_excess

LearnerKey = Literal["ellipsoids", "pure", "split", "split_answer"]
LOSS = "multiclass_hinge"
# Gradient of a model without noise that charts allow, as a share of a record's largest gradient.
_QUIET = 1e-6
_KNOBS: dict[str, dict[str, str]] = {"ellipsoids": {}, "pure": {"noise": "gamma"}}
LEARNERS: tuple[LearnerKey, ...] = get_args(LearnerKey)


@dc.dataclass(frozen=True)
class Runs:
    """Releases of one learner at one budget, nan where it has no guarantee: `reason` says why.

    accuracy: on the test records, [R]. quiet: the same without noise. Of ellipsoids only, else nan and empty: risk:
    mean loss on the training records, [R]; over: J - J*, [R]; zero: J(0) - J*; each: ||B||^2 / 2 lam, which bounds over
    in every release with noise B in the objective, [R]; bounds: of the plan.
    """

    accuracy: Array
    quiet: float
    lam: float
    risk: Array
    over: Array
    zero: float
    each: Array
    bounds: tuple[Bound, ...]
    reason: str


def split_budget(budget: Budget, classes: int, output: bool) -> Budget:
    """Budget of each of C binary problems that together spend `budget`. output: Gaussian output perturbation.

    >>> split_budget(Budget(1.0, 1e-5), 4, output=False)
    Budget(epsilon=0.25, delta=2.5e-06)
    >>> round(split_budget(Budget(1.0, 1e-5), 4, output=True).epsilon, 3)
    0.469
    """
    if not output:
        return Budget(budget.epsilon / classes, budget.delta / classes)
    mu = gaussian_mu(budget) / math.sqrt(classes)
    return Budget(gaussian_epsilon(mu, budget.delta), budget.delta)


def runs_of(
    learner: LearnerKey,
    split: ClassSplit,
    budget: Budget,
    *,
    lam: float | str = "auto",
    repetitions: int = 12,
    seed: int = 0,
    cancelled: Cancelled = never,
) -> Runs:
    """Releases of a learner on the training records of a split. repetitions: even, in pairs of opposite noise.

    learner: "ellipsoids" (`gaussian_classifier`), "pure" (the same with Gamma noise, delta = 0), "split" and
    "split_answer" (one-vs-rest, with `objective_gaussian` and `output_gaussian`).
    lam: a number of the ellipsoids; a rule for each learner's own. Noise is the same at all budgets.
    """
    one_of("learner", learner, LEARNERS)
    if integer("repetitions", repetitions, at_least=2) % 2:
        raise ValueError(f"repetitions must be even, got {repetitions}")
    release = _ellipsoids if learner in _KNOBS else _one_vs_rest
    try:
        return release(learner, split, budget, lam, repetitions, seed, cancelled)
    except NotApplicable as error:
        nothing = np.full(repetitions, np.nan)
        return Runs(nothing, math.nan, math.nan, nothing, nothing, math.nan, nothing, (), str(error))


def _ellipsoids(
    learner: str, split: ClassSplit, budget: Budget, lam: float | str, size: int, seed: int, cancelled: Cancelled
) -> Runs:
    mechanism = make_mechanism("gaussian_classifier", **_KNOBS[learner])
    data, R = split.train, split.domain.R
    spec = Spec(LOSS, data.n, data.p, lam, split.domain, classes=split.classes)  # type: ignore[arg-type]
    plan = mechanism.calibrate(spec, budget)
    prepared = mechanism.prepare(plan, data)
    drawn = mechanism.draws([plan], [prepared], generators(learner, size, seed), cancelled)
    weights, quiet = drawn.thetas[0], drawn.centres
    records, ridge = class_records(plan.spec, data), 0.5 * float(plan.spec.lam)
    losses = records.risks(np.concatenate([quiet, weights]))
    whole = losses + ridge * np.concatenate([(quiet**2).sum((1, 2)), (weights**2).sum((1, 2))])
    squares = [(direction(mechanism.law, plan.spec, rng) ** 2).sum() for rng in generators(learner, size, seed)]
    each = linear_term_excess(float(plan.spec.lam), plan.scale**2) * np.repeat(squares, 2)
    Z = features(np.asarray(split.test.X), R)
    accuracy, right = _right(weights @ Z.T, split), float(_right(quiet[0] @ Z.T, split))
    zero = split.classes - 1.0 - float(whole[0])
    over, bounds = whole[1:] - whole[0], mechanism.bounds(plan)
    return Runs(accuracy, right, float(plan.spec.lam), losses[1:], over, zero, each, bounds, "")


def _one_vs_rest(
    learner: str, split: ClassSplit, budget: Budget, lam: float | str, size: int, seed: int, cancelled: Cancelled
) -> Runs:
    output, R = learner == "split_answer", split.domain.R
    mechanism = make_mechanism("output_gaussian" if output else "objective_gaussian")
    Z, fresh = features(np.asarray(split.train.X), R), features(np.asarray(split.test.X), R)
    rule = lam if isinstance(lam, str) else "auto"
    spec = Spec("huber_hinge", len(Z), Z.shape[1], rule)  # type: ignore[arg-type]
    plan = mechanism.calibrate(spec, split_budget(budget, split.classes, output))
    ridge = float(plan.spec.lam)
    signs = np.where(split.train.y == np.arange(split.classes)[:, None], 1.0, -1.0)
    loss, tol = get_loss(plan.spec.loss), _QUIET / ridge
    centres = np.empty((split.classes, spec.p))
    for c, labels in enumerate(signs):
        go_on(cancelled)
        centres[c] = solvers.minimise(loss, Data(Z, labels), ridge, tol=tol).theta
    noise = plan.scale * np.stack([_pairs(f"{learner} {c}", spec.p, size, seed) for c in range(split.classes)])
    if output:
        thetas = centres[:, None] + noise
    else:
        thetas = solvers.perturbed_against_rest(loss, Z, signs, ridge, noise, start=centres, cancelled=cancelled)
    scores = -np.moveaxis(thetas @ fresh.T, 0, 1)
    nothing = np.full(size, np.nan)
    accuracy, right = _right(scores, split), float(_right(-centres @ fresh.T, split))
    return Runs(accuracy, right, float(plan.spec.lam), nothing, nothing, math.nan, nothing, (), "")


def _right(scores: Array, split: ClassSplit) -> Array:
    """Accuracy where the smallest of scores [..., C, test records] wins, the first of several; [...]."""
    least, y = scores.min(axis=-2), split.test.y.astype(np.intp)
    if np.count_nonzero(scores == least[..., None, :]) > least.size:
        return (scores.argmin(axis=-2) == y).mean(axis=-1)
    return (scores[..., y, np.arange(len(y))] == least).mean(axis=-1)  # no ties: a fifth of the time of argmin


def _pairs(key: str, p: int, size: int, seed: int) -> Array:
    """Gaussian draws b, -b, b', -b', ... of scale 1, [size, p]."""
    half = np.stack([NOISES["gaussian"].direction(p, p, rng) for rng in generators(key, size, seed)])
    return np.stack([half, -half], axis=1).reshape(size, p)


def generators(key: str, size: int, seed: int) -> list[np.random.Generator]:
    """Of the noise of a learner's releases, one for each pair."""
    return [generator(seed, f"classes {key}", r) for r in range(size // 2)]
