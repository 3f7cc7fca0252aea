"""Chains of Frank-Wolfe's proofs: their links are inequalities on these records, from the measured runs to the bound;
and the bounds for given records hold there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcore import Budget, Data, Spec, make_mechanism
from dpcore.core.cancel import never
from dpcore.core.losses import get_loss
from dpcore.core.rng import generator
from dpcore.core.sets import Ball, Box, L1Ball, LqBall, Polytope, Simplex
from dpcore.core.specification import Domain
from dpcore.experiments.metrics import risk
from dpcore.mechanisms.base import Link
from dpcore.mechanisms.frank_wolfe.one_pass import stream_of
from dpcore.mechanisms.frank_wolfe.proof import sampled, shares
from dpcore.mechanisms.frank_wolfe.tree import runs_of
from dpcore.mechanisms.plan import Plan
from dpcore.solvers import Minimum
from dpcore.solvers.frank_wolfe.tree import nodes

from .chains import check_claims

SMOOTH = ("squared", "logistic", "huber_hinge", "huber")
TABLE = Polytope(((1.0, 0.0, 0.0, 0.0), (0.0, -1.0, 0.5, 0.0), (-1.0, 0.2, 0.0, 1.0), (0.3, 1.0, -1.0, 0.0)))
SHAPES = (L1Ball(), Simplex(), TABLE)
SETS = (*SHAPES, Ball(), LqBall(1.5), Box())
PAIRS = 40


def records(loss: str, n: int, p: int, *, stored: int = 0) -> Data:
    """Entries of several sizes; labels that depend on two columns."""
    rng = np.random.default_rng([n, p, stored])
    X = rng.uniform(-1.0, 1.0, (n, stored or p)) * rng.choice([0.0, 0.3, 1.0], (n, stored or p))
    y = np.clip(X[:, 0] - 0.5 * X[:, -1] + 0.2 * rng.standard_normal(n), -1.0, 1.0)
    return Data(X, np.where(y > 0.0, 1.0, -1.0) if get_loss(loss).classification else y, p=p)


def plan_of(key: str, shape: Any, loss: str, data: Data, *, epsilon: float = 2.0, **knobs: Any) -> Plan:
    spec = Spec(loss, data.n, data.p, 0.0, Domain(math.inf), 1.2, set=shape)
    return make_mechanism(key, **knobs).calibrate(spec, Budget(epsilon, 1e-6))


def best_of(plan: Plan, data: Data) -> Minimum:
    """By many steps without noise, from above: F* enters the chain only as the number that is compared with."""
    many = make_mechanism(plan.mechanism.key, T=600).calibrate(plan.spec, Budget(1e9, 1e-6))
    theta = many.mechanism.release(many, many.mechanism.prepare(many, data), generator(0, "best", 0))
    return Minimum(theta, risk(get_loss(plan.spec.loss), theta, data), 0.0, 1.2)


def measured(plan: Plan, data: Data) -> np.ndarray:
    """F of the releases that a chart shows."""
    mechanism = plan.mechanism
    drawn = mechanism.draws([plan], [mechanism.prepare(plan, data)], rngs(plan), never)
    return np.array([risk(get_loss(plan.spec.loss), theta, data) for theta in drawn.thetas[0]])


def rngs(plan: Plan) -> list[np.random.Generator]:
    return [generator(3, plan.mechanism.key, r) for r in range(PAIRS)]


def chain_for(plan: Plan, data: Data, best: Minimum) -> tuple[Link, ...]:
    mechanism = plan.mechanism
    return mechanism.chain(plan, mechanism.prepare(plan, data), data, best, rngs(plan), never)


def check(plan: Plan, data: Data, excess: np.ndarray, links: tuple[Link, ...], *, certain: int) -> None:
    """The links rise, the first `certain` and those between constants in every run, the others on average; the last is
    the bound, and the worst records come last."""
    check_claims(links)
    before = excess
    for k, link in enumerate(links):
        change = link.values - before
        if k < certain or len(link.values) == len(before) == 1:
            assert change.min() > -1e-9, link.claim
        error = change.std(ddof=1) / math.sqrt(len(change)) if len(change) > 1 else 0.0
        assert change.mean() > -4.0 * error - 1e-9, link.claim
        before = link.values
    upper = [b.value for b in plan.mechanism.bounds(plan) if (b.form, b.holds) == ("upper", "expectation")]
    assert links[-1].values == pytest.approx(min(upper), rel=1e-9)
    assert [link.worst for link in links] == sorted(link.worst for link in links)
    assert all(0 < len(link.claim) <= 60 for link in links)


# Steps 2 / (t + 2)


def test_sparse_records_have_the_chain_of_their_own_runs():
    """Choices on sparse records use other random numbers than those on dense ones."""
    dense = records("logistic", 300, 4)
    data = Data(csr_array(dense.X), dense.y)
    plan = plan_of("frank_wolfe_polytope", L1Ball(), "logistic", data, T=9)
    best = best_of(plan, data)
    check(plan, data, measured(plan, data) - best.risk, chain_for(plan, data, best), certain=2)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.label)
@pytest.mark.parametrize("T", [2, 9, "auto"])
def test_the_links_rise_from_the_measured_excess_to_the_bound(loss: str, shape: Any, T: Any):
    data = records(loss, 300, 4)
    plan = plan_of("frank_wolfe_polytope", shape, loss, data, T=T)
    best = best_of(plan, data)
    check(plan, data, measured(plan, data) - best.risk, chain_for(plan, data, best), certain=2)


@pytest.mark.parametrize("loss", ["squared", "huber_hinge"])
@pytest.mark.parametrize("shape", SETS, ids=lambda shape: shape.label)
@pytest.mark.parametrize("stored", [4, 3])
def test_with_noisy_gradients_the_links_rise_as_well(loss: str, shape: Any, stored: int):
    data = records(loss, 300, 4, stored=stored)
    plan = plan_of("frank_wolfe_general", shape, loss, data, T=9, epsilon=4.0)
    best = best_of(plan, data)
    check(plan, data, measured(plan, data) - best.risk, chain_for(plan, data, best), certain=2)


@pytest.mark.parametrize("key", ["frank_wolfe_polytope", "frank_wolfe_general"])
def test_the_runs_of_the_chain_are_those_of_the_chart(key: str):
    """With the start for F* and no gaps the first link would be the excess itself: here both follow the same path."""
    data = records("squared", 300, 4)
    for shape in SETS if key == "frank_wolfe_general" else SHAPES:
        plan = plan_of(key, shape, "squared", data, T=2)
        best = best_of(plan, data)
        first = chain_for(plan, data, best)[0].values
        # One step: all that differs from run to run is the end.
        assert np.ptp(first - measured(plan, data)) < 1e-12


@pytest.mark.parametrize("accounting", ["published", "published_safe"])
def test_laplace_noise_has_a_chain_of_its_own_loss(accounting: str):
    data = records("squared", 300, 4)
    plan = plan_of("frank_wolfe_polytope", L1Ball(), "squared", data, accounting=accounting, T=9)
    best = best_of(plan, data)
    check(plan, data, measured(plan, data) - best.risk, chain_for(plan, data, best), certain=2)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.label)
@pytest.mark.parametrize("stored", [4, 3])
def test_the_first_links_are_the_proof_written_out_step_by_step(shape: Any, stored: int):
    """With a loop over the vertices of each run, on all columns; also where columns are idle."""
    data = records("logistic", 200, 4, stored=stored)
    plan = plan_of("frank_wolfe_polytope", shape, "logistic", data, T=12)
    mechanism, loss, T = plan.mechanism, get_loss("logistic"), 12
    streams = [np.random.default_rng(seed) for rng in rngs(plan) for seed in rng.integers(1 << 63, size=2)]
    links = chain_for(plan, data, Minimum(np.zeros(4), 0.1, 0.0, 1.2))
    X = np.pad(data.X, ((0, 0), (0, 4 - stored)))
    V = 1.2 * (np.array(shape.vertices) if shape is TABLE else np.eye(4))
    V = np.concatenate([V, -V]) if shape == L1Ball() else V
    facts = 2.0 * loss.curvature_bound * (1.2 * shape.diameter(1.0, 4)) ** 2 * (T - 1)
    for run, chosen in enumerate(mechanism.transcripts(plan, mechanism.prepare(plan, data), streams)[:5]):
        theta = np.zeros(4) if shape == L1Ball() else V.mean(axis=0)
        first = loss.value(X @ theta, data.y).mean() - 0.1
        total, curved = 2.0 * first, 2.0 * first + facts
        slack = 0.0
        for t, name in enumerate(chosen, start=1):
            j = int(abs(name)) - 1 + (len(V) // 2 if name < 0 else 0)
            g, mu, w = X.T @ loss.derivative(X @ theta, data.y) / data.n, 2.0 / (t + 2.0), 2.0 * (t + 1.0)
            after = theta + mu * (V[j] - theta)
            here, there = (loss.value(X @ at, data.y).mean() - 0.1 for at in (theta, after))
            bend = 2.0 / mu**2 * (there - here - mu * g @ (V[j] - theta))
            lost, gap = g @ V[j] - (V @ g).min(), g @ theta - (V @ g).min()
            total += w * lost + w / (t + 2.0) * bend
            curved += w * lost
            slack += w * (gap - here)
            theta = after
        end = loss.value(X @ theta, data.y).mean() - 0.1
        assert total / (T * (T + 1)) == pytest.approx(links[0].values[run], abs=2e-6)
        assert end == pytest.approx((total - slack) / (T * (T + 1)), abs=1e-12)  # the identity of the proof
        assert curved / (T * (T + 1)) == pytest.approx(links[1].values[run], abs=2e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    ("key", "shape"),
    [*(("frank_wolfe_polytope", shape) for shape in SHAPES), *(("frank_wolfe_general", shape) for shape in SETS)],
    ids=lambda part: getattr(part, "label", part),
)
def test_the_mean_lies_below_the_bound_for_these_records(loss: str, key: str, shape: Any):
    data = records(loss, 300, 4, stored=3)
    for epsilon, knobs in ((0.5, {"T": 5}), (4.0, {"T": "auto"}), (2.0, {"T": 30})):
        plan = plan_of(key, shape, loss, data, epsilon=epsilon, **knobs)
        mechanism = plan.mechanism
        prepared = [mechanism.prepare(plan, data)] * 2
        few = make_mechanism(key, T=3).calibrate(plan.spec, plan.requested)
        centre = mechanism.draws([plan], prepared[:1], rngs(plan)[:1], never).centres[0]
        best = Minimum(centre, risk(get_loss(loss), centre, data), 0.0, 1.0)
        lens = mechanism.lens([few, plan], prepared, data, best, 1, never)  # the shorter run first
        rises = measured(plan, data)
        error = rises.std(ddof=1) / math.sqrt(len(rises))
        assert lens is not None and np.isneginf(lens.low).all()
        assert rises.mean() <= lens.high[1] + 4.0 * (error + lens.se[1])
        for k, one in enumerate((few, plan)):
            alone = mechanism.lens([one], prepared[:1], data, best, 1, never)
            assert alone is not None and alone.high[0] == pytest.approx(lens.high[k], rel=1e-6)


# On fresh records


def population(loss: str, p: int, *, stored: int = 0) -> Data:
    return records(loss, 400, p, stored=stored)


def drawn_chain(plan: Plan, people: Data, best: Minimum) -> tuple[np.ndarray, list[Link]]:
    """Excess on the people, and the chain, over training records drawn from them and noise."""
    mechanism, loss = plan.mechanism, get_loss(plan.spec.loss)
    excess, found = [], []
    for r in range(PAIRS):
        rows = np.random.default_rng([8, r]).integers(people.n, size=plan.spec.n)
        prepared = mechanism.prepare(plan, Data(people.X[rows], people.y[rows], p=people.p))
        drawn = mechanism.draws([plan], [prepared], [generator(3, mechanism.key, r)], never).thetas[0]
        excess += [risk(loss, theta, people) - best.risk for theta in drawn]
        found.append(mechanism.chain(plan, prepared, people, best, [generator(3, mechanism.key, r)], never))
    together = [np.concatenate([links[k].values for links in found]) for k in range(len(found[0]))]
    # A link that no run enters is the same number in all.
    kept = [values[:1] if np.ptp(values) == 0.0 else values for values in together]
    return np.array(excess), [Link(a.claim, a.lemma, v, a.worst) for a, v in zip(found[0], kept, strict=True)]


def best_of_set(loss: str, shape: Any, people: Data) -> Minimum:
    made = make_mechanism("frank_wolfe_general", T=2000)
    many = made.calibrate(Spec(loss, people.n, people.p, 0.0, Domain(math.inf), 1.2, set=shape), Budget(1e9, 1e-6))
    theta = made.release(many, made.prepare(many, people), generator(0, "best", 0))
    return Minimum(theta, risk(get_loss(loss), theta, people), 0.0, 1.2)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("noise", ["gaussian", "generalized_gaussian"])
@pytest.mark.parametrize(("order", "T", "stored"), [(1.5, 1, 4), (1.1, 3, 3), (2.0, "auto", 4)])
def test_the_links_of_gradient_trees_rise_to_the_bound(loss: str, noise: str, order: float, T: Any, stored: int):
    people, shape = population(loss, 4, stored=stored), LqBall(order) if order < 2.0 else Ball()
    spec = Spec(loss, 600, 4, 0.0, Domain(math.inf), 1.2, set=shape)
    plan = make_mechanism("tree_frank_wolfe", noise=noise, T=T).calibrate(spec, Budget(4.0, 1e-6))
    excess, links = drawn_chain(plan, people, best_of_set(loss, shape, people))
    check(plan, people, excess, tuple(links), certain=3)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.label)
@pytest.mark.parametrize(("T", "stored"), [(1, 4), (8, 3), ("auto", 4)])
def test_the_links_of_one_pass_rise_to_the_bound(loss: str, shape: Any, T: Any, stored: int):
    people = population(loss, 4, stored=stored)
    spec = Spec(loss, 600, 4, 0.0, Domain(math.inf), 1.2, set=shape)
    plan = make_mechanism("polyhedral_frank_wolfe", T=T).calibrate(spec, Budget(4.0, 1e-6))
    excess, links = drawn_chain(plan, people, best_of_set(loss, shape, people))
    check(plan, people, excess, tuple(links), certain=3)


def sums_by_hand(theta: np.ndarray, steps: list[Any], people: Data, lowest: Any, best: float) -> np.ndarray:
    """Excess at the end, and sums by weight of gap less excess, of the loss of a step, and of what it is bounded by.

    theta: start. steps: length, point, and the bound as a function of the gradient. lowest: smallest score over the
    set.
    """
    loss = get_loss("logistic")
    end, sums = loss.value(people.X @ theta, people.y).mean() - best, np.zeros(3)
    for eta, point, extra in steps:
        g = people.X.T @ loss.derivative(people.X @ theta, people.y) / people.n
        here, after = end, theta + eta * (point - theta)
        end = loss.value(people.X @ after, people.y).mean() - best
        gap, lost = g @ theta - lowest(g), g @ point - lowest(g)
        sums = (1.0 - eta) * sums + eta * np.array([gap - here, lost, extra(g)])
        theta = after
    return np.array([end, *sums])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.label)
def test_the_first_links_of_one_pass_are_the_proof_written_out(shape: Any):
    people, loss = population("logistic", 4), get_loss("logistic")
    spec = Spec("logistic", 400, 4, 0.0, Domain(math.inf), 1.2, set=shape)
    plan = make_mechanism("polyhedral_frank_wolfe", T=8).calibrate(spec, Budget(4.0, 1e-6))
    mechanism, stream = plan.mechanism, stream_of(plan)
    prepared, best = mechanism.prepare(plan, people), Minimum(np.zeros(4), 0.2, 0.0, 1.2)
    links = mechanism.chain(plan, prepared, people, best, [generator(3, "own", 0)], never)
    streams = [np.random.default_rng(seed) for seed in generator(3, "own", 0).integers(1 << 63, size=2)]
    V = 1.2 * (np.array(shape.vertices) if shape is TABLE else np.eye(4))
    V = np.concatenate([V, -V]) if shape == L1Ball() else V
    for run, names in enumerate(mechanism.transcripts(plan, prepared, streams)):
        points = [V[int(abs(name)) - 1 + (len(V) // 2 if name < 0 else 0)] for name in names]
        start = np.zeros(4) if shape == L1Ball() else V.mean(axis=0)
        thetas, estimate, steps = [start], np.zeros(4), []
        for t, point in enumerate(points):
            first = stream.first + (t - 1) * stream.batch
            rows = slice(first, first + stream.batch) if t else slice(0, stream.first)
            X, y = people.X[rows], people.y[rows]
            now, before = (X.T @ loss.derivative(X @ at, y) / len(y) for at in (thetas[t], thetas[max(t - 1, 0)]))
            estimate = (1.0 - stream.step) * (estimate - before) + now if t else now
            own = estimate @ point - (V @ estimate).min()
            steps.append((stream.step, point, lambda g, e=estimate, own=own: own + np.ptp(V @ (e - g))))
            thetas.append(thetas[-1] + stream.step * (point - thetas[-1]))
        end, slack, lost, met = sums_by_hand(start, steps, people, lambda g: (V @ g).min(), 0.2)
        assert links[0].values[run] == pytest.approx(end + slack, abs=1e-9)
        assert links[1].values[run] == pytest.approx(end + slack - lost + met, abs=1e-9)


def test_the_first_links_of_gradient_trees_are_the_proof_written_out():
    people, shape = population("logistic", 4), LqBall(1.5)
    spec = Spec("logistic", 400, 4, 0.0, Domain(math.inf), 1.2, set=shape)
    plan = make_mechanism("tree_frank_wolfe", T=3).calibrate(spec, Budget(4.0, 1e-6))
    mechanism = plan.mechanism
    prepared, best = mechanism.prepare(plan, people), Minimum(np.zeros(4), 0.2, 0.0, 1.2)
    links = mechanism.chain(plan, prepared, people, best, [generator(3, "own", 0)], never)
    streams = [np.random.default_rng(seed) for seed in generator(3, "own", 0).integers(1 << 63, size=2)]

    def length(v: np.ndarray) -> float:
        return float((np.abs(v) ** 3).sum() ** (1.0 / 3.0))  # dual to 1.5

    for run, seen in enumerate(mechanism.transcripts(plan, prepared, streams)):
        steps, path = [], []
        for node, noisy in zip(nodes(runs_of(plan).tree), np.split(seen, plan.steps), strict=True):
            estimate = noisy + path[node.depth - 1] if node.depth else noisy
            path[node.depth :] = [estimate] * (node.phase + 1 - node.depth)
            steps.append((node.step, 1.2 * shape.extreme(estimate), lambda g, e=estimate: 2.4 * length(e - g)))
        end, slack, lost, met = sums_by_hand(np.zeros(4), steps, people, lambda g: -1.2 * length(g), 0.2)
        assert links[0].values[run] == pytest.approx(end + slack, abs=2e-6)
        assert links[1].values[run] == pytest.approx(end + slack - lost + met, abs=2e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    ("key", "shape"),
    [*(("polyhedral_frank_wolfe", shape) for shape in SHAPES), ("tree_frank_wolfe", LqBall(1.5))],
    ids=lambda part: getattr(part, "label", part),
)
def test_the_mean_of_one_pass_lies_below_the_bound_for_these_records(loss: str, key: str, shape: Any):
    data = population(loss, 4, stored=3)
    for epsilon, T in ((0.5, 3), (8.0, 4)):
        plan = plan_of(key, shape, loss, data, epsilon=epsilon, T=T)
        prepared = [plan.mechanism.prepare(plan, data)]
        centre = plan.mechanism.draws([plan], prepared, rngs(plan)[:1], never).centres[0]
        best = Minimum(centre, risk(get_loss(loss), centre, data), 0.0, 1.0)
        lens = plan.mechanism.lens([plan], prepared, data, best, 1, never)
        rises = measured(plan, data)
        error = rises.std(ddof=1) / math.sqrt(len(rises))
        assert lens is not None and np.isneginf(lens.low).all()
        assert rises.mean() <= lens.high[0] + 4.0 * (error + lens.se[0])


def test_random_weights_are_on_average_those_of_all_steps():
    steps = [2.0 / (tau + 2.0) for tau in range(40)]
    drawn = np.array([sampled(steps, np.random.default_rng(k)) for k in range(3_000)])
    assert drawn.sum(axis=1) == pytest.approx(1.0) and np.count_nonzero(drawn, axis=1).max() <= 16
    error = drawn.std(axis=0, ddof=1) / math.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - shares(steps)) <= 5.0 * error + 1e-12).all()
    tau = np.arange(40.0)
    assert shares(steps) == pytest.approx(2.0 * (tau + 1.0) / (40.0 * 41.0))
