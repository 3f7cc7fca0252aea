"""Long vectors of noise: numpy's own numbers, in the memory of the vector."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from dpcore.mechanisms.noise.spherical import NOISES


@pytest.mark.parametrize("law", ["gaussian", "gamma"])
def test_compiled_noise_is_numpy_s_own(law):
    """The same numbers on both sides of the size from which draws are compiled, and the generator goes on alike."""
    for p in (999, 1_000, 5_000):
        rng, again = np.random.default_rng(p), np.random.default_rng(p)
        found = NOISES[law].direction(p, p, rng)
        scale = math.sqrt(again.chisquare(p + 1)) if law == "gamma" else 1.0
        np.testing.assert_allclose(found, scale * again.standard_normal(p), rtol=1e-14)
        assert rng.random() == again.random()


def test_noise_takes_the_memory_of_the_output_only():
    law, rng, p = NOISES["gamma"], np.random.default_rng(0), 300_000
    law.direction(p, p, rng)  # what is loaded at a first call is no memory of the noise
    tracemalloc.start()
    try:
        made = law.direction(p, p, rng)
        assert tracemalloc.get_traced_memory()[1] <= 1.01 * made.nbytes
    finally:
        tracemalloc.stop()
