"""Distances against literal draws, and theory's curves against the bounds they come from."""

import numpy as np
import pytest
from scipy.stats import chi2

import dpcore
from dpcore import data
from dpcore.core.privacy import Budget
from dpcore.core.records import Data
from dpcore.core.specification import Spec
from dpcore.studies.dimension import noise_growth

from ..flat_fields import experiment_of

PS = (8, 64, 4096, 2**20)


def grown(*keys, **changes):
    fields = {"source": "synthetic_padded", "n": 300, "lam": 0.05, "sweep": dpcore.Axis("p", PS)} | changes
    return noise_growth.growth_of(experiment_of(mechanisms=keys, **fields).cells())


@pytest.mark.parametrize("key, exponent", [("output_gaussian", 0.5), ("output_gamma", 1.0)])
def test_the_answer_s_distance_grows_like_its_noise(key, exponent):
    far = grown(key)[key]
    assert far.exact and far.p.tolist() == list(PS)
    slope = np.diff(np.log(far.distance)) / np.diff(np.log(far.p))
    assert slope == pytest.approx([exponent] * 3, abs=0.03)


@pytest.mark.parametrize("key", ["output_gaussian", "output_gamma"])
def test_the_answer_s_distance_is_that_of_literal_draws(key):
    """Gaussian: chi-square on 64,000 coordinates; Gamma: 20,000 squares, 5 standard errors; false alarm 1e-6 each."""
    p, mechanism = 64, dpcore.make_mechanism(key)
    plan = mechanism.calibrate(Spec("logistic", 300, p, 0.05), Budget(1.0, 1e-6 if key == "output_gaussian" else 0.0))
    X = np.zeros((300, p))
    X[:, 0] = 1.0
    prepared = mechanism.prepare(plan, Data(X, np.where(np.arange(300) % 3, 1.0, -1.0)))
    rngs = [np.random.default_rng([1, r]) for r in range(1_000 if key == "output_gaussian" else 20_000)]
    squares = ((mechanism.release_many(plan, prepared, rngs) - prepared.theta) ** 2).sum(axis=1)
    said = noise_growth.noise_length(mechanism, plan)
    if key == "output_gaussian":
        pivot = squares.sum() / (said**2 / p)
        low, high = chi2.ppf([5e-7, 1 - 5e-7], p * len(squares))
        assert low < pivot < high
    else:
        assert abs(squares.mean() - said**2) < 5 * squares.std() / len(squares) ** 0.5


@pytest.mark.parametrize("key", ["objective_gaussian", "objective_gamma"])
def test_the_question_s_distance_lies_between_its_idle_part_and_the_bound(key):
    """60 literal releases with 8 useful columns of 64; 5 standard errors on either side: false alarm below 1e-6."""
    p, mechanism = 64, dpcore.make_mechanism(key)
    split = data.load("synthetic_padded", 300, 8, 0)
    X = np.hstack([split.train.X, np.zeros((300, p - 8))])
    plan = mechanism.calibrate(Spec("logistic", 300, p, 0.05), Budget(1.0, 1e-6 if "gaussian" in key else 0.0))
    prepared = mechanism.prepare(plan, Data(X, split.train.y))
    rngs = [np.random.default_rng([2, r]) for r in range(60)]
    squares = ((mechanism.release_many(plan, prepared, rngs) - prepared.theta) ** 2).sum(axis=1)
    most, noise = noise_growth.noise_length(mechanism, plan) ** 2, 5 * squares.std() / len(squares) ** 0.5
    assert most * (p - 8) / p - noise < squares.mean() < most + noise


def test_theory_s_curves_are_the_mechanisms_bounds():
    found = grown("output_gaussian", "output_gamma", "objective_gamma")
    for key in ("output_gaussian", "output_gamma"):
        for k, p in enumerate(PS):
            bounds = dpcore.bounds_of(dpcore.calibrate(key, n=300, p=p, epsilon=1.0, delta=1e-6, lam=0.05))
            (proved,) = (b for b in bounds if b.quantity == "excess_over_regularised")
            assert found[key].damage_bound[k] == proved.value
            assert found[key].earlier[k] in [b.value for b in bounds if b.form == "rate"]
    assert found["output_gaussian"].earlier[-1] / found["output_gaussian"].earlier[0] == pytest.approx(2**8.5)
    assert "Chaudhuri" in found["output_gamma"].earlier_source
    assert np.isnan(found["objective_gamma"].damage_bound).all(), "nothing is proved, nothing is said"


def test_the_measured_damage_stays_below_its_bound():
    experiment = dpcore.Experiment(
        dpcore.Problem("synthetic_padded", n=300, lam=0.05),
        mechanisms=("output_gaussian", "output_gamma"),
        sweep=dpcore.Axis("p", PS),
        repetitions=2,
    )
    table, found = dpcore.run(experiment), noise_growth.growth_of(experiment.cells())
    excess = table[table.metric == "excess_empirical_risk"]
    for key, g in found.items():
        rows = excess[excess.mechanism == key]
        damage = (rows["mean"] - rows.noiseless).to_numpy()
        assert (damage > 0).all() and (damage <= g.damage_bound).all()


def test_the_length_is_that_of_the_model_without_noise():
    split = data.load("synthetic_padded", 300, 8, 0)
    mechanism = dpcore.make_mechanism("output_gaussian")
    plan = mechanism.calibrate(Spec("logistic", 300, 8, 0.05, split.domain), Budget(1.0, 1e-6))
    theta = mechanism.prepare(plan, split.train).theta
    assert grown("output_gamma")["output_gamma"].length == pytest.approx(np.linalg.norm(theta), rel=1e-6)


def test_a_mechanism_that_does_not_apply_has_no_numbers():
    found = grown("objective_gaussian", lam=1e-6)["objective_gaussian"]
    assert np.isnan(found.distance).all() and np.isnan(found.length) and found.earlier_source == ""
