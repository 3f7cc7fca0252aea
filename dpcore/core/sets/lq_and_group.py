"""Lq balls and group L1 balls."""

import dataclasses as dc

import numpy as np

from ..arrays import Array
from ..validation import check_real, integer
from .base import ConvexSet, NormBall, Width
from .basic import Ball, L1Ball
from .gaussian_width import drawn, largest_chi
from .norms import largest, length, widening

_MOST_STEPS = 200  # of a root search


@dc.dataclass(frozen=True)
class LqBall(NormBall):
    """||theta||_q <= 1.

    order: q, from 1.001 to 1000; 1 and inf are `L1Ball` and `Box`.
    """

    order: float

    label = "Lq ball"

    def __post_init__(self) -> None:
        order = check_real("order", self.order, "a number from 1.001 to 1000", lambda q: 1.001 <= q <= 1000.0)
        object.__setattr__(self, "order", order)

    def extreme(self, v: Array) -> Array:
        """-sign(v_j) |v_j|^(q* - 1) / ||v||_q*^(q* - 1) with q* = q / (q - 1): equality in Hoelder's inequality."""
        scaled = np.abs(v) / largest(v)
        powers = scaled ** (self.q - 1.0)
        total = np.einsum("...j,...j->...", powers, scaled)[..., None]
        return -np.copysign(powers, v) / np.maximum(total, 1.0) ** (1.0 / self.order)

    def project(self, v: Array) -> Array:
        """x_j + mu x_j^(q - 1) = |v_j| with the mu that gives ||x||_q = 1."""
        outside = (length(v, self.order) > 1.0)[..., 0]
        found = np.array(v, float)
        if outside.any():
            beyond = found[outside]
            found[outside] = np.sign(beyond) * self._on_boundary(np.abs(beyond))
        return found

    def _on_boundary(self, a: Array) -> Array:
        """x of the rows of a [m, p] >= 0, by Newton's method on ln ||x(mu)||_q, kept inside a bracket of mu.

        x_j <= 1 means mu >= max a_j - 1, and x_j^(q - 1) <= a_j / mu means mu <= ||a||_q*.
        """
        q = self.order
        low = np.maximum(a.max(axis=-1, keepdims=True) - 1.0, 0.0)
        high = np.maximum(length(a, self.q), low)
        mu = high
        with np.errstate(all="ignore"):
            for _ in range(_MOST_STEPS):
                x = _split(a, mu, q)
                excess = np.log((x**q).sum(axis=-1, keepdims=True))
                low, high = np.where(excess > 0.0, mu, low), np.where(excess > 0.0, high, mu)
                fall = x ** (q - 1.0) / (1.0 + mu * (q - 1.0) * x ** (q - 2.0))
                fall = q * np.where(x > 0.0, x ** (q - 1.0) * fall, 0.0).sum(axis=-1, keepdims=True)
                step = excess * np.exp(excess) / fall
                # Few steps suffice in mu near the boundary and in ln mu far from it.
                guess = mu + step
                guess = np.where((guess > low) & (guess < high), guess, mu * np.exp(step / mu))
                guess = np.where((guess > low) & (guess < high), guess, 0.5 * (low + high))
                done = (np.abs(guess - mu) <= 1e-15 * (1.0 + mu)) | (np.abs(excess) <= 1e-14)
                if done.all():
                    break
                mu = guess
        return np.asarray(x / np.maximum(length(x, q), 1.0), float)

    def _width(self, p: int) -> Width:
        """E ||g||_q*, drawn except for q = 2."""
        if self.order == 2.0:
            return Ball()._width(p)
        return drawn(lambda g: length(g, self.q)[:, 0], p)


@dc.dataclass(frozen=True)
class GroupL1Ball(ConvexSet):
    """sum_g ||theta_g||_2 <= 1 over groups of consecutive columns; the last group may be shorter.

    group: columns in a group, >= 1.
    """

    group: int

    label = "group L1 ball"

    def __post_init__(self) -> None:
        object.__setattr__(self, "group", integer("group", self.group, at_least=1))

    def norm(self, order: float, p: int) -> float:
        return widening(order, 2.0, min(self.group, p))

    def extreme(self, v: Array) -> Array:
        blocks = self._blocks(v / largest(v))
        lengths = np.linalg.norm(blocks, axis=-1)
        weights = L1Ball().extreme(lengths) / np.maximum(lengths, np.finfo(float).tiny)
        return self._joined(weights[..., None] * blocks, v)

    def project(self, v: Array) -> Array:
        blocks = self._blocks(v)
        lengths = length(blocks)[..., 0]
        shorter = L1Ball().project(lengths) / np.where(lengths > 0.0, lengths, 1.0)
        inside = lengths.sum(axis=-1)[..., None] <= 1.0
        return np.where(inside, v, self._joined(shorter[..., None] * blocks, v))

    def _blocks(self, v: Array) -> Array:
        """[..., groups, group], filled with zeros."""
        fill = -v.shape[-1] % self.group
        padded = np.concatenate([v, np.zeros((*v.shape[:-1], fill))], axis=-1)
        return padded.reshape(*v.shape[:-1], -1, self.group)

    def _joined(self, blocks: Array, v: Array) -> Array:
        return blocks.reshape(*v.shape[:-1], -1)[..., : v.shape[-1]]

    def _width(self, p: int) -> Width:
        """E max_g ||g_g||_2."""
        return largest_chi(p // self.group, self.group, p % self.group)


def _split(a: Array, mu: Array, q: float) -> Array:
    """x >= 0 with x + mu x^(q - 1) = a, for mu > 0.

    Newton's method in u, the power of x in which the left side is convex, comes down to the root from a point where
    either term alone is a.
    """
    power = max(q - 1.0, 1.0 / (q - 1.0))
    first, second = (1.0, mu) if q >= 2.0 else (mu, 1.0)  # first u + second u^power = a
    u = np.minimum(a / first, (a / second) ** (1.0 / power))
    for _ in range(_MOST_STEPS):
        high = second * u**power
        step = np.where(u > 0.0, (first * u + high - a) / (first + power * high / u), 0.0)
        u = np.maximum(u - step, 0.0)
        if not (np.abs(step) > 1e-9 * u).any():  # it converges quadratically
            break
    return np.asarray(u if q >= 2.0 else u**power)
