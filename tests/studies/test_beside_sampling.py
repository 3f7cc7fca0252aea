"""Frank-Wolfe on the simplex beside draws from a mixture: what both mechanisms release on the same records."""

import numpy as np
import pytest

import dpcore
from dpcore import Budget, Spec, data
from dpcore.core.losses import get_loss
from dpcore.core.rng import generator
from dpcore.mechanisms.simplex.sampling import sampled_models
from dpcore.solvers import minimise_on_simplex
from dpcore.studies.sparsity.simplex import beside_others

SHARED = {"p": 12, "epsilon": 1.0, "delta": 1e-6, "loss": "huber", "seed": 4, "repetitions": 4}


@pytest.mark.parametrize("key", ["frank_wolfe_polytope", "simplex_sampling"])
def test_the_curves_are_releases_of_the_mechanisms(key):
    found = beside_others.beside_sampling(ns=(300, 900), **SHARED)
    loss, split = get_loss("huber"), data.load("synthetic_mixture", 900, 12, 4)
    mechanism, vertices = dpcore.make_mechanism(key), key.startswith("frank")
    spec = Spec("huber", 900, 12, 0.0 if vertices else "auto", split.domain, set="simplex")
    plan = mechanism.calibrate(spec, Budget(1.0, 1e-6))
    prepared, rngs = mechanism.prepare(plan, split.train), [generator(4, key, r) for r in range(4)]
    if vertices:
        thetas = mechanism.release_many(plan, prepared, rngs)
    else:
        thetas = sampled_models(prepared, [plan.steps], rngs, 1.0)[:, 0]
    assert thetas == pytest.approx(np.clip(thetas, 0.0, 1.0)) and thetas.sum(axis=1) == pytest.approx(1.0)
    risks = [loss.value(split.train.X @ theta, split.train.y).mean() for theta in thetas]
    excess = np.mean(risks) - minimise_on_simplex(loss, split.train).risk
    measured = found.frank_wolfe if vertices else found.sampling
    assert measured.mean[1] == pytest.approx(excess, rel=1e-3)


def test_the_smallest_states_of_the_sliders_have_points_of_both():
    found = beside_others.beside_sampling(ns=(50, 900), **(SHARED | {"epsilon": 0.01, "delta": 1e-10}))
    assert np.isfinite(found.sampling.mean).all() and np.isfinite(found.frank_wolfe.mean).all()
