"""The proofs of gradient perturbation's bounds on given records, link by link."""

import dataclasses as dc
import math
from typing import Any

import numpy as np
import pytest

import dpcore
from dpcore import Budget, Data, Domain, Plan, Spec
from dpcore.core.cancel import never
from dpcore.core.losses import get_loss
from dpcore.core.rng import generator
from dpcore.experiments.metrics import risk
from dpcore.mechanisms.base import Link
from dpcore.mechanisms.gradient import proof
from dpcore.mechanisms.gradient.base import GradientPerturbation
from dpcore.solvers import Minimum, minimise_in_ball

from ..problems import BALL, PROBLEMS, for_loss, random_records
from .chains import check_claims

PAIRS = 24
MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "full": ("noisy_gd", {"steps": 25}),
    "long steps": ("noisy_gd", {"steps": 15, "step": 5.0}),
    "batches": ("noisy_sgd", {"steps": 25, "batch": 10}),
    "single": ("noisy_sgd", {"batches": "single", "steps": 300}),
}
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


def plan_for(name: str, loss: str, data: Data, *, lam=0.0, epsilon=1.0, set="ball", **more) -> Plan:
    key, knobs = MECHANISMS[name]
    radius = 1.0 if set == "box" else None
    spec = Spec(loss, data.n, data.p, lam, Domain(), radius, 2.0, set)
    return dpcore.make_mechanism(key, **knobs | more).calibrate(spec, Budget(epsilon, 1e-5))


def measured(plan: Plan, data: Data, best: Minimum) -> tuple[np.ndarray, tuple[Link, ...]]:
    """Excess of the releases of a chart, and the chain along them."""
    mechanism, loss = plan.mechanism, get_loss(plan.spec.loss)
    prepared = mechanism.prepare(plan, data)
    rngs = [generator(3, mechanism.key, r) for r in range(PAIRS)]
    links = mechanism.chain(plan, prepared, data, best, rngs, never)
    thetas = mechanism.draws([plan], [prepared], rngs, never).thetas[0]
    return np.array([risk(loss, theta, data) for theta in thetas]) - best.risk, links


def runs(
    plan: Plan, data: Data, w: np.ndarray, *, most: int = 10**6, also: tuple[int, ...] = (), pairs: int = PAIRS
) -> proof.Run:
    """Runs that the chain has looked at, by default after all steps of which it takes a mean."""
    mechanism = plan.mechanism
    assert isinstance(mechanism, GradientPerturbation)
    asked = proof.Proof(plan, mechanism.facts(plan.spec), mechanism.estimate_error(plan), data, w, most)
    rngs = [generator(3, mechanism.key, r) for r in range(pairs)]
    steps = np.unique([*asked.visited, *also])
    return proof.runs_of(mechanism, [asked], [steps], mechanism.prepare(plan, data), rngs, never)[0]


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean and its standard error over pairs of runs."""
    pairs = values.reshape(-1, 2).mean(axis=1)
    return float(pairs.mean()), float(pairs.std(ddof=1) / math.sqrt(len(pairs)))


def upper(plan: Plan) -> float | None:
    found = [b for b in plan.mechanism.bounds(plan) if (b.quantity, b.form) == ("excess_empirical_risk", "upper")]
    return min((bound.value for bound in found), default=None)


def check(excess: np.ndarray, links: tuple[Link, ...], bound: float) -> None:
    check_claims(links)
    assert links[-1].values == pytest.approx([bound], rel=1e-9)
    before = excess
    for link in links:
        mean, error = mean_and_error(np.broadcast_to(link.values - before, 2 * PAIRS))
        assert mean >= -4.0 * error - 1e-9, link
        assert len(link.claim) <= 60
        before = link.values
    assert [link.worst for link in links] == [False] * (len(links) - 2) + [True, True]


@pytest.mark.pairwise
@every_mechanism
@pytest.mark.parametrize("loss", BALL)
@pytest.mark.parametrize("lam", [0.0, 0.1])
@pytest.mark.parametrize("problem", ["full rank", "more columns than rows", "separable", "one column"])
@pytest.mark.parametrize("epsilon", [0.3, 5.0])
def test_no_link_decreases_on_average_and_the_last_is_the_bound(name, loss, lam, problem, epsilon):
    data = for_loss(loss, PROBLEMS[problem])
    plan = plan_for(name, loss, data, lam=lam, epsilon=epsilon)
    bound = upper(plan)
    assert bound is not None
    check(*measured(plan, data, minimise_in_ball(get_loss(loss), data, 2.0)), bound)


@pytest.mark.parametrize("name", ["full", "batches", "single"])
def test_a_box_has_a_chain_too(name):
    data = PROBLEMS["full rank"]
    plan, loss = plan_for(name, "hinge", data, set="box"), get_loss("hinge")
    best = minimise_in_ball(loss, data, 1.0)  # a model in the box; the bound holds for every one
    bound = upper(plan)
    assert bound is not None
    check(*measured(plan, data, best), bound)


def test_without_a_bound_or_all_columns_there_is_no_chain():
    data, best = PROBLEMS["full rank"], minimise_in_ball(get_loss("logistic"), PROBLEMS["full rank"], 2.0)
    by_hand = plan_for("single", "logistic", data, step=0.1)
    assert upper(by_hand) is None and measured(by_hand, data, best)[1] == ()
    wide = data.widened(9)
    assert measured(plan_for("full", "logistic", wide, lam=0.1), wide, best)[1] == ()
    assert measured(plan_for("full", "logistic", wide), wide, best)[1] != (), "without a ball they change nothing"


@every_mechanism
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_chain_looks_at_the_chart_s_own_runs(name, loss):
    data = PROBLEMS["full rank"]
    plan = plan_for(name, loss, data)
    run = runs(plan, data, np.zeros(data.p))
    drawn = plan.mechanism.draws(
        [plan], [plan.mechanism.prepare(plan, data)], [generator(3, plan.mechanism.key, r) for r in range(PAIRS)], never
    ).thetas[0]
    released = run.thetas[-1] if name == "single" else run.after(run.proof.counted).mean(axis=0)
    assert np.allclose(released, drawn, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name, loss", [("full", "logistic"), ("batches", "hinge"), ("long steps", "hinge")])
def test_these_links_hold_in_every_run(name, loss):
    """Convexity, the last distance, and what is public; the others only on average."""
    data = PROBLEMS["full rank"]
    plan, best = plan_for(name, loss, data), minimise_in_ball(get_loss(loss), data, 2.0)
    excess, chained = measured(plan, data, best)
    links = {link.lemma: link.values for link in proof.links(runs(plan, data, best.theta))}
    assert [link.lemma for link in chained] == list(links)
    assert (links["convexity"] >= excess - 1e-6).all()
    if "tangents" in links:
        assert (links["tangents"] >= links["convexity"] - 1e-9).all()
    else:
        assert (links["last distance"] > links["smooth step"]).all()
    assert (links["worst records"] >= links["first half"] - 1e-9).all()
    assert links["comparator"] >= links["worst records"] - 1e-9


def test_where_the_loss_is_linear_regret_is_an_identity():
    """Hinge loss within the margin and no ball: squared distances change by 2 eta times the excess and by the squared
    noisy gradient, and by nothing else."""
    data = random_records(60, 3, seed=8)
    for name in ("full", "batches"):
        plan = plan_for(name, "hinge", data, steps=20, step=0.05, epsilon=2.0)
        w = data.y @ data.X / data.n
        later = proof._cut(plan, 20)  # with a further step
        run = runs(plan, data, w, pairs=400)
        further = runs(dc.replace(later, steps=21), data, w, also=(21,), pairs=400)
        assert np.abs(data.X @ run.thetas.reshape(-1, 3).T).max() < 1.0
        links = {link.lemma: link.values for link in proof.links(run)}
        N = 21 - plan.descent.first
        left = further.distance(21) / (2 * 0.05 * N)
        mean, error = mean_and_error(links["regret"] - left - links["tangents"])
        squared = 0.05 / 2 * (run.slopes(run.proof.counted)[1] + run.errors(run.proof.counted)).mean()
        assert abs(mean) <= 4 * error and squared > 12 * error
        early = runs(dc.replace(plan, descent=dc.replace(plan.descent, first=1)), data, w, pairs=400)
        before = np.arange(plan.descent.first)
        passed = early.slopes(before[1:])[0].sum(axis=0) + early.proof.loss.gradients(data, np.zeros((1, 3)))[0] @ -w
        mean, error = mean_and_error(links["first half"] - links["regret"] - passed / N)
        assert abs(mean) <= 4 * error and links["first half"].mean() > 20 * error


def test_the_links_of_smooth_losses_are_those_of_a_plain_loop():
    data, lam = PROBLEMS["full rank"], 0.05
    plan, best = plan_for("batches", "logistic", data, lam=lam), minimise_in_ball(get_loss("logistic"), data, 2.0)
    run = runs(plan, data, best.theta)
    links = {link.lemma: link.values for link in proof.links(run)}
    eta, first, T, w, n, q = plan.descent.step, plan.descent.first, plan.steps, best.theta, data.n, plan.ledger[0].rate
    N = T - first + 1
    beta = 0.25 * np.linalg.norm(data.X, 2) ** 2 / n + lam

    def error(theta: np.ndarray) -> float:
        gradients = -data.y[:, None] * data.X / (1.0 + np.exp(data.y * (data.X @ theta)))[:, None]
        return (1 - q) / (q * n) * np.mean(np.sum(gradients**2, axis=1)) + data.p * plan.scale**2

    for r in (0, 7):
        path = [np.zeros(data.p), *(run.after(np.array([t]))[0, r] for t in range(1, first)), *run.thetas[-N:, r]]
        noise = eta / (2 * N * (1 - eta * beta)) * sum(error(path[t - 1]) for t in range(first, T + 1))
        bias = lam / 2 * (w @ w - np.mean([path[t] @ path[t] for t in range(first, T + 1)]))
        start, end = (np.sum((path[t] - w) ** 2) / (2 * eta * N) for t in (first - 1, T))
        assert links["smooth step"][r] == pytest.approx(start - end + noise + bias, rel=1e-9)
        assert links["last distance"][r] == pytest.approx(start + noise + bias, rel=1e-9)
        added = eta / (2 * N * (1 - eta * beta)) * sum(error(path[t - 1]) for t in range(1, first))
        whole = (w @ w) / (2 * eta * N) + added + noise + lam / 2 * (w @ w)
        assert links["first half"][r] == pytest.approx(whole, rel=1e-9)


def test_the_last_iterate_s_sums_are_those_over_all_endings_of_the_run():
    """Step by step: S_{k-1} - S_k for every k, from the squared noisy gradients; and the distances from w."""
    data = PROBLEMS["one column"]
    plan, w = plan_for("single", "hinge", data, steps=30), np.array([0.7])
    run = runs(plan, data, w)
    T, a, D2 = 30, plan.descent.step, (2.0 * plan.spec.radius) ** 2
    steps = np.arange(T + 1)
    assert run.steps.tolist() == steps.tolist()
    squares = run.slopes(steps)[1] + run.errors(steps)
    eta, N = a / np.sqrt(np.arange(1, T + 2)), T + 1
    total = np.zeros(2 * PAIRS)
    for k in range(1, N):
        s = N - 1 - k
        spread = D2 / 2 * (1 / eta[N - 1] - 1 / eta[s])
        total += (spread + (eta[s:, None] * squares[s:]).sum(axis=0) / 2) / (k * (k + 1))
    noisy = (eta[:, None] * squares).sum(axis=0) / 2
    inverse = np.diff(1 / eta, prepend=0.0)
    met = total + ((inverse[:, None] * (run.thetas[:, :, 0] - w) ** 2).sum(axis=0) / 2 + noisy) / N
    links = proof.links(run)
    assert links[0].values == pytest.approx(met, rel=1e-9)
    assert links[1].values == pytest.approx(total + (D2 / 2 / eta[-1] + noisy) / N, rel=1e-9)
    few = proof.links(runs(plan, data, w, most=6))
    assert [link.values.mean() for link in few] == pytest.approx([link.values.mean() for link in links], rel=0.03)


@pytest.mark.parametrize("steps", [1, 2, 3, 19, 20, 1_000, 10**6])
def test_the_closed_form_of_the_last_iterate_is_above_its_sums(steps):
    data = PROBLEMS["one column"]
    plan = plan_for("single", "hinge", data, steps=steps)
    asked = proof.Proof(
        plan, plan.mechanism.facts(plan.spec), plan.mechanism.estimate_error(plan), data, np.ones(1), 16
    )
    run = proof.Run(asked, asked.needed, np.zeros((len(asked.needed), 2, 1)))
    *_, worst, bound = proof.links(run)
    assert worst.values <= bound.values


@pytest.mark.parametrize("name, more", [("batches", {}), ("batches", {"batch": 55.0}), ("single", {})])
def test_the_error_of_a_step_is_the_variance_of_its_gradient(name, more):
    """Of 4,000 first steps, from 0. The mean of so many squares is within 10% of its own with overwhelming
    probability."""
    data = PROBLEMS["full rank"]
    plan = plan_for(name, "logistic", data, epsilon=20.0, **more | {"steps": 1})
    mechanism = plan.mechanism
    seen = mechanism.transcripts(
        plan, mechanism.prepare(plan, data), [np.random.default_rng([2, k]) for k in range(4_000)]
    )
    asked = proof.Proof(plan, mechanism.facts(plan.spec), 1.0, data, np.zeros(data.p), 16)
    run = proof.Run(asked, np.array([0]), np.zeros((1, 1, data.p)))
    assert seen.var(axis=0).sum() == pytest.approx(run.errors(np.array([0]))[0, 0], rel=0.1)
    assert (seen.mean(axis=0) ** 2).sum() == pytest.approx(run.slopes(np.array([0]))[1][0, 0], abs=0.1)
