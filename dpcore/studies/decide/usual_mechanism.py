"""Mechanism and delta that the page Decide uses, by public facts alone: a choice among results would cost privacy."""

import math

from ...core.losses import get_loss
from ...core.privacy import Budget, NotApplicable
from ...mechanisms import Mechanism, make_mechanism
from ...mechanisms.noise.spherical import Noise
from ...mechanisms.problem import Problem

_AT = 1.0  # epsilon at which noises are compared; the larger p is, the earlier Gaussian noise is the smaller one


def usual_mechanism(problem: Problem) -> tuple[Mechanism, str]:
    """Mechanism for a problem, and the reason in words: by delta, the loss, n and p, whatever the records are.

    Objective perturbation where the loss has the second derivative that it needs, else output perturbation; of the two
    laws of noise the one with less of it in a prediction at epsilon = 1, and without delta the one that needs none.

    >>> usual_mechanism(Problem("synthetic", n=5_000, p=30))[0].key, usual_mechanism(Problem(delta=0.0))[0].key
    ('objective_gaussian', 'objective_gamma')
    """
    smooth = math.isfinite(get_loss(problem.loss).curvature_bound)
    place = "objective" if smooth else "output"
    why = "for a loss with a second derivative it needs the least ε on most data sets that were measured"
    if not smooth:
        why = "the loss has no second derivative, which objective perturbation needs"
    found = {law: make_mechanism(f"{place}_{law}") for law in ("gaussian", "gamma")}
    if problem.delta == 0.0:
        return found["gamma"], f"{why}, and Gamma noise needs no δ"
    sizes = {law: _noise(problem, mechanism) for law, mechanism in found.items()}
    law = min(sizes, key=lambda law: sizes[law])
    return found[law], f"{why}, and with {problem.p:,} columns its {law.capitalize()} noise is the smaller one"


def usual_delta(n: int) -> float:
    """delta for n records: the largest power of ten up to 1/n^2, at most 1e-6 and at least 1e-10.

    >>> usual_delta(300), usual_delta(7_043)
    (1e-06, 1e-08)
    """
    return 10.0 ** -min(max(math.ceil(2.0 * math.log10(n)), 6), 10)


def _noise(problem: Problem, mechanism: Mechanism) -> float:
    """Root mean square of the noise in a prediction, before the objective's curvature; inf where it does not apply."""
    law: Noise = mechanism.law
    try:
        scale = mechanism.calibrate(problem.spec(mechanism), Budget(_AT, problem.delta)).scale
    except NotApplicable:
        return math.inf
    return scale * math.sqrt(law.reach(problem.p)[1])
