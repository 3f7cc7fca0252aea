"""The chain of the Gaussian classifier's proof rises to the bound, and each number is what its link says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore import Data
from dpcore.core.cancel import never
from dpcore.core.rng import generator
from dpcore.experiments.proof_chain import Step, chained
from dpcore.mechanisms.base import Link
from dpcore.mechanisms.multiclass import calibration as rules
from dpcore.mechanisms.multiclass import models
from dpcore.mechanisms.plan import Plan
from dpcore.solvers import Minimum
from dpcore.solvers.multiclass.objective import smat
from dpcore.studies.multiclass.reference_risk import least_in_ball
from tests.classifiers import class_data, features, plain_objectives, plain_risks, plan_of

from .chains import check_rises, mean_bound

# place of the noise, lam, epsilon, radius: the two proofs, the best model at and inside the radius, 0 the better one
CASES = [
    ("objective", 0.5, 0.5, 2.0),
    ("objective", 0.02, 20.0, 5.0),
    ("objective", 0.05, 8.0, 2.0),
    ("objective", 0.4, 3.0, 100.0),
    ("output", 0.05, 0.5, 2.0),
    ("output", 1.0, 8.0, 100.0),
]
cases = pytest.mark.parametrize("perturbed, lam, epsilon, B", CASES)
every_noise = pytest.mark.parametrize("noise", ["gaussian", "gamma"])


def links_of(plan: Plan, data: Data, pairs: int = 60) -> tuple[np.ndarray, tuple[Link, ...], Minimum]:
    """Measured excess of 2 `pairs` releases over the best model in the ball, the links, and that model."""
    mechanism, prepared = plan.mechanism, plan.mechanism.prepare(plan, data)
    best = least_in_ball(models.class_records(plan.spec, data), plan.spec.theta_norm)

    def rngs() -> list[np.random.Generator]:
        return [generator(5, "classes", r) for r in range(pairs)]

    thetas = mechanism.draws([plan], [prepared], rngs(), never).thetas[0]
    measured = plain_risks(data, smat(thetas)) - best.risk
    return measured, mechanism.chain(plan, prepared, data, best, rngs(), never), best


def setting(perturbed: str, lam: float, epsilon: float, B: float, noise: str, classes: int = 3) -> tuple[Plan, Data]:
    facts = dict(n=80, p=2, classes=classes, lam=lam, epsilon=epsilon, noise=noise, perturbed=perturbed, theta_norm=B)
    return plan_of(**facts), class_data(80, 2, classes)


def values(steps: tuple[Step, ...]) -> list[float]:
    return [step.value for step in steps]


@every_noise
@cases
def test_the_chain_rises_from_the_measurement_to_the_bound(perturbed, lam, epsilon, B, noise):
    for classes in (2, 4):
        plan, data = setting(perturbed, lam, epsilon, B, noise, classes)
        measured, links, _ = links_of(plan, data)
        steps = chained(measured, links)
        check_rises(steps)
        assert steps[-1].value == pytest.approx(mean_bound(plan), rel=1e-9)
        if perturbed == "objective":  # in every single run
            assert (measured <= links[0].values + 1e-6).all()
        ends = [step.worst for step in steps]
        assert ends == sorted(ends) and any(ends), "the worst records come last"


def by_plain_numbers(plan: Plan, data: Data, best: Minimum) -> list[float]:
    """The numbers after the first link, written out for Gaussian noise and h = 1/2, without the solver's error."""
    s, lam, C = plan.scale, float(plan.spec.lam), plan.spec.classes
    own = min(0.5 * lam * (best.theta**2).sum(), C - 1 - best.risk)
    worst = min(0.5 * lam * plan.spec.theta_norm**2, C - 1.0)
    moved = s if plan.mechanism.perturbed == "output" else s / lam
    lengths = np.linalg.norm(features(data.X), axis=(1, 2))
    here = (C - 1) * np.minimum(2.0 / math.sqrt(math.pi) * moved * lengths, (moved * lengths) ** 2).mean()
    most = (C - 1) * min(2.0 / math.sqrt(math.pi) * moved, moved**2)
    pulled = rules.dimensions(plan.spec) * s**2 / (2.0 * lam)
    if plan.mechanism.perturbed == "objective" and pulled < most:
        return [own + pulled, worst + pulled]
    return [own + here, worst + here, worst + most]


def test_each_number_is_what_its_link_says():
    kinds = set()
    for perturbed, lam, epsilon, B in CASES:
        plan, data = setting(perturbed, lam, epsilon, B, "gaussian")
        data = Data(data.X * np.linspace(0.1, 1.0, data.n)[:, None], data.y)
        _, links, best = links_of(plan, data)
        told = by_plain_numbers(plan, data, best)
        kinds.add((perturbed, len(told)))
        assert [float(link.values[0]) for link in links[1:]] == pytest.approx(told, rel=1e-3)
    assert kinds == {("objective", 2), ("objective", 3), ("output", 3)}, "all proofs occur"


def test_the_first_link_is_the_proof_at_each_release():
    """By plain matrices: J without noise and what pulls and resists; the best model, or 0, moved by the noise."""
    targets = set()
    for perturbed, lam, epsilon, B in CASES:
        plan, data = setting(perturbed, lam, epsilon, B, "gaussian")
        measured, links, best = links_of(plan, data)
        halves = np.stack([plan.mechanism.direction(plan.spec, generator(5, "classes", r)) for r in range(60)])
        noise = plan.scale * np.stack([halves, -halves], axis=1).reshape(-1, *halves.shape[1:])
        prepared = plan.mechanism.prepare(plan, data)
        centre = smat(prepared.theta[None])
        if perturbed == "output":
            told = plain_risks(data, centre) - best.risk + by_plain_numbers(plan, data, best)[0]
            told = told - min(0.5 * lam * (best.theta**2).sum(), 2.0 - best.risk)
        elif len(links) == 3:
            thetas = plan.mechanism.draws(
                [plan], [prepared], [generator(5, "classes", r) for r in range(60)], never
            ).thetas[0]
            told = plain_objectives(data, centre, lam) - best.risk
            told = told + (noise**2).sum((1, 2)) / (2 * lam) - 0.5 * lam * (thetas**2).sum((1, 2))
        else:
            target = best.theta if 0.5 * lam * (best.theta**2).sum() <= 2.0 - best.risk else 0.0 * best.theta
            targets.add(bool(target.any()))
            told = plain_risks(data, smat(target - noise / lam)) - best.risk
            told = told + 0.5 * lam * (target**2).sum()
        assert links[0].values == pytest.approx(told, rel=2e-3, abs=2e-4)
        assert measured.mean() <= links[0].values.mean() + 1e-3
    assert targets == {False, True}, "the best model and 0 both occur"
