"""Phased stochastic gradient descent: short phases, each on fresh records, each started at the last one's release."""

import dataclasses as dc
from collections.abc import Callable, Sequence

import numpy as np

from ... import kernels
from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.losses import Loss
from ...core.records import Data
from ...core.rng import Generators
from ...core.sets import NormBall


@dc.dataclass(frozen=True)
class Phase:
    """One phase. first, size: its records. step: of every gradient step. scale: of the noise in the mean iterate."""

    first: int
    size: int
    step: float
    scale: float


@dc.dataclass(frozen=True)
class Descender:
    """Projected steps on the records of a data set in their given order.

    loss: in a linear prediction. width: shape parameter of the loss's kernel. shape, size: the set, an l_p ball with p
    from 2 to inf, of this radius.
    """

    loss: Loss
    width: float
    data: Data
    shape: NormBall
    size: float

    def __post_init__(self) -> None:
        if self.shape.order < 2.0:
            raise ValueError(f"shape must be an l_p ball with p from 2 to inf, got the {self.shape.label}")

    def average(self, phase: Phase, starts: Array) -> Array:
        """Mean of the size + 1 iterates of a phase from each of starts [R, p], points of the set; [R, p]."""
        theta, average = starts.copy(), np.empty_like(starts)
        kernels.average_of_phase(
            kernels.DERIVATIVE[self.loss.key], kernels.records_of(self.data.X), self.data.y, self.width,
            phase.first, phase.size, phase.step, self.shape.order, self.size, theta, average,
        )  # fmt: skip
        return average

    def project(self, thetas: Array) -> Array:
        """Nearest points of the set in L2, [R, p]."""
        nearest = thetas.copy()
        kernels.project_rows(nearest, self.shape.order, self.size)
        return nearest


def descend_in_phases(
    descender: Descender,
    phases: Sequence[Phase],
    rngs: Generators,
    *,
    cancelled: Cancelled = lambda: False,
    watch: Callable[[Array], object] | None = None,
) -> Array:
    """Release of the last phase for each generator, [len(rngs), p].

    x_0 = 0 and x_i = Proj(mean of the iterates of phase i from x_{i-1} + scale_i N(0, I_p)). All runs use a record
    before the next one is read. cancelled: asked before each phase; if it returns True, CancelledError is raised.
    watch: called with each phase's mean with its noise, [len(rngs), p], before the projection.

    Randomness: p normals of each generator a phase, in the order of the phases.

    >>> from dpcore.core.losses import get_loss
    >>> from dpcore.core.sets import Box
    >>> data = Data([[1.0], [1.0]], [1.0, 1.0])
    >>> run = Descender(get_loss("huber"), 0.5, data, Box(), 1.0)
    >>> descend_in_phases(run, [Phase(0, 2, 0.25, 0.0)], [np.random.default_rng(0)])
    array([[0.25]])
    """
    p = descender.data.p
    thetas = np.zeros((len(rngs), p))
    # Generator by generator: one that is listed twice draws for its first run first.
    noise = np.stack([rng.standard_normal((len(phases), p)) for rng in rngs], axis=1)
    for phase, own in zip(phases, noise, strict=True):
        go_on(cancelled)
        noisy = descender.average(phase, thetas) + phase.scale * own
        if watch is not None:
            watch(noisy)
        thetas = descender.project(noisy)
    return thetas
