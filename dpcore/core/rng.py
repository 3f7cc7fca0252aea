"""Random numbers by seed."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .arrays import Array

Generators = Sequence[np.random.Generator]

# Steps whose noise is drawn at once, and numbers at most; both are part of what a seed means.
_BLOCK_STEPS, _BLOCK_NUMBERS = 32, 1 << 14


def generator(seed: int, key: str, repetition: int) -> np.random.Generator:
    """The noise of one repetition of one mechanism; the same for every epsilon and every grid."""
    return np.random.default_rng([seed, zlib.crc32(key.encode()), repetition])


def in_blocks(
    rngs: Generators, numbers: int, draw: Callable[[np.random.Generator, int], tuple[Array, ...]]
) -> Iterator[tuple[Any, ...]]:
    """The noise of step after step, without end: [len(rngs), ...] of each array that `draw` makes.

    numbers: the first array's in a step. draw: of a generator and how many steps, arrays [steps, ...]. Each generator
    draws whole blocks of 32 steps, or of fewer where 2^14 numbers are: a shorter run meets the first steps of the same
    noise.

    >>> steps = in_blocks([np.random.default_rng(0)], 2, lambda rng, steps: (rng.random((steps, 2)),))
    >>> [next(steps)[0].shape for _ in range(40)][-1]
    (1, 2)
    """
    steps = max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // numbers))
    while True:
        drawn = [draw(rng, steps) for rng in rngs]
        yield from zip(*(np.stack(parts, axis=1) for parts in zip(*drawn, strict=True)), strict=True)
