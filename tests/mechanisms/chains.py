"""Chains of proofs on small records, for the tests of every family."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dpcore import Data, make_mechanism
from dpcore.core.cancel import never
from dpcore.core.losses import get_loss
from dpcore.core.privacy import Budget
from dpcore.core.rng import generator
from dpcore.core.specification import Spec
from dpcore.experiments.proof_chain import Step, chained
from dpcore.mechanisms.base import Link
from dpcore.mechanisms.plan import Plan
from dpcore.solvers import Minimum


def chain_of(
    key: str, spec: Spec, data: Data, best: Minimum, epsilon: float = 1.0, pairs: int = 100
) -> tuple[Plan, tuple[Step, ...]]:
    """The plan, and its chain from the excess of 2 `pairs` releases over the risk of `best`."""
    mechanism = make_mechanism(key)
    plan = mechanism.calibrate(spec, Budget(epsilon, 0.0 if mechanism.noise == "gamma" else 1e-6))
    prepared = mechanism.prepare(plan, data)

    def rngs() -> list[np.random.Generator]:
        return [generator(5, key, r) for r in range(pairs)]

    drawn = plan.mechanism.draws([plan], [prepared], rngs(), never)
    measured = get_loss(spec.loss).risks(data, drawn.thetas[0]) - best.risk
    return plan, chained(measured, plan.mechanism.chain(plan, prepared, data, best, rngs(), never))


def mean_bound(plan: Plan) -> float:
    """The smallest bound on the mean excess empirical risk."""
    kind = ("excess_empirical_risk", "upper", "expectation")
    return min(b.value for b in plan.mechanism.bounds(plan) if (b.quantity, b.form, b.holds) == kind)


def check_claims(links: Sequence[Link | Step]) -> None:
    """Fail if a claim does not name its thing first, or has no room on a phone."""
    for link in links:
        assert re.fullmatch(r"[a-z ]+: .+", link.claim) and len(link.claim) <= 42, link.claim


def check_rises(steps: tuple[Step, ...]) -> None:
    """Fail if a number of a chain lies below the one before by more than chance."""
    check_claims(steps[1:])
    for before, after in pairwise(steps):
        assert after.value >= before.value - 4.0 * after.se - 1e-9, after.claim
