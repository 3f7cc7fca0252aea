"""Polynomials fitted with and without privacy: the illustration of regularisation in Kamath's lecture, with noise."""

import dataclasses as dc

import numpy as np

from ... import solvers
from ...core.arrays import Array
from ...core.cache import shared
from ...core.losses import get_loss
from ...core.privacy import Budget, NotApplicable
from ...core.records import Data
from ...core.rng import generator
from ...core.specification import Spec
from ...mechanisms import Mechanism
from ...mechanisms.problem import Problem

DEGREE, RELEASES = 7, 8
_LOSS = "huber"  # a slope and a curvature that are bounded, which all three perturbations need
_NOISE, _GRID = 0.15, 121


@dc.dataclass(frozen=True)
class PrivateFits:
    """Curves of one mechanism, [RELEASES, m]; none, for the `reason`, where it does not apply."""

    mechanism: str
    curves: Array
    reason: str = ""


@dc.dataclass(frozen=True)
class Polynomials:
    """Fits of one degree to the same records.

    x, y: [n], the records. grid: [m]. best: [m], the curve of smallest mean loss among coefficients of norm theta_norm.
    fits: in the order asked for.
    """

    x: Array
    y: Array
    grid: Array
    best: Array
    fits: tuple[PrivateFits, ...]


@shared(64)
def private_polynomials(mechanisms: tuple[Mechanism, ...], problem: Problem, epsilon: float) -> Polynomials:
    """Eight private fits by each mechanism and the fit without privacy, from a cache; arrays must not be changed.

    Features are T_0(x) to T_7(x), Chebyshev's polynomials, over sqrt(8), so that every record has a norm of at most 1;
    y is clipped to [-1, 1]; the loss is Huber's. problem: for its n, delta, lam, theta_norm and seed.

    Randomness: the records from the seed, releases from (seed, mechanism key, number of the release).

    >>> from dpcore import Problem, make_mechanism
    >>> problem = Problem("synthetic", n=200, theta_norm=6.0)
    >>> made = private_polynomials((make_mechanism("output_gaussian"),), problem, epsilon=1.0)
    >>> made.best.shape, made.fits[0].curves.shape
    ((121,), (8, 121))
    """
    rng = np.random.default_rng([problem.seed, *b"polynomials"])
    x = rng.uniform(-1.0, 1.0, problem.n)
    y = np.clip(0.8 * np.sin(2.5 * x) + _NOISE * rng.standard_normal(problem.n), -1.0, 1.0)
    grid = np.linspace(-1.0, 1.0, _GRID)
    records, rows = Data(_features(x), y), _features(grid)
    best = solvers.minimise_in_ball(get_loss(_LOSS), records, problem.theta_norm).theta
    fits = tuple(_fits(mechanism, problem, epsilon, records, rows) for mechanism in mechanisms)
    return Polynomials(x, y, grid, rows @ best, fits)


def _features(x: Array) -> Array:
    return np.polynomial.chebyshev.chebvander(x, DEGREE) / (DEGREE + 1) ** 0.5


def _fits(mechanism: Mechanism, problem: Problem, epsilon: float, records: Data, rows: Array) -> PrivateFits:
    spec = Spec(_LOSS, records.n, records.p, problem.lam, theta_norm=problem.theta_norm)  # type: ignore[arg-type]
    try:
        plan = mechanism.calibrate(spec, Budget(epsilon, problem.delta))
    except NotApplicable as error:
        return PrivateFits(mechanism.key, np.empty((0, len(rows))), str(error))
    prepared = mechanism.prepare(plan, records)
    rngs = [generator(problem.seed, mechanism.key, r) for r in range(RELEASES)]
    return PrivateFits(mechanism.key, mechanism.release_many(plan, prepared, rngs) @ rows.T)
