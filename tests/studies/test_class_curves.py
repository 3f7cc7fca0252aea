"""Private classifiers of many classes: runs against plain re-implementations, curves against runs."""

import dataclasses as dc
import itertools
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from dpcore import Budget, Data, NotApplicable
from dpcore.data import load_classes
from dpcore.solvers.multiclass.objective import ClassRecords
from dpcore.studies.multiclass import curves, one_vs_rest, reference_risk
from dpcore.studies.multiclass.curves import Records, accuracy_against
from dpcore.studies.multiclass.one_vs_rest import runs_of
from dpcore.studies.multiclass.proof import ClassProofQuestion
from tests.studies.plain_classes import many, plain_features

DRAWN = "gaussian_classes"
BUDGETS = (Budget(2.0, 1e-5), Budget(20.0, 1e-5))


def table(source, n, seed=0, d=None, C=None, m=None):
    """A split, with the first m test records."""
    split = load_classes(source, n, d=d, classes=C, seed=seed)
    return split if m is None else dc.replace(split, test=Data(split.test.X[:m], split.test.y[:m]))


# The least risk


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("radius, binds", [(0.5, True), (4.0, True), (200.0, False)])
def test_the_least_risk_in_a_ball_is_that_of_another_solver(C, radius, binds):
    """One column, classes that no ellipses tell apart. SLSQP stops at 1e-10 of the risk; 1e-6 is left to it."""
    rng = np.random.default_rng(C)
    y = np.arange(30) % C
    x = np.clip(0.25 * rng.standard_normal(30) + 0.4 * (y - 0.5), -1.0, 1.0)[:, None]
    Z, q = plain_features(x), 3

    def risk(flat):
        value, gradient = many(flat.reshape(C, q), Z, y)
        return value, gradient.ravel()

    room = {"type": "ineq", "fun": lambda v: radius**2 - v @ v, "jac": lambda v: -2.0 * v}
    options = {"maxiter": 2_000, "ftol": 1e-13}
    start = 0.1 * rng.standard_normal(C * q)
    other = minimize(risk, start, jac=True, method="SLSQP", constraints=[room], options=options)
    length = np.linalg.norm(other.x)
    assert other.success and (length > 0.999 * radius) == binds
    found = reference_risk.least_in_ball(ClassRecords(x, y, C), radius)
    assert found.risk == pytest.approx(other.fun, abs=found.gap + 1e-6) and 0.0 <= found.gap <= 1e-5 * (C - 1)


def test_a_wider_ball_has_no_larger_least_risk_and_the_gap_covers_what_is_left():
    records = ClassRecords(np.array(table("iris", 40).train.X), table("iris", 40).train.y, 3)
    found = [reference_risk.least_in_ball(records, radius) for radius in (0.01, 0.1, 1.0, 5.0, 10.0, 30.0, 100.0)]
    for narrow, wide in itertools.pairwise(found):
        assert wide.risk - wide.gap <= narrow.risk
    assert found[0].risk > 1.9 and found[-1].risk < 0.2 < found[2].risk
    with pytest.raises(ValueError, match="radius must be a finite number > 0, got 0"):
        reference_risk.least_in_ball(records, 0.0)


@pytest.mark.parametrize("C", [2, 3, 4])
def test_no_classifier_of_any_length_has_a_smaller_loss(C):
    """Classes that overlap; against an independent optimiser, and models of every length near the one found."""
    rng = np.random.default_rng(C)
    y = np.arange(60) % C
    x = np.clip(0.25 * rng.standard_normal(60) + 0.4 * (y - 0.5), -1.0, 1.0)[:, None]
    records, Z, q = ClassRecords(x, y, C), plain_features(x), 3

    def risk(flat):
        value, gradient = many(flat.reshape(C, q), Z, y)
        return value, gradient.ravel()

    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10}
    other = minimize(risk, np.zeros(C * q), jac=True, method="L-BFGS-B", options=options)
    found = reference_risk.least_of_all(records, reach=1e3)
    assert found.gap <= 1e-5 * (C - 1) and found.risk > 0.05
    assert -found.gap <= other.fun - found.risk <= 1e-4
    for scale in 10.0 ** rng.uniform(-3.0, 4.0, 100):
        beside = other.x * rng.uniform(0.5, 3.0) + scale * rng.normal(size=C * q)
        assert risk(beside)[0] >= found.risk - found.gap * max(1.0, np.linalg.norm(beside) / 1e3)
    wide = reference_risk.least_in_ball(records, 2.0 * np.linalg.norm(other.x))
    assert abs(wide.risk - found.risk) <= wide.gap + found.gap


def test_where_margins_can_all_be_positive_the_least_loss_is_0():
    split = table("iris", 40).train
    found = reference_risk.least_of_all(ClassRecords(np.array(split.X), split.y, 3), 1e3)
    assert (found.risk, found.gap, found.attained) == (0.0, 0.0, False)
    with pytest.raises(ValueError, match="reach must be a finite number > 0, got 0"):
        reference_risk.least_of_all(ClassRecords(np.array(split.X), split.y, 3), 0.0)


@pytest.mark.parametrize("n, C, share", [(120, 5, 1e-2), (300, 10, 1e-5)])
def test_the_least_loss_is_found_where_falling_ridges_would_be_smaller_than_rounding(n, C, share):
    split = table(DRAWN, n, C=C).train
    found = reference_risk.least_of_all(ClassRecords(np.array(split.X), split.y, C), 1e3)
    assert 0.05 < found.risk < 0.2 and 0.0 <= found.gap <= share * (C - 1)


# What one-vs-rest may spend


def hockey_stick(epsilon, mu):
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("C", [2, 3, 10])
@pytest.mark.parametrize("epsilon, delta", [(0.1, 1e-3), (1.0, 1e-6), (8.0, 1e-5)])
def test_shares_add_up_to_the_budget(C, epsilon, delta):
    """Basic: epsilon and delta add up. Gaussian: mu^2 does; calibration keeps 1e-6 of mu in reserve, here 1e-4."""
    share = one_vs_rest.split_budget(Budget(epsilon, delta), C, output=False)
    assert (C * share.epsilon, C * share.delta) == pytest.approx((epsilon, delta), rel=1e-12)
    share = one_vs_rest.split_budget(Budget(epsilon, delta), C, output=True)
    each = brentq(lambda mu: hockey_stick(share.epsilon, mu) - share.delta, 1e-3, 50.0, xtol=1e-14)
    whole = brentq(lambda mu: hockey_stick(epsilon, mu) - delta, 1e-3, 50.0, xtol=1e-14)
    assert C * each**2 == pytest.approx(whole**2, rel=1e-4) and share.delta == delta
    assert C * share.epsilon > epsilon, "more than basic composition grants"


def along(learner, split, budgets, **asked):
    """The runs at each budget, stacked."""
    each = [runs_of(learner, split, budget, **asked) for budget in budgets]
    stacked = {field.name: [getattr(runs, field.name) for runs in each] for field in dc.fields(each[0])}
    words = {"bounds": tuple(stacked.pop("bounds")), "reasons": tuple(stacked.pop("reason"))}
    return SimpleNamespace(**words, **{name: np.array(values) for name, values in stacked.items()})


# Runs


@pytest.mark.parametrize("learner", one_vs_rest.LEARNERS)
def test_without_noise_all_runs_are_the_quiet_one(learner):
    """At epsilon = 1e6 a run may differ in the few records on a border, here 4 of 400."""
    split = table(DRAWN, 300, C=3, m=400)
    found = along(learner, split, [Budget(1e6, 1e-5)], lam="auto" if "split" in learner else 0.02, repetitions=2)
    assert np.abs(found.accuracy - found.quiet).max() <= 4 / 400 and found.quiet[0] > 0.7


@pytest.mark.parametrize("learner", one_vs_rest.LEARNERS)
def test_noise_is_that_of_the_seed_and_fewer_repetitions_are_a_prefix(learner):
    split = table(DRAWN, 200, C=3, m=400)
    longer, shorter, again = (
        along(learner, split, [BUDGETS[0]], repetitions=size, seed=seed).accuracy[0]
        for size, seed in ((6, 1), (2, 1), (2, 2))
    )
    assert np.array_equal(longer[:2], shorter) and not np.array_equal(shorter, again)


def test_what_is_refused_is_a_reason_and_nan():
    split = table(DRAWN, 60, C=3, m=20)
    pure, free = Budget(1.0), Budget(1.0, 1e-5)
    for learner in ("ellipsoids", "split", "split_answer"):
        found = along(learner, split, [pure, free], repetitions=2)
        assert found.reasons[0].startswith("Gaussian noise needs delta > 0, got delta = 0") and found.reasons[1] == ""
        assert np.isnan(found.accuracy[0]).all() and np.isfinite(found.accuracy[1]).all()
        assert np.isnan([found.quiet[0], found.lam[0]]).all() and found.bounds[0] == ()
    assert along("pure", split, [pure], repetitions=2).reasons == ("",)
    found = along("ellipsoids", split, [free], lam=1e-4, repetitions=2)
    assert re.search("needs lam > .* for epsilon = 1 and n = 60, got 0.0001", found.reasons[0])
    with pytest.raises(ValueError, match=r"learner must .*ellipsoids, pure, split, split_answer, got"):
        along("one", split, [free])
    with pytest.raises(ValueError, match=r"repetitions must .*even, got 3"):
        along("split", split, [free], repetitions=3)


@pytest.mark.parametrize("source, n", [(DRAWN, 400), ("iris", 105), ("wine", 125)])
@pytest.mark.parametrize("learner", ["ellipsoids", "pure"])
def test_no_release_exceeds_what_is_proved_of_it(source, n, learner):
    """In every run; 1e-5 of it is the solver's share."""
    found = along(learner, table(source, n), [Budget(e, 1e-5) for e in (0.3, 1.0, 10.0, 100.0)], repetitions=6)
    assert (found.over <= found.each * (1 + 1e-5)).all() and (found.over > -1e-6).all()
    assert (found.over > 0.2 * found.each).any(), "a bound that says something"


# Accuracy along an axis


def test_each_place_of_an_axis_has_its_own_records_and_budget():
    shared = {"delta": 1e-5, "repetitions": 6, "datasets": 2, "learners": ("ellipsoids", "split")}
    for axis, values, at in (
        ("epsilon", (0.5, 5.0), lambda v: ({"d": 3, "C": 4}, v)),
        ("classes", (2, 5), lambda v: ({"d": 3, "C": v}, 2.0)),
        ("d", (2, 4), lambda v: ({"d": v, "C": 4}, 2.0)),
    ):
        found = accuracy_against(axis, values, Records(DRAWN, 150, 7, d=3, classes=4), epsilon=2.0, **shared)
        assert found.axis == axis and found.x.tolist() == list(values) and found.test_records == 4_000
        for k, value in enumerate(values):
            facts, epsilon = at(value)
            splits = [table(DRAWN, 150, seed, **facts) for seed in (7, 8)]
            for key, measured in found.learners.items():
                runs = [
                    along(key, split, [Budget(epsilon, 1e-5)], repetitions=6, seed=seed)
                    for split, seed in zip(splits, (7, 8), strict=True)
                ]
                every = np.concatenate([run.accuracy[0] for run in runs])
                assert measured.mean[k] == pytest.approx(every.mean(), rel=1e-12)
                assert measured.q10[k] == pytest.approx(np.quantile(every, 0.1), rel=1e-12)
                assert measured.noiseless[k] == pytest.approx(np.mean([run.quiet[0] for run in runs]), rel=1e-12)
            largest = [max((split.test.y == c).mean() for c in range(split.classes)) for split in splits]
            assert found.chance[k] == pytest.approx(np.mean(largest), rel=1e-12)
            law = [(split.truth.classify(split.test.X) == split.test.y).mean() for split in splits]
            assert found.bayes[k] == pytest.approx(np.mean(law), rel=1e-12)
            models = [LogisticRegression(C=1e3, max_iter=5_000).fit(split.train.X, split.train.y) for split in splits]
            right = [m.score(split.test.X, split.test.y) for m, split in zip(models, splits, strict=True)]
            assert found.logistic[k] == pytest.approx(np.mean(right), abs=2e-3)


def same(one, other):
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in dc.fields(one)]
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in pairs if isinstance(a, np.ndarray))
    return pairs


# Excess risk


def excess_of(epsilons, records, delta=1e-5, repetitions=10):
    found = curves.accuracy_against(
        "epsilon", epsilons, records, epsilon=1.0, delta=delta, learners=("ellipsoids",), excess=True,
        repetitions=repetitions, datasets=1,
    )  # fmt: skip
    return found.excess


@pytest.mark.parametrize("source, n", [(DRAWN, 300), ("iris", 105), ("wine", 125)])
def test_excess_is_measured_from_the_certified_least_and_keeps_its_bound(source, n):
    epsilons = (0.3, 3.0, 30.0)
    found = excess_of(epsilons, Records(source, n, 1))
    split = table(source, n, 1)
    runs = along("ellipsoids", split, [Budget(e, 1e-5) for e in epsilons], repetitions=10, seed=1)
    records = ClassRecords(np.array(split.train.X), split.train.y, split.classes)
    least, in_ball = reference_risk.least_of_all(records, 1_000.0), reference_risk.least_in_ball(records, 10.0)
    assert max(least.gap, in_ball.gap) <= 1e-5 * (split.classes - 1) and in_ball.risk > least.risk + 0.01
    assert found.mean == pytest.approx(runs.risk.mean(axis=1) - least.risk, abs=1e-12)
    assert (found.nothing == split.classes - 1.0 - least.risk).all()
    for k, bounds in enumerate(runs.bounds):
        proved = next(b.value for b in bounds if b.quantity == "excess_empirical_risk")
        assert found.bound[k] == pytest.approx(proved + in_ball.risk - least.risk, rel=1e-12)
    assert (runs.over.mean(axis=1) <= runs.each.mean(axis=1)).all() and (found.mean <= found.bound).all()
    assert (np.diff(found.bound) < 1e-5).all() and found.bound[-1] < found.bound[0]


def test_excess_along_classes_is_that_of_the_first_draw_at_each_place_and_comes_after_the_accuracy():
    question = curves.AccuracyQuestion(
        "classes", (2, 3), Records(DRAWN, 150, 4), 1.0, 1e-5, learners=("ellipsoids",), excess=True
    )
    first, *rest = question.snapshots()
    assert not first.excess.there and (first.learners["ellipsoids"].mean > 0.0).all()
    assert [each.excess.there for each in rest] == [True, True] and [each.datasets for each in rest] == [1, 2]
    assert [question.share_done(each) for each in (first, *rest)] == pytest.approx([1 / 3, 2 / 3, 1.0])
    for k, C in enumerate((2, 3)):
        there = excess_of((1.0,), Records(DRAWN, 150, 4, classes=C), repetitions=6)
        told = there.mean[0], there.bound[0], there.nothing[0]
        found = rest[-1].excess
        assert (found.mean[k], found.bound[k], found.nothing[k]) == pytest.approx(told, rel=1e-12)
    with pytest.raises(
        ValueError, match="learners must hold 'ellipsoids', whose excess is asked for, got \\('split',\\)"
    ):
        dc.replace(question, learners=("split",))


@pytest.mark.parametrize("source, n", [(DRAWN, 300), ("iris", 105)])
def test_the_proof_begins_with_the_chart_s_number_and_ends_with_its_bound(source, n):
    for epsilon in (0.3, 3.0):
        records = Records(source, n, 1)
        found = excess_of((epsilon,), records)
        (made,) = ClassProofQuestion(records, epsilon, 1e-5, repetitions=10).snapshots()
        ends = made.steps[0].value, made.steps[-1].value, made.nothing
        assert ends == pytest.approx((found.mean[0], found.bound[0], found.nothing[0]), rel=1e-9)
        for before, after in itertools.pairwise(made.steps):
            assert after.value >= before.value - 4.0 * after.se - 1e-9
    with pytest.raises(NotApplicable, match="Gaussian noise needs delta > 0"):
        next(ClassProofQuestion(Records(source, n, 1), 1.0, 0.0).snapshots())


def test_no_excess_without_a_guarantee():
    found = excess_of((1.0,), Records(DRAWN, 100, 0), delta=0.0, repetitions=2)
    assert np.isnan([found.mean[0], found.bound[0]]).all() and np.isfinite(found.nothing[0])


def test_learners_share_no_noise():
    """Each learner, class and repetition has a generator of its own."""
    keys = [*one_vs_rest.LEARNERS, *(f"split {c}" for c in range(3)), *(f"split_answer {c}" for c in range(3))]
    first = [rng.random() for key in keys for rng in one_vs_rest.generators(key, 4, 0)]
    assert len(set(first)) == 2 * len(keys)
