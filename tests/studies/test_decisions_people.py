"""Sample size needed and equivalent sample size: the same question in reverse, and limits that must hold."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore import NotApplicable, Problem
from dpcore.studies.decide import sample_size
from dpcore.studies.decide.equivalent_sample_size import ERRORS, EquivalentSampleSizeQuestion
from dpcore.studies.decide.loss_curve import Setting, lost_curve, smallest_budget
from dpcore.studies.decide.sample_size import SIZES, SampleSizeQuestion
from dpcore.studies.decide.threshold_interval import falling
from tests.decisions import last
from tests.nights import each

from ..flat_fields import changed

EPSILONS = (0.1, 1.0, 10.0, 1e3, 1e5, 1e7)


def test_records_for_a_budget_and_the_budget_for_these_records_agree():
    """The same splits answer both, up to what is linear between grid points."""
    setting = Setting(Problem("synthetic", seed=2), splits=6)
    needed = last(SampleSizeQuestion(setting, epsilon=1.0, at_most=4.0)).answer()
    budget = smallest_budget(lost_curve(changed(setting, n=round(needed.value))), 4.0)
    assert budget.value == pytest.approx(1.0, rel=0.1)
    fewer = smallest_budget(lost_curve(changed(setting, n=round(0.7 * needed.value))), 4.0)
    assert fewer.low > 1.05, "the test can fail"


def test_the_search_ends_early_and_misses_nothing(monkeypatch):
    monkeypatch.setattr(sample_size, "SIZES", SIZES[:9])
    asked = SampleSizeQuestion(Setting(Problem("wine"), "output_gaussian", splits=8), 3.0, 15.0)
    early = list(dict.fromkeys(found for found in asked.snapshots() if found is not None))
    assert early[-1].sizes[-1] < SIZES[8] and [len(found.sizes) for found in early] == list(range(1, len(early) + 1))
    monkeypatch.setattr(sample_size, "_ENOUGH", 10**6)
    *_, full = asked.snapshots()
    assert full.sizes.tolist() == list(SIZES[:9])
    for field in ("value", "low", "high"):
        assert getattr(early[-1].answer(), field) == pytest.approx(getattr(full.answer(), field), rel=1e-6)


def test_sizes_that_are_refused_and_budgets_out_of_reach(monkeypatch):
    wide = SampleSizeQuestion(Setting(Problem("synthetic", p=2_000), splits=2), 0.01, 1.0)
    assert max(wide.sizes) == 20_000, "no more records than fit into memory"
    monkeypatch.setattr(sample_size, "SIZES", SIZES[:7])
    setting = Setting(Problem("breast_cancer", lam=1e-3), "objective_gaussian", splits=2)
    found = last(SampleSizeQuestion(setting, epsilon=0.3, at_most=20.0))
    assert set(found.refused) | set(found.sizes) <= set(SIZES)
    assert len(found.refused) > 0 and max(found.refused) < min(found.sizes)
    with pytest.raises(NotApplicable, match="delta"):
        last(SampleSizeQuestion(Setting(Problem("synthetic", delta=0.0)), epsilon=1.0, at_most=5.0))
    never = last(SampleSizeQuestion(Setting(Problem("wine"), splits=2), epsilon=0.01, at_most=0.5)).answer()
    assert not never.reachable


@pytest.mark.parametrize(
    "setting",
    each(
        2,
        [
            Setting(Problem("synthetic", n=300), "objective_gaussian", epsilons=EPSILONS[:-1], splits=10),
            Setting(Problem("synthetic", n=1_000, lam=1e-4), "output_gaussian", epsilons=EPSILONS, splits=10),
            Setting(Problem("synthetic", n=300, lam=1e-4), "output_gamma", epsilons=EPSILONS[1:], splits=6),
            Setting(Problem("synthetic", n=500), "noisy_gd", epsilons=EPSILONS, splits=10),
            Setting(Problem("synthetic_regression", n=500, loss="huber", lam=1e-3), epsilons=EPSILONS, splits=6),
            Setting(
                Problem("synthetic_sparse", n=500, p=16, loss="squared"),
                "frank_wolfe_polytope",
                epsilons=EPSILONS,
                splits=10,
            ),
        ],
    ),
    ids=lambda s: f"{s.source}-{s.mechanism.key}",
)
def test_the_equivalent_sample_size_tends_to_n_and_is_never_above(setting):
    sizes = last(EquivalentSampleSizeQuestion(setting))
    n = setting.problem.n
    for error in ERRORS:
        worth = sizes.answers(error)
        values = [w.value for w in worth]
        assert values[0] < 0.15 * n, "at a small epsilon n people are worth few"
        assert values[-1] > (0.85 if error == "loss" else 0.7) * n
        assert all(w.first <= w.low <= w.value <= w.high <= n for w in worth)


def test_noise_of_one_size_keeps_its_cost():
    """lam = "auto" of output perturbation fixes the noise in a prediction: no epsilon makes the sizes vanish."""
    sizes = last(EquivalentSampleSizeQuestion(Setting(Problem("synthetic", n=1_000), epsilons=EPSILONS, splits=5)))
    worth = [w.value for w in sizes.answers("loss")]
    assert worth == sorted(worth) and worth[-1] < 500
    above = (sizes.private("loss") - sizes.same[0, :, -1]).mean(axis=0)
    assert above[-1] > 0.5 * above[2] > 0.0


def test_the_best_learner_of_a_data_set_needs_far_fewer_records_than_a_private_one():
    setting = Setting(Problem("breast_cancer", n=300), "objective_gaussian", epsilons=EPSILONS[:3], splits=10)
    assert all(found.high < 30 for found in last(EquivalentSampleSizeQuestion(setting)).answers("loss"))


def test_so_many_records_have_the_same_error():
    sizes = last(
        EquivalentSampleSizeQuestion(Setting(Problem("synthetic", n=2_000), splits=5, epsilons=(0.3, 1.0, 3.0)))
    )
    for k, worth in enumerate(sizes.answers("loss")):
        learners = [falling(curve.mean(axis=0)) for curve in (sizes.best[0], sizes.same[0, :, :, k])]
        errors = [np.interp(np.log(worth.value), np.log(sizes.sizes), curve) for curve in learners]
        assert min(errors) == pytest.approx(sizes.private("loss").mean(axis=0)[k], rel=2e-3)
        assert worth.low < worth.value < worth.high < 2_000


def test_copies_of_records_have_no_equivalent_sample_size():
    with pytest.raises(NotApplicable, match="n <= 105"):
        last(EquivalentSampleSizeQuestion(Setting(Problem("iris", n=200))))
    with pytest.raises(NotApplicable, match="delta"):
        last(EquivalentSampleSizeQuestion(Setting(Problem("iris", delta=0.0), splits=2)))
    sizes = last(EquivalentSampleSizeQuestion(Setting(Problem("iris", n=20), splits=2, epsilons=(1.0,))))
    with pytest.raises(ValueError, match=r"error must .*loss, accuracy"):
        sizes.answers("distance")
