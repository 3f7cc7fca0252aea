"""What mechanisms of several families share: rules for lam and the pair of neighbours that audits use."""

from __future__ import annotations

import math

import numpy as np

from ..losses import get_loss
from ..types import Data, NotApplicable, Spec

# lam="auto" makes the noise move the prediction of a record of norm R by a fixed size, root mean square: in the margin
# (3/16) (B R)^(1/3), where B R is the largest margin of a model of norm theta_norm; for regression a tenth of y_max
# (docs/formulas.md, "lam").
_AUTO_MARGIN, _AUTO_POWER, _AUTO_LABEL = 3.0 / 16.0, 1.0 / 3.0, 0.1
LARGEST_LOG = 230.0  # lam lies between 1e-100 and 1e100


def check_ball(key: str, spec: Spec) -> None:
    """Raise NotApplicable unless records have an L2 bound, models live in the L2 geometry and a loss has a scale."""
    if spec.domain.q != 2.0:
        raise NotApplicable(f"{key} is proved for ||x||_2 <= R, got q = {spec.domain.q:g}")
    if spec.set != "ball":
        raise NotApplicable(f"{key} works on R^p or in an L2 ball, got set {spec.set!r}")
    if get_loss(spec.loss).task == "cost":
        raise NotApplicable(f"{key} has no use for {get_loss(spec.loss).label}s: they are for the simplex")
    if get_loss(spec.loss).task == "classes":
        raise NotApplicable(f"{key} learns one vector, got {get_loss(spec.loss).label}, which asks for more")


def comparator_norm(spec: Spec) -> float:
    """B: no model beyond `radius` can be promised."""
    return min(spec.theta_norm, spec.radius or math.inf)


def auto_size(spec: Spec) -> float:
    """By how much noise may move the prediction of a record of norm R, root mean square, under lam="auto".

    For location losses, which predict no label: a coordinate of theta, by a tenth of R.
    """
    if not get_loss(spec.loss).linear:
        return _AUTO_LABEL * spec.domain.R
    if get_loss(spec.loss).classification:
        return _AUTO_MARGIN * (comparator_norm(spec) * spec.domain.R) ** _AUTO_POWER
    return _AUTO_LABEL * spec.domain.y_max


def no_lam(spec: Spec) -> ValueError:
    """What a rule for lam raises where it would leave the range of lam."""
    return ValueError(f"lam must be a number where the rule {spec.lam!r} gives none between 1e-100 and 1e100")


def opposite_labels(spec: Spec) -> tuple[Data, Data]:
    """Neighbours whose records are all 0 but the last, (R u, -y) against (R u, y), u = (1, ..., 1) / sqrt(p).

    y is 1, or y_max where y is a number. The gradients of J differ by 2 |l'| R / n. The slope |l'| at the model is L
    for both hinges while R^2 / (n lam) <= 1/2, for Huber loss while R^2 / (n lam) <= y_max - 1/2, nearly L for squared
    loss and large lam, and L / 2 for logistic loss.

    Location losses know no labels: (-R u) stands against (R u), and the gradients at 0 differ by 2 l'(R) / n.
    """
    X = np.zeros((spec.n, spec.p))
    X[-1] = spec.domain.R / math.sqrt(spec.p)
    if not get_loss(spec.loss).linear:
        return Data(X * -1.0, np.zeros(spec.n)), Data(X, np.zeros(spec.n))
    y = np.full(spec.n, 1.0 if get_loss(spec.loss).classification else spec.domain.y_max)
    return Data(X, np.append(y[:-1], -y[-1])), Data(X, y)
