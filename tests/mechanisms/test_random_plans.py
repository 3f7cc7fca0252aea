"""Random plans of all mechanisms: whatever is calibrated has bounds, a claim, a cost of several releases and odds.

Each case is made from its number alone.
"""

import dataclasses as dc
import random

import numpy as np
import pytest

import dpcore
from dpcore import NotApplicable
from dpcore.audit.attack_success import attack_success_after
from dpcore.core.losses import LOSSES
from dpcore.core.sets import SETS
from dpcore.mechanisms import mechanism_class
from dpcore.studies.decide.repeated_releases import repeated_releases
from tests.nights import each

KEYS = dpcore.list_mechanisms()
FEW = 100  # runs of an audit, and the most steps of a plan that is audited
CASES = [(seed, KEYS[seed % len(KEYS)]) for seed in range(900)]


def drawn(seed, key):
    """Arguments of `calibrate`, most of them legal."""
    draw, cls = random.Random(seed), mechanism_class(key)

    def sized(low, high):
        return 10.0 ** draw.uniform(low, high)

    asked = {
        "n": int(sized(0.31, 3.5)),
        "p": int(sized(0.0, 1.7)),
        "epsilon": sized(-2.0, 1.3),
        "delta": draw.choice((0.0, 1e-5, sized(-12.0, -2.0))),
        "loss": draw.choice((None, *LOSSES)),
        "set": draw.choice((None, None, *SETS)),
        "radius": draw.choice((None, sized(-2.0, 2.0))),
        "R": draw.choice((1.0, 1.0, sized(-2.0, 2.0))),
        "y_max": draw.choice((1.0, 1.0, sized(-2.0, 2.0))),
        "lam": draw.choice(("auto", "auto", "population", 0.0, sized(-5.0, 2.0))),
    }
    if LOSSES[asked["loss"] or cls.usual_loss].task == "classes":
        asked["classes"] = draw.choice((2, 3, 5))
    for field in dc.fields(cls):
        if field.metadata.get("choices") and draw.random() < 0.4:
            asked[field.name] = draw.choice(field.metadata["choices"])
    return asked


@pytest.mark.parametrize(("seed", "key"), each(len(KEYS) + 1, CASES))
def test_whatever_is_calibrated_answers_every_question(seed, key):
    try:
        plan = dpcore.calibrate(key, **drawn(seed, key))
    except ValueError as refusal:
        assert "\n" not in str(refusal) and (isinstance(refusal, NotApplicable) or " must " in str(refusal))
        return
    if plan.steps > 20 * FEW:
        return
    assert all(bound.value >= 0.0 for bound in dpcore.bounds_of(plan))
    profile = plan.mechanism.claimed_curve(plan).delta(np.array([0.0, 0.5, 1.0, 5.0]))
    assert np.all((profile >= 0.0) & (profile <= 1.0)) and np.all(np.diff(profile) <= 1e-12)
    if plan.spent.delta > 0.0 or plan.spent.pure:
        one, more = repeated_releases(plan), repeated_releases(plan, 3, 2)
        assert 0.0 < one.epsilon <= plan.spent.epsilon * (1 + 1e-6) and one.epsilon <= more.epsilon
    if plan.steps > FEW or plan.spec.n * plan.spec.p > 30_000:
        return
    try:
        audit = dpcore.audit.game.Audit(plan)
    except NotApplicable:
        return
    audit.play(FEW)
    assert audit.report().verdict != "contradicted"
    assert 0.5 <= attack_success_after(audit).limit <= attack_success_after(audit).cap


def test_a_minimiser_where_the_loss_keeps_its_largest_slope_has_a_worst_pair():
    asked = drawn(406, "output_gamma")
    assert asked["loss"] == "huber_hinge"
    assert dpcore.run_audit(dpcore.calibrate("output_gamma", **asked), runs=FEW).verdict == "no contradiction found"
