"""Releases in a scatter plot over the loss: a problem with two columns, so that whole models can be drawn."""

import dataclasses as dc

import numpy as np

from ...core.arrays import Array
from ...core.cache import shared
from ...core.losses import Loss, get_loss
from ...core.privacy import NotApplicable
from ...core.records import Data
from ...core.rng import generator
from ...mechanisms import Mechanism
from ...mechanisms.gradient.base import GradientPerturbation
from ...mechanisms.plan import Plan
from ...mechanisms.problem import Problem

_COLUMNS, _GRID, _RELEASES = 2, 33, 50
# Models that are meant to lie inside the window, and the steps in which it grows: a small move must not rescale it.
_INSIDE, _STEP = 0.95, 2.0**0.25
_SMALLEST = 1e-3


@dc.dataclass(frozen=True)
class MechanismReleases:
    """Releases of one mechanism.

    thetas: [releases, 2]. theta_hat: [2], the model without noise. plan: of the releases, None if the mechanism does
    not apply, for the `reason`. path, quiet_path: [T + 1, 2], the iterates of the first release of a descent, with
    noise and without.
    """

    mechanism: str
    thetas: Array
    theta_hat: Array
    plan: Plan | None
    reason: str = ""
    path: Array | None = None
    quiet_path: Array | None = None


@dc.dataclass(frozen=True)
class ReleaseScatter:
    """Releases of several mechanisms over one loss.

    mechanisms: in the order asked for. best: [2], the best model of norm theta_norm. x, y: [m], coordinates of a
    square window that holds 19 of 20 models. excess: [m, m], F(x_j, y_i) - F*, F without regularisation.
    """

    mechanisms: tuple[MechanismReleases, ...]
    best: Array
    x: Array
    y: Array
    excess: Array


@shared(128)
def release_scatter(mechanisms: tuple[Mechanism, ...], problem: Problem, epsilon: float) -> ReleaseScatter:
    """50 releases of each mechanism and the loss around them, from a cache; arrays must not be changed.

    problem: with two columns. The window holds the iterates of descents, too.
    Raises ValueError for other columns.

    Randomness: that of `dpcore.experiments.cell`: from (seed, mechanism key, number of the release) alone.

    >>> from dpcore import Problem, make_mechanism
    >>> problem = Problem("synthetic", n=200, p=2, delta=0.0, lam=0.1)
    >>> made = release_scatter((make_mechanism("output_gamma"),), problem, epsilon=1.0)
    >>> made.mechanisms[0].thetas.shape, made.excess.shape, bool(made.excess.min() >= -1e-9)
    ((50, 2), (33, 33), True)
    """
    if problem.p != _COLUMNS:
        raise ValueError(f"problem must have p = {_COLUMNS} columns, which are drawn, got p = {problem.p:,}")
    train, best, loss = problem.load().train, problem.comparator(), get_loss(problem.loss)
    made = tuple(_release(mechanism, problem, epsilon, train) for mechanism in mechanisms)
    x, y = _window(best.theta, [each for each in made if each.plan])
    excess = _risks(loss, train.merged or train, x, y) - problem.reference().risk
    return ReleaseScatter(made, best.theta, x, y, excess)


def _risks(loss: Loss, data: Data, x: Array, y: Array) -> Array:
    """F(x_j, y_i), [m, m]."""
    shares = (np.ones(data.n) if data.weights is None else data.weights) / data.n
    risks, labels = np.empty((len(y), len(x))), np.tile(data.y, len(x))
    for i, height in enumerate(y):  # row by row: all rows at once would be n times m^2 numbers
        z = loss.predictions(data, np.column_stack([x, np.full(len(x), height)]))
        risks[i] = loss.value(z.ravel(), labels).reshape(z.shape) @ shares
    return risks


def _release(mechanism: Mechanism, problem: Problem, epsilon: float, train: Data) -> MechanismReleases:
    try:
        plan = problem.plan(mechanism, epsilon)
    except NotApplicable as error:
        return MechanismReleases(mechanism.key, np.empty((0, _COLUMNS)), np.full(_COLUMNS, np.nan), None, str(error))
    prepared = mechanism.prepare(plan, train)
    rngs = [generator(problem.seed, mechanism.key, r) for r in range(_RELEASES)]
    if not isinstance(mechanism, GradientPerturbation):
        return MechanismReleases(mechanism.key, mechanism.release_many(plan, prepared, rngs), prepared.theta, plan)
    thetas, theta_hat = mechanism.with_and_without_noise(plan, prepared, rngs)
    path, quiet = mechanism.paths(plan, prepared, generator(problem.seed, mechanism.key, 0))
    return MechanismReleases(mechanism.key, thetas, theta_hat, plan, path=path, quiet_path=quiet)


def _window(best: Array, shown: list[MechanismReleases]) -> tuple[Array, Array]:
    """Coordinates [m] of a square half-way between the best model and those without noise, or the start of a walk; its
    side is a step of a fixed ladder."""
    centre = (best + np.mean([each.theta_hat for each in shown] or [best], axis=0)) / 2.0
    ways = [way for each in shown for way in (each.path, each.quiet_path) if way is not None]
    if ways:
        centre = (best + ways[0][0]) / 2.0
    models = np.concatenate([best[None], *(np.vstack([c.theta_hat, c.thetas]) for c in shown), *ways])
    reach = np.abs(models - centre).max(axis=1)
    wanted = max(1.1 * float(np.quantile(reach, _INSIDE)), 1.3 * float(reach[0]), _SMALLEST)
    half = _STEP ** np.ceil(np.log(wanted) / np.log(_STEP))
    steps = np.linspace(-half, half, _GRID)
    return centre[0] + steps, centre[1] + steps
