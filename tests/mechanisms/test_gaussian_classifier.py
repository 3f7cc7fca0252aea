"""Large-margin Gaussian classifier: its plans, its rules for lam, its releases and what it refuses."""

import math
import re

import numpy as np
import pytest
from scipy import stats

from dpcore import Budget, Data, NotApplicable
from dpcore.accounting.gaussian import hockey_stick
from dpcore.accounting.objective import class_vertices, objective_delta
from dpcore.mechanisms import api
from dpcore.mechanisms.multiclass import models
from dpcore.mechanisms.noise.rounding import grid_of
from dpcore.mechanisms.noise.spherical import NOISES
from dpcore.solvers.multiclass.objective import classify, features, svec
from tests.classifiers import Rows, class_data, plain_gradients, plan_of

FALSE_ALARM = 1e-6
every_noise = pytest.mark.parametrize("noise", ["gaussian", "gamma"])
both_places = pytest.mark.parametrize("perturbed", ["objective", "output"])


def charge_of(n, lam, classes):
    """h = 1/2: a margin bends by 1 at most."""
    return math.log1p(classes / (n * lam)) + (classes - 2) * math.log1p(1.0 / (n * lam))


# Plans


@every_noise
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_budget_of_a_perturbed_objective_adds_up(noise, classes):
    plan = plan_of(n=50, p=3, classes=classes, lam=0.5, noise=noise, epsilon=2.0)
    main, solver_noise = plan.ledger
    D, charge = math.sqrt(2.0) * classes / 50, charge_of(50, 0.5, classes)
    assert main.scale == plan.scale and main.sensitivity == pytest.approx(D)
    assert main.charge == pytest.approx(charge) and solver_noise.sensitivity == 2.0 * plan.tol
    if noise == "gamma":
        assert plan.spent == Budget(2.0)
        assert D / main.scale + charge == pytest.approx(0.99 * 2.0, rel=1e-12)
        assert solver_noise.sensitivity / solver_noise.scale == pytest.approx(0.01 * 2.0, rel=1e-12)
    else:
        assert plan.spent == Budget(2.0, 1e-5)
        spent = objective_delta(0.99 * 2.0, D / main.scale, charge, class_vertices(classes))
        assert 0.99e-5 * (1 - 1e-6) <= spent <= 0.99e-5
        assert hockey_stick(0.01 * 2.0, solver_noise.sensitivity / solver_noise.scale) <= 0.01 * 1e-5
    size = math.sqrt((classes - 1) * 10 * (1 if noise == "gaussian" else (classes - 1) * 10 + 1))
    assert solver_noise.scale * size < 1e-2 * main.scale * size / 0.5, "small beside the other"


@every_noise
@pytest.mark.parametrize("classes", [2, 3])
def test_output_perturbation_pays_for_the_distance_between_minimisers_alone(noise, classes):
    plan = plan_of(n=50, p=3, classes=classes, lam=1e-6, noise=noise, epsilon=2.0, perturbed="output")
    (event,) = plan.ledger
    assert event.charge == 0.0
    assert event.sensitivity == pytest.approx(math.sqrt(2.0) * classes / (50 * 1e-6) + 2.0 * plan.tol)
    spent = event.sensitivity / event.scale
    if noise == "gamma":
        assert spent == pytest.approx(2.0)
    else:
        assert 1e-5 * (1 - 1e-6) <= hockey_stick(2.0, spent) <= 1e-5


def test_a_minimiser_that_is_perturbed_has_any_number_of_classes():
    assert plan_of(n=1000, classes=600, perturbed="output").scale > 0.0


@every_noise
@pytest.mark.parametrize("classes, epsilon", [(2, 1.0), (3, 0.1), (5, 4.0)])
def test_a_refusal_names_the_smallest_lam_and_it_is_the_smallest(noise, classes, epsilon):
    with pytest.raises(NotApplicable, match=r"needs lam > .* curvature of one record") as caught:
        plan_of(n=100, classes=classes, epsilon=epsilon, noise=noise, lam=1e-6)
    least = float(re.search(r"needs lam > (\S+) for epsilon = ", str(caught.value)).group(1))
    assert charge_of(100, least, classes) == pytest.approx(0.99 * epsilon, rel=1e-5)
    assert plan_of(n=100, classes=classes, epsilon=epsilon, noise=noise, lam=1.00001 * least).scale > 0.0
    with pytest.raises(NotApplicable, match="needs lam > "):
        plan_of(n=100, classes=classes, epsilon=epsilon, noise=noise, lam=0.99999 * least)
    assert plan_of(n=100, classes=classes, epsilon=epsilon, noise=noise, lam=1e-6, perturbed="output").scale > 0.0


# Rules for lam


def noise_length(plan):
    """Root mean square of the noise in the plan."""
    size = (plan.spec.classes - 1) * (plan.spec.p + 1) * (plan.spec.p + 2) / 2
    return plan.scale * math.sqrt(size * (size + 1 if plan.noise == "gamma" else 1))


@every_noise
@both_places
@pytest.mark.parametrize("theta_norm", [0.1, 10.0, 300.0])
@pytest.mark.parametrize("epsilon", [0.3, 5.0])
def test_auto_moves_the_model_by_half_its_norm_unless_the_determinant_takes_a_quarter(
    noise, perturbed, theta_norm, epsilon
):
    plan = plan_of(n=400, p=3, lam="auto", noise=noise, perturbed=perturbed, theta_norm=theta_norm, epsilon=epsilon)
    lam = plan.spec.lam
    if perturbed == "output":  # which no curvature resists
        assert noise_length(plan) == pytest.approx(theta_norm / 8.0, rel=1e-5)
        return
    moved, charge = noise_length(plan) / lam, charge_of(400, lam, 3)
    if charge == pytest.approx(0.25 * 0.99 * epsilon, rel=1e-9):
        assert moved <= theta_norm / 2.0 and theta_norm >= 10.0
    else:
        assert moved == pytest.approx(theta_norm / 2.0, rel=1e-9) and charge < 0.25 * 0.99 * epsilon
        assert theta_norm <= 10.0


POPULATION = [
    dict(n=2512, p=1, classes=7, epsilon=0.016, theta_norm=4.345, noise="gamma", perturbed="output"),
    dict(n=50, p=1, classes=2, epsilon=0.3, theta_norm=200.0, noise="gaussian", perturbed="objective"),
    dict(n=5000, p=10, classes=3, epsilon=1.0, theta_norm=10.0, noise="gamma", perturbed="objective"),
    dict(n=300, p=4, classes=4, epsilon=30.0, theta_norm=0.1, noise="gaussian", perturbed="objective"),
    dict(n=300, p=4, classes=4, epsilon=1.0, theta_norm=1.0, noise="gaussian", perturbed="output"),
]


@pytest.mark.parametrize("facts", POPULATION)
def test_population_is_where_the_bound_on_fresh_records_is_smallest(facts):
    """On a grid of lam from 1e-3 to 1e3 times the rule's. In the first case the bound has two minima."""

    def bound(plan):
        (value,) = [b.value for b in plan.mechanism.bounds(plan) if b.quantity == "excess_population_risk"]
        ridge = 0.5 * plan.spec.lam * facts["theta_norm"] ** 2
        return value + ridge - min(ridge, facts["classes"] - 1.0)

    chosen = plan_of(lam="population", **facts)
    seen = []
    for factor in np.geomspace(1e-3, 1e3, 121):
        try:
            seen.append(bound(plan_of(lam=factor * chosen.spec.lam, **facts)))
        except NotApplicable:
            assert factor < 1.0 and facts["perturbed"] == "objective"
    assert bound(chosen) <= min(seen) * (1 + 1e-4)
    assert len(seen) > 60 and max(seen) > 1.5 * bound(chosen)


@every_noise
@both_places
@pytest.mark.parametrize("lam", ["auto", "population"])
def test_rules_answer_for_budgets_that_hide_nothing(noise, perturbed, lam):
    for epsilon in (3e2, 3e3, 1e8):
        plan = plan_of(n=1000, p=3, epsilon=epsilon, noise=noise, perturbed=perturbed, lam=lam)
        assert 0.0 < plan.scale < np.inf and plan.mechanism.attack_limit(plan) == pytest.approx(1.0, abs=1e-9)


# Releases


@pytest.mark.parametrize("classes, p", [(2, 1), (3, 1), (4, 2)])
@every_noise
def test_noise_is_spherical_in_v(classes, p, noise):
    """4,000 draws; covariance over the projector within 6 standard errors, the length by Kolmogorov: 1e-6 or less.

    Gaussian coordinates have squares of variance 2; those of Gamma noise, of a random size, of at most 8 at N0 >= 3.
    """
    spec, N0 = plan_of(n=100, classes=classes, p=p).spec, (classes - 1) * (p + 1) * (p + 2) // 2
    rng = np.random.default_rng(classes)
    draws = np.stack([models.direction(NOISES[noise], spec, rng) for _ in range(4000)])
    assert draws.shape == (4000, classes, (p + 1) * (p + 2) // 2)
    assert np.abs(draws.sum(1)).max() <= 1e-11
    flat = draws.reshape(4000, -1)
    square = 1.0 if noise == "gaussian" else N0 + 1.0
    projector = np.kron(np.eye(classes) - 1.0 / classes, np.eye(draws.shape[2]))
    assert np.abs(flat.T @ flat / 4000 / square - projector).max() <= 6.0 * math.sqrt(8.0 / 4000)
    law = stats.chi(N0) if noise == "gaussian" else stats.gamma(N0)
    lengths = np.linalg.norm(flat, axis=1)
    assert stats.kstest(lengths, law.cdf).pvalue > FALSE_ALARM
    assert np.mean(lengths > NOISES[noise].length(N0, 0.05)) == pytest.approx(0.05, abs=6 * math.sqrt(0.05 / 4000))


@every_noise
@both_places
def test_a_release_is_the_minimiser_for_its_noise_and_solver_noise(noise, perturbed):
    """Noise is drawn again from the seed; two idle columns; the gradient in V vanishes there up to the tolerance."""
    data = class_data(30, 2, 3)
    plan = plan_of(n=30, p=4, lam=0.3, noise=noise, perturbed=perturbed, epsilon=2.0)
    Phi = api.release_once(plan, Data(data.X, data.y, p=4), seed=5).theta
    assert Phi.shape == (3, 5, 5) and np.array_equal(Phi, Phi.swapaxes(1, 2))
    values = np.linalg.eigvalsh(Phi)
    grid = grid_of(plan.mechanism.resolution(plan))
    assert -1e-12 * np.abs(Phi).max() <= values.min() <= 1.01 * grid, "shifted no more than is needed"
    assert np.array_equal(np.fmod(Phi, grid), np.zeros_like(Phi))
    off = grid * math.sqrt(Phi.size)  # what rounding moves a model by, at most
    again = np.random.default_rng(5)
    drawn = [event.scale * models.direction(plan.mechanism.law, plan.spec, again) for event in plan.ledger]
    V = models.centred(svec(Phi))
    wide = Rows(np.pad(data.X, ((0, 0), (0, 2))), data.y)
    tilt = np.zeros_like(V) if perturbed == "output" else drawn[0]
    exact = V - drawn[0 if perturbed == "output" else 1]
    gradient = svec(plain_gradients(wide, models.smat(exact)[None], 0.3)[0]) + tilt
    bend = 3.0 + 0.3  # c C and lam
    assert np.linalg.norm(gradient) <= 0.3 * plan.tol * (1 + 1e-6) + bend * off + 1e-12
    if perturbed == "objective":
        solver_noise = np.linalg.norm(drawn[1])
        assert 2.0 * plan.tol < solver_noise < 1e-2 * np.linalg.norm(drawn[0]) / 0.3, "there, and not seen"
    idle = models.smat(V)[:, 2:4, 2:4] if perturbed == "output" else models.smat(exact + drawn[0] / 0.3)[:, 2:4, 2:4]
    if perturbed == "objective":
        assert np.abs(idle).max() <= 3.0 * plan.tol + grid, "idle columns hold noise only"
    else:
        assert np.abs(idle).min() > 0.0


def test_the_shift_leaves_decisions_and_ellipsoids():
    data = class_data(40, 2, 4)
    plan = plan_of(n=40, p=2, classes=4, lam=0.2, epsilon=5.0)
    prepared = plan.mechanism.prepare(plan, data)
    rngs = [np.random.default_rng(k) for k in range(20)]
    Phi = plan.mechanism.release_many(plan, prepared, rngs)
    places = features(np.random.default_rng(0).uniform(-0.7, 0.7, (200, 2)))
    decided = classify(svec(Phi), places)
    assert np.array_equal(decided, classify(models.centred(svec(Phi)), places)) and len(np.unique(decided)) == 4
    assert np.linalg.eigvalsh(models.smat(models.centred(svec(Phi)))).min() < 0.0, "without it there are none"
    assert np.linalg.eigvalsh(Phi).min() >= -1e-12 * np.abs(Phi).max()


@pytest.mark.parametrize("classes, epsilon, noise", [(2, 20.0, "gamma"), (2, 15.0, "gaussian"), (3, 40.0, "gaussian")])
def test_the_tolerance_can_be_met_where_models_are_huge(classes, epsilon, noise):
    """lam is the smallest admissible; gradients in 80-bit numbers, whose rounding is 2,000 times smaller."""
    with pytest.raises(NotApplicable) as caught:
        plan_of(n=500, p=4, classes=classes, epsilon=epsilon, noise=noise, lam=1e-90)
    lam = 1.01 * float(re.search(r"needs lam > (\S+) ", str(caught.value)).group(1))
    plan = plan_of(n=500, p=4, classes=classes, epsilon=epsilon, noise=noise, lam=lam)
    data = class_data(500, 4, classes)
    prepared = plan.mechanism.prepare(plan, data)
    for seed in range(3):
        B = plan.scale * models.direction(plan.mechanism.law, plan.spec, np.random.default_rng(seed))
        exact = models.smat(plan.mechanism._minimisers(plan, prepared, B[None], plan.tol)[0])
        assert np.abs(exact).max() > 1e8
        long = Rows(data.X.astype(np.longdouble), data.y)
        gradient = plain_gradients(long, exact[None].astype(np.longdouble), lam)[0] + models.smat(B)
        assert np.linalg.norm(gradient.astype(float)) <= lam * plan.tol
    assert plan.mechanism.release(plan, prepared, np.random.default_rng(0)).shape == (classes, 5, 5)
