"""Theory's curves against the bounds they come from."""

import numpy as np
import pytest

import dpcore
from dpcore.studies.dimension import noise_growth

from ..flat_fields import experiment_of

PS = (8, 64, 4096, 2**20)


def grown(*keys, **changes):
    fields = {"source": "synthetic_padded", "n": 300, "lam": 0.05, "sweep": dpcore.Axis("p", PS)} | changes
    return noise_growth.growth_of(experiment_of(mechanisms=keys, **fields).cells())


def test_theory_s_curves_are_the_mechanisms_bounds():
    found = grown("output_gaussian", "output_gamma", "objective_gamma")
    for key in ("output_gaussian", "output_gamma"):
        for k, p in enumerate(PS):
            bounds = dpcore.bounds_of(dpcore.calibrate(key, n=300, p=p, epsilon=1.0, delta=1e-6, lam=0.05))
            (proved,) = (b for b in bounds if b.quantity == "excess_over_regularised")
            assert found[key].damage_bound[k] == proved.value
            assert found[key].earlier[k] in [b.value for b in bounds if b.form == "rate"]
    assert found["output_gaussian"].earlier[-1] / found["output_gaussian"].earlier[0] == pytest.approx(2**8.5)
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


def test_a_mechanism_that_does_not_apply_has_no_numbers():
    found = grown("objective_gaussian", lam=1e-6)["objective_gaussian"]
    assert np.isnan(found.damage_bound).all() and np.isnan(found.earlier).all()
