"""Large-margin Gaussian classifier: the model, its loss and gradient, and the duality gap, by formulas."""

import itertools

import numpy as np
import pytest
from scipy.optimize import check_grad

from dpcore.solvers.multiclass import objective as E
from dpcore.solvers.multiclass.objective import Ellipsoid, smat, svec
from dpcore.solvers.multiclass.solver import loss_hessian
from tests.class_records import matrix_of, plain_dual, plain_psi, plain_value, problem, records, slopes_at


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
def test_the_published_loss_jumps_and_falls_without_end(h):
    """Equation (6) in the margin, its middle branch taken for |m| <= h: as published the condition is about 0."""

    def published(m):
        return 0.0 if m > h else (h + m) ** 2 / (4 * h) if m >= -h else m

    for joint, jump in ((h, -h), (-h, h)):
        assert published(joint + 1e-12) - published(joint - 1e-12) == pytest.approx(jump, abs=1e-9)
    assert published(-1e6) == -1e6
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
    Phi = matrix_of(ellipsoid, R)
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
    Phi = matrix_of(Ellipsoid(np.array([2.0, 0.0]), np.outer(ray, ray), np.array(0.5)))
    back = E.ellipsoid_of(Phi)
    assert np.allclose(back.centre, 1.2 * ray) and float(back.offset) == pytest.approx(0.5)
    assert np.allclose(matrix_of(back), Phi)


@pytest.mark.parametrize("h", [0.2, 0.5, 1.5])
def test_values_and_gradients_are_those_of_plain_formulas(h):
    objective = problem(n=12, h=h, R=2.0)
    rng = np.random.default_rng(3)
    for size in (0.3, 3.0):
        W = size * rng.standard_normal(objective.noise.shape)
        assert objective.gaps(W)[2][0] == pytest.approx(plain_value(objective, smat(W[0])), rel=1e-12)

        def value(w, shape=W.shape):
            return objective.gaps(w.reshape(shape))[2][0]

        def gradient(w, shape=W.shape):
            return objective.gradients(w.reshape(shape)).ravel()

        assert check_grad(value, gradient, W.ravel()) <= 1e-5 * np.linalg.norm(objective.gradients(W))


@pytest.mark.parametrize(("classes", "h"), [(2, 0.7), (4, 0.7), (4, 1.3)])
def test_hessians_are_sums_of_squares_over_records_and_classes(classes, h):
    """Each pair of a record and a wrong class on the rounded part adds ((e_c - e_y) (x) X)^2 / 2h."""
    r = records(n=25, classes=classes, h=h)
    W = 2.0 * np.random.default_rng(9).standard_normal((3, classes, 6))
    D = np.random.default_rng(10).standard_normal(W.shape)
    scores = r.scores(W)
    bent = r.bend(scores, D)
    for k in range(3):
        expected, curved = np.zeros((6 * classes, 6 * classes)), 0
        for i, c in itertools.product(range(r.n), range(classes)):
            m = r.Z[i] @ (W[k, c] - W[k, r.labels[i]])
            if c != r.labels[i] and abs(1.0 - m) < h:
                away = np.eye(classes)[c] - np.eye(classes)[r.labels[i]]
                expected += np.outer(np.kron(away, r.Z[i]), np.kron(away, r.Z[i])) / (2.0 * h)
                curved += 1
        assert 0 < curved < r.n * (classes - 1)
        assert np.allclose(loss_hessian(r, scores[k]), expected, atol=1e-12)
        assert np.allclose(bent[k].ravel(), expected @ D[k].ravel(), atol=1e-12)


def test_the_gap_is_primal_minus_dual():
    objective = problem(draws=2)
    W = np.random.default_rng(5).standard_normal(objective.noise.shape)
    gaps, sizes, values = objective.gaps(W)
    slopes = slopes_at(objective, W)
    for k in range(2):
        primal = plain_value(objective, smat(W[k]), k)
        assert values[k] == pytest.approx(primal, rel=1e-12)
        assert gaps[k] == pytest.approx(primal - plain_dual(objective, slopes[k], k), rel=1e-10)
        assert sizes[k] >= abs(primal) * (1 - 1e-12)
    assert gaps == pytest.approx((objective.gradients(W) ** 2).sum((1, 2)) / (2 * objective.mu))
