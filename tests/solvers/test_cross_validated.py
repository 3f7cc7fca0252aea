"""The learner without privacy: better than the ball on data sets, in any units, fair to copies, and no worse where
nothing is to be learned."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import dpcore
from dpcore import Problem
from dpcore.core.losses import get_loss
from dpcore.core.records import Data
from dpcore.experiments import metrics
from dpcore.solvers import Penalty, choose_penalty, penalised

LOGISTIC, SQUARED = get_loss("logistic"), get_loss("squared")


def labelled(n: int, seed: int = 0, *, signal: float = 3.0) -> Data:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), np.ones(n)])
    return Data(X, np.where(rng.random(n) < 1 / (1 + np.exp(-signal * X[:, 0])), 1.0, -1.0))


@pytest.mark.parametrize("source, least", [("wine", 0.985), ("breast_cancer", 0.97), ("iris", 0.97)])
def test_it_predicts_better_than_the_best_fit_in_the_ball(source, least):
    right, ball, loss, loss_in_ball = [], [], [], []
    for seed in range(10):
        problem = Problem(source, seed=seed)
        test, learner, fit = problem.load().test, problem.learner(), problem.comparator().theta
        right.append(metrics.accuracy(learner, test))
        ball.append(metrics.accuracy(fit, test))
        loss.append(metrics.risk(LOGISTIC, learner, test))
        loss_in_ball.append(metrics.risk(LOGISTIC, fit, test))
    assert np.mean(right) > max(least, np.mean(ball) + 0.005)
    assert np.mean(loss) < 0.7 * np.mean(loss_in_ball)


@pytest.mark.parametrize("loss", (LOGISTIC, SQUARED))
@pytest.mark.parametrize("by_spread", (True, False))
def test_it_minimises_the_penalised_loss(loss, by_spread):
    data, penalty = labelled(200), Penalty(2.0, by_spread)
    model = penalised(loss, data, penalty)
    spread = data.X.std(axis=0)[:3] * np.sqrt(3) if by_spread else np.ones(3)

    def penalised_loss(theta):
        means = data.X.mean(axis=0)[:3] if by_spread else np.zeros(3)
        weights = np.append(theta[:3] * spread, theta[3] + theta[:3] @ means)
        return loss.value(data.X @ theta, data.y).sum() + 0.5 * penalty.weight * weights @ weights

    rng = np.random.default_rng(1)
    least = penalised_loss(model)
    away = [step * rng.normal(size=4) for step in (0.03, 0.3, 3.0) for _ in range(20)]
    assert all(penalised_loss(model + moved) > least for moved in away)


def test_units_of_columns_and_idle_columns_change_no_prediction():
    data, penalty = labelled(300), Penalty(0.1, True)
    units = np.array([1e-3, 50.0, 1.0, 1.0])
    plain, other = penalised(LOGISTIC, data, penalty), penalised(LOGISTIC, Data(data.X * units, data.y), penalty)
    np.testing.assert_allclose(other * units, plain, atol=0.02)
    shifted = Data(data.X + np.array([5.0, -2.0, 0.0, 0.0]), data.y)
    np.testing.assert_allclose(shifted.X @ penalised(LOGISTIC, shifted, penalty), data.X @ plain, atol=0.02)
    wide = Data(np.column_stack([data.X, np.zeros(300)]), data.y)
    np.testing.assert_allclose(penalised(LOGISTIC, wide, penalty), np.append(plain, 0.0), atol=0.01)


def test_a_sparse_table_has_the_model_of_the_dense_one_without_a_constant_column():
    dense = labelled(200)
    dense = Data(dense.X[:, :3], dense.y)
    sparse = Data(csr_array(dense.X), dense.y)
    assert choose_penalty(LOGISTIC, sparse) == choose_penalty(LOGISTIC, dense)
    for by_spread in (True, False):
        penalty = Penalty(1.0, by_spread)
        np.testing.assert_allclose(penalised(LOGISTIC, sparse, penalty), penalised(LOGISTIC, dense, penalty), atol=5e-3)


def test_the_penalty_is_heavier_where_less_can_be_learned_and_copies_do_not_lighten_it():
    useful, useless = labelled(200), labelled(200, signal=0.0)
    assert choose_penalty(LOGISTIC, useless).weight > 10 * choose_penalty(LOGISTIC, useful).weight
    copies = Data(np.tile(useless.X[:41], (5, 1)), np.tile(useless.y[:41], 5))
    assert choose_penalty(LOGISTIC, copies).weight > 1.0
    few = Data(np.ones((6, 2)), np.array([1.0, -1.0] * 3))
    assert choose_penalty(LOGISTIC, few) == Penalty(100.0, True)


def test_every_problem_has_one_and_that_of_a_law_is_the_best_in_its_ball():
    law = Problem("synthetic", n=300)
    np.testing.assert_array_equal(law.learner(), law.comparator().theta)
    set_of_records = Problem("iris", n=60)
    whole = set_of_records.load().train
    assert set_of_records.cross_validated and not law.cross_validated
    np.testing.assert_array_equal(set_of_records.learner(whole), set_of_records.learner())
    fewer = set_of_records.learner(Data(whole.X[:20], whole.y[:20]))
    assert np.abs(fewer - set_of_records.learner()).max() > 0.1


def test_accuracy_is_compared_with_it_and_excess_risk_with_the_best_fit():
    problem = Problem("iris", n=60)
    table = dpcore.run(dpcore.Experiment(problem, sweep=dpcore.Axis("epsilon", (1.0,)), repetitions=4))
    rows, train, test = table.set_index("metric"), problem.load().train, problem.load().test
    models = problem.learner(), problem.reference().theta
    learned, fitted = (metrics.accuracy(theta, test) for theta in models)
    assert rows.loc["accuracy"].reference == learned != fitted
    constant = metrics.constant_risk(LOGISTIC, train) - problem.reference().risk
    assert rows.loc["excess_empirical_risk"].nothing_learned == pytest.approx(constant, abs=1e-9)
