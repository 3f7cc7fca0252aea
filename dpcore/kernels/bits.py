"""Numbers of bits in which rows differ, which are the inner products of rows of -1 and +1."""

import numpy as np
from numba import njit

_WORDS = 64  # of each row in a pass over all pairs: those of a few hundred rows stay in a near cache
_ODD, _PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_EACH = np.uint64(0x0101010101010101)
_ONE, _TWO, _FOUR, _LAST = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@njit(nogil=True)
def count_differing(rows, counts):
    """counts[i, j] += number of bits in which the rows i and j < i differ; rows [r, m] of uint64, counts [r, r]."""
    for start in range(0, rows.shape[1], _WORDS):
        stop = min(start + _WORDS, rows.shape[1])
        for i in range(rows.shape[0]):
            row = rows[i, start:stop]
            for j in range(i):
                other, count = rows[j, start:stop], np.uint64(0)
                for k in range(row.size):
                    # Counts of pairs of bits, of four, of eight, and the sum of the eights: LLVM knows this form and
                    # takes the instruction that the machine may have for it.
                    x = row[k] ^ other[k]
                    x = x - ((x >> _ONE) & _ODD)
                    x = (x & _PAIRS) + ((x >> _TWO) & _PAIRS)
                    x = (x + (x >> _FOUR)) & _FOURS
                    count += (x * _EACH) >> _LAST
                counts[i, j] += count
