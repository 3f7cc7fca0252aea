"""The chain of a proof rises from the measurement to the bound, and each number is what its link says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore import Axis, Data, Experiment, Problem, make_mechanism, run
from dpcore.core.cancel import never
from dpcore.core.losses import get_loss
from dpcore.core.privacy import Budget
from dpcore.core.specification import Domain, Spec
from dpcore.data import synthetic
from dpcore.experiments.proof_chain import FEW, ProofQuestion, chained
from dpcore.mechanisms.base import Link
from dpcore.mechanisms.regularisation import comparator_norm
from dpcore.mechanisms.simplex.ftrl import play
from dpcore.solvers import Minimum, minimise_in_ball, minimise_on_simplex

from ..problems import PROBLEMS, for_loss
from .chains import chain_of, check_rises, mean_bound

CASES = [
    *((key, loss) for key in ("output_gaussian", "output_gamma") for loss in ("logistic", "squared", "absolute")),
    *((key, loss) for key in ("objective_gaussian", "objective_gamma") for loss in ("logistic", "huber")),
]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("key", "loss"), CASES)
def test_a_chain_rises_from_the_measurement_to_the_bound(key: str, loss: str, name: str):
    data = for_loss(loss, PROBLEMS[name])
    for lam, epsilon in ((0.3, 3.0), (5.0, 0.3)):
        spec = Spec(loss, n=data.n, p=data.p, lam=lam)
        best = minimise_in_ball(get_loss(loss), data, comparator_norm(spec))
        plan, steps = chain_of(key, spec, data, best, epsilon)
        check_rises(steps)
        assert steps[-1].value == pytest.approx(mean_bound(plan), rel=1e-9)


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("lam", [0.05, 0.5])
def test_the_chain_of_sampled_models_rises_to_the_bound(loss: str, lam: float):
    data = for_loss(loss, synthetic.draw_recipe("synthetic_mixture", 600, 12, np.random.default_rng(3)).train)
    data = Data(data.X, np.clip(data.y, -1.0, 1.0))
    spec = Spec(loss, n=data.n, p=data.p, lam=lam, domain=Domain(q=np.inf), set="simplex")
    plan, steps = chain_of("simplex_sampling", spec, data, minimise_on_simplex(get_loss(loss), data, 1.0), 3.0)
    check_rises(steps)
    assert steps[-1].value == pytest.approx(mean_bound(plan), rel=1e-9)
    if loss == "squared":  # whose losses are as curved as they can be everywhere
        assert steps[1].value == pytest.approx(steps[0].value, abs=4 * steps[1].se)


@pytest.mark.parametrize("p", [4, 9])
def test_the_chain_of_private_players_rises_from_the_mean_regret_to_the_bound(p: int):
    """Also with columns that are 0 in every step; costs of one size in half of the steps, of another in the others."""
    rng = np.random.default_rng(p)
    costs = rng.uniform(-1.0, 1.0, (300, 4)) * np.repeat([0.2, 1.0], 150)[:, None]
    data, spec = Data(costs, np.zeros(300), p), Spec("linear", 300, p, 0.2, Domain(q=np.inf), set="simplex")
    mechanism = make_mechanism("ftrl")
    plan = mechanism.calibrate(spec, Budget(1.0, 1e-6))
    sums = np.append(costs.sum(axis=0), np.zeros(p - 4))
    best = Minimum(np.eye(1, p, int(sums.argmin()))[0], float(sums.min()), 0.0, 1.0)
    played = play(data, 300 * plan.scale, np.empty((0, 300)))
    links = mechanism.chain(plan, mechanism.prepare(plan, data), data, best, (), never)
    steps = chained(np.array([played.expected.sum() - best.risk]), links)
    check_rises(steps)
    assert steps[-1].value == pytest.approx(mechanism.bounds(plan)[0].value, rel=1e-12)
    whole = np.hstack([costs, np.zeros((300, p - 4))])
    potential = [-60.0 * math.log(np.exp(-at / 60.0).sum()) for at in (whole.sum(axis=0), np.zeros(p))]
    spread = (np.ptp(whole, axis=1) ** 2).sum() / (8 * 60.0)
    told = [potential[0] - potential[1] + spread - sums.min(), 60.0 * math.log(p) + spread]
    assert [step.value for step in steps[1:3]] == pytest.approx(told, rel=1e-9)


@pytest.mark.parametrize("key", ["output_gaussian", "objective_gaussian"])
def test_each_number_of_a_chain_is_what_its_link_says(key: str):
    """Written out for records whose lengths differ; the noise of the mechanism is Gaussian."""
    data = PROBLEMS["full rank"]
    data, lam, B = Data(data.X * np.linspace(0.2, 1.0, data.n)[:, None], data.y), 0.6, 4.0
    spec = Spec("logistic", n=data.n, p=data.p, lam=lam, theta_norm=B)
    best = minimise_in_ball(get_loss("logistic"), data, B)
    plan, steps = chain_of(key, spec, data, best, pairs=400)
    s, lengths = plan.scale, np.linalg.norm(data.X, axis=1)
    own, worst = 0.5 * lam * float(best.theta @ best.theta), min(0.5 * lam * B**2, math.log(2.0))
    own = min(own, math.log(2.0) - best.risk)
    if key == "output_gaussian":
        noise = np.minimum(math.sqrt(2 / math.pi) * s * lengths, (s * lengths) ** 2 / 8).mean()
        most = min(math.sqrt(2 / math.pi) * s, s**2 / 8)
    else:
        noise = most = data.p * s**2 / (2 * lam)
        most = min(most, math.sqrt(2 / math.pi) * s / lam)
    told = [own + noise, worst + noise, worst + most]
    assert [step.value for step in steps[2:]] == pytest.approx(told, rel=1e-3)
    assert [step.worst for step in steps] == [False, False, False, True, True]


def test_a_chain_begins_with_the_number_of_the_chart_and_ends_with_its_bound():
    for key in ("output_gaussian", "objective_gaussian"):
        problem = Problem("synthetic", n=300, lam=0.05)
        few, whole = ProofQuestion(make_mechanism(key), problem, 1.0, 10).snapshots()
        assert (few.repetitions, whole.repetitions) == (FEW, 10)
        table = run(Experiment(problem, (key,), sweep=Axis("epsilon", (0.1, 1.0)), repetitions=10))
        row = table[(table.metric == "excess_empirical_risk") & (table.epsilon == 1.0)].iloc[0]
        ends = whole.steps[0].value, whole.steps[0].se, whole.steps[-1].value
        assert ends == pytest.approx((row["mean"], row.se, row.bound), rel=1e-6)


def test_the_error_of_a_step_is_that_of_pairs_of_releases():
    """Two runs of one pair that err in opposite ways have no error together."""
    measured = np.array([1.0, 3.0, 2.0, 2.0])
    steps = chained(measured, [Link("halved", "none", measured / 2.0), Link("known", "none", np.array([5.0]))])
    assert [(step.value, step.se) for step in steps] == [(2.0, 0.0), (1.0, 0.0), (5.0, 0.0)]
