"""The lower bound on the hardest data, against mechanisms that are private and known exactly."""

import dataclasses as dc
import math

import numpy as np
import pytest

import dpcore
from dpcore import Budget, Data, Domain, Spec
from dpcore.core.hard_blocks import hard_blocks
from dpcore.core.losses import get_loss
from dpcore.theory.lower_bounds import hardest_data
from tests.problems import ADDING, LINEAR

every_loss = pytest.mark.parametrize("key", LINEAR)


def line(n: int, k: int) -> Data:
    """All records at x = 1, (n + k) / 2 of them with label +1."""
    return Data(np.ones((n, 1)), np.concatenate([np.ones((n + k) // 2), -np.ones((n - k) // 2)]))


def lower(key: str, n: int, budget: Budget, theta_norm: float = 10.0) -> float:
    return sum(b.value for b in hardest_data(get_loss(key), Spec(key, n, 1, theta_norm=theta_norm), budget))


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 0.5])
@pytest.mark.parametrize("n", [200, 201])
def test_randomised_answers_lie_within_a_factor_of_the_bound(epsilon, n):
    """P(answer +1) = 1 / (1 + e^(-epsilon k / 2)) is epsilon-private, and on hinge loss 4 times the bound at worst.

    An answer -1 on D costs 2 k / n. Were the bound 5 times larger, it would be false.
    """
    worst = max(2 * k / n / (1 + math.exp(epsilon * k / 2)) for k in range(n % 2, n, 2))
    bound = lower("hinge", n, Budget(epsilon))
    assert bound <= worst <= 4.5 * bound
    positive = -np.logaddexp(0, -epsilon * np.arange(-n, n + 1, 2) / 2)  # log P(answer +1) for every k
    assert np.abs(np.diff(positive)).max() <= epsilon, "the mechanism of this test would not be private"


@pytest.mark.pairwise
@pytest.mark.shows(
    "lower", "output_gaussian", "output_gamma", "objective_gaussian", "objective_gamma", "noisy_gd", "noisy_sgd"
)
@every_loss
@pytest.mark.parametrize("noise", ["output_gaussian", "output_gamma"])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
@pytest.mark.parametrize("lam", [0.001, 0.03, 1.0])
def test_no_mechanism_is_better_on_the_hardest_data(key, noise, epsilon, lam):
    """The larger mean excess over all swaps, exact, of mechanisms at every lam."""
    n, loss, worst = 60, get_loss(key), 0.0
    plan = dpcore.calibrate(noise, n=n, p=1, epsilon=epsilon, delta=1e-6, loss=key, lam=lam)
    nodes, weights = plan.mechanism.law.spread(1)
    z = np.linspace(-10, 10, 8001)
    for k in range(0, 60, 2):
        data = line(n, k)
        theta = plan.mechanism.prepare(plan, data).theta
        sd = plan.scale * nodes
        means = [loss.gaussian_mean(np.repeat(theta, n), data.y, np.full(n, s)).mean() for s in sd]
        minimum = min(((n + k) * loss.value(z, np.ones_like(z)) + (n - k) * loss.value(z, -np.ones_like(z))) / (2 * n))
        worst = max(worst, weights @ means - minimum)
    bound = lower(key, n, plan.spent)
    assert 0 < bound <= worst
    assert bound in [b.value for b in dpcore.bounds_of(plan) if b.form == "lower"]


def test_it_says_nothing_where_the_best_model_is_out_of_reach():
    """Hinge loss has its minimum at z = 1: in a ball of 0.5 a release outside could beat every comparator."""
    assert lower("hinge", 100, Budget(0.1), theta_norm=0.5) == 0.0
    assert hardest_data(get_loss("hinge"), Spec("hinge", 100, 1, theta_norm=0.5), Budget(0.1)) == ()
    assert lower("hinge", 100, Budget(0.1, 0.9)) == 0.0


@pytest.mark.parametrize("key", ["logistic", "hinge", "squared", "huber"])
@pytest.mark.parametrize("epsilon, delta", [(0.3, 0.0), (0.3, 1e-3), (2.0, 1e-4)])
@pytest.mark.parametrize("n", [12, 13])
def test_the_bound_is_the_best_of_all_swaps(key, epsilon, delta, n):
    """Every k, minima on a fine grid, group privacy as a plain sum; the cached search may only be smaller, by 1%."""
    loss, y_max, best = get_loss(key), 0.7 if key in ("squared", "huber") else 1.0, 0.0
    z = np.linspace(0.0, 5.0 * 1.5, 200_001)
    for k in range(n % 2 or 2, n, 2):
        risk = [share * loss.value(z, np.full_like(z, y)) for share, y in ((n + k, y_max), (n - k, -y_max))]
        F = (risk[0] + risk[1]) / (2 * n)
        grown = delta * sum(math.exp(i * epsilon) for i in range(k))
        cap = min(1.0, (math.exp(k * epsilon) + grown) / (1 + math.exp(k * epsilon)))
        if F.argmin() < len(z) - 1:
            best = max(best, (F[0] - F.min()) * (1 - cap))
    spec = Spec(key, n, 2, domain=Domain(R=1.5, y_max=y_max), theta_norm=5.0)
    (bound,) = hardest_data(loss, spec, Budget(epsilon, delta))
    assert 0.99 * best <= bound.value <= best * (1 + 1e-3)


def test_tiny_budgets_and_many_records_still_have_a_bound():
    """The minimum lies at z = 2 k / n there, far below any fixed grid: g is about (k/n)^2 / 2 for logistic loss."""
    n, epsilon = 10_000, 1.0
    expected = max((k / n) ** 2 / 2 / (1 + math.exp(k * epsilon)) for k in range(2, 40, 2))
    assert lower("logistic", n, Budget(epsilon)) == pytest.approx(expected, rel=0.01)


def test_a_radius_counts_as_the_reach_of_models():
    free = Spec("hinge", 100, 1, theta_norm=10.0)
    assert hardest_data(get_loss("hinge"), free, Budget(0.1))
    assert hardest_data(get_loss("hinge"), dc.replace(free, radius=0.5), Budget(0.1)) == ()


@pytest.mark.parametrize("key", ["logistic", "hinge", "huber_hinge"])
def test_without_privacy_to_spare_half_of_what_learning_brings_on_the_blocks_is_out_of_reach(key):
    """At epsilon near 0 each sign is wrong half of the time; the sum over blocks is minimised here on a fine grid."""
    n, loss, z = 1_000, get_loss(key), np.linspace(0.0, 5.0, 50_001)
    risks = (a * loss.value(z, np.ones_like(z)) + b * loss.value(z, -np.ones_like(z)) for a, b in hard_blocks(n))
    gained = sum(risk[0] - risk.min() for risk in risks) / n
    (bound,) = hardest_data(loss, Spec(key, n, 8), Budget(1e-9))
    assert bound.value == pytest.approx(gained / 2, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.03, 0.1, 0.3, 1.0])
def test_randomised_signs_lie_within_a_factor_of_the_bound_on_blocks(epsilon):
    """Sign s_j with P(s_j = 1) = 1 / (1 + e^(-epsilon m_j / 2)), m_j the sum of block j's labels, is epsilon-private: a
    replaced record moves one m_j by 2 or two by 1. It releases c_j s_j, and a wrong sign costs k_j c_j / n."""
    own, other = hard_blocks(1_000).T
    k, c = own - other, np.log(own / other)
    exact = float((k * c / 1_000 / (1 + np.exp(epsilon * k / 2))).sum())
    (bound,) = hardest_data(get_loss("logistic"), Spec("logistic", 1_000, 8), Budget(epsilon))
    assert bound.value <= exact <= 14.0 * bound.value


def test_blocks_are_left_out_where_they_do_not_fit():
    logistic, budget = get_loss("logistic"), Budget(0.1)
    fits = Spec("logistic", 1_000, 4, theta_norm=4.0)
    assert hardest_data(logistic, fits, budget)[0].source == "Assouad's lemma"
    for wrong in ({"p": 3}, {"n": 83}, {"theta_norm": 3.0}, {"radius": 3.0}):
        others = hardest_data(logistic, dc.replace(fits, **wrong), budget)
        assert all(bound.source == "two-point method" for bound in others), wrong


@pytest.mark.parametrize("n, lam", [(100, "auto"), (400, "auto"), (100, "population"), (100, 0.1)])
def test_every_mechanism_lies_above_the_bound_on_the_hardest_data(n, lam):
    """Means over the noise, of which a mechanism that draws may be 4 standard errors below."""
    from dpcore.experiments.cell import run_cell
    from dpcore.experiments.experiment import Experiment

    problem, compared = dpcore.Problem("synthetic_hardest", n, 8, lam=lam, theta_norm=6.0), set()
    keys = [key for key in dpcore.list_mechanisms() if dpcore.make_mechanism(key).quantity != "regret"]
    for key in keys:
        swept = Experiment(problem, (key,), sweep=dpcore.Axis("epsilon", (0.03, 0.3, 3.0)), repetitions=6)
        for cell in swept.cells():
            for row in run_cell(cell):
                if row["status"] == "ok" and row["metric"] == "excess_empirical_risk":
                    spent = Budget(row["spent_epsilon"], row["spent_delta"])
                    (bound,) = hardest_data(get_loss("logistic"), Spec("logistic", n, 8, theta_norm=6.0), spent)
                    assert row["mean"] + 4.0 * row["se"] >= bound.value > 0.0, (key, row["epsilon"])
                    assert row["lower_bound"] in (None, pytest.approx(bound.value))
                    compared.add(key)
    assert len(compared) >= (4 if lam == "population" else 6), compared


@pytest.mark.parametrize("key", ADDING)
@pytest.mark.parametrize("lam", ["auto", 0.01])
def test_no_registered_mechanism_is_below_the_bound_averaged_over_random_blocks(key, lam):
    """By 4 standard errors; each run has its own signs v, and its own turn of the axes."""
    own, other = hard_blocks(400).T.astype(int)
    logistic, K, spec = get_loss("logistic"), len(own), Spec("logistic", 400, 8, lam, theta_norm=6.0)
    mechanism, rng = dpcore.make_mechanism(key), np.random.default_rng(4)
    for epsilon in (0.1, 1.0):
        try:
            plan, found = mechanism.calibrate(spec, Budget(epsilon, 1e-6)), []
        except dpcore.NotApplicable:
            continue
        least = min_risk(own, other, spec.n)
        for run in range(60):
            v, X, y = rng.choice([-1.0, 1.0], K), np.zeros((spec.n, spec.p)), np.ones(spec.n)
            axes = np.linalg.qr(rng.standard_normal((spec.p, spec.p)))[0][:K]
            ends = np.cumsum(own + other)
            for j, end in enumerate(ends):
                X[end - own[j] - other[j] : end] = axes[j]
                y[end - own[j] - other[j] : end] = v[j] * np.repeat([1.0, -1.0], [own[j], other[j]])
            theta = mechanism.release(plan, mechanism.prepare(plan, Data(X, y)), np.random.default_rng([3, run]))
            found.append(logistic.value(X @ theta, y).mean() - least)
        (bound,) = hardest_data(logistic, spec, plan.spent)
        assert bound.source == "Assouad's lemma"
        assert np.mean(found) + 4.0 * np.std(found) / math.sqrt(len(found)) >= bound.value > 0.0


def min_risk(own: np.ndarray, other: np.ndarray, n: int) -> float:
    """Of logistic loss on blocks, where the best prediction of a block is ln(own / other)."""
    c = np.log(own / other)
    rest = (n - own.sum() - other.sum()) * math.log(2.0)
    return float((own * np.logaddexp(0.0, -c) + other * np.logaddexp(0.0, c)).sum() + rest) / n
