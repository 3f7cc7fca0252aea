"""Audits of what the whole registry's audits leave out: other sets, losses, rules, noises and batches.

A correct plan is contradicted in at most one audit of a thousand. Seeds are fixed.
"""

from __future__ import annotations

import math

import pytest

import dpcore
from dpcore.core.sets import Ball, Box, LqBall, Polytope, Simplex
from tests.audits import refuted

TRIANGLE = Polytope(((0.5, 0.5), (-1.0, 0.2), (0.3, -0.8)))
FACTS = {"n": 10, "p": 3, "epsilon": 1.0, "delta": 1e-5, "loss": "huber_hinge"}
SMALL = {"radius": 0.4}
LINEAR = {"set": "simplex", "q": math.inf}
CLASSES = {"loss": None, "lam": 1e4}
# What is audited, and a share of its noise that leaves too little.
VARIANTS = [
    ("output_gaussian", {"loss": "mean", "lam": 0.5, "epsilon": 2.0}, 0.5),
    ("output_gamma", {"loss": "smooth_median", "lam": 0.5, "epsilon": 2.0}, 0.5),
    ("noisy_gd", SMALL | {"steps": 4, "step": 3.0, "loss": "hinge"}, 0.5),
    ("noisy_gd", SMALL | {"loss": "geometric_median", "steps": 5}, 0.4),
    ("noisy_sgd", SMALL | {"n": 40, "p": 1, "steps": 20, "batch": 4}, 0.25),
    ("noisy_sgd", SMALL | {"n": 40, "p": 1, "steps": 20, "batches": "single"}, 0.1),
    ("phased_sgd", SMALL | {"n": 12, "set": Ball(), "loss": "hinge"}, 0.5),
    ("phased_sgd", SMALL | {"n": 12, "set": LqBall(4.0)}, 0.5),
    ("phased_sgd", SMALL | {"n": 12, "set": Box()}, 0.5),
    ("frank_wolfe_polytope", SMALL | {"set": Simplex(), "T": 12}, 0.5),
    ("frank_wolfe_polytope", SMALL | {"p": 2, "set": TRIANGLE, "T": 12}, 0.4),
    ("frank_wolfe_polytope", SMALL | {"accounting": "published_safe", "T": 12}, 0.1),
    ("frank_wolfe_general", {"radius": 0.4, "set": Simplex(), "T": 4}, 0.5),
    ("frank_wolfe_general", {"radius": 0.25, "set": LqBall(1.5), "T": 4}, 0.5),
    ("frank_wolfe_general", {"n": 3, "p": 11, "epsilon": 0.1, "loss": "squared", "set": Box(), "radius": 5.0}, 0.02),
    ("tree_frank_wolfe", SMALL | {"n": 24, "set": Ball(), "T": 2}, 0.5),
    ("tree_frank_wolfe", SMALL | {"n": 24, "set": LqBall(1.1), "T": 2, "noise": "generalized_gaussian"}, 0.4),
    ("simplex_sampling", LINEAR | {"n": 20, "p": 4, "lam": 1.5, "m": 12}, 0.3),
    ("simplex_sampling", LINEAR | {"loss": "linear", "epsilon": 2.0, "delta": 0.0}, 0.5),
    ("ftrl", LINEAR | {"loss": "linear", "p": 2}, 0.4),
    ("ftrl", LINEAR | {"loss": "linear", "p": 2, "delta": 0.0}, 0.4),
    ("generalized_gaussian", {"loss": "mean", "q": 3.0, "noise": "gaussian"}, 0.5),
    ("generalized_gaussian", {"loss": "mean", "p": 30, "q": math.inf, "accounting": "published"}, 0.2),
    ("gaussian_classifier", CLASSES | {"classes": 2, "perturbed": "output"}, 0.5),
    ("gaussian_classifier", CLASSES | {"classes": 3, "noise": "gamma"}, 0.3),
    ("gaussian_classifier", CLASSES | {"classes": 3, "noise": "gamma", "perturbed": "output"}, 0.5),
]


@pytest.mark.parametrize(("key", "changes", "share"), VARIANTS, ids=lambda value: str(value)[:60])
def test_the_correct_plan_passes_and_one_with_less_noise_does_not(key, changes, share):
    plan = dpcore.calibrate(key, **(FACTS | changes))
    report = dpcore.run_audit(plan, runs=2_000)
    assert report.verdict != "contradicted" and 0.15 < report.sensitivity_share <= 1.0 + 1e-9
    assert refuted(plan.weakened(share), 1_000, 4_000, 12_000)
