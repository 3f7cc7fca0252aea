"""Minimisers of the large-margin classifier: independent optimisers, and what the certificates claim."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcore import Unconverged
from dpcore.solvers.multiclass import objective as E
from dpcore.solvers.multiclass import solver
from dpcore.solvers.multiclass.objective import ClassRecords, MulticlassObjective, smat, svec
from dpcore.solvers.multiclass.solver import minimise_ellipsoids
from tests.class_records import plain_dual, plain_value, problem, records, slopes_at


@pytest.mark.parametrize("mu", [0.02, 1.0, 100.0])
@pytest.mark.parametrize("classes", [2, 4])
def test_symmetric_matrices_agree_with_an_independent_optimiser(mu, classes):
    objective = problem(mu=mu, n=30, classes=classes)
    shape = objective.noise.shape
    other = minimize(
        lambda w: objective.gaps(w.reshape(shape))[2][0],
        np.zeros(objective.noise.size),
        jac=lambda w: objective.gradients(w.reshape(shape)).ravel(),
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 20_000, "maxfun": 20_000},
    ).x.reshape(shape)
    found = minimise_ellipsoids(objective, tol=1e-10)
    allowed = found.distances[0] + np.linalg.norm(objective.gradients(other)) / mu
    assert np.linalg.norm(found.weights - other) <= allowed + 1e-13 * np.linalg.norm(other)  # gradients are rounded
    assert np.linalg.norm(found.weights - other) <= 1e-3 * np.linalg.norm(other)
    assert plain_value(objective, smat(found.weights[0])) == pytest.approx(objective.gaps(other)[2][0], rel=1e-9)
    # F's mean over the classes sees no record: mu mean Phi = -(tau I + mean B).
    assert np.allclose(objective.mu * found.weights.mean(1), -objective.linear.mean(1), atol=1e-3 * mu**0.5)


def test_any_slopes_bound_the_minimum_from_below():
    objective = problem()
    least = minimise_ellipsoids(objective, tol=1e-11).values[0]
    rng = np.random.default_rng(6)
    for _ in range(20):
        assert plain_dual(objective, rng.random((3, objective.records.n))) <= least
    found = minimise_ellipsoids(objective, tol=1e-11)
    assert plain_dual(objective, slopes_at(objective, found.weights)[0]) == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("mu", [0.01, 0.5, 20.0])
def test_rough_solutions_lie_within_what_they_certify(mu):
    objective = problem(mu=mu, draws=4)
    fine = minimise_ellipsoids(objective, tol=1e-11)
    for tol in (10.0, 0.1, 1e-3, 1e-6):
        rough = minimise_ellipsoids(objective, tol=tol)
        assert (rough.gaps <= tol * objective.gaps(rough.weights)[1]).all()
        assert rough.distances == pytest.approx(np.sqrt(2 * rough.gaps / mu))
        assert np.allclose(rough.values, [plain_value(objective, smat(w), k) for k, w in enumerate(rough.weights)])
        assert (rough.values - fine.values <= rough.gaps + 1e-10 * np.abs(fine.values)).all()
        away = np.linalg.norm(rough.weights - fine.weights, axis=(1, 2))
        assert (away <= rough.distances + fine.distances + 1e-14).all()


def test_a_distance_that_is_asked_for_is_certified():
    objective = problem(draws=3)
    fine = minimise_ellipsoids(objective, tol=1e-12)
    found = minimise_ellipsoids(objective, tol=1.0, distance=1e-4)
    assert (found.distances <= 1e-4).all() and (minimise_ellipsoids(objective, tol=1.0).distances > 1e-3).any()
    assert (np.linalg.norm(found.weights - fine.weights, axis=(1, 2)) <= 1e-4 + fine.distances).all()


@pytest.mark.parametrize("mu", [0.005, 1.0])
def test_a_batch_is_the_same_as_two_by_two(mu):
    """Draws of very different sizes leave at different times. A single one starts elsewhere, and ends within the sum of
    both certificates."""
    one = problem(mu=mu, draws=6)
    noise = one.noise * np.array([1e4, 10.0, 0.0, 100.0, 0.01, 1.0])[:, None, None]
    together = minimise_ellipsoids(MulticlassObjective(one.records, mu, 0.2, noise))
    assert len(set(together.steps.tolist())) > 2
    same = 0
    for k in range(6):
        for rows in ([k], [k, k]):
            alone = minimise_ellipsoids(MulticlassObjective(one.records, mu, 0.2, noise[rows]))
            away = np.linalg.norm(alone.weights[0] - together.weights[k])
            assert away <= alone.distances[0] + together.distances[k]
        same += away <= 1e-12 * np.linalg.norm(together.weights[k])
    # Where conjugate gradients end for the last digit's sake, as with next to no ridge, a draw goes another way.
    assert same >= (5 if mu == 1.0 else 1)
    assert len(minimise_ellipsoids(MulticlassObjective(one.records, mu, 0.2, noise[:0])).values) == 0


def test_a_known_minimiser_without_noise_changes_the_work_alone():
    noisy = problem(mu=0.3, draws=4)
    centre = minimise_ellipsoids(MulticlassObjective(noisy.records, 0.3, 0.2), tol=1e-9)
    asked = MulticlassObjective(noisy.records, 0.3, 0.2, noisy.noise)
    alone, beside = minimise_ellipsoids(asked, tol=1e-9), minimise_ellipsoids(asked, tol=1e-9, centre=centre.weights[0])
    assert (np.linalg.norm(alone.weights - beside.weights, axis=(1, 2)) <= alone.distances + beside.distances).all()
    assert (beside.steps == alone.steps - centre.steps[0]).all() and centre.steps[0] > 0


def test_draws_start_beside_the_minimiser_without_noise(monkeypatch):
    """What all classes have in common needs no step; other noise needs few, and few products with its Hessian."""
    calm = problem(mu=2.0, noise=0.0, n=500, classes=4)
    first = minimise_ellipsoids(calm, tol=1e-9).steps[0]
    noise = np.random.default_rng(13).standard_normal((8, 4, 6))
    common = np.repeat(noise.mean(1, keepdims=True), 4, axis=1)
    moved = minimise_ellipsoids(MulticlassObjective(calm.records, 2.0, 0.2, common), tol=1e-9)
    assert (moved.steps == first).all()
    products = []
    bend = ClassRecords.bend
    monkeypatch.setattr(ClassRecords, "bend", lambda r, s, D: products.append(len(D)) or bend(r, s, D))
    minimise_ellipsoids(MulticlassObjective(calm.records, 2.0, 0.2, noise), tol=1e-9)
    with_it = sum(products)
    products.clear()
    monkeypatch.setattr("dpcore.solvers.multiclass.solver._LARGEST_HESSIAN", 0)
    minimise_ellipsoids(MulticlassObjective(calm.records, 2.0, 0.2, noise), tol=1e-9)
    assert with_it < 0.5 * sum(products)


def test_a_trace_without_the_cone_moves_all_classes_alike():
    objective = problem(n=60, classes=4, noise=0.1)
    r, mu = objective.records, objective.mu
    without, traced = (
        minimise_ellipsoids(MulticlassObjective(r, mu, tau, objective.noise), tol=1e-9) for tau in (0.0, 0.7)
    )
    shift = svec(np.diag([0.7 / mu] * (r.p - 1) + [0.0]))
    assert np.linalg.norm(shift) > 100.0 * (without.distances[0] + traced.distances[0])
    moved = traced.weights - without.weights + shift
    assert np.linalg.norm(moved) <= without.distances[0] + traced.distances[0]
    assert np.array_equal(E.classify(traced.weights, r.Z), E.classify(without.weights, r.Z))


def test_too_few_steps_return_nothing(monkeypatch):
    objective = problem(mu=1e-3)
    assert minimise_ellipsoids(objective).steps[0] > 8
    for few in (1, 5, 8):
        monkeypatch.setattr(solver, "_MAX_STEPS", few)
        with pytest.raises(Unconverged, match=f"in {few} steps.* nothing .* returned"):
            minimise_ellipsoids(objective, tol=1e-9)
    monkeypatch.setattr(solver, "_MAX_STEPS", 120)
    with pytest.raises(Unconverged):
        minimise_ellipsoids(objective, tol=1e-30)


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
def test_edges_are_solved_too(r):
    """With a kink nearly sharp whole stretches have no curvature but the regulariser's."""
    for mu in (1e-3, 0.1, 1e6):
        found = minimise_ellipsoids(MulticlassObjective(r, mu, 0.1))
        gaps, sizes, _ = MulticlassObjective(r, mu, 0.1).gaps(found.weights)
        assert (gaps <= 1e-6 * sizes).all() and np.isfinite(found.weights).all()
