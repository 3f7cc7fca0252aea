"""Curves of objective perturbation: a cell against exact solves put together by hand."""

import numpy as np
import pytest

import dpcore
from dpcore import Axis, Budget, Problem, Spec, solvers
from dpcore.core.losses import get_loss
from dpcore.core.rng import generator
from dpcore.data import load

from ..flat_fields import experiment_of

N, P, SEED = 400, 6, 2
EPSILONS = (0.3, 1.0, 10.0)
every_key = pytest.mark.parametrize("key", ["objective_gamma", "objective_gaussian"])


def exact_draws(key: str, loss: str, lam: float | str, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Minimisers [K, 2 pairs, r] to release accuracy, and without noise [K, r]."""
    split = load("synthetic", N, P, SEED)
    mechanism = dpcore.make_mechanism(key)
    thetas, centres = [], []
    for epsilon in EPSILONS:
        plan = mechanism.calibrate(Spec(loss, N, P, lam, split.domain), Budget(epsilon, 1e-6))
        row = []
        for pair in range(pairs):
            b = plan.scale * mechanism.law.direction(P, P, generator(SEED, key, pair))
            for tilt in (b, -b):
                found = solvers.minimise(get_loss(loss), split.train, plan.spec.lam, tol=plan.tol, linear=tilt)
                row.append(found.theta)
        thetas.append(row)
        centres.append(solvers.minimise(get_loss(loss), split.train, plan.spec.lam, tol=plan.tol).theta)
    return np.array(thetas), np.array(centres)


@every_key
@pytest.mark.parametrize("loss", ["logistic", "huber_hinge"])
@pytest.mark.parametrize("lam", ["auto", 0.05])
def test_a_cell_equals_exact_solves_put_together_by_hand(key, loss, lam):
    """To display accuracy: means of the excess within 0.5%, of the accuracy within a tenth of a point."""
    facts = dict(source="synthetic", n=N, p=P, loss=loss, lam=lam, sweep=Axis("epsilon", EPSILONS), seed=SEED)
    table = dpcore.run(experiment_of(mechanisms=(key,), repetitions=12, **facts))
    assert (table.repetitions == 12).all() and not table.exact.any()
    thetas, centres = exact_draws(key, loss, lam, pairs=6)
    split, found = load("synthetic", N, P, SEED), get_loss(loss)
    best = Problem("synthetic", N, P, loss=loss, seed=SEED).reference()

    def check(metric: str, values: np.ndarray, noiseless: np.ndarray, rel: float, absolute: float) -> None:
        rows = table[table.metric == metric]
        pairs = values.reshape(len(EPSILONS), 6, 2).mean(axis=2)
        assert np.allclose(rows["mean"], pairs.mean(axis=1), rtol=rel, atol=absolute)
        # What the solver leaves is seen where pairs agree to a thousandth of their mean.
        slack = 1e-3 * np.abs(rows["mean"]) + 2 * absolute
        assert np.all(np.abs(rows.se - pairs.std(axis=1, ddof=1) / np.sqrt(6)) <= 0.05 * rows.se + slack)
        assert np.allclose(rows.noiseless, noiseless, rtol=rel, atol=absolute)
        assert np.allclose(rows.q90, np.quantile(values, 0.9, axis=1), rtol=4 * rel, atol=4 * absolute)

    def risks(models: np.ndarray) -> np.ndarray:
        z = models @ split.train.X.T
        return found.value(z.ravel(), np.tile(split.train.y, z.size // N)).reshape(z.shape).mean(axis=-1)

    def right(models: np.ndarray) -> np.ndarray:
        return (split.test.y * (models @ split.test.X.T) > 0.0).mean(axis=-1)

    check("excess_empirical_risk", risks(thetas) - best.risk, risks(centres) - best.risk, 0.005, 1e-6)
    check("accuracy", right(thetas), right(centres), 0.0, 0.001)
