"""Simplex sampling: how many draws, what they cost by enumeration, bounds and refusals."""

import dataclasses as dc
import math
import re
import warnings
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, gammaln, logit

import dpcore
from dpcore import Budget, Data, Domain, NotApplicable, Spec
from dpcore.accounting.attack_limits import attack_cap
from dpcore.accounting.tradeoff import PureCurve, ZcdpCurve
from dpcore.core.losses import LOSSES, get_loss
from dpcore.mechanisms.api import release_once
from dpcore.mechanisms.simplex.sampling import SimplexSampling
from dpcore.mechanisms.simplex.weight_range import most_draws, privacy_cost, weight_range
from dpcore.solvers.simplex.entropic import minimise_on_simplex
from dpcore.studies.selection.simplex import published_draws

BUDGET = Budget(1.0, 1e-5)
KEYS = [key for key, loss in LOSSES.items() if loss.linear and math.isfinite(loss.curvature_bound)]
every_loss = pytest.mark.parametrize("key", KEYS)


def spec_for(key="huber", n=500, p=8, lam="auto", R=1.0, radius=None, **facts):
    return Spec(key, n, p, lam, Domain(math.inf, R), radius, **{"set": "simplex", **facts})


def plan_for(key="huber", *, budget=BUDGET, m="auto", **facts):
    return SimplexSampling(m=m).calibrate(spec_for(key, **facts), budget)


def records(key, n, p, *, seed, R=1.0, idle=0):
    """Records in [-R, R]^p whose labels come from a few columns."""
    rng = np.random.default_rng([seed, n, p])
    X = R * rng.choice([-1.0, 1.0, 0.3], (n, p))
    y = np.clip(X[:, : max(p // 2, 1)].mean(axis=1) / R + 0.2 * rng.standard_normal(n), -1.0, 1.0)
    return Data(X, np.where(y > 0, 1.0, -1.0) if get_loss(key).classification else y, p + idle)


def binomial_delta(plan, eta, epsilon, middle=0.0):
    """The exact delta at `epsilon` of m draws of two columns with log-odds middle + eta / 2 and middle - eta / 2."""
    counts = np.arange(plan.steps + 1)
    p, q = (stats.binom.logpmf(counts, plan.steps, expit(middle + half)) for half in (0.5 * eta, -0.5 * eta))
    return np.maximum(np.exp(p) - np.exp(epsilon + q), 0.0).sum()


# What draws cost, by enumeration


@pytest.mark.parametrize(
    "delta, published, tight, realised", [(1e-3, 184, 267_254, 3.0e-4), (1e-5, 66, 137_504, 2.4e-6)]
)
def test_draws_of_two_columns_cost_what_the_formula_sheet_says(delta, published, tight, realised):
    """Linear costs, n lam = 3000, L R = 1, epsilon = 1: the worst pair has log-odds 2 / 3000 and -2 / 3000."""
    budget, facts = Budget(1.0, delta), {"n": 1000, "p": 2, "lam": 3.0}
    assert int(published_draws.theorem_3_draws(spec_for("linear", **facts), budget)) == published
    paper = plan_for("linear", budget=budget, m=published, **facts)
    assert binomial_delta(paper, 4.0 / 3000.0, 1.0) < 1e-12
    assert paper.spent.epsilon < 0.15, "a thousand times too cautious"
    ours = plan_for("linear", budget=budget, **facts)
    assert abs(ours.steps - tight) <= 1
    assert binomial_delta(ours, 4.0 / 3000.0, 1.0) == pytest.approx(realised, rel=0.02) and realised < delta


@pytest.mark.parametrize("delta, factor", [(1e-3, 15.87), (1e-5, 32.26)])
def test_the_published_draws_overspend_where_L_R_is_large(delta, factor):
    """Most for a pair whose middle the other records move away from even odds; two data sets attain it."""
    facts = {"n": 1000, "p": 2, "lam": 3.0, "R": 64.0}
    draws = int(published_draws.theorem_3_draws(spec_for("linear", **facts), Budget(1.0, delta)))
    plan, eta = plan_for("linear", budget=Budget(1.0, delta), m=draws, **facts), 4.0 * 64.0 / 3000.0
    middles = np.linspace(-2.0, 2.0, 801)
    cost = [binomial_delta(plan, eta, 1.0, middle) for middle in middles]
    realised, middle = max(cost), middles[np.argmax(cost)]
    assert realised == pytest.approx(factor * delta, rel=1e-3) and binomial_delta(plan, eta, 1.0) < 0.995 * realised
    X = np.zeros((1000, 2))
    X[0], X[1:, 0] = (-64.0, 64.0), -3000.0 * middle / 999.0
    odds = [
        logit(np.exp(plan.mechanism.prepare(plan, Data(table, np.ones(1000))).log_weights[0]))
        for table in (X, np.vstack([-X[:1], X[1:]]))
    ]
    assert odds == pytest.approx([middle + 0.5 * eta, middle - 0.5 * eta])
    assert not plan.spent <= plan.requested and binomial_delta(plan, eta, plan.spent.epsilon, middle) <= delta
    assert plan_for("linear", budget=Budget(1.0, delta), **facts).steps < plan.steps
    with pytest.raises(NotApplicable, match="was requested"):
        release_once(plan, Data(np.zeros((1000, 2)), np.zeros(1000)))


def compositions(m, p):
    """All ways to share m draws among p columns, and ln m! / prod k_j!."""
    counts = np.array([k for k in product(range(m + 1), repeat=p - 1) if sum(k) <= m])
    counts = np.column_stack([counts, m - counts.sum(axis=1)])
    return counts, gammaln(m + 1) - gammaln(counts + 1).sum(axis=1)


@pytest.mark.shows("privacy", "simplex_sampling")
@pytest.mark.parametrize("budget", [Budget(0.3, 0.05), Budget(3.0, 1e-3), Budget(1.0)], ids=str)
@every_loss
def test_draws_from_stored_and_idle_columns_cost_at_most_what_is_spent(key, budget):
    """Every outcome, both ways round, of pairs whose weights move far: the others alike, a radius, two idle columns."""
    rng, largest = np.random.default_rng(KEYS.index(key)), 0.0
    for n, lam, R, radius, m in product((3, 6), (0.08, 3.0), (0.5, 2.0), (1.0, 0.3), (1, 12)):
        plan = plan_for(key, budget=budget, n=n, p=4, lam=lam, R=R, radius=radius, m=m)
        counts, ways = compositions(m, 3)
        X = np.tile(R * rng.choice([-1.0, 1.0], 2), (n, 1))
        y = np.full(n, rng.choice([-1.0, 1.0])) * (1.0 if get_loss(key).classification else rng.uniform())
        X[0], y[0] = R * rng.choice([-1.0, 1.0], 2), rng.choice([-1.0, 1.0])
        laws = []
        for table in (X, np.vstack([-X[:1], X[1:]])):
            found = plan.mechanism.prepare(plan, Data(table, y, 4))
            laws.append(ways + counts @ np.append(found.log_weights, found.log_idle + math.log(2.0)))
            assert np.exp(laws[-1]).sum() == pytest.approx(1.0, rel=1e-9)
        for a, b in (laws, laws[::-1]):
            if plan.spent.delta:
                share = np.maximum(np.exp(a) - np.exp(plan.spent.epsilon + b), 0.0).sum() / plan.spent.delta
            else:
                share = (a - b).max() / plan.spent.epsilon
            assert share <= 1.0 + 1e-9
            largest = max(largest, share)
        distance = 0.5 * np.abs(np.exp(laws[0]) - np.exp(laws[1])).sum()
        assert 0.5 + 0.5 * distance <= plan.mechanism.attack_limit(plan) + 1e-12
    assert largest > (0.25 if budget.delta == 0.0 else 0.01)


# The plan


@every_loss
@pytest.mark.parametrize("lam", [0.05, 1.0])
@pytest.mark.parametrize("budget", [BUDGET, Budget(8.0), Budget(3.0, 1e-2)], ids=str)
def test_the_ledger_says_how_far_the_scores_move_and_what_it_costs(key, lam, budget):
    plan = plan_for(key, budget=budget, n=20_000, lam=lam, radius=2.0)
    (event,) = plan.ledger
    found = weight_range(plan.spec)
    assert (event.noise, event.scale, event.times) == ("gumbel", plan.scale, plan.steps) and plan.scale == lam
    assert 2.0 * event.sensitivity / event.scale == pytest.approx(found.eta(lam), rel=1e-14)
    assert plan.tol == found.tol(lam) and plan.noise == "gumbel"
    assert plan.spent == privacy_cost(found.eta(lam), plan.steps, budget.delta) <= budget
    assert not privacy_cost(found.eta(lam), plan.steps + 1, budget.delta) <= budget
    assert plan.mechanism.attack_limit(plan) <= attack_cap(plan.spent)


def test_draws_by_hand_cost_what_is_proved_for_them_and_are_refused_beyond_the_budget():
    facts = {"n": 50, "p": 3, "lam": 0.5}
    eta = weight_range(spec_for(**facts)).eta(0.5)
    for m, budget in product((1, 3, 100, 5000), (BUDGET, Budget(1.0))):
        plan = plan_for(m=m, budget=budget, **facts)
        assert plan.steps == m and plan.spent == privacy_cost(eta, m, budget.delta)
        assert plan.spent.delta == 0.0 or plan.spent.epsilon < m * eta
    data = records("huber", 50, 3, seed=1)
    with pytest.raises(NotApplicable, match="was requested"):
        release_once(plan_for(m=5000, **facts), data)
    kept = plan_for(m=5, **{**facts, "lam": "auto"})
    assert kept.steps == 5 and kept.spent <= BUDGET and most_draws(weight_range(kept.spec).eta(kept.scale), BUDGET) == 5
    assert release_once(kept, data, seed=0).theta.sum() == pytest.approx(1.0)


def test_the_published_draws_are_theorem_3_and_lam_is_theorem_4_s():
    n, c, R = 5000, 2.0, 0.5
    for lam, epsilon in ((2.0, 20.0), (0.4, 90.0)):
        x, spec = c * R**2 / lam, spec_for(n=n, lam=lam, R=R)
        pure, both = (published_draws.theorem_3_draws(spec, Budget(epsilon, delta)) for delta in (0.0, 1e-4))
        assert pure == pytest.approx(epsilon * n * lam / R / (4 + 2 * x), rel=1e-12)
        assert both == pytest.approx((epsilon * n * lam / math.log(1e4) / (32 + 16 * x)) ** 2, rel=1e-12)
    lam = plan_for(n=4000, p=50, lam="published", budget=Budget(2.0, 1e-3)).spec.lam
    assert lam * 4000 == pytest.approx(4000 ** (2 / 3) / (2.0 * math.log(50)) ** (1 / 3), rel=1e-12)


@pytest.mark.pairwise
@every_loss
@pytest.mark.parametrize(
    "rule, quantity", [("auto", "excess_empirical_risk"), ("population", "excess_population_risk")]
)
@pytest.mark.parametrize("budget", [BUDGET, Budget(0.136), Budget(0.3), Budget(10.0, 1e-3)], ids=str)
def test_the_rules_for_lam_minimise_their_bounds(key, rule, quantity, budget):
    """No lam of 100 others does better by more than the rounding of m to a whole number can explain.

    "auto": x h / (x + h) in the place of the entropy's bound, half of which is x; h = c / 4. It ends flat."""

    def value(lam):
        try:
            plan = plan_for(key, budget=budget, n=3000, p=60, lam=lam)
        except NotApplicable:
            return math.inf, 0
        if rule == "auto" and (c := get_loss(key).curvature_bound):
            x, h = 0.5 * float(plan.spec.lam) * math.log(60), c / 4
            sampling = min(get_loss(key).lipschitz(plan.spec) / math.sqrt(plan.steps), c / 2 / plan.steps)
            return sampling + x * h / (x + h), plan.spec.lam
        bound = next(b for b in plan.mechanism.bounds(plan) if b.quantity == quantity)
        return bound.value, plan.spec.lam

    chosen, lam = value(rule)
    others = [value(other)[0] for other in lam * np.geomspace(0.03, 30.0, 100)]
    assert chosen <= min(others) * (1 + 1e-3)
    assert others[0] > 1.3 * chosen or not math.isfinite(others[0])
    assert others[-1] > (1.0 if rule == "auto" else 1.3) * chosen


# Refusals


@every_loss
@pytest.mark.parametrize("budget", [Budget(0.1, 1e-5), Budget(0.5), Budget(1e-3, 1e-9)], ids=str)
def test_a_refusal_names_the_smallest_epsilon_lam_and_n_that_allow_one_draw(key, budget):
    facts = {"n": 100, "p": 20, "lam": 1e-3}
    with pytest.raises(NotApplicable, match="one column") as caught:
        plan_for(key, budget=budget, **facts)
    words = re.search(r"epsilon >= (\S+), lam >= (\S+) or n >= (\d+), other things equal", str(caught.value))
    epsilon, lam, n = float(words[1]), float(words[2]), int(words[3])
    assert plan_for(key, budget=dc.replace(budget, epsilon=epsilon), **facts).steps == 1
    assert plan_for(key, budget=budget, **{**facts, "lam": lam}).steps == 1
    assert plan_for(key, budget=budget, **{**facts, "n": n}).steps == 1
    # To the four digits that are shown; n exactly.
    for less, changed in (
        (dc.replace(budget, epsilon=epsilon * (1 - 1.1e-3)), facts),
        (budget, {**facts, "lam": lam * (1 - 1.1e-3)}),
        (budget, {**facts, "n": n - 1}),
    ):
        with pytest.raises(NotApplicable, match="one column"):
            plan_for(key, budget=less, **changed)


def test_a_rule_that_finds_no_lam_says_so():
    with pytest.raises(ValueError, match=r"lam must be .* rule 'auto'"):
        plan_for(budget=Budget(1e-13), n=10)


# Bounds


def bound_of(plan, quantity, form="upper"):
    return next(b.value for b in plan.mechanism.bounds(plan) if (b.quantity, b.form) == (quantity, form))


def exact_mean_risk(plan, law, data):
    """E F(release) over all outcomes of m draws."""
    counts, ways = compositions(plan.steps, data.p)
    thetas = counts * (plan.spec.reach / plan.steps)
    loss = get_loss(plan.spec.loss)
    risks = loss.value(loss.predictions(data, thetas).ravel(), np.tile(data.y, len(thetas)))
    return float(np.exp(ways + counts @ law) @ risks.reshape(len(thetas), -1).mean(axis=1))


@pytest.mark.shows("upper", "simplex_sampling")
@every_loss
@pytest.mark.parametrize("R, radius", [(1.0, None), (0.4, 6.0)])
@pytest.mark.parametrize("lam", [0.003, 0.1, 3.0])
def test_the_exact_mean_excess_stays_below_the_bounds(key, R, radius, lam):
    """Over the minimiser and over the best model on the simplex; a vertex is no better than that."""
    data = records(key, 40, 3, seed=13, R=R)
    best = minimise_on_simplex(get_loss(key), data, radius or 1.0)
    for m in (1, 2, 5, 20):
        plan = plan_for(key, n=40, p=3, lam=lam, R=R, radius=radius, m=m)
        found = plan.mechanism.prepare(plan, data)
        mean = exact_mean_risk(plan, found.log_weights, data)
        centre = float(get_loss(key).value(data.X @ found.theta, data.y).mean())
        assert mean - centre <= bound_of(plan, "excess_over_regularised") + 1e-12
        assert mean - best.risk <= bound_of(plan, "excess_empirical_risk") + 1e-9
        assert centre - best.risk <= lam * (math.log(3) + plan.tol) + 1e-9


@pytest.mark.shows("rate", "simplex_sampling")
def test_the_published_rate_is_theorem_4():
    rate = bound_of(plan_for(n=1000, p=50, R=2.0), "excess_population_risk", "rate")
    shape = 2.0**3 * (1 + 2.0) * math.log(1000) * math.log(50) * math.log(1e5) / 1000 ** (1 / 3)
    assert rate == pytest.approx(shape, rel=1e-12)
    pure = bound_of(plan_for(n=1000, p=50, budget=Budget(4.0)), "excess_population_risk", "rate")
    assert pure == pytest.approx(math.log(1000) * math.log(50) / (2.0 * 1000**0.25), rel=1e-12)


# Audits


@pytest.mark.parametrize("p", [2, 3, 8])
def test_the_worst_pair_attains_the_sensitivity(p):
    plan = SimplexSampling().calibrate(dc.replace(SimplexSampling().worst_spec, p=p, radius=3.0), BUDGET)
    zero, one = (plan.mechanism.prepare(plan, data) for data in plan.mechanism.worst_pair(plan))
    assert plan.mechanism.separation(plan, zero, one) == pytest.approx(plan.ledger[0].sensitivity, rel=1e-6)
    assert plan.mechanism.separation(plan, zero, one) <= plan.ledger[0].sensitivity
    outputs = plan.mechanism.release_many(plan, zero, np.random.default_rng(15).spawn(5))
    counts = np.round(outputs * plan.steps / 3.0)
    laws = [stats.multinomial(plan.steps, np.exp(side.log_weights)) for side in (zero, one)]
    expected = laws[1].logpmf(counts) - laws[0].logpmf(counts)
    assert plan.mechanism.log_ratio(plan, zero, one, outputs) == pytest.approx(expected, abs=1e-9)
    with pytest.raises(NotApplicable, match=r"one column .* audited"):
        plan.mechanism.worst_pair(dc.replace(plan, spec=dc.replace(plan.spec, p=1)))


def test_the_log_ratio_counts_the_draws_of_idle_columns_and_the_separation_their_weight():
    """Every outcome of four draws from two stored and two idle columns."""
    plan = plan_for("linear", n=3, p=4, lam=0.5, m=4, radius=2.0)
    X = np.array([[1.0, 0.5], [0.3, -0.2], [1.0, 1.0]])
    sides = [Data(X, np.zeros(3), 4), Data(np.vstack([[[-1.0, -1.0]], X[1:]]), np.zeros(3), 4)]
    zero, one = (plan.mechanism.prepare(plan, side) for side in sides)
    counts, ways = compositions(4, 3)
    logits = [np.append(-2.0 * side.X.mean(axis=0) / 0.5, [0.0, 0.0]) for side in sides]
    laws = [np.exp(logit) / np.exp(logit).sum() for logit in logits]
    P0, P1 = (np.exp(ways + counts @ np.log([*law[:2], law[2:].sum()])) for law in laws)
    assert P0.sum() == pytest.approx(1.0) and P1.sum() == pytest.approx(1.0)
    outputs = counts[:, :2] * (2.0 / 4)
    for seen in (outputs, np.column_stack([outputs, counts[:, 2] * (2.0 / 4), np.zeros(len(counts))])):
        assert plan.mechanism.log_ratio(plan, zero, one, seen) == pytest.approx(np.log(P1 / P0), abs=1e-12)
    apart = np.ptp(np.log(laws[1]) - np.log(laws[0]))
    assert apart > 1.3 * np.ptp((np.log(laws[1]) - np.log(laws[0]))[:2]), "the idle columns are at one end"
    assert plan.mechanism.separation(plan, zero, one) == pytest.approx(0.25 * apart, rel=1e-9)


def test_the_claimed_curve_is_that_of_the_range_where_what_is_spent_tells_it():
    """delta = 0.05 covers one draw of range 0.08: (0, 0.05) is no claim about the range, and all that is claimed."""
    for lam, m, delta in product((0.3, 5.0, 40.0), (1, 4, 30), (0.0, 1e-5, 0.01, 0.05)):
        plan = plan_for("linear", n=10, p=2, lam=lam, m=m, budget=Budget(1.0, delta))
        curve, eta = plan.mechanism.claimed_curve(plan), weight_range(plan.spec).eta(lam)
        covered = plan.spent.epsilon <= 1e-8
        assert isinstance(curve, PureCurve) == covered
        if covered:
            assert (curve.mu, curve.failure) == (plan.spent.epsilon, delta)
        else:
            assert (curve.mu, curve.times) == (pytest.approx(eta, rel=1e-6), m)
    assert covered


def test_where_draws_are_too_many_to_count_inequalities_limit_the_attacker():
    """The exact distance of the worst pair over 267,254 draws, of log-odds 2 / 3000 and -2 / 3000, is little less."""
    plan = plan_for("linear", budget=Budget(1.0, 1e-3), n=1000, p=2, lam=3.0)
    assert plan.steps > 20_000 and isinstance(plan.mechanism.claimed_curve(plan), ZcdpCurve)
    distance = binomial_delta(plan, 4.0 / 3000.0, 0.0)
    assert distance <= 2.0 * plan.mechanism.attack_limit(plan) - 1.0 <= 1.4 * distance


def test_a_search_for_lam_beside_draws_that_no_lam_allows_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = dpcore.calibrate("simplex_sampling", n=510, p=1, epsilon=0.0597, loss="logistic", R=0.29)
    assert plan.spent.epsilon <= 0.0597 * (1 + 1e-9)


@pytest.mark.shows("upper", "simplex_sampling")
@pytest.mark.parametrize("key, lam", [("linear", 0.05), ("linear", 0.3), ("squared", 0.2)])
def test_the_mean_excess_on_fresh_records_stays_below_its_bound(key, lam):
    """300 tables of fresh records; the standard error is below a tenth of the room that the bound leaves."""
    rng, means = np.random.default_rng(14), np.array([-0.1, 0.0, 0.1])
    plan = plan_for(key, n=30, p=3, lam=lam, m=2)
    excesses = []
    for _ in range(300):
        X = np.where(rng.random((30, 3)) < 0.5 * (1 + means), 1.0, -1.0)
        y = np.zeros(30) if key == "linear" else X[:, 2] * np.where(rng.random(30) < 0.8, 1.0, -1.0)
        w = np.exp(plan.mechanism.prepare(plan, Data(X, y)).log_weights)
        if key == "linear":
            excesses.append(w @ means - means.min())
            continue
        # E (z - y)^2 on fresh records: columns have the covariance below, y that of 0.6 x_3; two draws add variance.
        second = np.outer(means, means)
        np.fill_diagonal(second, 1.0)
        risk = w @ second @ w - 1.2 * (w @ second[2]) + (1.0 - w @ second @ w) / 2
        tested = np.linalg.solve(second, 0.6 * second[2])
        excesses.append(risk - (tested @ second @ tested - 1.2 * (tested @ second[2])))
    bound = bound_of(plan, "excess_population_risk")
    assert np.mean(excesses) + 10 * np.std(excesses) / math.sqrt(300) < bound
    stability = 2.0 * get_loss(key).lipschitz(plan.spec) ** 2 / (30 * lam)
    assert bound == pytest.approx(bound_of(plan, "excess_empirical_risk") + stability, rel=1e-4)


def test_the_published_count_reaches_one_draw_where_its_formula_does():
    """m (L R = c = 1, p = 100, delta = 1e-5): 3e-4, 0.0079 and 0.82 of a draw at 1e3, 1e5 and 1e8 people."""
    public = {"p": 100, "epsilon": 1.0, "delta": 1e-5, "loss": "huber_hinge"}
    first = published_draws.first_draw(**public)
    for n, m in ((10**3, 3.07e-4), (10**5, 0.00786), (10**8, 0.8244)):
        assert published_draws.draws_at(n, **public)[0] == pytest.approx(m, rel=0.02)
    for n, enough in ((first, True), (first - 1, False)):
        assert (published_draws.draws_at(n, **public)[0] >= 1.0) == enough
    ours = np.array([published_draws.draws_at(n, **public)[1] for n in (100, 316, 1_000, 10_000, 10**6, 10**10)])
    assert (np.diff(ours[2:]) > 0).all() and (ours >= 1).all()
    assert (np.diff(ours[:3]) < 0).all(), "where little can be learned more draws do no harm"
