"""Lemma 1 of the privacy proof of Pathak and Raj 2010: the numbers that it states and those that hold.

As in the paper, a record is x~ = (x, 1) with ||x|| <= 1, losses are summed and lam belongs to the sum; the loss is the
rounded hinge (`dpcore/solvers/multiclass/objective.py`), for the published one has no lower bound. At Phi = 0 every
margin is 0 and every slope 1: the gradient of a record's loss is -X in the block of a wrong class and (C - 1) X in that
of its own, X = x~ x~'.

Source: Pathak and Raj 2010, Lemma 1.
"""

from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.validation import integer
from ...solvers.multiclass.objective import hinge_slope

_HALF_WIDTH = 0.5


def record_gradient(x: Array, label: int, classes: int) -> Array:
    """Gradient of one record's loss at Phi = 0, [classes, d + 1, d + 1], for the published x~ = (x, 1).

    >>> record_gradient(np.array([1.0]), 0, 3)[:, 0, 0].tolist()
    [2.0, -1.0, -1.0]
    """
    with_one = np.append(x, 1.0)
    slopes = -hinge_slope(np.zeros(integer("classes", classes, at_least=2)), _HALF_WIDTH)
    slopes[label] -= slopes.sum()
    return np.multiply.outer(slopes, np.outer(with_one, with_one))


class LemmaOne(NamedTuple):
    """Norms (Frobenius) for records of length 1 in x, all of which are attained at Phi = 0.

    published: 2, Lemma 1's bound on the change of one class's block. square: ||x~ x~'|| = ||x~||^2, for which the lemma
    has ||x~|| <= 1. own: of the block of a record's own class, which the lemma leaves out. block: the largest change of
    a class's block when one record is replaced. joint: the change of all blocks together, sqrt(2) C ||x~||^2.
    """

    published: float
    square: float
    own: float
    block: float
    joint: float


def lemma_1(classes: int) -> LemmaOne:
    """Norms that Lemma 1 bounds by 1 and 2, from the gradients of two records with one x and two labels.

    The appended 1 makes ||x~||^2 = 2 where ||x|| = 1. docs/formulas.md ("The repaired mechanism", *Sensitivity*) proves
    that no two records move the gradient by more than `joint`.

    >>> [round(value, 3) for value in lemma_1(3)]
    [2.0, 2.0, 4.0, 6.0, 8.485]
    """
    x = np.array([1.0])
    first, second = (record_gradient(x, label, classes) for label in (0, 1))
    sizes, changes = (np.linalg.norm(blocks, axis=(1, 2)) for blocks in (first, first - second))
    square = float(np.linalg.norm(np.outer(np.append(x, 1.0), np.append(x, 1.0))))
    return LemmaOne(2.0, square, float(sizes[0]), float(changes.max()), float(np.linalg.norm(first - second)))
