"""Pairs of neighbours for audits, and the claimed curves of objective perturbations."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from ..accounting.attack_limits import attack_cap
from ..accounting.gaussian import gaussian_mu
from ..accounting.objective import Vertices, objective_mu
from ..accounting.tradeoff import ObjectiveCurve
from ..core.arrays import Array
from ..core.losses import Loss, get_loss
from ..core.privacy import Budget, NotApplicable
from ..core.records import Data
from ..core.specification import Spec
from .noise.spherical import Noise
from .plan import Plan

# Share of the budget that hides the solver's distance from the exact minimiser of a perturbed objective.
TRACE_SHARE = 0.01


def check_ball(key: str, spec: Spec) -> None:
    """Raise NotApplicable unless records have an L2 bound, the set is R^p or an L2 ball, and theta is one vector."""
    if spec.domain.q != 2.0:
        raise NotApplicable(f"{key} is proved for ||x||_2 <= R, got q = {spec.domain.q:g}")
    if spec.set != "ball":
        raise NotApplicable(f"{key} works on R^p or in an L2 ball, got set {spec.set!r}")
    if get_loss(spec.loss).task == "cost":
        raise NotApplicable(f"{key} has no use for {get_loss(spec.loss).label}s: they are for the simplex")
    if get_loss(spec.loss).task == "classes":
        raise NotApplicable(f"{key} learns one vector, got {get_loss(spec.loss).label}, which needs several")


def parts(budget: Budget) -> tuple[Budget, Budget]:
    """Budgets of a perturbed objective: for its noise with the charge, and for the extra noise."""
    main, rest = (Budget(share * budget.epsilon, share * budget.delta) for share in (1.0 - TRACE_SHARE, TRACE_SHARE))
    return main, rest


def objective_claim(spent: Budget, charge: float, vertices: Vertices) -> ObjectiveCurve:
    """Claimed curve of a perturbed objective whose Gaussian noise and extra noise share this budget.

    charge, vertices: as in `objective.objective_delta`. Both losses add up: a Gaussian one of length v and that of the
    extra noise give one whose length is the root of the sum of their squares (docs/formulas.md).
    """
    main, rest = parts(spent)
    mu = objective_mu(main, charge, vertices)
    solver_noise = gaussian_mu(rest) / mu
    return ObjectiveCurve(mu, charge, tuple((count, math.hypot(share, solver_noise)) for count, share in vertices))


def objective_attack_limit(plan: Plan, law: Noise, dimensions: int, vertices: Vertices, paid: float) -> float:
    """Attack success against a perturbed objective, from the noise that the plan adds.

    law, dimensions: of the noise; the ledger has it and the extra noise. vertices: of the polytope that holds the
    difference of two records' gradients. paid: the epsilon of noise and charge at their part of the spent delta.
    """
    main, solver_noise = plan.ledger
    sizes, weights = law.spread(dimensions)
    mixed = tuple(map(float, sizes)), tuple(map(float, weights))
    limit = ObjectiveCurve(main.sensitivity / plan.scale, main.charge, vertices, *mixed).attack_limit()
    # The extra noise adds at most its own total variation.
    limit += float(weights @ ndtr(0.5 * solver_noise.sensitivity / (solver_noise.scale * sizes))) - 0.5
    return min(limit, attack_cap(Budget(paid + parts(plan.spent)[1].epsilon, plan.spent.delta)))


def opposite_labels(spec: Spec) -> tuple[Data, Data]:
    """Neighbours whose records are all 0 but the last, (x, -y) against (x, y), x the longest in L2 that is allowed.

    x is along (1, ..., 1), or along e_1 if records are bounded in a norm below L2; R denotes its length here.
    y is 1, or y_max if y is a number. The gradients of J differ by 2 |l'| R / n. The slope |l'| at the model is L
    for both hinges while R^2 / (n lam) <= 1/2, for Huber loss while R^2 / (n lam) <= y_max - 1/2, nearly L for squared
    loss and large lam, and L / 2 for logistic loss.

    Location losses have no labels: -x replaces x, and the gradients at 0 differ by 2 l'(R) / n.
    """
    x, filled = np.zeros(spec.p), spec.p if spec.domain.q >= 2.0 else 1
    x[:filled] = spec.domain.in_norm(2.0, spec.p).R / math.sqrt(filled)
    zero, one = flipped_label(spec, x, -1)
    if get_loss(spec.loss).linear:
        return zero, one
    return Data(one.X * -1.0, np.zeros(spec.n)), Data(one.X, np.zeros(spec.n))


def flipped_label(spec: Spec, x: Array, place: int) -> tuple[Data, Data]:
    """Neighbours whose records are all 0 but the one at `place`, (x, -y) against (x, y), y = 1 or y_max."""
    y, rows = 1.0 if get_loss(spec.loss).classification else spec.domain.y_max, np.zeros(spec.n, int)
    rows[place] = 1
    X = np.stack([np.zeros(spec.p), x])
    return Data.drawn(X, np.array([y, -y]), rows), Data.drawn(X, np.array([y, y]), rows)


def minimiser_pair(spec: Spec) -> tuple[Data, Data]:
    """Neighbours for mechanisms that release a minimiser: `opposite_labels`, or a better pair for some losses.

    The slope of logistic loss is L / 2 at 0 and L only far out, so that a change of label moves the gradient by L. If
    the other records, all R e_1 with label 1, move the minimiser to T e_1, the records R (-a e_1 + b e_2) and
    R (-a e_1 - b e_2), a^2 + b^2 = 1, are both misclassified, have slope |l'(-a T R)|, and their gradients differ by
    2 b times it. The other records add no curvature along e_2, so the minimiser follows. a is the best of a grid; a = 0
    is as good as opposite labels, which are used if a gains less than a twentieth.

    For location losses all records are -R e_1 or R e_1, half of the fixed ones each, and the last one is either. Their
    pulls are full and cancel but for the last, and the distance along e_1 has no curvature between them; beside
    records of 0 a median would stay at 0.

    spec: lam a number.
    """
    loss = get_loss(spec.loss)
    if not loss.linear:
        return _on_two_points(spec)
    if not loss.classification or spec.p < 2 or not spec.lam:
        return opposite_labels(spec)
    a = np.linspace(0.0, 1.0, 201)
    apart = np.sqrt(1.0 - a**2) * _slopes(loss, -a * _pushed(loss, spec) * spec.domain.R)
    best = int(np.argmax(apart))
    if apart[best] <= 1.05 * apart[0]:
        return opposite_labels(spec)
    X, rows = np.zeros((2, spec.p)), np.zeros(spec.n, int)
    rows[-1] = 1
    X[0, 0] = spec.domain.R
    X[1, :2] = spec.domain.R * -a[best], spec.domain.R * math.sqrt(1.0 - a[best] ** 2)
    other = X.copy()
    other[1, 1] *= -1.0
    return Data.drawn(X, np.ones(2), rows), Data.drawn(other, np.ones(2), rows)


def _on_two_points(spec: Spec) -> tuple[Data, Data]:
    X = np.zeros((spec.n, spec.p))
    X[:, 0] = spec.domain.R * np.where(np.arange(spec.n) % 2, -1.0, 1.0)
    other = X.copy()
    other[-1, 0] *= -1.0
    return Data(X, np.zeros(spec.n)), Data(other, np.zeros(spec.n))


def _slopes(loss: Loss, z: Array) -> Array:
    """|l'(z; 1)|."""
    return np.abs(loss.derivative(np.asarray(z, float), np.ones(len(z))))


def _pushed(loss: Loss, spec: Spec) -> float:
    """Distance T of the minimiser for n - 1 of n records R e_1 of label 1, |l'(T R)| R (n - 1) / n = lam T."""
    share = spec.domain.R * (spec.n - 1) / spec.n

    def surplus(T: float) -> float:
        return share * float(_slopes(loss, np.array([T * spec.domain.R]))[0]) - float(spec.lam) * T

    # If the slope is L at the minimiser too, rounding would leave no change of sign.
    far = share * loss.slope / float(spec.lam) * (1.0 + 1e-9)
    return min(brentq(surplus, 0.0, far, xtol=1e-9 * far), spec.radius or math.inf)
