"""Large-margin Gaussian classifier: its bounds on average, in one run of ten, and on fresh records."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from dpcore import Data, bounds_of
from dpcore.mechanisms.multiclass import calibration as rules
from dpcore.mechanisms.multiclass import models
from dpcore.solvers.multiclass.objective import ClassRecords, MulticlassObjective, smat
from dpcore.solvers.multiclass.solver import minimise_ellipsoids
from tests.classifiers import class_data, features, plain_objectives, plain_risks, plan_of, released

FALSE_ALARM = 1e-6
every_noise = pytest.mark.parametrize("noise", ["gaussian", "gamma"])
both_places = pytest.mark.parametrize("perturbed", ["objective", "output"])


def upper(plan, quantity, holds="expectation"):
    (value,) = [b.value for b in bounds_of(plan) if (b.quantity, b.form, b.holds) == (quantity, "upper", holds)]
    return value


def bias_of(plan):
    return min(0.5 * plan.spec.lam * plan.spec.theta_norm**2, plan.spec.classes - 1.0)


def minimiser(data, classes, lam):
    found = minimise_ellipsoids(
        MulticlassObjective(ClassRecords(data.X, data.y, classes), len(data.X) * lam), distance=1e-6
    )
    return smat(models.centred(found.weights))


def best_in_ball(data, classes, B):
    """The minimiser of F over ||Phi|| <= B: that of J for the ridge at which it has this norm."""

    def surplus(log_lam):
        return np.linalg.norm(minimiser(data, classes, math.exp(log_lam))) - B

    low = math.log(1e-4)
    return minimiser(data, classes, 1e-4 if surplus(low) <= 0 else math.exp(optimize.brentq(surplus, low, 9.0)))


def least(values):
    """The mean less five standard errors: below the true mean but for once in a million."""
    return values.mean() - 5.0 * values.std(ddof=1) / math.sqrt(len(values))


# In every run


def minimisers(plan, data, B):
    return plan.mechanism._minimisers(plan, plan.mechanism.prepare(plan, data), B, plan.tol)


# On average

CASES = [
    ("objective", 0.12, 0.5),
    ("objective", 0.5, 0.5),
    ("objective", 0.05, 8.0),
    ("output", 0.05, 0.5),
    ("output", 1.0, 8.0),
]


@pytest.mark.shows("upper", "gaussian_classifier")
@every_noise
@pytest.mark.parametrize("perturbed, lam, epsilon", CASES)
def test_bounds_hold_on_average_and_a_twentieth_of_the_noise_does_not(noise, perturbed, lam, epsilon):
    """200 runs against the optimum and the best model of a ball of 2, and of one so small that no bias is left."""
    data = class_data(80, 2, 3)
    facts = dict(n=80, p=2, lam=lam, epsilon=epsilon, noise=noise, perturbed=perturbed)
    plan, bare = plan_of(**facts, theta_norm=2.0), plan_of(**facts, theta_norm=1e-6)
    Phi = released(plan, data, 200)
    over = upper(plan, "excess_over_regularised")
    excess = plain_objectives(data, Phi, lam) - plain_objectives(data, minimiser(data, 3, lam), lam)[0]
    assert least(excess) <= over
    assert least(excess) > over / 20.0
    if perturbed == "objective" and epsilon == 0.5:
        assert excess.mean() > 0.3 * over, "nearly tight where noise rules"
    risks = plain_risks(data, Phi)
    best = plain_risks(data, best_in_ball(data, 3, 2.0))[0]
    assert least(risks) - best <= upper(plan, "excess_empirical_risk")
    alone = upper(bare, "excess_empirical_risk")
    assert alone == pytest.approx(upper(plan, "excess_empirical_risk") - bias_of(plan), rel=1e-9)
    assert least(risks) - 2.0 <= alone
    if epsilon == 0.5 and lam < 0.2:
        assert least(risks) - 2.0 > alone / 20.0


@every_noise
@pytest.mark.parametrize("classes, p", [(2, 1), (3, 2), (5, 4)])
def test_the_band_of_margins_is_missed_by_one_draw_in_ten(noise, classes, p):
    """sum_c |<noise, (e_c - e_0) (x) X>| at ||X|| = 1, 2,000 draws, binomial tests with false alarm 1e-6."""
    plan = plan_of(n=1000, classes=classes, p=p, noise=noise)
    law, rng, x = plan.mechanism.law, np.random.default_rng(1), np.eye(1, p)
    draws = smat(np.stack([models.direction(law, plan.spec, rng) for _ in range(2000)]))
    scores = np.einsum("kcij,ij->kc", draws, features(x)[0])
    moved = np.abs(scores - scores[:, :1]).sum(1)
    line, curve = rules.reach(law, plan.spec)
    assert moved.mean() == pytest.approx(line, abs=5.0 * moved.std() / math.sqrt(2000))
    squares = 0.5 * ((scores - scores[:, :1]) ** 2).sum(1)
    assert squares.mean() == pytest.approx(curve, abs=6.0 * squares.std() / math.sqrt(2000))
    band = rules.band(law, plan.spec, 1.0, 0.1)
    assert stats.binomtest(int((moved > band).sum()), 2000, 0.1, alternative="greater").pvalue > FALSE_ALARM
    assert stats.binomtest(int((moved > 0.2 * band).sum()), 2000, 0.1, alternative="greater").pvalue < FALSE_ALARM


@pytest.mark.shows("upper", "gaussian_classifier")
@every_noise
@both_places
def test_the_bound_on_fresh_records_holds_for_a_known_law(noise, perturbed):
    """Records drawn from 15 equally likely ones; 100 data sets of 50, one run each; a twentieth would not hold."""
    law, rng = class_data(15, 2, 3, seed=4), np.random.default_rng(2)
    facts = dict(n=50, p=2, noise=noise, perturbed=perturbed, epsilon=0.5, lam=0.2)
    plan, bare = plan_of(**facts, theta_norm=2.0), plan_of(**facts, theta_norm=1e-6)
    risks = []
    for seed in range(100):
        rows = rng.integers(0, 15, 50)
        risks.append(plain_risks(law, released(plan, Data(law.X[rows], law.y[rows]), 1, seed=seed))[0])
    risks, best = np.array(risks), plain_risks(law, best_in_ball(law, 3, 2.0))[0]
    assert least(risks) - best <= upper(plan, "excess_population_risk")
    assert least(risks) - 2.0 > upper(bare, "excess_population_risk") / 20.0
    stable = math.sqrt(6.0) * math.sqrt(2.0) * 3 / (50 * 0.2)
    more = upper(plan, "excess_population_risk") - upper(plan, "excess_empirical_risk")
    assert more == pytest.approx(stable, rel=1e-5)


@every_noise
@both_places
def test_replacing_a_record_moves_the_minimiser_by_d_over_lam(noise, perturbed):
    """For the same noise. Attained where two labels at one x pull with all their force."""
    plan = plan_of(n=10, p=1, classes=3, lam=1e3, noise=noise, perturbed=perturbed)
    zero, one = plan.mechanism.worst_pair(plan)
    B = np.zeros((1, 3, 3)) if perturbed == "output" else plan.scale * 1e-3 * np.ones((1, 3, 3))
    found = [minimisers(plan, data, B)[0] for data in (zero, one)]
    D = math.sqrt(2.0) * 3 / 10
    assert np.linalg.norm(found[1] - found[0]) == pytest.approx(D / 1e3, rel=1e-5)
    crowd = class_data(10, 1, 3)
    for label in (0.0, 1.0, 2.0):
        other = Data(np.vstack([crowd.X[:-1], [[-0.7]]]), np.append(crowd.y[:-1], label))
        loose = plan_of(n=10, p=1, classes=3, lam=0.3, noise=noise, perturbed=perturbed)
        sides = [minimisers(loose, data, B)[0] for data in (crowd, other)]
        assert np.linalg.norm(sides[1] - sides[0]) <= D / 0.3 + 2.0 * loose.tol
