"""Leak of the mechanism as published: an equation that its records satisfy and neighbours do not.

Where J_p = L + <A, sum_c Phi_c> has a minimiser (`pathak_raj.py`), any two classes have
    U_c' (dL/dPhi_c - dL/dPhi_c') U_c' = 0,
the columns of U_c a basis of the range of Phi_c (docs/formulas.md, "As published"). It contains no noise: an attacker
who sees the Phi_c can check any guess of the records. If two classes have Phi_c != 0, the training records always
satisfy it.

Minimisers. With A = M M' and V_c = M' U_c the problem is that of records M^-1 x~ and A = I. It is solved for
Phi_c = u_c u_c', by Newton's method on u with the curvature's eigenvalues taken as positive, from a few random starts.
Convergence is not guaranteed: `certified_gaps` decides, and draws that it does not certify count as not solved.
Matrices of higher rank are not found this way.

Units: those of `dpcore/solvers/multiclass/objective.py`, x~ = (x, 1) / sqrt2. The paper has (x, 1); there Phi is half
as large, and lam and b are twice as large. This file takes lam and b as published and halves them.
"""

import dataclasses as dc

import numpy as np

from ...core.arrays import Array
from ...core.cache import shared
from ...core.rng import generator
from ...core.validation import integer, positive
from ...solvers.multiclass.objective import ClassRecords, hinge_slope, huber_hinge, smat, svec
from .pathak_raj import linear_terms, published_noise

# A certified gap is at most this share of J_p(0); an eigenvalue beyond this share of the largest belongs to the range.
_GAP, _RANGE = 1e-10, 1e-8
_STARTS, _STEPS = 6, 60


def neighbours(n: int = 20) -> tuple[ClassRecords, ClassRecords]:
    """n records of one column, evenly in [-1, 1], with the sign as class; and the same with (0.3, class 0) as the last.

    >>> first, second = neighbours()
    >>> int((first.X != second.X).sum()), second.X[-1].tolist(), int(second.labels[-1])
    (1, [0.3], 0)
    """
    x = np.linspace(-1.0, 1.0, integer("n", n, at_least=2))[:, None]
    labels = (x[:, 0] > 0.0).astype(int)
    other, other_labels = x.copy(), labels.copy()
    other[-1], other_labels[-1] = 0.3, 0
    return ClassRecords(x, labels, 2), ClassRecords(other, other_labels, 2)


def certified_gaps(records: ClassRecords, A: Array, weights: Array) -> Array:
    """A bound on J_p(Phi) - min J_p for weights [R, C, q] with eigenvalues >= 0 and A > 0, [R, p, p]; [R].

    sum_c |<Z_c, Phi_c>| + e J_p(0), Z_c = dL/dPhi_c + A, with the least e for which no Z_c + e A has an eigenvalue < 0.

    >>> records, _ = neighbours()
    >>> A = np.array([np.eye(2), 100.0 * np.eye(2)])
    >>> (certified_gaps(records, A, np.zeros((2, 2, 3))) > 0.0).tolist()  # all Phi_c = 0 is optimal for large A
    [True, False]
    """
    Z = smat(records.loss(records.scores(weights))[1]) + A[:, None]
    inverse = np.linalg.inv(np.linalg.cholesky(A))[:, None]
    least = np.linalg.eigvalsh(inverse @ Z @ inverse.swapaxes(-1, -2)).min((1, 2))
    slack = np.abs((svec(Z) * weights).sum(2)).sum(1)
    return slack + np.maximum(-least, 0.0) * _at_zero(records)


def _at_zero(records: ClassRecords) -> float:
    """J_p(0)."""
    return records.n * (records.classes - 1) * float(huber_hinge(np.zeros(1), records.half_width)[0])


def minimise_published(records: ClassRecords, A: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Minimisers of J_p for two classes and matrices A > 0, [R, p, p]: weights [R, 2, q] and `certified_gaps`, [R].

    Rows whose gap is not small are no minimisers; see the module. ValueError for other than two classes.
    """
    if records.classes != 2:
        raise ValueError(f"records must have 2 classes, got {records.classes}")
    x = np.column_stack([records.X / records.R, np.ones(records.n)]) / np.sqrt(2.0)
    inverse = np.linalg.inv(np.linalg.cholesky(A))
    weights, gaps = np.zeros((len(A), 2, records.Z.shape[1])), np.full(len(A), np.inf)
    open_ = np.arange(len(A))
    for _ in range(_STARTS):
        u = _newton(x @ inverse[open_].swapaxes(1, 2), records, rng) @ inverse[open_]
        found = svec(u[..., :, None] * u[..., None, :])
        reached = certified_gaps(records, A[open_], found)
        better = reached < gaps[open_]
        weights[open_[better]], gaps[open_[better]] = found[better], reached[better]
        open_ = np.flatnonzero(~(gaps <= _GAP * _at_zero(records)))
        if not len(open_):
            break
    return weights, gaps


def _newton(x: Array, records: ClassRecords, rng: np.random.Generator) -> Array:
    """Points u, [R, 2, p], where sum_i psi(m_i) + ||u||^2 is low: records x [R, n, p], matrices u_c u_c' and A = I.

    Scores are (x'u_c)^2; the margin is (x'u_0)^2 - (x'u_1)^2 for records of class 1 and minus that for class 0.
    """
    draws, _, p = x.shape
    h, signs = records.half_width, np.where(records.labels == 1, 1.0, -1.0)
    classes = np.array([1.0, -1.0])
    transposed, eye = x.swapaxes(1, 2), np.eye(p)

    def at(u: Array) -> tuple[Array, Array, Array]:
        products = x @ u.swapaxes(1, 2)
        margins = signs * (products**2 @ classes)
        return huber_hinge(margins, h).sum(1) + (u**2).sum((1, 2)), products, margins

    u = rng.standard_normal((draws, 2, p))
    u /= np.sqrt(((x @ u.swapaxes(1, 2)) ** 2).mean((1, 2)))[:, None, None]
    (values, products, margins), damping = at(u), np.ones(draws)
    for _ in range(_STEPS):
        pull = (transposed * (signs * hinge_slope(margins, h))[:, None]) @ x
        curved = transposed * np.sqrt((np.abs(1.0 - margins) < h) / (2.0 * h))[:, None]
        turn = 2.0 * np.concatenate([c * curved * products[:, None, :, k] for k, c in enumerate(classes)], 1)
        hessian = turn @ turn.swapaxes(1, 2)
        gradient = np.empty((draws, 2 * p))
        for k, c in enumerate(classes):
            block = slice(k * p, (k + 1) * p)
            Z = 2.0 * (eye - c * pull)
            hessian[:, block, block] += Z
            gradient[:, block] = (Z @ u[:, k, :, None])[..., 0]
        curvature, basis = np.linalg.eigh(hessian)
        step = (basis.swapaxes(1, 2) @ gradient[..., None])[..., 0] / (np.abs(curvature) + damping[:, None])
        new = u - (basis @ step[..., None]).reshape(u.shape)
        new_values, new_products, new_margins = at(new)
        lower = new_values <= values * (1.0 + 1e-13)  # what rounding makes of no change
        u, products = np.where(lower[:, None, None], new, u), np.where(lower[:, None, None], new_products, products)
        values, margins = np.where(lower, new_values, values), np.where(lower[:, None], new_margins, margins)
        damping = np.where(lower, 0.1 * damping, np.maximum(5.0 * damping, 1e-3))
    return u


def residuals(records: ClassRecords, weights: Array) -> Array:
    """The largest ||P_c (dL/dPhi_c - dL/dPhi_c') P_c'||_F over pairs of classes, P_c the projector onto the range of
    Phi_c; [R] for weights [R, C, q]. nan where fewer than two Phi_c are not 0: there the equation says nothing.

    >>> records, other = neighbours()
    >>> weights, _ = minimise_published(records, np.array([[[2.0, 0.2], [0.2, 0.5]]]), np.random.default_rng(0))
    >>> bool(residuals(records, weights)[0] < 1e-12), bool(residuals(other, weights)[0] > 0.1)
    (True, True)
    """
    values, vectors = np.linalg.eigh(smat(weights))
    kept = values > _RANGE * values.max((1, 2), keepdims=True)
    projectors = (vectors * kept[..., None, :]) @ vectors.swapaxes(-1, -2)
    gradients = smat(records.loss(records.scores(weights))[1])
    found = np.zeros(len(weights))
    for c in range(records.classes):
        for other in range(c):
            part = projectors[:, c] @ (gradients[:, c] - gradients[:, other]) @ projectors[:, other]
            found = np.maximum(found, np.linalg.norm(part, axis=(1, 2)))
    return np.where(kept.any(2).sum(1) > 1, found, np.nan)


@dc.dataclass(frozen=True)
class MembershipLeak:
    """draws: of the noise. exist: those with a minimiser. Where it was certified and two Phi_c != 0, a guess is made;
    own, other: the residual under the records that were trained on and under their neighbour, [guesses]. The smaller
    one is guessed.
    """

    draws: int
    exist: int
    own: Array
    other: Array

    @property
    def guesses(self) -> int:
        return len(self.own)

    @property
    def right(self) -> int:
        return int((self.own < self.other).sum())


@shared(16)
def membership_leak(
    draws: int = 3_000, seed: int = 0, *, epsilon: float = 1.0, lam: float = 1.0, n: int = 20
) -> MembershipLeak:
    """Guesses, from the published mechanism's output, which of two equally likely `neighbours` was trained on.

    epsilon, lam: as published. From a cache; arrays must not be changed.

    >>> found = membership_leak(300)
    >>> found.right == found.guesses > 30
    True
    """
    draws, epsilon, lam = integer("draws", draws, at_least=1), positive("epsilon", epsilon), positive("lam", lam)
    rng, pair = generator(seed, "as_printed", 1), neighbours(n)
    A = 0.5 * linear_terms(published_noise(1, epsilon, draws, rng), lam)
    A = A[np.linalg.eigvalsh(A)[:, 0] > 0.0]
    second = rng.random(len(A)) < 0.5
    own, other = [], []
    for rows, mine, theirs in ((~second, *pair), (second, *pair[::-1])):
        weights, gaps = minimise_published(mine, A[rows], rng)
        weights = weights[gaps <= _GAP * _at_zero(mine)]
        own.append(residuals(mine, weights))
        other.append(residuals(theirs, weights))
    mine_all, theirs_all = np.concatenate(own), np.concatenate(other)
    told = ~np.isnan(mine_all)
    return MembershipLeak(draws, len(A), mine_all[told], theirs_all[told])
