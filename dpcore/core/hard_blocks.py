"""Layout of the hardest records for private classifiers, used by a lower bound and by a data source."""

import numpy as np

from .arrays import Array


def hard_blocks(n: int) -> Array:
    """Number of records with the block's label and with the opposite label in each block, [J, 2], within n records.

    Block j = 1, ..., J has 4^j records on its own axis; one in eight of them, at least one, has the opposite label. All
    further records lie at 0. Each block size is the hardest for some epsilon.

    >>> hard_blocks(1_000).astype(int).tolist()
    [[3, 1], [14, 2], [56, 8], [224, 32]]
    """
    sizes = 4.0 ** np.arange(1, 16)
    sizes = sizes[np.cumsum(sizes) <= n]
    other = np.maximum(1.0, sizes / 8.0)
    return np.stack([sizes - other, other], axis=1)
