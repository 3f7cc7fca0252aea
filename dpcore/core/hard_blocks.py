"""Layout of the hardest records for private classifiers: a lower bound is proved on them, a recipe draws them."""

import numpy as np

from .arrays import Array


def hard_blocks(n: int) -> Array:
    """Records of each block with its own label and with the other one, [J, 2]: as many blocks as n records hold.

    Block j = 1, ..., J has 4^j records on an axis of its own; one in eight of them, one at least, has the other label.
    All further records lie at 0. Each size of block is the hardest for some epsilon.

    >>> hard_blocks(1_000).astype(int).tolist()
    [[3, 1], [14, 2], [56, 8], [224, 32]]
    """
    sizes = 4.0 ** np.arange(1, 16)
    sizes = sizes[np.cumsum(sizes) <= n]
    other = np.maximum(1.0, sizes / 8.0)
    return np.stack([sizes - other, other], axis=1)
