"""The size that Theorem 3.1 of Talwar, Thakurta and Zhang needs."""

import math

import pytest

from dpcore.studies.dimension.lasso.fingerprints import literal_size


def test_the_literal_size_is_the_smallest_and_cannot_be_built():
    size, tau = literal_size(), 0.001
    w = size.m / math.log(size.m)
    assert w >= 1 / tau > (size.m - 1) / math.log(size.m - 1)
    assert size.p == size.m**2 / tau and size.n >= w + tau * w * size.p >= size.p
    assert size.m == 9119 and size.n == pytest.approx(8.3e10, rel=0.01)
    assert size.excess == pytest.approx(3.9e-13, rel=0.02)
