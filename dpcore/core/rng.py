"""Random numbers by seed."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .arrays import Array

Generators = Sequence[np.random.Generator]

# Largest number of steps whose noise is drawn at once, and of numbers; both are part of what a seed means.
_BLOCK_STEPS, _BLOCK_NUMBERS = 32, 1 << 14


def generator(seed: int, key: str, repetition: int) -> np.random.Generator:
    """Generator of the noise for one repetition of one mechanism; the same for every epsilon and every grid."""
    return np.random.default_rng([seed, zlib.crc32(key.encode()), repetition])


def in_blocks(
    rngs: Generators, numbers: int, draw: Callable[[np.random.Generator, int], tuple[Array, ...]]
) -> Iterator[tuple[Any, ...]]:
    """Noise of one step after another, without end: [len(rngs), ...] for each array that `draw` makes.

    numbers: entries of the first array in a step. draw: makes arrays [steps, ...] of a generator and a number of steps.
    Each generator draws whole blocks of 32 steps, or of fewer that hold 2^14 numbers: a shorter run has the first steps
    of the same noise.

    >>> steps = in_blocks([np.random.default_rng(0)], 2, lambda rng, steps: (rng.random((steps, 2)),))
    >>> [next(steps)[0].shape for _ in range(40)][-1]
    (1, 2)
    """
    steps = max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // numbers))
    while True:
        drawn = [draw(rng, steps) for rng in rngs]
        yield from zip(*(np.stack(parts, axis=1) for parts in zip(*drawn, strict=True)), strict=True)


def two_of_each(rngs: Generators) -> list[np.random.Generator]:
    """Two independent generators of each, for releases that have no opposite."""
    return [np.random.default_rng(seed) for rng in rngs for seed in rng.integers(1 << 63, size=2)]
