"""Large-margin Gaussian classifier: formulas, independent optimisers, and what the certificates claim."""

import itertools

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from dpcore import Unconverged
from dpcore.solvers import ellipsoids as E
from dpcore.solvers.ellipsoid_minima import minimise_ellipsoids
from dpcore.solvers.ellipsoids import ClassRecords, Ellipsoid, Objective, smat, svec

both_sets = pytest.mark.parametrize("cone", [False, True], ids=["symmetric", "cone"])


def records(n=40, d=2, classes=3, seed=0, h=0.5, R=1.0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    X = rng.standard_normal((n, d)) * 0.4 + rng.standard_normal((classes, d))[labels] * 0.5
    return ClassRecords(R * X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], labels, classes, R=R, half_width=h)


def problem(cone, mu=0.3, tau=0.2, noise=0.5, draws=1, **kw):
    found = records(**kw)
    q = found.Z.shape[1]
    B = noise * np.random.default_rng(7).standard_normal((draws, found.classes, q))
    return Objective(found, mu, tau, B, cone)


def plain_psi(m, h):
    return 0.0 if m > 1 + h else (1 + h - m) ** 2 / (4 * h) if m >= 1 - h else 1 - m


def plain_value(objective, Phi, draw=0):
    """F of Phi [C, p, p] by loops over records and classes, with matrices and no svec."""
    r = objective.records
    x = np.column_stack([r.X / r.R, np.ones(r.n)]) / 2**0.5
    total = 0.0
    for i, c in itertools.product(range(r.n), range(r.classes)):
        if c != r.labels[i]:
            total += plain_psi(x[i] @ (Phi[c] - Phi[r.labels[i]]) @ x[i], r.half_width)
    for c in range(r.classes):
        total += objective.mu / 2 * (Phi[c] ** 2).sum() + objective.tau * np.trace(Phi[c][:-1, :-1])
        total += (smat(objective.noise[draw, c]) * Phi[c]).sum()
    return total


def plain_dual(objective, slopes, draw=0):
    """D(s) for slopes [C, n], by loops."""
    r, h = objective.records, objective.records.half_width
    x = np.column_stack([r.X / r.R, np.ones(r.n)]) / 2**0.5
    V = -smat(objective.noise[draw]) - objective.tau * np.diag([1.0] * (r.p - 1) + [0.0])
    total = 0.0
    for i, c in itertools.product(range(r.n), range(r.classes)):
        if c != r.labels[i]:
            s = slopes[c, i]
            total += s + h * s * (1 - s)
            V[c] += s * np.outer(x[i], x[i])
            V[r.labels[i]] -= s * np.outer(x[i], x[i])
    if objective.cone:
        total -= sum((np.maximum(np.linalg.eigvalsh(v), 0) ** 2).sum() for v in V) / (2 * objective.mu)
    else:
        total -= (V**2).sum() / (2 * objective.mu)
    return total


def slopes_at(objective, weights):
    r = objective.records
    return r.slopes(r.margins(r.scores(weights)))


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


@pytest.mark.parametrize("mu", [0.02, 1.0, 100.0])
@pytest.mark.parametrize("classes", [2, 4])
def test_symmetric_matrices_agree_with_an_independent_optimiser(mu, classes):
    objective = problem(False, mu=mu, n=30, classes=classes)
    shape = objective.noise.shape
    other = minimize(
        lambda w: objective.values(w.reshape(shape))[0],
        np.zeros(objective.noise.size),
        jac=lambda w: objective.gradients(w.reshape(shape)).ravel(),
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 20_000, "maxfun": 20_000},
    ).x.reshape(shape)
    found = minimise_ellipsoids(objective, tol=1e-10)
    assert np.linalg.norm(found.weights - other) <= found.distances[0] + np.linalg.norm(objective.gradients(other)) / mu
    assert np.linalg.norm(found.weights - other) <= 1e-3 * np.linalg.norm(other)
    assert plain_value(objective, smat(found.weights[0])) == pytest.approx(objective.values(other)[0], rel=1e-9)
    # F's mean over the classes sees no record: mu mean Phi = -(tau I + mean B).
    assert np.allclose(objective.mu * found.weights.mean(1), -objective.linear.mean(1), atol=1e-3 * mu**0.5)


@pytest.mark.parametrize(("mu", "d", "classes"), [(0.02, 1, 2), (0.3, 2, 3), (10.0, 1, 4)])
def test_the_cone_agrees_with_an_independent_optimiser(mu, d, classes):
    """Phi = L L' with no constraint on L, from several starts: every point is feasible and the best is the minimum."""
    objective = problem(True, mu=mu, n=20, d=d, classes=classes)
    shape = (classes, d + 1, d + 1)

    def value(flat):
        L = flat.reshape(shape)
        W = svec(L @ L.swapaxes(-1, -2))[None]
        return objective.values(W)[0], 2.0 * (smat(objective.gradients(W)[0]) @ L).ravel()

    rng = np.random.default_rng(0)
    options = {"gtol": 1e-10, "ftol": 1e-16, "maxiter": 20_000, "maxfun": 50_000}
    runs = [
        minimize(value, rng.standard_normal(np.prod(shape)), jac=True, method="L-BFGS-B", options=options)
        for _ in range(4)
    ]
    best = min(runs, key=lambda run: run.fun)
    L = best.x.reshape(shape)
    found = minimise_ellipsoids(objective, tol=1e-10)
    assert plain_value(objective, smat(found.weights[0])) == pytest.approx(best.fun, rel=1e-8, abs=1e-8)
    assert np.linalg.norm(smat(found.weights[0]) - L @ L.swapaxes(-1, -2)) <= 1e-3 * max(
        np.linalg.norm(L @ L.swapaxes(-1, -2)), 1
    )


@pytest.mark.parametrize("mu", [0.01, 0.3, 10.0])
def test_projection_is_optimal_and_slackness_holds_at_the_cone(mu):
    objective = problem(True, mu=mu, draws=3)
    found = minimise_ellipsoids(objective, tol=1e-12)
    Phi, Y = smat(found.weights), smat(objective.gradients(found.weights))
    size = np.linalg.norm(Phi) * np.linalg.norm(Y)
    assert np.linalg.eigvalsh(Phi).min() >= -1e-12 * np.linalg.norm(Phi)
    # The gradient is the multiplier: in the cone too, and orthogonal to Phi class by class.
    assert np.linalg.eigvalsh(Y).min() >= -1e-4 * np.linalg.norm(Y)
    assert np.abs((Phi * Y).sum((-1, -2))).max() <= 1e-5 * size
    assert np.linalg.norm(Y) > 0.1  # the constraint binds
    A = np.random.default_rng(0).standard_normal((20, 4, 4))
    A += A.swapaxes(-1, -2)
    kept = smat(E.project_to_cone(svec(A)))
    assert np.linalg.eigvalsh(kept).min() >= -1e-12 and np.linalg.eigvalsh(kept - A).min() >= -1e-12
    assert np.abs((kept * (kept - A)).sum((-1, -2))).max() <= 1e-12


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


@both_sets
def test_any_slopes_bound_the_minimum_from_below(cone):
    objective = problem(cone)
    least = minimise_ellipsoids(objective, tol=1e-11).values[0]
    rng = np.random.default_rng(6)
    for _ in range(20):
        assert plain_dual(objective, rng.random((3, objective.records.n))) <= least
    found = minimise_ellipsoids(objective, tol=1e-11)
    assert plain_dual(objective, slopes_at(objective, found.weights)[0]) == pytest.approx(least, rel=1e-9)


@both_sets
@pytest.mark.parametrize("mu", [0.01, 0.5, 20.0])
def test_rough_solutions_lie_within_what_they_certify(cone, mu):
    objective = problem(cone, mu=mu, draws=4)
    fine = minimise_ellipsoids(objective, tol=1e-11)
    for tol in (10.0, 0.1, 1e-3, 1e-6):
        rough = minimise_ellipsoids(objective, tol=tol)
        assert (rough.gaps <= tol * objective.gaps(rough.weights)[1]).all()
        assert rough.distances == pytest.approx(np.sqrt(2 * rough.gaps / mu))
        assert np.allclose(rough.values, [plain_value(objective, smat(w), k) for k, w in enumerate(rough.weights)])
        assert (rough.values - fine.values <= rough.gaps + 1e-10 * np.abs(fine.values)).all()
        away = np.linalg.norm(rough.weights - fine.weights, axis=(1, 2))
        assert (away <= rough.distances + fine.distances + 1e-14).all()


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


@both_sets
def test_a_distance_that_is_asked_for_is_certified(cone):
    objective = problem(cone, draws=3)
    fine = minimise_ellipsoids(objective, tol=1e-12)
    found = minimise_ellipsoids(objective, tol=1.0, distance=1e-4)
    assert (found.distances <= 1e-4).all() and (minimise_ellipsoids(objective, tol=1.0).distances > 1e-3).any()
    assert (np.linalg.norm(found.weights - fine.weights, axis=(1, 2)) <= 1e-4 + fine.distances).all()


@both_sets
@pytest.mark.parametrize("mu", [0.005, 1.0])
def test_a_batch_is_the_same_as_one_by_one(cone, mu):
    """Draws of very different sizes leave at different times."""
    one = problem(cone, mu=mu, draws=6)
    noise = one.noise * np.array([1e4, 10.0, 0.0, 100.0, 0.01, 1.0])[:, None, None]
    together = minimise_ellipsoids(Objective(one.records, mu, 0.2, noise, cone))
    assert len(set(together.steps.tolist())) > 2
    for k in range(6):
        alone = minimise_ellipsoids(Objective(one.records, mu, 0.2, noise[k : k + 1], cone))
        away = np.linalg.norm(alone.weights[0] - together.weights[k])
        assert away <= alone.distances[0] + together.distances[k]
        if together.steps[k] <= 60:  # later line searches may end elsewhere for the last digit's sake
            assert away <= 1e-9 * np.linalg.norm(together.weights[k]) and alone.steps[0] == together.steps[k]
    assert len(minimise_ellipsoids(Objective(one.records, mu, 0.2, noise[:0], cone)).values) == 0


@both_sets
def test_accelerated_steps_alone_solve_well_conditioned_problems(cone):
    """Certificates forgive any fault of a step but the work that it makes. First a quadratic whose curvature is the
    bound, where longer steps diverge and stale predictions wobble; then draws that leave one after the other."""
    same = ClassRecords(np.tile([[1.0, 0.0]], (20, 1)), np.zeros(20), 2, half_width=2.0)
    assert same.curvature == pytest.approx(10.0)
    for mu in (0.1, 0.3, 1.0):
        assert minimise_ellipsoids(Objective(same, mu, cone=cone), tol=1e-8).steps[0] <= 20
    for mu, tol in ((2.0, 1e-6), (6.0, 1e-12)):
        assert minimise_ellipsoids(problem(cone, mu=mu, draws=8, n=60, noise=3.0), tol=tol).steps.max() <= 60


@both_sets
def test_newton_steps_are_few(cone):
    """86 and less were seen, 60 of them accelerated; 116 where the multipliers stay what they were at the start."""
    assert minimise_ellipsoids(problem(cone, mu=0.01, draws=4), tol=1e-11).steps.max() <= 100


@both_sets
def test_a_common_shift_changes_no_decision_and_classes_may_change_names(cone):
    objective = problem(cone, n=60, classes=4, noise=0.1)
    r, found = objective.records, minimise_ellipsoids(objective, tol=1e-9)
    decided = E.classify(found.weights, r.Z)
    assert (decided[0] == r.labels).mean() > 0.6 and decided.shape == (1, 60)
    assert np.array_equal(E.classify(found.weights + 3.0 * svec(np.eye(r.p)), r.Z), decided)
    order = np.array([2, 0, 3, 1])  # class order[c] is called c
    renamed = ClassRecords(r.X, np.argsort(order)[r.labels], 4)
    other = minimise_ellipsoids(Objective(renamed, objective.mu, 0.2, objective.noise[:, order], cone), tol=1e-9)
    assert np.linalg.norm(other.weights - found.weights[:, order]) <= other.distances[0] + found.distances[0]
    assert np.array_equal(order[E.classify(other.weights, r.Z)], decided)
    far = records(n=60, classes=4, R=50.0)
    scaled = minimise_ellipsoids(Objective(far, objective.mu, 0.2, objective.noise, cone), tol=1e-9)
    assert np.allclose(scaled.weights, found.weights, atol=1e-9)


@both_sets
def test_too_few_steps_return_nothing(cone):
    objective = problem(cone, mu=1e-3)
    assert minimise_ellipsoids(objective).steps[0] > 60  # Newton's method was needed
    for few in (1, 7, 61):
        with pytest.raises(Unconverged, match="nothing was returned"):
            minimise_ellipsoids(objective, tol=1e-9, max_steps=few)
    with pytest.raises(Unconverged):
        minimise_ellipsoids(objective, tol=1e-30, max_steps=120)


@both_sets
@pytest.mark.parametrize(
    "r",
    [
        ClassRecords([[0.3]], [1], 2),
        ClassRecords(np.zeros((5, 2)), [0] * 5, 3),
        records(n=30, d=3, h=0.01),
        records(n=9, d=4, classes=9),
    ],
    ids=["one record", "one place, one class", "nearly a kink", "one record per class"],
)
def test_edges_are_solved_too(cone, r):
    """With a kink nearly sharp whole stretches have no curvature but the regulariser's."""
    for mu in (1e-3, 0.1, 1e6):
        found = minimise_ellipsoids(Objective(r, mu, 0.1, cone=cone))
        gaps, sizes = Objective(r, mu, 0.1, cone=cone).gaps(found.weights)
        assert (gaps <= 1e-6 * sizes).all() and np.isfinite(found.weights).all()


X = [[0.1, 0.2], [0.3, 0.4]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ClassRecords(X, [0, 2], 2), "labels must be integers from 0 to 1, got 2"),
        (lambda: ClassRecords(X, [0, -1], 2), "labels must be integers from 0 to 1, got -1"),
        (lambda: ClassRecords(X, [0, 0.5], 2), "labels must be integers from 0 to 1, got 0.5"),
        (lambda: ClassRecords(X, [0, np.nan], 2), "labels must be finite, got nan"),
        (lambda: ClassRecords(X, [0], 2), r"labels must have shape \(2,\) to match X, got \(1,\)"),
        (lambda: ClassRecords(X, [0, 0], 1), "classes must be an integer >= 2, got 1"),
        (lambda: ClassRecords([[np.nan, 0.0]], [0], 2), "X must be finite, got nan"),
        (lambda: ClassRecords([0.1], [0], 2), r"X must have shape \(n >= 1, d >= 1\), got \(1,\)"),
        (lambda: ClassRecords(X, [0, 1], 2, R=0.0), "R must be a finite number > 0, got 0.0"),
        (lambda: ClassRecords(X, [0, 1], 2, half_width=-1.0), "half_width must be a finite number > 0, got -1.0"),
        (lambda: Objective(records(), 0.0), "mu must be a finite number > 0, got 0.0"),
        (lambda: Objective(records(), 1.0, tau=-0.1), "tau must be a finite number >= 0, got -0.1"),
        (lambda: Objective(records(), 1.0, noise=np.zeros((3, 6))), r"noise must have shape \(R, 3, 6\), got \(3, 6\)"),
        (lambda: Objective(records(), 1.0, noise=np.full((1, 3, 6), np.nan)), "noise must be finite, got nan"),
        (lambda: Objective(records(), 1.0, cone=2), "cone must be True or False, got 2"),  # type: ignore[arg-type]
        (lambda: minimise_ellipsoids(problem(True), tol=0.0), "tol must be a finite number > 0, got 0.0"),
        (lambda: minimise_ellipsoids(problem(True), distance=-1.0), "distance must be a finite number > 0, got -1.0"),
        (lambda: minimise_ellipsoids(problem(True), max_steps=0), "max_steps must be an integer >= 1, got 0"),
    ],
)
def test_bad_input_is_refused_by_name_rule_and_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()
