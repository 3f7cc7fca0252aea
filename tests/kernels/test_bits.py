"""Differing bits against numpy's count of them."""

import numpy as np
import pytest

from dpcore import kernels


@pytest.mark.parametrize("words", [1, 64, 130])
def test_differing_bits_are_counted_in_every_word_and_added(words):
    rows = np.random.default_rng(words).integers(0, 2**64, (5, words), np.uint64)
    rows[1], rows[2] = 0, ~rows[0]
    counts = np.full((5, 5), 7)
    kernels.count_differing(rows, counts)
    between = np.bitwise_count(rows[:, None] ^ rows).sum(axis=2, dtype=int)
    assert between[2, 0] == 64 * words
    assert (counts == 7 + np.tril(between)).all()
