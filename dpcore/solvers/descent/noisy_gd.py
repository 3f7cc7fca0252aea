"""Noisy projected gradient descent on all records: many plans and many repetitions advance together.

One step of a model: theta <- Proj(theta - eta_t (grad F(theta) + lam theta + s xi_t)), where Proj takes the nearest
point of an l_p ball, p from 2 to inf, and xi_t is standard normal. All models of one repetition share their xi_t.
"""

import dataclasses as dc
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ... import kernels
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import Loss
from ...core.records import Data
from ...core.rng import Generators, in_blocks
from ..erm.batched_lbfgs import Records

# Predictions [models, n] that fit into a processor's own cache.
_CACHED_NUMBERS = 1 << 17
# In single precision, up to this many columns one pass is faster than two products of matrices; it takes blocks of
# records that stay in the nearest cache.
_NARROW, _BLOCK = 12, 512


@dc.dataclass(frozen=True)
class Schedule:
    """Descent of one plan.

    etas: [T], the step sizes. noise: s, standard deviation of each coordinate of the noise in a gradient. lam: >= 0.
    first: the result is the mean of the iterates after steps first, ..., T; T is the last alone.
    """

    etas: Array
    noise: float
    lam: float
    first: int

    @property
    def steps(self) -> int:
        return len(self.etas)

    def after(self, t: int, thetas: Array, gradients: Array, radius: float | None, order: float = 2.0) -> Array:
        """Iterates [k, r] after step t = 0, 1, ... with these noisy gradients, all columns stored."""
        moved = thetas - self.etas[t] * gradients
        if radius is not None:
            kernels.project_rows(moved, order, radius)
        return moved


def noise_of_steps(rngs: Generators, stored: int, idle: int) -> Iterator[tuple[Array, Array, Array]]:
    """Noise of each step: xi [R, stored], then in idle columns its part along theta [R] and the squared length of the
    rest [R]."""

    def draw(rng: np.random.Generator, steps: int) -> tuple[Array, ...]:
        return rng.standard_normal((steps, stored)), *idle_noise(rng, steps, idle)

    return in_blocks(rngs, stored, draw)


def idle_noise(rng: np.random.Generator, steps: int, columns: int) -> tuple[Array, Array]:
    """Noise of each step in idle columns: its part along the iterate and the squared length of the rest, [steps]."""
    if not columns:
        return np.zeros(steps), np.zeros(steps)
    return rng.standard_normal(steps), rng.chisquare(columns - 1, steps) if columns > 1 else np.zeros(steps)


def gradient_descent(
    loss: Loss,
    data: Data,
    schedules: Sequence[Schedule],
    rngs: Generators,
    signs: Array,
    *,
    radius: float | None,
    order: float = 2.0,
    stored: int,
    idle: int = 0,
    single: bool = False,
    quiet: bool = False,
    cancelled: Cancelled = lambda: False,
    watch: Callable[[Array], object] | None = None,
) -> Array:
    """Models of every schedule k in every repetition and with every sign, [K, R * len(signs) (+ 1 if quiet), stored].

    All models start at 0. rngs: one for each repetition. signs: factors of the noise, one model each: 1; 1 and -1 for
    pairs. radius, order: of the l_p ball for projections, None for none. stored: columns of the models; idle: further
    columns, which are 0 in every record; none unless order is 2. single: slopes in single precision where the loss has
    them, for charts. quiet: also, as each schedule's last model, descent without noise. cancelled: asked before each
    step; if it returns True, CancelledError is raised. watch: called in each step with the noisy gradients of the
    longest schedule, one a model.

    Randomness: from each generator, for blocks of 32 steps or of fewer where 2^14 normals are, one normal a step and
    stored column; then, with idle columns, one normal a step, then one chi-square a step.

    >>> from dpcore.core.losses import get_loss
    >>> loss, plain = get_loss("squared"), Schedule(np.full(50, 0.2), noise=0.0, lam=0.0, first=50)
    >>> rngs, data = [np.random.default_rng(0)], Data([[1.0], [1.0]], [1.0, 0.0])
    >>> gradient_descent(loss, data, [plain], rngs, np.ones(1), radius=10.0, stored=1).round(6).tolist()
    [[[0.5]]]
    """
    by_length = np.argsort([-schedule.steps for schedule in schedules], kind="stable")
    longest_first = [schedules[k] for k in by_length]
    steps = np.array([schedule.steps for schedule in longest_first])
    first = np.array([schedule.first for schedule in longest_first])[:, None, None]
    noise = np.array([schedule.noise for schedule in longest_first])[:, None, None]
    lam = np.array([schedule.lam for schedule in longest_first])[:, None, None]
    etas = np.zeros((steps[0], len(schedules), 1, 1))
    for k, schedule in enumerate(longest_first):
        etas[: schedule.steps, k, 0, 0] = schedule.etas
    gradients = _gradients(loss, data, single)

    noisy = len(rngs) * len(signs)
    models = noisy + quiet
    thetas = np.zeros((len(schedules), models, stored))
    beyond = np.zeros((len(schedules), models))  # squared length of theta in the idle columns
    sums = np.zeros_like(thetas)  # the start is 0 and adds nothing
    moves, ahead, aside = np.zeros((models, stored)), np.zeros(models), np.zeros(models)
    signed = moves[:noisy].reshape(len(rngs), len(signs), stored)  # views of all models but the quiet one
    noise_of_step = noise_of_steps(rngs, stored, idle)
    for t in range(int(steps[0])):
        xi, along, across = next(noise_of_step)
        go_on(cancelled)
        K = int(np.count_nonzero(steps > t))
        eta, theta = etas[t, :K], thetas[:K]
        np.multiply(xi[:, None, :], signs[:, None], out=signed)
        slope = gradients(theta.reshape(K * models, -1)).reshape(theta.shape)
        slope += lam[:K] * theta
        slope += noise[:K] * moves
        if watch is not None:
            watch(slope[0])
        theta -= eta * slope
        if radius is not None and order != 2.0:
            kernels.project_rows(theta.reshape(-1, stored), order, radius)
        elif radius is not None:
            size = (eta * noise[:K])[:, :, 0]
            ahead[:noisy], aside[:noisy] = np.outer(along, signs).ravel(), np.outer(across, signs**2).ravel()
            along_them = (1.0 - (eta * lam[:K])[:, :, 0]) * np.sqrt(beyond[:K]) + size * ahead
            beyond[:K] = along_them**2 + size**2 * aside
            lengths = np.sqrt(np.einsum("kmj,kmj->km", theta, theta) + beyond[:K])
            back = radius / np.maximum(lengths, radius)
            theta *= back[:, :, None]
            beyond[:K] *= back**2
        np.add(sums[:K], theta, out=sums[:K], where=first[:K] <= t + 1)
    answers = np.empty_like(sums)
    answers[by_length] = sums / (steps[:, None, None] + 1 - first)
    return answers


def _gradients(loss: Loss, data: Data, single: bool) -> Callable[[Array], Array]:
    """Function from thetas [k, r'] to grad F, [k, r'], r' >= r: the gradient is 0 beyond the stored columns."""
    data = data.merged or data if loss.linear else data
    step = max(1, _CACHED_NUMBERS // data.n)
    if not (single and loss.key in kernels.SINGLE_DERIVATIVE):
        return lambda thetas: np.concatenate(
            [loss.gradients(data, thetas[start : start + step]) for start in range(0, len(thetas), step)]
        )
    if isinstance(data.X, np.ndarray) and data.stored <= _NARROW and data.weights is None:
        return _narrow_gradients(loss, data)
    records = Records(loss, data, single=True)

    def gradients(thetas: Array) -> Array:
        out = np.zeros_like(thetas)
        for start in range(0, len(thetas), step):
            z = records.predictions(thetas[start : start + step, : data.stored])
            out[start : start + step, : data.stored] = records.forces(z, np.arange(len(z)))
        return out

    return gradients


def _narrow_gradients(loss: Loss, data: Data) -> Callable[[Array], Array]:
    """`_gradients` in single precision for few columns, where one pass is faster than two products of matrices."""
    columns = np.zeros((-(-data.stored // 4) * 4, data.n), np.float32)
    columns[: data.stored] = data.X.T
    y, h, derivative = data.y.astype(np.float32), np.float32(loss.shape), kernels.SINGLE_DERIVATIVE[loss.key]
    z, slopes = np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.float32)

    def gradients(thetas: Array) -> Array:
        asked = np.zeros((len(thetas), len(columns)), np.float32)
        asked[:, : data.stored] = thetas[:, : data.stored]
        forces = np.empty_like(asked)
        kernels.forces_of_rows(derivative, asked, columns, y, h, z, slopes, forces)
        out = np.zeros_like(thetas)
        np.divide(forces[:, : data.stored], data.n, out=out[:, : data.stored], dtype=float)
        return out

    return gradients
