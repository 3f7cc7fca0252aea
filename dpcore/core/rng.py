"""Random numbers by seed."""

import zlib
from collections.abc import Sequence

import numpy as np

Generators = Sequence[np.random.Generator]


def generator(seed: int, key: str, repetition: int) -> np.random.Generator:
    """The noise of one repetition of one mechanism; the same for every epsilon and every grid."""
    return np.random.default_rng([seed, zlib.crc32(key.encode()), repetition])
