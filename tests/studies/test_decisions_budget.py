"""The smallest budget: its interval covers what brute force finds, and half of the interval does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore import EPSILON_GRID, NotApplicable, Problem
from dpcore.data import load
from dpcore.studies.decide.loss_curve import LostCurve, Setting, lost_curve, smallest_budget
from dpcore.studies.decide.threshold_interval import answer, band, crossing, falling, limits, nine_of_ten
from tests.decisions import covered, kept, thirds

# 17 curves with three thresholds each are 51 questions.
CURVES = (
    ("synthetic", "output_gaussian", 200),
    ("synthetic", "output_gaussian", 1_000),
    ("synthetic", "output_gamma", 500),
    ("synthetic", "objective_gaussian", 300),
    ("synthetic_correlated", "output_gaussian", 500),
    ("synthetic_correlated", "objective_gamma", 300),
    ("synthetic_padded", "output_gaussian", 3_000),
    ("synthetic_padded", "noisy_gd", 300),
    ("breast_cancer", "output_gaussian", 398),
    ("breast_cancer", "output_gamma", 398),
    ("breast_cancer", "objective_gaussian", 200),
    ("digits", "output_gaussian", 600),
    ("wine", "output_gaussian", 124),
    ("wine", "objective_gamma", 100),
    ("iris", "output_gaussian", 105),
    ("iris", "objective_gaussian", 105),
    ("iris", "objective_gamma", 70),
)


@pytest.mark.nightly
def test_intervals_cover_on_51_questions():
    """11 intervals each, and their halves; the figures in docs/formulas.md. By day curves are made up."""
    whole, half = list[bool](), list[bool]()
    for source, mechanism, n in CURVES:
        curve = lost_curve(Setting(Problem(source, n=n, seed=5), mechanism, splits=220))
        for at_most in thirds(curve.lost):
            whole += covered(curve.epsilons, curve.lost, at_most)
            half += covered(curve.epsilons, curve.lost, at_most, share=0.5)
    print(f"{np.mean(whole):.1%} of the intervals, {np.mean(half):.1%} of their halves")
    assert np.mean(whole) >= 0.92
    assert np.mean(half) < 0.80


def test_intervals_cover_on_50_made_up_curves():
    """Known laws with skewed heights and shifts, 10 intervals each; below 93% in 3% of cases if 95% is true."""
    rng = np.random.default_rng(0)
    grid = np.geomspace(0.01, 10.0, 19)
    whole, half = [], []
    for _ in range(50):
        height, middle, width = rng.uniform(5.0, 45.0), rng.uniform(-4.0, 1.0), rng.uniform(0.5, 2.0)
        skew, shift, rough = rng.uniform(0.0, (2.0, 0.5, 1.0))

        def draw(count, law=(height, middle, width, skew, shift, rough)):
            height, middle, width, skew, shift, rough = law
            heights = height + skew * (rng.exponential(1.0, (count, 1)) - 1.0)
            middles = middle + shift * rng.standard_normal((count, 1))
            return heights / (1.0 + np.exp((np.log(grid) - middles) / width)) + rough * rng.standard_normal((count, 19))

        expected = falling(draw(20_000).mean(axis=0))
        at_most = expected[0] * rng.uniform(0.1, 0.7)
        truth = crossing(grid, expected, at_most)
        for k in range(10):
            found = answer(grid, draw(20), at_most, seed=k)
            whole.append(found.low <= truth <= found.high)
            low, high = kept(found, 0.5)
            half.append(low <= truth <= high)
    assert np.mean(whole) >= 0.93
    assert np.mean(half) < 0.85


def test_splits_are_shared_and_the_first_are_the_beginning():
    few, many = (lost_curve(Setting(Problem("synthetic", n=100), splits=k)) for k in (3, 5))
    assert np.array_equal(few.lost, many.lost[:3])
    assert len(set(many.setting.seeds)) == 5
    others = (
        Setting(Problem("synthetic", n=300), "output_gamma"),
        Setting(Problem("synthetic", delta=1e-8), "noisy_gd"),
    )
    assert {other.seeds for other in others} == {Setting(Problem("synthetic")).seeds}, "common random numbers"
    assert Setting(Problem("synthetic", seed=1)).seeds != Setting(Problem("synthetic")).seeds
    grown = [curve.splits for curve in Setting(Problem("synthetic", n=100), splits=4).snapshots()]
    assert grown == [2, 3, 4]


def test_what_refuses_is_left_out_with_its_reason():
    curve = lost_curve(Setting(Problem("breast_cancer", n=300, lam=1e-3), "objective_gaussian", splits=2))
    assert 0 < len(curve.epsilons) < len(EPSILON_GRID)
    assert set(curve.epsilons) | set(curve.refused) == set(EPSILON_GRID)
    assert all("lam" in reason for reason in curve.refused.values())
    never = lost_curve(Setting(Problem("synthetic", n=100, delta=0.0), splits=2))
    assert not len(never.epsilons) and len(never.refused) == len(EPSILON_GRID)
    with pytest.raises(NotApplicable, match="delta"):
        smallest_budget(never, 5.0)


def test_regression_counts_explained_variance():
    curve = lost_curve(Setting(Problem("synthetic_regression", n=3_000, loss="squared"), splits=3))
    assert curve.setting.metric == "r_squared" and curve.smooth[-1] < curve.smooth[0]
    assert 0.5 < curve.reference.mean() < 1.0 and curve.learnable == 100 * curve.reference.mean()


def test_the_floor_is_the_larger_class_of_each_split_s_own_test_records():
    curve = lost_curve(Setting(Problem("wine"), splits=3))
    shares = [(load("wine", 125, 14, seed).test.y < 0).mean() for seed in curve.setting.seeds]
    assert curve.floor == pytest.approx(shares) and len(set(shares)) > 1
    assert curve.learnable == pytest.approx(100 * (curve.reference.mean() - np.mean(shares)))


def made_up(lost) -> LostCurve:
    """A curve with these points lost on the grid of epsilons."""
    setting = Setting(Problem("synthetic", n=100))
    ones, zeros = np.ones(np.shape(lost)[1]), np.zeros(len(lost))
    none = np.zeros(0), np.zeros((0, len(ones)))
    private = -0.01 * np.array(lost)
    return LostCurve(setting, np.array(EPSILON_GRID), private, private[:, None], zeros, zeros, ones, ones, {}, *none)


def test_answers_at_the_ends_of_the_grid():
    """All of 40 splits within a point of a ramp, nine of ten below its upper edge."""
    ramp = np.linspace(30.0, 10.0, 19) + np.linspace(-1.0, 1.0, 40)[:, None]
    out_of_reach = smallest_budget(made_up(ramp), 5.0)
    assert not out_of_reach.reachable and (out_of_reach.low, out_of_reach.high) == (math.inf, math.inf)
    open_above = smallest_budget(made_up(ramp), 10.9)
    assert open_above.reachable and open_above.low < open_above.value and open_above.high == math.inf
    everywhere = smallest_budget(made_up(ramp), 40.0)
    assert everywhere.at_first and everywhere.high == EPSILON_GRID[0]
    values = [smallest_budget(made_up(ramp), t).value for t in (12.0, 15.0, 20.0, 25.0)]
    assert values == sorted(values, reverse=True) and len(set(values)) == 4


def test_the_answer_is_rounded_up_at_two_digits_and_the_tenth_release_may_lose_more():
    """Ten splits of one height but for one: nine keep to the limit, whatever the tenth loses, and eight are too few."""
    ramp = np.tile(np.linspace(30.0, 10.0, 19), (10, 1))
    exact = math.sqrt(EPSILON_GRID[4] * EPSILON_GRID[5])  # halfway between points is halfway in the logarithm
    limit = float(ramp[0, 4:6].mean())
    assert smallest_budget(made_up(ramp), limit).value == math.ceil(1_000 * exact) / 1_000
    ramp[0] += 50.0
    assert smallest_budget(made_up(ramp), limit).value == math.ceil(1_000 * exact) / 1_000
    ramp[1] += 50.0
    assert not smallest_budget(made_up(ramp), limit).reachable


def releases(count: int, rng: np.random.Generator, law: tuple[float, ...]) -> np.ndarray:
    """Losses [count, 4, 19] of releases: falling, with shifts of splits and skewed sizes of their own."""
    height, middle, width, of_splits, skew = law
    size = 1.0 + 0.3 * rng.standard_normal((count, 4, 1)) + skew * (rng.exponential(1.0, (count, 4, 1)) - 1.0)
    falls = height / (1.0 + np.exp((np.log(EPSILON_GRID) - middle) / width))
    return falls * size + of_splits * rng.standard_normal((count, 1, 1))


def test_nine_of_ten_new_releases_keep_to_the_limit_and_intervals_cover():
    """40 laws, 10 files each; answers for the mean alone must keep it less often."""
    rng = np.random.default_rng(0)
    covers, kept, kept_by_mean = [], [], []
    for _ in range(40):
        law = rng.uniform((5.0, -4.0, 0.4, 0.0, 0.0), (30.0, 0.0, 1.2, 1.5, 0.6))
        many, at_most = releases(4_000, rng, law), rng.uniform(0.8, 6.0)
        truth = nine_of_ten(np.array(EPSILON_GRID), many, at_most).value
        if not EPSILON_GRID[0] < truth < EPSILON_GRID[-1]:
            continue
        fresh = many[:500].reshape(-1, 19)
        for k in range(10):
            lost = releases(20, rng, law)
            found = nine_of_ten(np.array(EPSILON_GRID), lost, at_most, seed=k)
            covers.append(found.low <= truth <= found.high)
            by_mean = crossing(np.array(EPSILON_GRID), falling(lost.mean(axis=(0, 1))), at_most)
            for epsilon, shares in ((found.value, kept), (by_mean, kept_by_mean)):
                if math.isfinite(epsilon):
                    there = [np.interp(np.log(epsilon), np.log(EPSILON_GRID), one) for one in fresh]
                    shares.append(np.mean(np.array(there) <= at_most))
    assert len(covers) > 200 and np.mean(covers) >= 0.93
    assert 0.88 <= np.mean(kept) <= 0.93 and np.mean(kept_by_mean) < 0.75


def test_an_answer_holds_from_its_point_on():
    """What is cheap before a hump is no answer; what chance bends upwards is pooled."""
    humped = falling(np.array([2.0, 8.0, 6.0, 7.0, 1.0]))
    assert humped.tolist() == [8.0, 8.0, 6.5, 6.5, 1.0]
    rows = np.random.default_rng(1).normal(0.0, 2.0, (20, 19)) + np.linspace(10.0, 0.0, 19)
    low, high = band(rows)
    middle = falling(rows.mean(axis=0))
    for curve in (low, middle, high):
        assert (np.diff(curve) <= 0.0).all()
    assert (low <= middle).all() and (middle <= high).all()


def test_limits_are_students_or_wider_and_lean_with_the_skew():
    rng = np.random.default_rng(2)
    normal, skewed = rng.standard_normal((20, 40)), rng.exponential(1.0, (20, 40))
    for rows in (normal, skewed):
        low, high = limits(rows)
        se = rows.std(axis=0, ddof=1) / math.sqrt(20)
        student = 2.093024 * se
        assert (high - rows.mean(axis=0) >= student * (1 - 1e-6)).all()
        assert (rows.mean(axis=0) - low >= student * (1 - 1e-6)).all()
    lean = [
        (high - m) / (m - low) for rows in (normal, skewed) for m, (low, high) in [(rows.mean(axis=0), limits(rows))]
    ]
    assert lean[1].mean() > 1.2 > lean[0].mean()
    wide, narrow = limits(normal, confidence=0.99), limits(normal, confidence=0.8)
    assert (wide[1] - wide[0] > narrow[1] - narrow[0]).all()
