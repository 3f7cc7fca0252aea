"""The proof of phased descent's bound along its runs, link by link."""

import math

import numpy as np
import pytest

import dpcore
from dpcore import Budget, Data, Domain, Plan, Spec
from dpcore.core.cancel import never
from dpcore.core.losses import get_loss
from dpcore.core.rng import generator
from dpcore.core.sets import norm_ball
from dpcore.experiments.metrics import risk
from dpcore.mechanisms.gradient.phased_sgd import descender_of, phases_of
from dpcore.solvers import minimise_in_ball

from ..problems import for_loss, random_records

TABLES, N = 30, 300


def plan_for(loss: str, p_norm: float, *, radius=1.0, **knobs) -> Plan:
    spec = Spec(loss, N, 5, 0.0, Domain(), radius, set=norm_ball(p_norm))
    return dpcore.make_mechanism("phased_sgd", **knobs).calibrate(spec, Budget(1.0, 1e-5))


@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute", "squared"])
@pytest.mark.parametrize("p_norm", [2.0, math.inf])
@pytest.mark.parametrize("knobs", [{}, {"step": 0.1}], ids=["auto", "short steps"])
def test_no_link_decreases_on_average_over_tables_and_the_last_is_the_bound(loss, p_norm, knobs):
    """Each table is drawn from one population, whose risk is known."""
    people = for_loss(loss, random_records(3_000, 5, seed=9))
    plan, best = plan_for(loss, p_norm, **knobs), minimise_in_ball(get_loss(loss), people, 1.0)
    chains, starts = [], []
    for table in range(TABLES):
        rows = np.random.default_rng([4, table]).integers(people.n, size=N)
        prepared = plan.mechanism.prepare(plan, Data(people.X[rows], people.y[rows]))
        links = plan.mechanism.chain(plan, prepared, people, best, [generator(table, "phased_sgd", 0)], never)
        drawn = plan.mechanism.draws([plan], [prepared], [generator(table, "phased_sgd", 0)], never).thetas[0]
        starts.append(np.mean([risk(get_loss(loss), theta, people) for theta in drawn]) - best.risk)
        chains.append([link.values.mean() for link in links])
    bound = next(b.value for b in plan.mechanism.bounds(plan) if b.holds == "expectation")
    assert links[-1].values == pytest.approx([bound], rel=1e-9)
    values = np.column_stack([starts, chains])
    steps = np.diff(values, axis=1)
    errors = steps.std(axis=0, ddof=1) / math.sqrt(TABLES)
    assert (steps.mean(axis=0) >= -4.0 * errors - 1e-9).all()
    kinked = loss in ("hinge", "absolute")
    assert [link.lemma for link in links] == [
        *["rounded loss"] * kinked,
        *("last noise", "regret of phases", "noise in all directions", "worst records", "comparator"),
    ]
    assert [link.worst for link in links[-3:]] == [False, True, True] and all(len(x.claim) <= 60 for x in links)


@pytest.mark.parametrize("loss", ["logistic", "absolute"])
def test_the_links_are_those_of_a_plain_loop(loss):
    people = for_loss(loss, random_records(400, 5, seed=9))
    plan, best = plan_for(loss, 2.0, radius=0.5), minimise_in_ball(get_loss(loss), people, 0.5)
    train = Data(people.X[:N], people.y[:N])
    prepared, mechanism = plan.mechanism.prepare(plan, train), plan.mechanism
    links = mechanism.chain(plan, prepared, people, best, [generator(1, "phased_sgd", 0)], never)
    drawn = mechanism.draws([plan], [prepared], [generator(1, "phased_sgd", 0)], never).thetas[0]
    run, steep = descender_of(plan, train), 1.0 if loss == "absolute" else 1.0 / (1.0 + math.exp(-0.5))
    above = 0.25 * 2.0 * run.width if loss == "absolute" else 0.0
    found = {link.lemma: link.values for link in links}
    noise = np.random.default_rng(generator(1, "phased_sgd", 0).integers(1 << 63, size=2)[0])
    x, y, met, free, far = np.zeros((1, 5)), best.theta[None], 0.0, 0.0, best.theta @ best.theta
    for phase, own in zip(phases_of(plan), noise.standard_normal((plan.steps, 5)), strict=True):
        squares = np.mean([steep**2 * row @ row for row in train.X[phase.first :][: phase.size]])
        ours = 1.0 / (2 * phase.step * (phase.size + 1))
        met += np.sum((x - y) ** 2) * ours + phase.step / 2 * squares
        free += far * ours + phase.step / 2 * squares
        y, far = run.average(phase, x), 5 * phase.scale**2
        x = run.project(y + phase.scale * own)
    assert x[0] == pytest.approx(drawn[0], rel=1e-12)
    moves = steep * np.mean(np.linalg.norm(people.X, axis=1))
    last = moves * np.linalg.norm(x - y)
    assert found["regret of phases"][0] == pytest.approx(last + met + above, rel=1e-9)
    assert found["noise in all directions"] == pytest.approx([moves * math.sqrt(far) + free + above], rel=1e-9)
    if loss == "logistic":
        at_mean = risk(get_loss(loss), y[0], people) - best.risk
        assert found["last noise"][0] == pytest.approx(last + at_mean, rel=1e-9)
    else:
        excess = np.array([risk(get_loss(loss), theta, people) for theta in drawn]) - best.risk
        assert (found["rounded loss"] >= excess - 1e-12).all()
        assert (found["rounded loss"] <= excess + 2 * above + 1e-12).all()
