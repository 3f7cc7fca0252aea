"""Private FTRL (follow the regularised leader): its law, its cost and its regret. Seeds are fixed."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

import dpcore
from dpcore import Budget, Data, Domain, NotApplicable, Spec
from dpcore.accounting import zcdp
from dpcore.mechanisms.base import PreparedRecords
from dpcore.mechanisms.simplex.ftrl import FTRL, log_weights, play
from dpcore.theory import sampling_and_regret as theory

BUDGETS = (Budget(1.0, 1e-5), Budget(0.3), Budget(8.0, 1e-3))


def spec(T=20, p=3, R=1.0, lam="auto", **more) -> Spec:
    return Spec("linear", T, p, lam, Domain(math.inf, R), set="simplex", **more)


def stream(T: int, p: int, seed: int, R: float = 1.0, idle: int = 0) -> Data:
    return Data(np.random.default_rng(seed).uniform(-R, R, (T, p)), np.zeros(T), p + idle)


def weights_of(X: np.ndarray, lam_sum: float) -> np.ndarray:
    """w_t before each step, by the definition and one step after the other; shape [T, p]."""
    made, total = [], np.zeros(X.shape[1])
    for x in X:
        w = np.exp(-(total - total.min()) / lam_sum)
        made.append(w / w.sum())
        total = total + x
    return np.array(made)


def prepared(plan, data) -> PreparedRecords:
    return plan.mechanism.prepare(plan, data)


# The law of the arms


@pytest.mark.parametrize("p, idle", [(1, 0), (2, 0), (7, 0), (7, 5), (50, 0), (3, 1000)])
def test_weights_follow_the_definition_and_idle_columns_are_columns_of_zeros(p, idle):
    data = stream(40, p, seed=p, R=2.0, idle=idle)
    full = np.pad(data.X, ((0, 0), (0, idle)))
    w = weights_of(full, 3.0)
    made = log_weights(data, 3.0)
    assert made[:, :p] == pytest.approx(np.log(w[:, :p]), abs=1e-12)
    if idle:
        assert made[:, p] == pytest.approx(np.log(w[:, p]), abs=1e-12)
    played = play(data, 3.0, np.empty((0, 40)))
    assert played.arms.shape == (0, 40)
    assert played.expected == pytest.approx((w * full).sum(axis=1), abs=1e-13)
    assert played.scores == pytest.approx(data.X.sum(axis=0), abs=1e-12)


@pytest.mark.parametrize("p, idle", [(1, 0), (2, 0), (33, 0), (100, 0), (7, 5), (1, 3)])
def test_every_arm_is_played_as_often_as_its_weight_says(p, idle):
    """Levels on an even grid instead of at random: each arm's share is its weight up to one level a border."""
    levels = 20_000
    data = stream(4, p, seed=3 + p, R=2.0, idle=idle)
    grid = np.repeat((np.arange(levels)[:, None] + 0.5) / levels, 4, axis=1)
    arms = play(data, 1.5, grid).arms.astype(int)
    w = weights_of(np.pad(data.X, ((0, 0), (0, idle))), 1.5)
    for t in range(4):
        shares = np.bincount(arms[:, t], minlength=p + idle) / levels
        assert shares.size == p + idle and np.abs(shares - w[t]).max() <= 2.0 / levels


def chance_of(arms: np.ndarray, w: np.ndarray) -> float:
    """p-value of Pearson's test that arms [K, T] follow w [T, p], all steps together."""
    T, p = w.shape
    counts = np.array([np.bincount(arms[:, t], minlength=p) for t in range(T)])
    return float(stats.chi2.sf(((counts - len(arms) * w) ** 2 / (len(arms) * w)).sum(), T * (p - 1)))


def test_releases_follow_the_claimed_law_and_other_noise_does_not():
    """False alarm 1e-6. The same test rejects 80% of the noise with certainty for all practical purposes."""
    data = stream(8, 4, seed=5)
    plan = FTRL().calibrate(spec(8, 4), Budget(8.0, 1e-3))
    w = weights_of(data.X, 8 * plan.scale)
    assert np.abs(w[-1] - 0.25).max() > 0.1, "the last weights are not uniform"
    rng = np.random.default_rng(6)
    for made, holds in ((plan, True), (plan.weakened(0.8), False)):
        arms = made.mechanism.release_many(made, prepared(made, data), [rng] * 40_000).astype(int)
        assert (chance_of(arms, w) > 1e-6) == holds


def test_sparse_streams_are_played_as_dense_ones_in_blocks_of_rows(monkeypatch):
    monkeypatch.setattr("dpcore.mechanisms.simplex.ftrl._BLOCK_NUMBERS", 35)
    X = stream(23, 5, seed=10).X * (np.random.default_rng(11).random((23, 5)) < 0.4)
    uniforms = np.random.default_rng(12).random((6, 23))
    dense, sparse = (play(Data(table, np.zeros(23)), 2.0, uniforms) for table in (X, csr_array(X)))
    assert np.array_equal(dense.arms, sparse.arms)
    assert sparse.expected == pytest.approx(dense.expected, abs=1e-14)
    assert sparse.scores == pytest.approx(dense.scores, abs=1e-14)
    assert np.array_equal(log_weights(Data(X, np.zeros(23)), 2.0), log_weights(Data(csr_array(X), np.zeros(23)), 2.0))


def test_far_arms_do_not_upset_near_ones():
    """Weights from e^0 down to e^-4000, with the leader changing once."""
    X = np.zeros((6, 3))
    X[:, 0], X[3:, 1] = -1000.0, -3000.0
    played = play(Data(X, np.zeros(6)), 1.0, np.full((1, 6), 0.999))
    assert played.arms[0].tolist() == [2.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert np.isfinite(played.expected).all() and played.expected[1:5].tolist() == [-1000.0] * 4


def test_idle_arms_lead_again_after_the_others_fall_behind():
    """One stored arm is e^1000 ahead of ten idle ones and, a step later, e^-2000 behind."""
    data = Data(np.array([[-1000.0], [3000.0], [-1.0]]), np.zeros(3), 11)
    played = play(data, 1.0, np.array([[0.95] * 3, [0.35] * 3]))
    assert played.arms.tolist() == [[10.0, 0.0, 10.0], [3.0, 0.0, 4.0]]
    assert played.expected == pytest.approx([-1000.0 / 11.0, 3000.0, 0.0], rel=1e-12)


# What it costs


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("T", [2, 3, 20, 5000])
def test_auto_spends_at_most_the_budget_and_all_of_it_where_privacy_sets_lam(budget, T):
    plan = FTRL().calibrate(spec(T, 8, R=0.5), budget)
    eta = 4 * 0.5 / (T * plan.scale)
    assert plan.spent <= budget and plan.steps == T and plan.scale == plan.spec.lam == plan.ledger[0].scale
    assert plan.ledger[0].times == T - 1 and 2 * plan.ledger[0].sensitivity / plan.scale == pytest.approx(eta)
    assert eta <= zcdp.bounded_range_eta(budget, T - 1)
    costs = [(T - 1) * eta]
    if budget.delta:
        costs.append(zcdp.zcdp_epsilon((T - 1) * eta**2 / 8, budget.delta))
    assert plan.spent.epsilon == pytest.approx(min(costs), rel=1e-6)
    regret_lam = 0.5 * math.sqrt(T / (2 * math.log(8))) / T
    if plan.scale > regret_lam:
        assert plan.spent.epsilon == pytest.approx(budget.epsilon, rel=1e-6)
    else:
        assert plan.scale == regret_lam


def exact_delta(zero: np.ndarray, one: np.ndarray, epsilon: float) -> float:
    """sum over all runs of (P1 - e^eps P0)_+ from the weights [T, p] on either side: T p-sided dice."""
    P0, P1 = np.ones(1), np.ones(1)
    for w0, w1 in zip(zero, one, strict=True):
        P0, P1 = np.outer(P0, w0).ravel(), np.outer(P1, w1).ravel()
    return float(np.maximum(P1 - math.exp(epsilon) * P0, 0.0).sum())


@pytest.mark.shows("privacy", "ftrl")
@pytest.mark.parametrize(
    "lam, budget, reached",
    [
        ("auto", Budget(0.1, 0.1), 0.3),
        ("auto", Budget(5.0, 1e-3), 0.02),
        ("auto", Budget(2.0), 0.3),
        (0.2, Budget(5.0, 1e-3), 0.02),
        (0.2, Budget(2.0), 0.3),
        ("published", Budget(0.1, 0.1), 0.1),
        ("published", Budget(5.0, 1e-3), 0.02),
    ],
)
def test_all_runs_on_any_neighbours_keep_the_guarantee(lam, budget, reached):
    """Every run of three arms, one of them idle, on streams of which any one cost vector is replaced, both ways.

    reached: the least share of delta, or of a pure epsilon, that some pair takes.
    """
    rng, largest = np.random.default_rng(17), 0.0
    for T in (2, 3, 6):
        plan = FTRL().calibrate(spec(T, 3, R=2.0, lam=lam), budget)
        for k in range(60):
            X = 2.0 * (rng.choice([-1.0, 1.0], (T, 2)) if k % 2 else rng.uniform(-1.0, 1.0, (T, 2)) * (k % 4))
            X, place = np.clip(X, -2.0, 2.0), k % T
            other = X.copy()
            X[place], other[place] = 2.0 * rng.choice([-1.0, 1.0], 2), 2.0 * rng.choice([-1.0, 1.0], 2)
            laws = [weights_of(np.pad(side, ((0, 0), (0, 1))), T * plan.scale) for side in (X, other)]
            for one, zero in itertools.permutations(laws):
                if plan.spent.delta:
                    share = exact_delta(zero, one, plan.spent.epsilon) / plan.spent.delta
                else:
                    share = np.log(one / zero).max(axis=1).sum() / plan.spent.epsilon
                assert share <= 1.0 + 1e-9
                largest = max(largest, share)
    assert largest > reached


def binomial_delta(k: int, eta: float, epsilon: float) -> float:
    """The worst pair's exact delta over k arms of two: they are k coins of log-odds -eta/2 and eta/2."""
    heads, counts = 1 / (1 + math.exp(-eta / 2)), np.arange(k + 1)
    P, Q = stats.binom.logpmf(counts, k, heads), stats.binom.logpmf(counts, k, 1 - heads)
    return float(np.maximum(np.exp(P) - np.exp(epsilon + Q), 0.0).sum())


@pytest.mark.parametrize("T, ratio", [(100, 3.1), (10_000, 4.3)])
def test_the_published_condition_without_ln_p_breaks_its_guarantee_at_epsilon_10(T, ratio):
    """lam >= R sqrt(8 T ln(1/delta)) / epsilon; exact, by binomial sums. The tight lam keeps it."""
    budget = Budget(10.0, 1e-3)
    published = math.sqrt(8 * T * math.log(1e3)) / 10
    assert binomial_delta(T - 1, 4 / published, 10.0) / 1e-3 == pytest.approx(ratio, rel=0.05)
    assert binomial_delta(T - 1, zcdp.bounded_range_eta(budget, T - 1), 10.0) <= 1e-3


def test_the_published_lam_is_an_exhibit_for_few_arms_and_private_for_many():
    budget = Budget(10.0, 1e-3)
    for p, private in ((2, False), (5, True), (1000, True)):
        for plan in (
            FTRL("published").calibrate(spec(1000, p), budget),
            FTRL().calibrate(spec(1000, p, lam="published"), budget),
        ):
            assert 1000 * plan.scale == pytest.approx(math.sqrt(8 * 1000 * math.log(p) * math.log(1e3)) / 10)
            assert (plan.spent <= budget) == private
    two = FTRL("published").calibrate(spec(1000, 2), budget)
    assert binomial_delta(999, 4 / (1000 * two.scale), 10.0) > 1e-3, "the guarantee is false, not merely unproved"
    X = np.zeros((1000, 2))
    with pytest.raises(NotApplicable, match="exhibit"):
        dpcore.solve("ftrl", X, epsilon=10.0, delta=1e-3, accounting="published")


def test_lam_by_hand_reports_its_cost_and_solve_refuses_what_is_too_dear():
    budget, made = Budget(1.0, 1e-5), []
    for lam in (0.01, 0.1, 10.0):
        plan = FTRL().calibrate(spec(50, 4, lam=lam), budget)
        eta = 4 / (50 * lam)
        assert plan.spent.epsilon == pytest.approx(min(49 * eta, zcdp.zcdp_epsilon(49 * eta**2 / 8, 1e-5)), rel=1e-6)
        made.append(plan.spent)
    assert FTRL().calibrate(spec(2, 4, lam=10.0), budget).spent == Budget(4 / (2 * 10.0)), "one choice needs no delta"
    assert made[0].epsilon > made[1].epsilon > 1.0 > made[2].epsilon
    with pytest.raises(NotApplicable, match="nothing is released"):
        dpcore.solve("ftrl", np.zeros((50, 4)), epsilon=1.0, delta=1e-5, lam=0.01)


# Regret


@pytest.mark.shows("upper", "ftrl")
@pytest.mark.parametrize("lam_sum", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("p", [1, 2, 30])
def test_the_bound_holds_on_every_stream(lam_sum, p):
    """No chance enters: the sum of the means is bounded on every path. Random, one-sided and alternating costs."""
    T, R = 60, 2.0
    flip = R * np.where(np.arange(T) % 2, 1.0, -1.0)[:, None] * np.where(np.arange(p) % 2, 1.0, -1.0)
    lead = np.tile(np.r_[-R, np.full(p - 1, R)], (T, 1))
    for X in (stream(T, p, 3, R).X, np.sign(stream(T, p, 4, R).X) * R, flip, lead):
        played = play(Data(X, np.zeros(T)), lam_sum, np.empty((0, T)))
        regret = played.expected.sum() - played.scores.min()
        assert regret <= theory.regret_bound(lam_sum, p, R, T) + 1e-9


@pytest.mark.shows("upper", "ftrl")
def test_one_run_stays_within_the_one_run_bound():
    """2,000 runs on the stream whose mean regret is closest to the bound; the share above is 10% at most, by 1e-6."""
    T, data = 200, Data(np.tile([-1.0, 1.0], (200, 1)), np.zeros(200))
    plan = FTRL().calibrate(spec(T, 2), Budget(20.0, 1e-3))
    mean, run = (bound.value for bound in plan.mechanism.bounds(plan)[:2])
    arms = plan.mechanism.release_many(plan, prepared(plan, data), [np.random.default_rng(14)] * 2000).astype(int)
    regret = data.X[np.arange(T), arms].sum(axis=1) + T
    assert regret.mean() <= mean < run
    assert stats.binomtest(int((regret > run).sum()), 2000, 0.1, alternative="greater").pvalue > 1e-6


@pytest.mark.shows("rate", "ftrl")
def test_bounds_say_what_they_are():
    plan = FTRL().calibrate(spec(1000, 8, R=2.0), BUDGETS[0])
    mean, run, wrong, earlier = plan.mechanism.bounds(plan)
    lam_sum = 1000 * plan.scale
    assert mean.value == pytest.approx(lam_sum * math.log(8) + 1000 * 4 / (2 * lam_sum))
    assert run.value == pytest.approx(mean.value + 2 * math.sqrt(2000 * math.log(10)))
    assert wrong.value == pytest.approx(2 * math.sqrt(1000 * math.log(8) * math.log(1e5)))
    assert earlier.value == pytest.approx(2 * math.sqrt(8000))
    assert [b.form for b in (mean, run, wrong, earlier)] == ["upper", "upper", "rate", "rate"]
    assert (mean.holds, run.holds) == ("expectation", "probability")
    assert "does not follow" in wrong.source and "false" in wrong.assumes
    pure = FTRL().calibrate(spec(1000, 8), Budget(1.0))
    assert [b.form for b in pure.mechanism.bounds(pure)] == ["upper", "upper", "rate"]
    short = FTRL().calibrate(spec(10, 8, R=2.0), Budget(0.1))
    assert [b.value for b in short.mechanism.bounds(short)[:2]] == [40.0, 40.0], "no regret is above 2 R T"


# Audits


def test_no_attacker_does_better_than_the_limit():
    for budget in (Budget(0.5, 1e-5), Budget(3.0), Budget(8.0, 1e-3)):
        plan = FTRL().calibrate(spec(11, 2), budget)
        w0, w1 = (np.exp(log_weights(side, 11 * plan.scale))[:, :2] for side in plan.mechanism.worst_pair(plan))
        right = 0.5 + 0.5 * exact_delta(w1, w0, 0.0)
        assert right <= plan.mechanism.attack_limit(plan) < plan.mechanism.attack_limit(plan.weakened(0.5))
