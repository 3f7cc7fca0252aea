"""Large-margin Gaussian classifier: exact likelihood ratios against its guarantee, and the noise as published."""

import math

import numpy as np
import pytest

import dpcore
from dpcore import Data
from dpcore.mechanisms.multiclass import models
from dpcore.solvers.multiclass.objective import smat
from tests.classifiers import class_data, plain_log_densities, plan_of, released, replaced
from tests.nights import each

FALSE_ALARM = 1e-6


# Exact likelihood ratios


def pairs(n, p, classes):
    """Neighbours: the worst for gradients, records near one another, and others with other labels and places."""
    flat = Data(np.zeros((n, p)), np.zeros(n))
    x = np.full(p, 1.0 / math.sqrt(p))
    crowd = class_data(n, p, classes)
    return [
        (replaced(flat, x, 0), replaced(flat, x, 1)),
        (replaced(crowd, x, 0), replaced(crowd, x, 1)),
        (replaced(crowd, x, classes - 1), replaced(crowd, -0.5 * x, 0)),
    ]


@pytest.mark.parametrize("perturbed", ["objective", "output"])
@pytest.mark.parametrize("noise", ["gaussian", "gamma"])
def test_the_score_of_audits_is_the_ratio_of_plain_densities(noise, perturbed):
    plan = plan_of(n=5, p=2, classes=3, lam=0.8, epsilon=3.0, noise=noise, perturbed=perturbed)
    for zero, one in pairs(5, 2, 3):
        sides = [plan.mechanism.prepare(plan, data) for data in (zero, one)]
        raw = plan.mechanism.release_many(plan, sides[0], [np.random.default_rng(k) for k in range(40)])
        Phi = raw - raw.mean(1, keepdims=True)
        if perturbed == "objective":
            expected = plain_log_densities(plan, one, Phi) - plain_log_densities(plan, zero, Phi)
        else:
            away = [np.linalg.norm((Phi - smat(side.theta)).reshape(40, -1), axis=1) / plan.scale for side in sides]
            laws = [-a if noise == "gamma" else -0.5 * a**2 for a in away]
            expected = laws[1] - laws[0]
        found = plan.mechanism.log_ratio(plan, sides[0], sides[1], raw)
        assert found == pytest.approx(expected, abs=1e-8)
        assert np.ptp(found) > 1e-3


# (classes, lam, epsilon): the volume takes from nearly nothing to two thirds of epsilon.
PURE = [(2, 100.0, 1.0), (2, 0.8, 1.0), (3, 100.0, 1.0), (3, 1.0, 2.0), (4, 0.5, 3.0)]


@pytest.mark.shows("privacy", "gaussian_classifier")
@pytest.mark.parametrize("classes, lam, epsilon", each(2, PURE))
def test_gamma_noise_keeps_every_ratio_within_epsilon(classes, lam, epsilon):
    """2,100 runs on either side of three pairs, at the exact densities; noise for half the sensitivity does not."""
    plan = plan_of(n=4, classes=classes, lam=lam, epsilon=epsilon, noise="gamma")
    worst = []
    for zero, one in pairs(4, 1, classes):
        Phi = np.concatenate([released(plan, side, 700, seed=k) for k, side in enumerate((zero, one))])
        worst.append(np.abs(plain_log_densities(plan, one, Phi) - plain_log_densities(plan, zero, Phi)).max())
    assert max(worst) <= 0.99 * epsilon + 1e-9
    # Printed is 2 for records twice as long: as a share of the true one, 1 / sqrt2 C.
    published = plan.weakened(1.0 / (math.sqrt(2.0) * classes))
    zero, one = pairs(4, 1, classes)[0]
    Phi = released(published, zero, 2_000)
    assert np.abs(plain_log_densities(published, one, Phi) - plain_log_densities(published, zero, Phi)).max() > epsilon


def chernoff(mean, most, runs):
    """How likely a mean of `runs` numbers in [0, 1] is to be so far from `most` or farther, if that is their mean."""
    mean = min(max(mean, 1e-12), 1.0 - 1e-12)
    return math.exp(-runs * (mean * math.log(mean / most) + (1 - mean) * math.log((1 - mean) / (1 - most))))


@pytest.mark.shows("privacy", "gaussian_classifier")
@pytest.mark.parametrize("classes, lam", each(2, [(2, 2.0), (2, 100.0), (3, 3.0), (3, 100.0)]))
def test_gaussian_noise_keeps_delta(classes, lam):
    """E (1 - exp(epsilon - ratio))_+ over 2,000 runs on either side; Chernoff's bound, false alarm 1e-6 each."""
    epsilon, delta, runs = 1.0, 1e-2, 2_000
    plan = plan_of(n=4, classes=classes, lam=lam, epsilon=epsilon, delta=delta)

    def realised(made, zero, one):
        Phi = released(made, zero, runs, seed=1)
        ratio = plain_log_densities(made, zero, Phi) - plain_log_densities(made, one, Phi)
        return float(np.maximum(-np.expm1(epsilon - ratio), 0.0).mean())

    for first, second in pairs(4, 1, classes):
        for zero, one in ((first, second), (second, first)):
            mean = realised(plan, zero, one)
            assert mean <= delta or chernoff(mean, delta, runs) > FALSE_ALARM
    zero, one = pairs(4, 1, classes)[0]
    weak = realised(plan.weakened(0.4), zero, one)
    assert weak > delta and chernoff(weak, delta, runs) < FALSE_ALARM
    if lam == 100.0 and classes == 2:
        assert realised(plan, zero, one) > 0.3 * delta, "a stiff problem comes close to the bound"


# Audits


def audited(noise, perturbed, classes):
    return plan_of(n=10, classes=classes, lam=1e4, noise=noise, perturbed=perturbed)


@pytest.mark.parametrize("perturbed", ["objective", "output"])
@pytest.mark.parametrize("classes", [2, 3])
def test_one_matrix_for_all_classes_hides_nothing(perturbed, classes, monkeypatch):
    """The published mechanism's noise, with a ridge so that a minimiser exists: what decides does not move at all."""
    plan = audited("gaussian", perturbed, classes)
    original = models.direction

    def shared(law, spec, rng):
        return np.tile(original(law, spec, rng)[:1], (spec.classes, 1))

    monkeypatch.setattr(models, "direction", shared)
    data = plan.mechanism.worst_pair(plan)[0]
    moved = released(plan, data, 50)
    assert np.ptp(moved, axis=0).max() <= 1e-9 * plan.scale + 2.0 * plan.tol
    assert dpcore.run_audit(plan, runs=500, seed=0).verdict == "contradicted"
