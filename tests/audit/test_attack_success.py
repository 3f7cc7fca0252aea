"""Attack success three times: what our attack certainly reaches, what a mechanism allows, what its guarantee allows."""

import numpy as np
import pytest

import dpcore
from dpcore import Budget, Domain, NotApplicable, Spec
from dpcore.audit.attack_success import AttackSuccess, attack_success
from dpcore.audit.certificates import lower_bound
from dpcore.mechanisms import make_mechanism
from dpcore.mechanisms.worst_pairs import opposite_labels
from tests.audits import KEYS, KNOBS, plan_for

STATES = len(KEYS) + 5


def random_plan(key: str, rng: np.random.Generator) -> dpcore.Plan:
    """At any budget, on a problem of the mechanism's kind; NotApplicable where there is no guarantee."""
    mechanism = make_mechanism(key, **KNOBS.get((key, "tight"), {})).audited()
    spec = mechanism.worst_spec
    budget = Budget(float(10 ** rng.uniform(-1.5, 1.0)), float(10 ** rng.uniform(-8.0, -2.0)))
    if key.startswith(("output", "objective")):
        n, p, lam = int(rng.integers(2, 300)), int(rng.integers(1, 6)), float(10 ** rng.uniform(-3, 1))
        loss = str(rng.choice(["logistic", "huber_hinge"]))
        spec = Spec(loss, n, p, lam, Domain(R=float(10 ** rng.uniform(-1, 1))))
    return mechanism.calibrate(spec, budget)


def test_certified_attack_limit_and_cap_are_in_order_in_random_states():
    """A certified share is above the truth in at most 0.1% of states: more than 2 of 20 has probability 1.2e-6."""
    rng = np.random.default_rng(10)
    seen, above, halved = list[str](), 0, 0
    while len(seen) < STATES:
        try:
            plan = random_plan(KEYS[len(seen) % len(KEYS)], rng)
        except NotApplicable:
            continue
        found = attack_success(plan, runs=2_000, seed=len(seen))
        assert found.certified >= 0.5 and found.limit <= found.cap <= 1.0
        above += found.certified > found.limit
        halved += attack_success(plan.weakened(0.25), runs=2_000, seed=len(seen)).certified > found.limit
        seen.append(plan.mechanism.key)
    assert above <= 2
    assert halved >= STATES // 3, "code with a quarter of the noise is above its limit in many states"


def test_attack_success_is_the_audits():
    plan = plan_for("output_gaussian")
    found = attack_success(plan, runs=5_000, seed=3)
    report = dpcore.run_audit(plan, runs=5_000, seed=3)
    assert (found.measured, found.limit, found.runs) == (report.attack_success, report.attack.limit, 5_000)
    assert found.certified == lower_bound(round(5_000 * found.measured), 5_000, 0.001)
    assert found == attack_success(plan, runs=5_000, seed=3) != attack_success(plan, runs=5_000, seed=4)
    assert isinstance(found, AttackSuccess)
    with pytest.raises(ValueError, match="runs must be an integer >= 1"):
        attack_success(plan, runs=0)


@pytest.mark.parametrize("key", ["output_gaussian", "objective_gaussian"])
@pytest.mark.parametrize("n, lam, least", [(100, 0.1, 0.55), (1_000, 1e-2, 0.7), (10_000, 1e-3, 0.75)])
def test_others_push_logistic_loss_to_where_it_is_steep(key, n, lam, least):
    """The pair is one replaced record, keeps the domain, and separates the answers by more than opposite labels do."""
    mechanism = make_mechanism(key)
    plan = mechanism.calibrate(Spec("logistic", n, 3, lam, Domain(R=2.0)), Budget(1.0, 1e-5))
    zero, one = mechanism.worst_pair(plan)
    assert (np.any(zero.X != one.X, axis=1) | (zero.y != one.y)).sum() == 1
    attained = []
    for pair in ((zero, one), opposite_labels(plan.spec)):
        for side in pair:
            side.check_domain(plan.spec.domain)
        sides = [mechanism.prepare(plan, side) for side in pair]
        attained.append(mechanism.separation(plan, *sides) / plan.ledger[0].sensitivity)
    assert least < attained[0] <= 1.0 and attained[1] < 0.51
