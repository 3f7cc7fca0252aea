"""Phased stochastic gradient descent: what a record can move, and its noise."""

import dataclasses as dc
import itertools
import math

import numpy as np
import pytest

import dpcore
from dpcore import Budget, Data, NotApplicable
from dpcore.accounting.gaussian import gaussian_mu, hockey_stick
from dpcore.core.losses import get_loss
from dpcore.core.sets import Ball, length
from dpcore.mechanisms.gradient.phased_sgd import PhasedSGD, descender_of, eta_of, l2_constants_of, phases_of
from dpcore.solvers.descent.phased_sgd import Descender, Phase
from dpcore.theory import gradient_descent as theory
from tests.phased import BUDGET, dense, dual, every_loss, every_p, hard_records, plan_for, rngs_of, upper
from tests.problems import KINKED

# Phases and their noise


def test_no_phase_asks_for_a_record_twice_or_for_one_that_is_not_there():
    for n in [*range(2, 600), 1023, 1024, 1025, 99_999]:
        sizes = theory.phase_sizes(n)
        assert sum(sizes) < n and min(sizes) == 1 and len(sizes) == n.bit_length() - 1
        assert all(2 * later <= size <= 2 * later + 1 for size, later in itertools.pairwise(sizes))
    phases = phases_of(plan_for(n=777))
    assert [phase.first for phase in phases] == np.cumsum([0, *(phase.size for phase in phases[:-1])]).tolist()


@every_p
@every_loss
def test_the_noise_of_every_phase_has_one_multiplier(loss, p_norm):
    plan = plan_for(loss, p_norm, n=100, R=2.0, radius=1.5)
    (event,) = plan.ledger
    facts, mu = l2_constants_of(plan.mechanism.key, plan.spec), gaussian_mu(BUDGET)
    assert (event.times, event.scale, plan.steps) == (1, plan.scale, 6) and plan.spent == plan.requested == BUDGET
    assert event.sensitivity / event.scale == pytest.approx(mu, rel=1e-11)
    assert 0.999 * BUDGET.delta < hockey_stick(BUDGET.epsilon, event.sensitivity / plan.scale) <= BUDGET.delta
    steepness = {"logistic": 1 / (1 + math.exp(-3.0)), "squared": 2 * (3.0 + 1.0)}.get(loss, 1.0)
    assert pytest.approx(2.0 * steepness, rel=1e-12) == facts.L
    for i, (phase, half) in enumerate(zip(phases_of(plan), phases_of(plan.weakened(0.5)), strict=True), start=1):
        assert phase.step == pytest.approx(eta_of(plan) / 4**i, rel=1e-12) and half.scale == phase.scale / 2
        moved = 2 * facts.L * phase.step * phase.size / (phase.size + 1)
        assert phase.scale == pytest.approx(moved / mu, rel=1e-11)
    assert plan.mechanism.calibrate(plan.spec, Budget(0.1, 1e-9)).mechanism == plan.mechanism, "steps stay"


def test_records_may_be_bounded_in_any_norm_and_the_dual_one_costs_nothing():
    for q, factor in ((1.0, 1.0), (4 / 3, 1.0), (2.0, 1.0), (4.0, 16**0.25), (math.inf, 4.0)):
        facts = l2_constants_of("phased_sgd", plan_for("huber", math.inf, d=16, q=q, R=3.0).spec)
        assert pytest.approx(3.0 * factor) == facts.L and facts.smoothness == pytest.approx(2.0 * (3.0 * factor) ** 2)
    for p_norm, far in ((2.0, 1.0), (4.0, 2.0), (math.inf, 4.0)):
        facts = l2_constants_of("phased_sgd", plan_for("huber", p_norm, d=16, radius=2.5).spec)
        assert facts.distance == pytest.approx(2.5 * far)


# What a record can move


def moved(plan, zero: Data, one: Data, phase: Phase, start) -> float:
    """How far a replaced record moves the mean of a phase."""
    return float(np.linalg.norm(np.diff([descender_of(plan, d).average(phase, start)[0] for d in (zero, one)], axis=0)))


@pytest.mark.shows("privacy", "phased_sgd")
@every_p
@every_loss
@pytest.mark.parametrize("step", ["auto", "longest"])
def test_no_replaced_record_moves_a_phase_beyond_its_sensitivity(loss, p_norm, step):
    """Random and aligned records, each place of a phase, steps up to the longest allowed; 400 pairs."""
    rng = np.random.default_rng(7)
    plan = plan_for(loss, p_norm, n=16, d=3, radius=2.0)
    facts = l2_constants_of("phased_sgd", plan.spec)
    if step == "longest":
        longest = 10.0 if loss in KINKED else theory.longest_phased_step(facts.smoothness)
        plan = plan_for(loss, p_norm, n=16, d=3, radius=2.0, step=longest)
    most = 0.0
    for trial in range(200):
        X, y = hard_records(rng, 16, 3, dual(p_norm)), rng.choice([-1.0, 1.0], 16)
        if trial % 2:
            X[1:] *= np.sign(X[1:] @ X[0])[:, None] * y[1:, None]
        phase = phases_of(plan)[trial % 2]
        place = phase.first + (0 if trial % 4 < 2 else int(rng.integers(phase.size)))
        other, labels = X.copy(), y.copy()
        other[place], labels[place] = (X[place], -y[place]) if trial % 3 else (-X[place], y[place])
        start = rng.standard_normal((1, 3)) * rng.random()
        start *= np.minimum(2.0 / length(start, p_norm), 1.0)
        limit = 2 * facts.L * phase.step * phase.size / (phase.size + 1)
        most = max(most, moved(plan, Data(X, y), Data(other, labels), phase, start) / limit)
    assert 0.2 < most <= 1.0 + 1e-9


@every_p
@pytest.mark.parametrize("loss", ["huber_hinge", "hinge", "absolute"])
def test_a_pair_attains_the_sensitivity_of_every_phase(loss, p_norm):
    plan = plan_for(loss, p_norm, n=40, d=3, radius=0.4, step=0.2)
    mu = plan.ledger[0].sensitivity / plan.scale
    zero, one = plan.mechanism.worst_pair(plan)
    for phase in phases_of(plan):
        pair = [Data(np.roll(side.X, phase.first, axis=0), np.roll(side.y, phase.first)) for side in (zero, one)]
        assert moved(plan, *pair, phase, np.zeros((1, 3))) / phase.scale == pytest.approx(mu, rel=1e-9)


def test_longer_steps_move_models_apart_and_are_refused():
    """Squared loss on one repeated record: each step multiplies what lies between two models by 1 - 2 eta_1."""
    longest = theory.longest_phased_step(l2_constants_of("phased_sgd", plan_for("squared", n=16, d=1).spec).smoothness)
    assert longest == 4.0
    with pytest.raises(NotApplicable, match=r"a step of at most 8 / smoothness = 4: longer ones can separate models"):
        plan_for("squared", n=16, d=1, step=longest * (1 + 1e-9))
    data, starts = Data(np.ones((8, 1)), np.zeros(8)), np.array([[-1e-6], [1e-6]])
    run = Descender(get_loss("squared"), 0.0, data, Ball(), 1.0)
    for factor, apart in ((1.0, 1.0), (1.1, 1.2**8)):
        theta = starts
        for i in range(8):
            theta = 2 * run.average(Phase(i, 1, factor * longest / 4, 0.0), theta) - theta
        assert abs(theta[1] - theta[0])[0] / 2e-6 == pytest.approx(apart, rel=1e-6)


def kinked_stream(n: int, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """Records [n, d] and a start for which plain steps on a hinge move two models ever further apart.

    All labels are 1 but the first, which is 1 for one model and -1 for the other. The margin of each record is just
    below 1 under one of them, by turns, and just above under the other: only one moves, in a column of its own.
    """
    start, X = np.zeros(n + 2), np.zeros((n, n + 2))
    start[0], X[0, 1] = 2.0, 1.0
    models = start + np.outer([eta, -eta], X[0])
    for t in range(1, n):
        moves = t % 2
        margins = np.where(np.arange(2) == moves, 1.0 - 1e-6, 1.0 + 1e-6)
        X[t] = np.linalg.lstsq(models, margins, rcond=None)[0]
        X[t, t + 1] = math.sqrt(1.0 - X[t] @ X[t])
        models[moves] += eta * X[t]
    return X, start[None]


@pytest.mark.parametrize("n, apart", [(10, 1.2), (100, 2.3), (400, 4.5)])
def test_plain_steps_on_a_hinge_break_the_sensitivity_and_rounded_ones_do_not(n, apart):
    """A step of 0.01: models drift apart like sqrt(n), and so do means of iterates."""
    X, start = kinked_stream(n, 0.01)
    pair = [Data(X, np.append(label, np.ones(n - 1))) for label in (1.0, -1.0)]
    phase, limit = Phase(0, n, 0.01, 0.0), 2 * 0.01 * n / (n + 1)

    def ratio(loss: str, width: float) -> float:
        means = [Descender(get_loss(loss), width, data, Ball(), 10.0).average(phase, start)[0] for data in pair]
        return float(np.linalg.norm(means[1] - means[0])) / limit

    assert ratio("hinge", 0.0) > apart
    assert ratio("huber_hinge", theory.kink_width(4 * 0.01, 1.0, 1.0)) <= 1.0 + 1e-9
    assert n == 10 or ratio("huber_hinge", theory.kink_width(4 * 0.01, 1.0, 1.0) / 100) > 1.5, "too narrow"


@pytest.mark.parametrize(
    "key, smooth_key, jump, kink", [("hinge", "huber_hinge", 1, 1.0), ("absolute", "huber", 2, 0.2)]
)
def test_a_rounded_loss_is_what_the_bound_takes_it_for(key, smooth_key, jump, kink):
    """Within jump w / 4 of the loss up to a constant, no steeper, and with the curvature that makes 8 / eta."""
    plan = plan_for(key, n=100, R=3.0)
    run = descender_of(plan, Data(np.zeros((2, 10)), np.ones(2)))
    w, eta = run.width, eta_of(plan)
    assert (run.loss.key, w) == (smooth_key, pytest.approx(jump * eta * 9.0 / 16.0))
    assert jump * 9.0 / (2.0 * w) == pytest.approx(8.0 / eta)
    z, y = np.linspace(kink - 3 * w, kink + 3 * w, 2001), np.full(2001, kink)
    smooth = dc.replace(get_loss(smooth_key), shape=w)
    gap = smooth.value(z, y) - get_loss(key).value(z, y)
    assert np.ptp(gap) == pytest.approx(jump * w / 4) and np.abs(smooth.derivative(z, y)).max() <= 1.0
    assert np.abs(np.diff(smooth.derivative(z, y)) / np.diff(z)).max() == pytest.approx(jump / (2 * w))
    moved = np.mean([get_loss(key).value(z + w * s, y) for s in (np.arange(2000) + 0.5) / 1000 - 1], axis=0)
    assert np.ptp(smooth.value(z, y) - moved) < 1e-6 * w, "the mean over predictions that move within w, and a constant"
    u = 3.0 * eta
    parts = theory.phased_terms(1.0, 10, plan.scale / plan.ledger[0].sensitivity, theory.phase_sizes(100))
    assert upper(plan) == pytest.approx(3.0 * (parts[0] / u + parts[1] * u) + jump * w / 4, rel=1e-12)


# Releases


def test_columns_that_are_not_stored_take_part_in_the_projection():
    """500 idle columns fill the ball with noise, and what is stored shrinks."""
    data = dense(np.random.default_rng(0), 64, 3, 2.0)
    sizes = {}
    for p in (3, 503):
        plan = plan_for(n=64, d=p, step=0.5)
        prepared = plan.mechanism.prepare(plan, Data(data.X, data.y, p=p))
        thetas = plan.mechanism.release_many(plan, prepared, rngs_of(1))
        assert thetas.shape == (4, 3)
        sizes[p] = np.linalg.norm(thetas, axis=1).mean()
    assert sizes[503] < 0.3 * sizes[3]


# Audits


def test_an_audit_sees_noise_that_is_missing_in_a_later_phase(monkeypatch):
    """The differing record in the second phase; there the noise is halved and nowhere else."""
    mechanism = PhasedSGD()
    plan = mechanism.calibrate(mechanism.worst_spec, Budget(1.0, 1e-5))
    pair = plan.mechanism.worst_pair(plan)
    second = phases_of(plan)[1].first
    later = tuple(Data(np.roll(side.X, second, axis=0), np.roll(side.y, second)) for side in pair)
    monkeypatch.setattr(PhasedSGD, "worst_pair", lambda self, plan: later)
    assert dpcore.run_audit(plan, runs=10_000).verdict != "contradicted"
    from dpcore.mechanisms.gradient import phased_sgd

    descend = phased_sgd.descend_in_phases

    def broken(run, phases, rngs, **rest):
        return descend(
            run, [dc.replace(p, scale=p.scale / 2) if p.first == second else p for p in phases], rngs, **rest
        )

    monkeypatch.setattr(phased_sgd, "descend_in_phases", broken)
    assert dpcore.run_audit(plan, runs=10_000).verdict == "contradicted"
