"""Large-margin Gaussian classifier: the model, its loss and gradient, and the duality gap, by formulas."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from dpcore.solvers import ellipsoids as E
from dpcore.solvers.ellipsoids import ClassRecords, Ellipsoid, Objective, smat, svec
from tests.ellipsoids import both_sets, plain_dual, plain_psi, plain_value, problem, slopes_at


@pytest.mark.parametrize("h", [0.1, 0.5, 2.0])
def test_the_rounded_hinge_has_no_jump_and_is_convex(h):
    m = np.linspace(-3, 5, 20_001)
    psi, slope = E.huber_hinge(m, h), E.hinge_slope(m, h)
    assert np.allclose(psi, [plain_psi(v, h) for v in m], atol=1e-14)
    assert np.allclose(-slope, np.gradient(psi, m), atol=2e-4 / h)
    for joint in (1 - h, 1 + h):
        near = np.array([joint - 1e-9, joint + 1e-9])
        assert np.ptp(E.huber_hinge(near, h)) <= 1e-8 and np.ptp(E.hinge_slope(near, h)) <= 1e-7
    assert (np.diff(slope) <= 0).all() and slope[0] == 1.0 and slope[-1] == 0.0
    assert (psi >= np.maximum(1 - m, 0)).all() and psi.max() == pytest.approx(4.0)


@pytest.mark.parametrize("h", [0.1, 0.5])
def test_the_printed_loss_jumps_and_falls_without_end(h):
    """Equation (6) in the margin, its middle branch taken for |m| <= h: as printed the condition is about 0."""

    def printed(m):
        return 0.0 if m > h else (h + m) ** 2 / (4 * h) if m >= -h else m

    for joint, jump in ((h, -h), (-h, h)):
        assert printed(joint + 1e-12) - printed(joint - 1e-12) == pytest.approx(jump, abs=1e-9)
    assert printed(-1e6) == -1e6
    loss = E.huber_hinge(np.array([-1e6, h, h + 1e-12]), h)
    assert loss[0] == 1e6 + 1 and np.ptp(loss[1:]) < 1e-9


def test_svec_keeps_inner_products_and_smat_undoes_it():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 5, 4, 4))
    A, B = A + A.swapaxes(-1, -2), B + B.swapaxes(-1, -2)
    assert np.allclose((svec(A) * svec(B)).sum(-1), (A * B).sum((-1, -2)))
    assert np.array_equal(smat(svec(A)).shape, A.shape) and np.allclose(smat(svec(A)), A, atol=1e-15)
    x = rng.standard_normal(3)
    xt = np.append(x / 2.0, 1.0) / 2**0.5
    assert np.allclose(E.features(x[None], R=2.0)[0], svec(np.outer(xt, xt)))
    assert np.linalg.norm(E.features(np.array([[2.0, 0.0]]), R=2.0)) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"vectors must have p \(p \+ 1\) / 2 entries.*got 5"):
        smat(np.zeros(5))


@pytest.mark.parametrize("R", [1.0, 3.0])
def test_ellipsoids_and_matrices_are_the_same_function(R):
    rng = np.random.default_rng(1)
    half = rng.standard_normal((5, 3, 3))
    ellipsoid = Ellipsoid(rng.standard_normal((5, 3)), half @ half.swapaxes(-1, -2), rng.random(5))
    Phi = E.matrix_of(ellipsoid, R)
    assert np.linalg.eigvalsh(Phi).min() >= -1e-12
    x = rng.standard_normal((7, 3))
    for c in range(5):
        moved = x - ellipsoid.centre[c]
        expected = np.einsum("ni,ij,nj->n", moved, ellipsoid.precision[c], moved) + ellipsoid.offset[c]
        assert np.allclose(E.features(x, R) @ svec(Phi[c]), expected)
    back = E.ellipsoid_of(Phi, R)
    for name in ("centre", "precision", "offset"):
        assert np.allclose(getattr(back, name), getattr(ellipsoid, name), atol=1e-9), name


def test_a_singular_precision_gets_the_centre_of_least_norm():
    ray = np.array([3.0, 4.0]) / 5
    Phi = E.matrix_of(Ellipsoid(np.array([2.0, 0.0]), np.outer(ray, ray), np.array(0.5)))
    back = E.ellipsoid_of(Phi)
    assert np.allclose(back.centre, 1.2 * ray) and float(back.offset) == pytest.approx(0.5)
    assert np.allclose(E.matrix_of(back), Phi)


@both_sets
@pytest.mark.parametrize("h", [0.2, 0.5, 1.5])
def test_values_and_gradients_are_those_of_plain_formulas(cone, h):
    objective = problem(cone, n=12, h=h, R=2.0)
    rng = np.random.default_rng(3)
    for size in (0.3, 3.0):
        W = size * rng.standard_normal(objective.noise.shape)
        assert objective.values(W)[0] == pytest.approx(plain_value(objective, smat(W[0])), rel=1e-12)

        def value(w, shape=W.shape):
            return objective.values(w.reshape(shape))[0]

        def gradient(w, shape=W.shape):
            return objective.gradients(w.reshape(shape)).ravel()

        assert check_grad(value, gradient, W.ravel()) <= 1e-5 * np.linalg.norm(objective.gradients(W))


def test_gradients_of_the_loss_sum_to_zero_over_the_classes():
    objective = problem(False, tau=0.0, noise=0.0, classes=4)
    W = np.random.default_rng(4).standard_normal(objective.noise.shape)
    pulled = objective.gradients(W) - objective.mu * W
    assert np.abs(pulled).max() > 1.0
    assert np.abs(pulled.sum(1)).max() <= 1e-13 * np.abs(pulled).sum()


def test_the_curvature_bounds_gradients_and_is_nearly_attained():
    """Equal records of one class, all margins on the rounded part, a move along the star's first eigenvector."""
    r = ClassRecords(np.tile([[1.0, 0.0]], (6, 1)), np.zeros(6), 3)
    objective = Objective(r, 1e-9)
    W = np.zeros((1, 3, 6))
    W[0, 1:] = r.Z[0]
    D = np.array([-2.0, 1.0, 1.0])[:, None] * r.Z[0]
    change = objective.gradients(W + 1e-3 * D) - objective.gradients(W)
    assert np.linalg.norm(change) / (1e-3 * np.linalg.norm(D)) == pytest.approx(r.curvature, rel=1e-6)
    spread = problem(False).records
    moves = np.random.default_rng(0).standard_normal((2, 200, 3, 6))
    smooth = Objective(spread, 1e-9, noise=np.zeros((200, 3, 6)))
    change = np.linalg.norm(smooth.gradients(moves[0]) - smooth.gradients(moves[1]), axis=(1, 2))
    assert (change <= spread.curvature * np.linalg.norm(moves[0] - moves[1], axis=(1, 2))).all()


@both_sets
def test_the_gap_is_primal_minus_dual(cone):
    objective = problem(cone, draws=2)
    W = objective.project(np.random.default_rng(5).standard_normal(objective.noise.shape))
    gaps, sizes = objective.gaps(W)
    slopes = slopes_at(objective, W)
    for k in range(2):
        primal = plain_value(objective, smat(W[k]), k)
        assert gaps[k] == pytest.approx(primal - plain_dual(objective, slopes[k], k), rel=1e-10)
        assert sizes[k] >= abs(primal)
    if not cone:
        assert gaps == pytest.approx((objective.gradients(W) ** 2).sum((1, 2)) / (2 * objective.mu))


def test_the_gap_is_no_larger_than_what_a_subgradient_certifies():
    """s = grad F(y) - grad F(v) + (v - y) / step is a subgradient at the projected y: F(y) - F* <= |s|^2 / 2 mu."""
    objective = problem(True, draws=5)
    step = 1.0 / (objective.mu + objective.records.curvature)
    v = np.random.default_rng(8).standard_normal(objective.noise.shape)
    for _ in range(30):
        y = objective.project(v - step * objective.gradients(v))
        s = objective.gradients(y) - objective.gradients(v) + (v - y) / step
        assert (objective.gaps(y)[0] <= (s**2).sum((1, 2)) / (2 * objective.mu) * (1 + 1e-9)).all()
        v = y
