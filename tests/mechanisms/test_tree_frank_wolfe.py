"""Frank-Wolfe on noisy gradient trees: its scale, what one record can do, its noise, its bound on fresh records."""

import math

import numpy as np
import pytest

from dpcore import Budget, Data, Domain, Spec
from dpcore.accounting.gaussian import gaussian_mu
from dpcore.accounting.zcdp import zcdp_rho
from dpcore.core.losses import Loss, get_loss
from dpcore.core.sets import LqBall, dual_order, kappa_lq, length, norm_ball
from dpcore.mechanisms.frank_wolfe.tree import TreeFrankWolfe, runs_of
from dpcore.mechanisms.noise.generalized_gaussian import lp_noise
from dpcore.solvers.frank_wolfe.tree import Tree, batch_mean, nodes, tree_of
from dpcore.theory import frank_wolfe as theory

BUDGET = Budget(1.0, 1e-6)
LAWS = ("gaussian", "generalized_gaussian")
every_law = pytest.mark.parametrize("law", LAWS)
every_p = pytest.mark.parametrize("p_norm", [1.1, 1.5, 2.0])


def plan_for(p_norm=1.5, loss="logistic", *, n=1_000, d=10, R=1.0, radius=1.0, budget=BUDGET, **knobs):
    spec = Spec(loss, n, d, "auto", Domain(dual_order(p_norm), R), radius, set=norm_ball(p_norm))
    return TreeFrankWolfe(**knobs).calibrate(spec, budget)


def dense_records(n: int, d: int, p_norm: float, seed: int) -> Data:
    """Entries +-d^(-1/q), three of four positive: by symmetry the best model is radius d^(-1/p) (1, ..., 1)."""
    rng = np.random.default_rng([seed, n, d])
    return Data(np.where(rng.random((n, d)) < 0.75, 1.0, -1.0) / d ** (1 - 1 / p_norm), np.ones(n))


def upper(plan) -> float:
    return next(bound.value for bound in plan.mechanism.bounds(plan) if bound.form == "upper")


# What the noise is and what it costs


@every_law
@every_p
@pytest.mark.parametrize("T", [1, 3, "auto"])
def test_the_scale_is_the_multiplier_times_the_sensitivity_of_a_root(law, p_norm, T):
    plan = plan_for(p_norm, R=2.0, radius=0.5, noise=law, T=T)
    q, chosen = dual_order(p_norm), plan.mechanism.T
    slope = 1 / (1 + math.exp(-1.0))  # of the logistic loss at predictions up to R radius
    kappa = 10 ** (1 - 2 / q) if law == "gaussian" else kappa_lq(q, 10).kappa
    M = 1 / gaussian_mu(BUDGET) if law == "gaussian" else lp_noise(law, q, 10).multiplier(BUDGET)
    (event,) = plan.ledger
    b = tree_of(1_000, chosen).batch
    assert event.sensitivity == pytest.approx(math.sqrt(kappa) * 2 * slope * 2.0 / b, rel=1e-12)
    assert event.scale == plan.scale == pytest.approx(M * event.sensitivity, rel=1e-11)
    assert (event.noise, event.times, event.sampling) == (law, 1, "all") and plan.spent == BUDGET
    assert plan.steps == 2 ** (chosen + 1) - 2 and T in ("auto", chosen)
    assert plan.mechanism.calibrate(plan.spec, plan.spent) == plan, "a plan's mechanism makes it again"
    values = {t: upper(plan_for(p_norm, R=2.0, radius=0.5, noise=law, T=t)) for t in range(1, 6)}
    if T == "auto":
        best = min(values, key=values.get)
        assert chosen == max(best - 1, min(best, 2))


@pytest.mark.shows("privacy", "tree_frank_wolfe")
@pytest.mark.parametrize("loss", ["logistic", "squared", "huber"])
@every_p
def test_no_replaced_record_moves_a_release_beyond_the_claim_whatever_was_released_before(loss, p_norm):
    """Each record is replaced in turn by an extreme one; transcripts are as an adversary would like them, so that
    iterates run across the ball. Only the node that reads the record changes, and by at most its
    claimed sensitivity."""
    n, d, radius, rng = 56, 3, 1.5, np.random.default_rng(4)
    plan = plan_for(p_norm, loss, n=n, d=d, radius=radius, T=3)
    runs = runs_of(plan)
    assert (runs.tree, runs.tree.used) == (Tree(range(1, 4), 8), 48)
    q, ball = dual_order(p_norm), norm_ball(p_norm)
    slopes = [get_loss(loss).derivative(np.linspace(-radius, radius, 401), np.full(401, y)) for y in (-1.0, 1.0)]
    turn = np.ptp(slopes) if loss != "logistic" else np.ptp(slopes[0])
    # Signs that last, so that iterates move far, in turned directions.
    signs = np.concatenate([np.where(np.arange(2**t) < 2 ** (t - 1), 1.0, -1.0) for t in (1, 2, 3)])
    goals = rng.standard_normal((40, 1, d)) + 0.3 * rng.standard_normal((40, 14, d))
    # A transcript adds to its parent's estimate: large and growing numbers decide alone.
    outputs = signs[None, :, None] * goals * 10.0 ** np.arange(14)[None, :, None]

    def means(data):
        found, moved, shares, parts = [], [], [], iter(outputs.swapaxes(0, 1))

        def replay(node, mean, away):
            found.append(mean)
            moved.append(np.full(40, np.inf) if away is None else length(away, p_norm)[:, 0])
            share = np.broadcast_to(runs.share(node, away), (40, 1))
            shares.append(share[:, 0])
            return next(parts)

        runs.walk(data, 40, replay)
        return np.array(found), np.array(moved), np.array(shares)

    def extreme_rows(count):
        return (
            -ball.extreme(rng.standard_normal((count, d)))
            if p_norm == 2.0
            else LqBall(q).extreme(rng.standard_normal((count, d)))
        )

    X, y = extreme_rows(n), rng.choice([-1.0, 1.0], n)
    first = means(Data(X, y))
    visited, largest = nodes(runs.tree), 0.0
    for i in range(n):
        other, label = X.copy(), y.copy()
        other[i], label[i] = extreme_rows(1)[0], rng.choice([-1.0, 1.0])
        second = means(Data(other, label))
        assert np.array_equal(first[1], second[1]), "the same transcript, the same iterates"
        change = length(second[0] - first[0], q)[..., 0]
        readers = [k for k, node in enumerate(visited) if i in node.batch]
        assert len(readers) == (i < 48)
        assert not np.delete(change, readers, axis=0).any()
        for k in readers:
            claim = first[2][k] * 2 * runs.facts.L0 / runs.tree.batch
            assert (change[k] <= claim * (1 + 1e-12)).all()
            moved = 2 ** (1 - 2 / q) * runs.facts.L1 * first[1][k]
            expected = np.minimum(moved, 2 * turn) / len(visited[k].batch)
            assert np.allclose(claim, expected if visited[k].depth else 2 * runs.facts.L0 / 8, rtol=1e-12)
            largest = max(largest, float((change[k] / np.maximum(claim, 1e-300)).max()))
    assert largest > 0.3


@every_p
def test_the_gradients_of_two_records_move_apart_as_far_as_is_claimed(p_norm):
    """Between models along e_1: (a, b) and (a, -b) by all of it where the slope of Huber loss is linear; and none of
    100,000 pairs of records farther."""
    rng, ball, q = np.random.default_rng(6), norm_ball(p_norm), dual_order(p_norm)
    facts = runs_of(plan_for(p_norm, "huber", n=100, d=2, radius=0.2, T=1)).facts
    share = 2.0 ** (-1 / q)
    worst = np.array([[share, share], [share, -share]])
    pairs = rng.standard_normal((100_000, 2, 2))
    models = ball.extreme(rng.standard_normal((100_000, 2))) * 0.2
    pairs /= length(pairs, q)

    def apart(records, v):
        """Over 2 ||v||, of gradients at v and at 0 of records with label 0."""
        turned = np.clip(2 * np.einsum("kij,kj->ki", records, v), -1, 1)[..., None] * records
        return length(turned[:, 0] - turned[:, 1], q)[:, 0] / length(v, p_norm)[:, 0] / 2

    assert apart(worst[None], np.array([[0.2, 0.0]]))[0] == pytest.approx(facts.L1_between, rel=1e-12)
    found = apart(pairs, models)
    assert 0.98 * facts.L1_between < found.max() <= facts.L1_between * (1 + 1e-12)


# Runs


def test_gradients_are_counted_record_by_record(monkeypatch):
    plan, counted = plan_for(n=500, d=3, T=3), []
    derivatives = Loss.derivatives
    monkeypatch.setattr(Loss, "derivatives", lambda loss, z, y: counted.append(z.size) or derivatives(loss, z, y))
    prepared = plan.mechanism.prepare(plan, dense_records(500, 3, 1.5, 0))
    plan.mechanism.release(plan, prepared, np.random.default_rng(0))
    assert plan.mechanism.gradients(plan) == sum(counted)


# The bound


def test_the_bound_is_the_formula_with_the_best_number_of_phases():
    """Logistic loss, R = 1, L0 = 1, generalised Gaussian noise at (1, 1e-6), to two decimals of a prototype; and
    Gaussian noise by hand."""
    M, M_gauss = 1 / math.sqrt(2 * zcdp_rho(BUDGET)), 1 / gaussian_mu(BUDGET)
    cases = (1.1, 10, 1_000, 1.63), (1.5, 100, 10_000, 0.66), (1.5, 1000, 100_000, 0.33), (2.0, 10, 100_000, 0.11)
    for p_norm, d, n, expected in cases:
        found, q = kappa_lq(dual_order(p_norm), d), dual_order(p_norm)

        def value(T, noise, smooth, n=n, kappa=found.kappa):
            b = tree_of(n, T).batch
            return theory.tree_frank_wolfe_bound(
                2.0, 1.0, 0.25, 0.25, T=T, b=b, kappa=kappa, noise=noise, smooth=smooth
            )

        phases = [T for T in range(1, 15) if tree_of(n, T)]
        best = min(value(T, M * math.sqrt(found.kappa * d), found.order - 1.0) for T in phases)
        assert best == pytest.approx(expected, abs=0.006)
        for T in phases:
            K, b = 2 ** (T + 1) - 2, tree_of(n, T).batch
            plain = 2 / (K + 1) + 2 * math.sqrt(found.kappa * (4 + 4) / b)
            private = 2 * M_gauss * math.sqrt(found.kappa * d) * math.sqrt(4 + 4 * T) / b
            assert value(T, M_gauss * math.sqrt(found.kappa * d), 1.0) == pytest.approx(plain + private, rel=1e-12)
        assert found.kappa <= q - 1 + 1e-12


@pytest.mark.pairwise
@pytest.mark.shows("upper", "tree_frank_wolfe")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("p_norm, d, n", [(1.1, 10, 1_000), (1.5, 100, 10_000), (2.0, 10, 10_000)])
def test_the_mean_excess_on_fresh_records_is_below_the_bound(law, p_norm, d, n):
    """20 runs on their own records against 5,000 fresh ones: 5 standard errors of either, false alarm below 1e-6. The
    best model is known by symmetry."""
    plan = plan_for(p_norm, n=n, d=d, noise=law)
    fresh = dense_records(5_000, d, p_norm, 99)
    best = np.full(d, d ** (-1 / p_norm))
    models = []
    for run in range(20):
        data = dense_records(n, d, p_norm, run)
        models.append(plan.mechanism.release(plan, plan.mechanism.prepare(plan, data), np.random.default_rng(run)))
    margins = fresh.X @ np.array([best, *models]).T
    losses = np.logaddexp(0.0, -margins)
    excess = losses[:, 1:].mean(axis=1) - losses[:, 0]
    error = 5 * math.hypot(excess.std() / math.sqrt(5_000), losses[:, 1:].mean(axis=0).std() / math.sqrt(20))
    assert excess.mean() + error <= upper(plan)
    assert excess.mean() > 0.0005 * upper(plan)


@pytest.mark.shows("rate", "tree_frank_wolfe")
def test_the_published_rate_is_a_shape():
    plan = plan_for(1.5, n=10_000, d=100)
    rate = next(b for b in plan.mechanism.bounds(plan) if b.form == "rate")
    L0 = 1 / (1 + math.exp(-1.0))
    expected = L0 * 2 * (math.sqrt(2 / 10_000) + 2 * math.sqrt(100 * math.log(1e6)) / 10_000)
    assert rate.value == pytest.approx(expected, rel=1e-12) and rate.holds == "probability"


# Sets and audits


def test_a_phase_reads_three_records_and_each_further_one_four_times_as_many():
    assert plan_for(n=48, T=3).steps == 14 and plan_for(n=3).steps == 2


def test_rounding_of_two_gradients_is_small_beside_the_noise_of_iterates_an_ulp_apart():
    """One record of the node is replaced; without a least move the claimed sensitivity would be about the rounding."""
    plan = plan_for(1.5, n=56, d=3, radius=1.5, T=3)
    runs, rng = runs_of(plan), np.random.default_rng(2)
    parent = np.array([[0.31, -0.17, 0.53]])
    child = np.nextafter(parent, 1.0)
    loss, q = get_loss(plan.spec.loss), runs.facts.q_star
    for node in [node for node in nodes(runs.tree) if node.depth > 0]:
        X = rng.standard_normal((56, 3))
        X /= length(X, q)
        other = X.copy()
        other[node.batch.start] *= -1.0
        sides = [batch_mean(loss, Data(each, np.ones(56)), node.batch, child, parent) for each in (X, other)]
        claimed = runs.share(node, child - parent) * 2.0 * runs.facts.L0 / runs.tree.batch
        assert float(length(sides[1] - sides[0], q)[0, 0]) < 1e-4 * float(np.max(claimed))
