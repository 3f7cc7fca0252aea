"""Steps of the privacy proof of Pathak and Raj 2010, each with the number that it states and the one that holds.

As in the paper, a record is x~ = (x, 1) with ||x|| <= 1, losses are summed and lam belongs to the sum; the loss is the
rounded hinge (`dpcore/solvers/multiclass/objective.py`), for the published one has no lower bound. At Phi = 0 every
margin is 0 and every slope 1: the gradient of a record's loss is -X in the block of a wrong class and (C - 1) X in that
of its own, X = x~ x~'.

Source: Pathak and Raj 2010, proof of Theorem 1, Lemmas 1 and 3.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.validation import integer, positive
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


def noise_lengths(d: int, epsilon: float) -> tuple[float, float]:
    """Mean of ||b|| by the published density (7), and by the sphere whose surface the proof divides by.

    b has (d + 1)^2 entries, so that ||b|| ~ Gamma((d + 1)^2, 2 / epsilon). The proof takes b for a point of d + 1
    entries, ||b|| ~ Gamma(d + 1, 2 / epsilon): the error cancels from its ratio of densities. A matrix b of that length
    would have the density ||b||^(-d (d + 1)) e^(-epsilon ||b|| / 2), which is unbounded at 0 and protects nobody.

    >>> noise_lengths(2, 1.0)
    (18.0, 6.0)
    """
    entries, scale = integer("d", d, at_least=1) + 1, 2.0 / positive("epsilon", epsilon)
    return entries**2 * scale, entries * scale


def needed_alpha(classes: int, n: int, lam: float) -> float:
    """alpha for which Theorem 1's 2 ln(1 + alpha / (n lam)) is the charge for the determinant, were lam a ridge.

    The charge is ln(1 + C q / lam) + (C - 2) ln(1 + q / lam), q = c ||x~||^4, c = 1 / (2h) the hinge's curvature; n is
    not in it, because losses are summed. The paper leaves alpha open and calls it a constant, but this alpha is
    proportional to n. Without a ridge no alpha suffices.

    >>> round(needed_alpha(3, 20, 1.0)), round(needed_alpha(3, 40, 1.0))
    (141, 282)
    """
    curvature = lemma_1(classes).square ** 2 / (2.0 * _HALF_WIDTH) / positive("lam", lam)
    charge = math.log1p(classes * curvature) + (classes - 2) * math.log1p(curvature)
    return integer("n", n, at_least=1) * lam * math.expm1(0.5 * charge)


def lemma_3_share(differences: Array) -> float:
    """[sum_c tr_d D_c]^2 / (d C sum_c ||D_c||^2) for matrices D_c, [C, d + 1, d + 1]; at most 1, as Lemma 3 says.

    >>> lemma_3_share(np.tile(np.diag([1.0, 1.0, 0.0]), (3, 1, 1)))
    1.0
    """
    classes, p, _ = differences.shape
    trace = float(np.trace(differences[:, :-1, :-1], axis1=1, axis2=2).sum())
    return trace**2 / ((p - 1) * classes * float((differences**2).sum()))
