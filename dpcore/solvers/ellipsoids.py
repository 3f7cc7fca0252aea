"""Large-margin Gaussian classifier: one ellipsoid for each class, certified by a duality gap, many noise draws at once.

Records are x~ = (x / R, 1) / sqrt2, so that ||x~|| <= 1 where ||x|| <= R. Class c has a symmetric p x p matrix Phi_c,
p = d + 1, and x goes to the class of the smallest x~' Phi_c x~ = <Phi_c, X>, X = x~ x~'. The margin over class c is
m_c = <Phi_c - Phi_y, X>. With psi the hinge max(1 - m, 0) rounded within h of its kink and tr_d the trace without the
last diagonal entry,
    F(Phi) = sum_i sum_{c != y_i} psi(m_ic) + (mu/2) sum_c ||Phi_c||_F^2 + tau sum_c tr_d Phi_c + <B, Phi>
is mu-strongly convex. It is minimised over all symmetric matrices, or over the cone K of those with eigenvalues >= 0.

Certificate. psi(m) is the largest s (1 - m) + h s (1 - s) with s in [0, 1], attained at s = -psi'(m). So any slopes s
bound F from below: with V_c = -(sum_i g_ic X_i + tau I_d + B_c), where g_ic = -s_ic and g_iy = sum_c s_ic,
    F >= D(s) = sum_ic [s_ic + h s_ic (1 - s_ic)] - ||Pi V||^2 / (2 mu),
Pi the projection onto K (which leaves V as it is where there is no cone). At the slopes of a Phi in K
    F(Phi) - D(s) = ||mu Phi - Pi V||^2 / (2 mu) + <Pi V - V, Phi>,
two terms >= 0 in which nothing cancels. Hence F(Phi) - F* <= gap and ||Phi - Phi*|| <= sqrt(2 gap / mu). Without cone
V = mu Phi - grad F, and the gap is ||grad F||^2 / (2 mu). Over the cone any subgradient s at Phi, such as the one of
a projected step, has gap <= ||s||^2 / (2 mu): Phi minimises (mu/2) ||.||^2 - <V, .> over K up to s. So the gap is the
sharper certificate, and the only one here.

What is not here: with several ellipsoids in a class, x~' Phi_c x~ becomes the softmin -ln sum_m exp(-x~' Phi_cm x~),
which is concave; the margin over such a class stays concave, and psi of it convex, only while the own class enters by
one fixed component for each record, since with a softmin of its own the margin is a difference of concave functions.
Slack variables for records that miss the margin change nothing: at their best they are the hinge itself.

Sources: Sha and Saul 2006, Large margin Gaussian mixture modeling; Pathak and Raj 2010, Large margin multiclass
Gaussian classification with differential privacy, whose printed loss and gradient have wrong signs.
"""

from __future__ import annotations

import dataclasses as dc
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import float_array
from ..checks import check_real, integer, positive, shown
from ..types import Array, Unconverged
from .problem import find_root

_ACCELERATED_STEPS, _CHECK = 60, 10
_MAX_ROUNDS, _FIRST_WEIGHT, _GROWTH = 40, 10.0, 5.0
_INNER, _CG_ACCURACY, _MAX_CG = 0.1, 0.1, 500


@functools.lru_cache(maxsize=64)
def _triangle(p: int) -> tuple[Any, Any, Array]:
    """Rows and columns of the upper triangle and the weight of each entry in svec."""
    rows, columns = np.triu_indices(p)
    return rows, columns, np.where(rows == columns, 1.0, math.sqrt(2.0))


def svec(matrices: Array) -> Array:
    """Symmetric [..., p, p] as vectors [..., q], q = p (p + 1) / 2: <A, B>_F = <svec A, svec B>.

    >>> svec(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3).tolist()
    [1.0, 2.828, 3.0]
    """
    rows, columns, weights = _triangle(matrices.shape[-1])
    return matrices[..., rows, columns] * weights


def smat(vectors: Array) -> Array:
    """The inverse of `svec`: [..., q] as symmetric matrices [..., p, p]; ValueError if no p has q entries."""
    q = vectors.shape[-1]
    p = (math.isqrt(8 * q + 1) - 1) // 2
    if q < 1 or p * (p + 1) // 2 != q:
        raise ValueError(f"vectors must have p (p + 1) / 2 entries for an integer p >= 1, got {q}")
    rows, columns, weights = _triangle(p)
    matrices = np.empty((*vectors.shape[:-1], p, p))
    matrices[..., rows, columns] = matrices[..., columns, rows] = vectors / weights
    return matrices


class _Spectrum(NamedTuple):
    """values: [..., p]; vectors: [..., p, p]."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, vectors: Array) -> _Spectrum:
        return cls(*np.linalg.eigh(smat(vectors)))

    def positive_part(self) -> Array:
        """The nearest matrix with eigenvalues >= 0, in svec form."""
        return svec((self.vectors * np.maximum(self.values, 0.0)[..., None, :]) @ self.vectors.swapaxes(-1, -2))

    def derivative_weights(self) -> Array:
        """Omega [..., p, p]: in the basis of the eigenvectors the positive part moves by Omega times the change."""
        size, kept = np.abs(self.values), np.maximum(self.values, 0.0)
        total = size[..., :, None] + size[..., None, :]
        return (kept[..., :, None] + kept[..., None, :]) / np.where(total > 0.0, total, 1.0)


def project_to_cone(vectors: Array) -> Array:
    """The nearest matrices with eigenvalues >= 0; svec form [..., q] in and out.

    >>> project_to_cone(svec(np.diag([2.0, -1.0]))).tolist()
    [2.0, 0.0, 0.0]
    """
    return _Spectrum.of(vectors).positive_part()


@dc.dataclass(frozen=True)
class Ellipsoid:
    """(x - centre)' precision (x - centre) + offset, in the units of x, for one class or many.

    centre: [..., d]. precision: [..., d, d], symmetric. offset: [...].
    """

    centre: Array
    precision: Array
    offset: Array


def _units(d: int, R: float) -> Array:
    """t with (x, 1) = t x~ entry by entry, [d + 1]."""
    return math.sqrt(2.0) * np.append(np.full(d, positive("R", R)), 1.0)


def matrix_of(ellipsoid: Ellipsoid, R: float = 1.0) -> Array:
    """Phi [..., p, p] with x~' Phi x~ equal to the ellipsoid's value at x.

    Phi = T [[P, -P c], [-c' P, c' P c + offset]] T with the diagonal T that makes (x, 1) of x~. Its eigenvalues are
    >= 0 exactly if those of the precision P are and the offset is.
    """
    P, c = np.asarray(ellipsoid.precision, float), np.asarray(ellipsoid.centre, float)
    d = c.shape[-1]
    Phi = np.empty((*c.shape[:-1], d + 1, d + 1))
    column = -np.einsum("...ij,...j->...i", P, c)
    Phi[..., :d, :d] = P
    Phi[..., :d, d] = Phi[..., d, :d] = column
    Phi[..., d, d] = ellipsoid.offset - np.einsum("...i,...i->...", column, c)
    t = _units(d, R)
    return t[:, None] * Phi * t


def ellipsoid_of(Phi: Array, R: float = 1.0) -> Ellipsoid:
    """The inverse of `matrix_of`: Phi [..., p, p]. A singular precision gets the centre of least norm.

    Exact if the last column lies in the range of the precision, as it does where no eigenvalue is negative: the
    precision is invertible or the ellipsoid unbounded.

    >>> ellipsoid_of(matrix_of(Ellipsoid(np.array([0.5]), np.array([[4.0]]), np.array(0.25)))).centre.round(12)
    array([0.5])
    """
    d = Phi.shape[-1] - 1
    t = _units(d, R)
    plain = Phi / (t[:, None] * t)
    P, column = plain[..., :d, :d], plain[..., :d, d]
    centre = -np.einsum("...ij,...j->...i", np.linalg.pinv(P, rcond=d * np.finfo(float).eps, hermitian=True), column)
    offset = plain[..., d, d] - np.einsum("...i,...ij,...j->...", centre, P, centre)
    return Ellipsoid(centre, P, offset)


def features(X: Array, R: float = 1.0) -> Array:
    """svec(x~ x~') of each record, [n, q], of norm ||x~||^2 <= 1 where ||x|| <= R; records beyond R are not refused."""
    augmented = np.column_stack([X / positive("R", R), np.ones(len(X))]) / math.sqrt(2.0)
    return svec(augmented[:, :, None] * augmented[:, None, :])


def classify(weights: Array, Z: Array) -> Any:
    """argmin_c <Phi_c, X>, the first if several; weights: [..., C, q]; Z: `features`, [n, q]. Integers [..., n]."""
    return np.argmin(weights @ Z.T, axis=-2)


def huber_hinge(m: Array, h: float) -> Array:
    """psi: 1 - m below 1 - h, (1 + h - m)^2 / 4h up to 1 + h, then 0."""
    s = hinge_slope(m, h)
    return s * (1.0 - m) + h * s * (1.0 - s)


def hinge_slope(m: Array, h: float) -> Array:
    """-psi', in [0, 1]."""
    return np.clip((1.0 + h - m) / (2.0 * h), 0.0, 1.0)


@dc.dataclass(frozen=True)
class ClassRecords:
    """Records with classes: X [n, d], labels [n] in 0, ..., classes - 1.

    R: what ||x|| is promised not to exceed; it scales x and nothing is clipped. half_width: h of the rounded hinge.
    ValueError for arguments that break these rules.
    """

    X: Array
    labels: Any
    classes: int
    R: float = 1.0
    half_width: float = 0.5

    def __post_init__(self) -> None:
        X, labels = float_array("X", self.X), float_array("labels", self.labels)
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"X must have shape (n >= 1, d >= 1), got {X.shape}")
        if labels.shape != X.shape[:1]:
            raise ValueError(f"labels must have shape ({len(X)},) to match X, got {labels.shape}")
        classes = integer("classes", self.classes, at_least=2)
        wrong = labels[(labels != np.rint(labels)) | (labels < 0) | (labels >= classes)]
        if len(wrong):
            raise ValueError(f"labels must be integers from 0 to {classes - 1}, got {wrong[0]:g}")
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "labels", labels.astype(np.intp))
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "R", positive("R", self.R))
        object.__setattr__(self, "half_width", positive("half_width", self.half_width))

    @property
    def n(self) -> int:
        return len(self.X)

    @property
    def p(self) -> int:
        return self.X.shape[1] + 1

    @functools.cached_property
    def Z(self) -> Array:
        """`features`, [n, q]."""
        return features(self.X, self.R)

    @functools.cached_property
    def curvature(self) -> float:
        """A bound on the eigenvalues of the loss's Hessian: (C / 2h) times the largest one of Z' Z.

        A record's Hessian is M (x) X X' with M = sum_c psi''(m_c) (e_c - e_y) (e_c - e_y)', at most 1 / 2h times the
        Laplacian of a star on C nodes, whose largest eigenvalue is C.
        """
        Z = self.Z
        largest = float(np.linalg.eigvalsh(Z.T @ Z if Z.shape[1] <= self.n else Z @ Z.T)[-1])
        return self.classes / (2.0 * self.half_width) * largest

    def scores(self, weights: Array) -> Array:
        """<Phi_c, X_i> of weights [R, C, q]; [R, C, n]."""
        draws, classes, q = weights.shape
        return (weights.reshape(-1, q) @ self.Z.T).reshape(draws, classes, self.n)

    def margins(self, scores: Array) -> Array:
        """m_ic of scores [R, C, n], 0 for the own class."""
        return scores - scores[:, self.labels, np.arange(self.n)][:, None]

    def slopes(self, margins: Array) -> Array:
        """s_ic = -psi'(m_ic), 0 for the own class; [R, C, n]."""
        slopes = hinge_slope(margins, self.half_width)
        slopes[:, self.labels, np.arange(self.n)] = 0.0
        return slopes

    def losses(self, margins: Array) -> Array:
        """sum_i sum_{c != y_i} psi(m_ic), [R]."""
        # Margins of the own class are 0.
        return huber_hinge(margins, self.half_width).sum((1, 2)) - self.n * huber_hinge(np.zeros(1), self.half_width)[0]

    def pull(self, slopes: Array) -> Array:
        """The loss's gradient for slopes [R, C, n]: -s_ic X_i for c != y_i, (sum_c s_ic) X_i for y_i; [R, C, q].

        It sums to 0 over the classes.
        """
        return _pull(slopes, self.labels, self.Z)


def _pull(slopes: Array, labels: Any, Z: Array) -> Array:
    draws, classes, n = slopes.shape
    g = -slopes
    g[:, labels, np.arange(n)] = slopes.sum(1)
    return (g.reshape(draws * classes, n) @ Z).reshape(draws, classes, Z.shape[1])


@dc.dataclass(frozen=True)
class Objective:
    """F of the module, for a batch of noise draws. A model is [C, q], a symmetric matrix in svec form for each class.

    mu: > 0. tau: >= 0. noise: B, [R, C, q] in svec form; None is a single draw of 0. cone: minimise over matrices with
    eigenvalues >= 0. ValueError for arguments that break these rules.
    """

    records: ClassRecords
    mu: float
    tau: float = 0.0
    noise: Array | None = None
    cone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive("mu", self.mu))
        object.__setattr__(self, "tau", check_real("tau", self.tau, "a finite number >= 0", lambda v: v >= 0))
        C, p = self.records.classes, self.records.p
        q = p * (p + 1) // 2
        noise = np.zeros((1, C, q)) if self.noise is None else float_array("noise", self.noise)
        if noise.ndim != 3 or noise.shape[1:] != (C, q):
            raise ValueError(f"noise must have shape (R, {C}, {q}), got {noise.shape}")
        if not isinstance(self.cone, (bool, np.bool_)):
            raise ValueError(f"cone must be True or False, got {shown(self.cone)}")
        object.__setattr__(self, "noise", noise)

    @functools.cached_property
    def linear(self) -> Array:
        """tau I_d + B, [R, C, q]."""
        traced = np.ones(self.records.p)
        traced[-1] = 0.0
        return self.noise + self.tau * svec(np.diag(traced))  # type: ignore[operator]

    def draws(self, rows: Any) -> Objective:
        """The same for some of the draws."""
        return dc.replace(self, noise=self.noise[rows])  # type: ignore[index]

    def project(self, weights: Array) -> Array:
        """Onto the set that F is minimised over."""
        return project_to_cone(weights) if self.cone else weights

    def values(self, weights: Array) -> Array:
        """F of weights [R, C, q], one model for each draw; [R]."""
        loss, square, linear = self._terms(weights, self.records.margins(self.records.scores(weights)))
        return loss + square + linear

    def gradients(self, weights: Array) -> Array:
        """grad F, [R, C, q]."""
        slopes = self.records.slopes(self.records.margins(self.records.scores(weights)))
        return self.records.pull(slopes) + self.mu * weights + self.linear

    def gaps(self, weights: Array) -> tuple[Array, Array]:
        """The duality gap of weights [R, C, q] in the set, and the sum of the sizes of F's terms; both [R].

        The gap bounds F(weights) - F*. The sizes are what it is small beside: they are 0 nowhere, F may be.
        """
        margins = self.records.margins(self.records.scores(weights))
        V = -(self.records.pull(self.records.slopes(margins)) + self.linear)
        kept = self.project(V)
        short = ((self.mu * weights - kept) ** 2).sum((1, 2)) / (2.0 * self.mu)
        slack = ((kept - V) * weights).sum((1, 2))
        loss, square, linear = self._terms(weights, margins)
        return short + np.maximum(slack, 0.0), loss + square + np.abs(linear)

    def _terms(self, weights: Array, margins: Array) -> tuple[Array, Array, Array]:
        square = 0.5 * self.mu * (weights**2).sum((1, 2))
        return self.records.losses(margins), square, (self.linear * weights).sum((1, 2))


@dc.dataclass(frozen=True)
class Ellipsoids:
    """Minimisers of F with their certificates, one for each of R draws.

    weights: [R, C, q], in the set; `smat` makes them matrices. values: [R], F. gaps: [R], F - F* is at most this.
    distances: [R], ||Phi - Phi*||_F over all classes is at most this. steps: [R], gradients and Newton steps taken.
    """

    weights: Array
    values: Array
    gaps: Array
    distances: Array
    steps: Any


@dc.dataclass(frozen=True)
class _Asked:
    """What a certificate must reach."""

    share: float
    distance: float
    mu: float

    def goals(self, sizes: Array) -> Array:
        """The largest gap allowed where F's terms have these sizes."""
        return np.minimum(self.share * sizes, 0.5 * self.mu * self.distance**2)


def minimise_ellipsoids(
    objective: Objective, *, tol: float = 1e-6, distance: float = math.inf, max_steps: int = 1_000
) -> Ellipsoids:
    """Minimise F for every draw of the noise.

    tol: the certified gap is at most this share of the sizes of F's terms, sum of losses + (mu/2) ||Phi||^2 +
    |<tau I_d + B, Phi>|: of F itself where nothing is negative. distance: also asks for ||Phi - Phi*||_F <= distance.
    max_steps: for each draw.

    All draws take accelerated projected steps together, and those that are done leave; the few that need more are
    finished one by one (`_finish`). Memory: about six arrays [R, C, n].
    Raises Unconverged when a draw does not get there; nothing is returned then.

    >>> records = ClassRecords([[-1.0], [-0.8], [0.9], [1.0]], [0, 0, 1, 1], classes=2)
    >>> found = minimise_ellipsoids(Objective(records, mu=0.1, cone=True))
    >>> classify(found.weights, records.Z).tolist(), bool(found.gaps[0] <= 1e-6 * found.values[0])
    ([[0, 0, 1, 1]], True)
    """
    if not (isinstance(distance, float) and distance == math.inf):
        positive("distance", distance)
    asked = _Asked(positive("tol", tol), float(distance), objective.mu)
    max_steps = integer("max_steps", max_steps, at_least=1)
    weights, gaps, goals, steps = _accelerated(objective, asked, min(max_steps, _ACCELERATED_STEPS))
    for row in np.flatnonzero(~(gaps <= goals)):  # a NaN is no certificate
        part, left = objective.draws([row]), max_steps - int(steps[row])
        weights[row], gaps[row], goals[row], taken = _finish(part, asked, weights[row], left)
        steps[row] += taken
        if not gaps[row] <= goals[row]:
            raise Unconverged(
                f"the solver reached a duality gap of {gaps[row]:.3g} in {steps[row]} steps, "
                f"asked for was {goals[row]:.3g}; nothing was returned"
            )
    return Ellipsoids(weights, objective.values(weights), gaps, np.sqrt(2.0 * gaps / objective.mu), steps)


def _accelerated(objective: Objective, asked: _Asked, max_steps: int) -> tuple[Array, Array, Array, Any]:
    """Weights, gaps, goals and steps of each draw after accelerated projected gradients with restarts.

    Sources: Beck and Teboulle 2009, FISTA; O'Donoghue and Candes 2015, the restart where a step goes uphill.
    """
    records, mu = objective.records, objective.mu
    step = 1.0 / (mu + records.curvature)
    found = objective.project(-objective.linear) / mu  # the minimiser without records
    gaps, sizes = objective.gaps(found)
    goals, steps = asked.goals(sizes), np.zeros(len(found), dtype=np.int64)
    active = np.flatnonzero(~(gaps <= goals))
    part, here = objective.draws(active), found[active]
    scores = records.scores(here)
    ahead, scores_ahead, momentum = here, scores, np.ones(len(active))
    for k in range(1, max_steps + 1):
        if not len(active):
            break
        slopes = records.slopes(records.margins(scores_ahead))
        gradient = records.pull(slopes) + mu * ahead + part.linear
        new = part.project(ahead - step * gradient)
        new_scores = records.scores(new)
        uphill = ((ahead - new) * (new - here)).sum((1, 2)) > 0.0
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        share = np.where(uphill, 0.0, (momentum - 1.0) / grown)[:, None, None]
        momentum = np.where(uphill, 1.0, grown)
        # Scores are linear in the weights: one product serves both points.
        ahead, scores_ahead = new + share * (new - here), new_scores + share * (new_scores - scores)
        here, scores = new, new_scores
        if k % _CHECK == 0 or k == max_steps:
            found[active], steps[active] = here, k
            gaps[active], sizes = part.gaps(here)
            goals[active] = asked.goals(sizes)
            open_ = ~(gaps[active] <= goals[active])
            active, here, scores = active[open_], here[open_], scores[open_]
            ahead, scores_ahead, momentum = ahead[open_], scores_ahead[open_], momentum[open_]
            part = objective.draws(active)
    return found, gaps, goals, steps


def _finish(objective: Objective, asked: _Asked, weights: Array, max_steps: int) -> tuple[Array, float, float, int]:
    """Weights [C, q], gap, goal and steps of a single draw: the method of multipliers, each round by Newton's method.

    A round minimises F(Phi) + ||Pi(Y - sigma Phi)||^2 / (2 sigma) over all symmetric matrices; Pi(Y - sigma Phi) is the
    next Y, and Pi(sigma Phi - Y) / sigma lies in the cone. Without cone Y is 0 and one round is enough.

    Sources: Rockafellar 1976, Augmented Lagrangians and applications of the proximal point algorithm; Zhao, Sun and Toh
    2010, A Newton-CG augmented Lagrangian method for semidefinite programming.
    """
    mu, sigma, steps = objective.mu, _FIRST_WEIGHT * objective.mu, 0
    (gap,), sizes = objective.gaps(weights[None])
    (goal,) = asked.goals(sizes)
    Y = project_to_cone(objective.gradients(weights[None])[0]) if objective.cone else np.zeros_like(weights)
    at = weights
    for _ in range(_MAX_ROUNDS):
        if gap <= goal or steps >= max_steps:
            break
        # A gradient of this norm adds a tenth of the goal to the gap.
        end, taken = _newton(objective, Y, sigma, at, math.sqrt(0.2 * mu * goal), max_steps - steps)
        at, Y, weights = end.weights, end.multipliers, end.inside
        (gap,), sizes = objective.gaps(weights[None])
        (goal,) = asked.goals(sizes)
        steps, sigma = steps + max(taken, 1), _GROWTH * sigma
    return weights, float(gap), float(goal), steps


class _Round:
    """F(Phi) + ||Pi(Y - sigma Phi)||^2 / (2 sigma) at weights [C, q] with these scores [C, n]; plain F without cone."""

    def __init__(self, objective: Objective, Y: Array, sigma: float, weights: Array, scores: Array) -> None:
        self.objective, self.Y, self.sigma, self.weights, self.scores = objective, Y, sigma, weights, scores
        records = objective.records
        self.margins = records.margins(scores[None])[0]
        gradient = records.pull(records.slopes(self.margins[None]))[0] + objective.mu * weights + objective.linear[0]
        self.multipliers, self.inside = Y, weights
        if objective.cone:
            turned = Y - sigma * weights
            self.spectrum = _Spectrum.of(turned)
            self.multipliers = self.spectrum.positive_part()
            self.inside = (self.multipliers - turned) / sigma
            gradient -= self.multipliers
        self.gradient = gradient

    def direction(self, accuracy: float) -> Array:
        """Newton's direction [C, q] by conjugate gradients, to a residual of `accuracy` times the gradient."""
        records, mu = self.objective.records, self.objective.mu
        h = records.half_width
        curved = np.abs(1.0 - self.margins) < h
        curved[records.labels, np.arange(records.n)] = False
        rows = np.flatnonzero(curved.any(0))  # the other records have no curvature here
        labels, Z, curved = records.labels[rows], records.Z[rows], curved[:, rows]
        order = np.arange(len(rows))
        if self.objective.cone:
            U, weights = self.spectrum.vectors, self.sigma * self.spectrum.derivative_weights()
            transposed = U.swapaxes(-1, -2)

        def hessian(D: Array) -> Array:
            scores = D @ Z.T
            product = mu * D + _pull((curved * (scores[labels, order] - scores) / (2.0 * h))[None], labels, Z)[0]
            if self.objective.cone:
                product += svec(U @ (weights * (transposed @ smat(D) @ U)) @ transposed)
            return product

        found, left = np.zeros_like(self.gradient), -self.gradient
        ahead, square = left, float((left**2).sum())
        goal = accuracy**2 * square
        for _ in range(_MAX_CG):
            product = hessian(ahead)
            share = square / float((ahead * product).sum())
            found, left = found + share * ahead, left - share * product
            before, square = square, float((left**2).sum())
            if square <= goal:
                break
            ahead = left + square / before * ahead
        return found

    def step(self, direction: Array) -> _Round | None:
        """Where Newton's step ends, or the lowest point before it (nearly); None where rounding leaves no descent."""
        objective, records = self.objective, self.objective.records
        moved = records.scores(direction[None])[0]
        turn = records.margins(moved[None])[0]
        constant = float(((objective.mu * self.weights + objective.linear[0]) * direction).sum())
        square = objective.mu * float((direction**2).sum())

        def along(t: float) -> float:
            slope = constant + t * square
            slope -= float((hinge_slope(self.margins + t * turn, records.half_width) * turn).sum())
            if objective.cone:
                turned = self.Y - self.sigma * (self.weights + t * direction)
                slope -= float((project_to_cone(turned) * direction).sum())
            return slope

        slope, share, rise = float((self.gradient * direction).sum()), 1.0, along(1.0)
        if slope >= 0.0:
            return None
        if rise > -0.1 * slope:
            share = find_root(along, 0.0, slope, 1.0, rise, tol=-0.1 * slope, max_steps=60)
        weights, scores = self.weights + share * direction, self.scores + share * moved
        return _Round(objective, self.Y, self.sigma, weights, scores)


def _newton(
    objective: Objective, Y: Array, sigma: float, weights: Array, floor: float, max_steps: int
) -> tuple[_Round, int]:
    """The end of a round and the steps that it took: the gradient is at most `floor`, or small beside the distance to
    the cone, mu times a tenth of it: then the multipliers are what matters."""
    here = _Round(objective, Y, sigma, weights, objective.records.scores(weights[None])[0])
    for steps in range(max_steps):
        outside = float(np.linalg.norm(here.inside - here.weights))
        if np.linalg.norm(here.gradient) <= max(floor, _INNER * objective.mu * outside):
            return here, steps
        new = here.step(here.direction(_CG_ACCURACY))
        if new is None:
            return here, steps
        here = new
    return here, max_steps
