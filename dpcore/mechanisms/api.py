"""Programming interface: calibrate a mechanism, release once, read its bounds."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from ..core.arrays import as_matrix
from ..core.losses import get_loss
from ..core.privacy import Bound, Budget, LargeDelta, NotApplicable, told_up
from ..core.records import Data
from ..core.sets import ConvexSet, SetName, get_set
from ..core.specification import Domain, Spec
from ..core.validation import boolean, integer, shown
from ..data import clip_rows
from . import make_mechanism, mechanism_class
from .plan import Plan, Release


def calibrate(
    key: str,
    *,
    n: int,
    p: int,
    epsilon: float,
    delta: float = 0.0,
    loss: str | None = None,
    lam: float | str = "auto",
    R: float = 1.0,
    q: float | None = None,
    y_max: float = 1.0,
    radius: float | None = None,
    theta_norm: float = 10.0,
    set: SetName | ConvexSet | None = None,
    classes: int | None = None,
    accounting: str = "tight",
    **knobs: object,
) -> Plan:
    """Plan of a release: everything public about it, computed from public facts only, without data.

    key: see `list_mechanisms`. n: records, >= 2. p: columns, >= 1. epsilon: finite, > 0. delta: in [0, 1).
    loss: key of a loss; None is the mechanism's usual one, logistic loss for most. classes: C >= 2, the number of
    possible classes, for losses of classes only. lam: regularisation of the *average* loss, >= 0, or a rule: "auto",
    "published" or "population" (see `Spec`). set: the set of models, a name or an object of `dpcore.core.sets`; None is
    the mechanism's own. R: bound on ||x||_q for every record. q: order of that norm, from 1
    to inf; None is the mechanism's own, or that of `set` where it is given: 2 for the L2 ball, the dual order for Lq
    balls and the box, inf (the largest entry) for other sets. y_max: bound on |y|. radius: size of the set (see
    `Spec`); None is everywhere for the L2 ball, and 1 for other sets, which the papers use. theta_norm: public guess of
    a good model's norm, for the L2 ball. accounting, knobs: see the mechanism.

    Raises ValueError for arguments out of range and NotApplicable if no guarantee exists; warns with LargeDelta if the
    guarantee has delta >= 1/n.

    >>> plan = calibrate("output_gaussian", n=1000, p=8, epsilon=1.0, delta=1e-5, lam=0.1)
    >>> round(plan.scale, 6), plan.spent.epsilon, plan.steps
    (0.074613, 1.0, 1)
    >>> calibrate("generalized_gaussian", n=1000, p=8, epsilon=1.0, delta=1e-5, q=3.0).spec.domain.q
    3.0
    """
    mechanism = make_mechanism(key, accounting=accounting, **knobs)
    where = mechanism.set if set is None else set
    own = mechanism.q if set is None else get_set(set).q
    domain = Domain(own if q is None else q, R, y_max)
    loss = mechanism.usual_loss if loss is None else loss
    if (classes is None) == (get_loss(loss).task == "classes"):
        rule = "given" if classes is None else "left out"
        raise ValueError(f"classes must be {rule} for {get_loss(loss).label}, got {shown(classes)}")
    if get_loss(loss).classification and domain.y_max < 1.0:
        raise ValueError(f"y_max must be at least 1 for labels of -1 and +1, got {y_max:g}; leave it at 1")
    facts = (n, p, lam, domain, radius, theta_norm, where, 2 if classes is None else classes)
    spec = Spec(loss, *facts)  # type: ignore[arg-type]
    plan = mechanism.calibrate(spec, Budget(epsilon, delta))
    warn_of_large_delta(n, plan.spent.delta)
    return plan


def warn_of_large_delta(n: int, delta: float) -> None:
    """Warn if delta >= 1/n."""
    if sentence := large_delta(n, delta):
        warn_outside(sentence, LargeDelta)


def warn_outside(sentence: str, category: type[Warning]) -> None:
    """Warn at the line that called dpcore."""
    frame: FrameType | None = sys._getframe()
    level = 1
    while frame and frame.f_globals["__name__"].split(".")[0] == __name__.split(".")[0]:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, category, stacklevel=level)


def large_delta(n: int, delta: float) -> str:
    """Reason why a guarantee with this delta says little about n records; "" if delta < 1/n."""
    if delta < 1.0 / n:
        return ""
    return (
        f"delta = {delta:g} is not below 1/n = {1.0 / n:.3g}: even publishing a record drawn at random would satisfy "
        f"this guarantee; choose delta below 1/n^2 = {1.0 / n**2:.3g}"
    )


def solve(
    key: str,
    X: Any,
    y: Any = None,
    *,
    loss: str | None = None,
    clip: bool = False,
    seed: int | None = None,
    **arguments: Any,
) -> Release:
    """Release one private model.

    X: [n, p] numbers: an array, lists, a data frame or a scipy.sparse matrix, every row within R (refused otherwise).
    y: [n], -1 or +1 for classification, in [-y_max, y_max] for regression, 0 to C - 1 for classes, not used by location
    losses and linear costs, for which it may be left out. clip: scale rows beyond R down to norm R instead, and
    count them in `Release.clipped`. seed: None draws the noise from the operating system's entropy, and only then does
    the guarantee hold; an integer repeats a run, for teaching and tests. arguments: epsilon, and others of `calibrate`.

    Records are refused only for properties of single records. A single class or a constant column is accepted, because
    a refusal that depends on all records together could distinguish neighbours.

    The numbers of theta are rounded to a grid of about a millionth of their noise: exactly for "output_gaussian"
    (`dpcore.mechanisms.noise.exact_gaussian`), after a sum of doubles for others
    (`dpcore.mechanisms.noise.rounding.on_grid`).

    Raises ValueError, NotApplicable, and Unconverged if the solver cannot certify the accuracy that the proof needs;
    warns as `calibrate` does.

    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> release = solve("output_gaussian", X, [1, 1, -1, -1], epsilon=1.0, delta=1e-5, lam=1.0, seed=0)
    >>> release.theta.shape, release.spent.epsilon, release.seeded
    ((2,), 1.0, True)
    """
    if y is None:
        if get_loss(mechanism_class(key).usual_loss if loss is None else loss).labelled:
            raise ValueError(f"y must be given for {key}, got None")
        X = as_matrix(X)
        y = np.zeros(X.shape[:1])
    data = Data(X, y)
    plan = calibrate(key, n=data.n, p=data.p, loss=loss, **arguments)
    return release_once(plan, data, clip=clip, seed=seed)


def release_once(plan: Plan, data: Data, *, clip: bool = False, seed: int | None = None) -> Release:
    """Release one model by a plan; clip, seed and errors as in `solve`.

    A plan whose noise is not that of its ledger (`Plan.weakened`) has no guarantee and is refused; so is a plan that
    spends more than its requested budget.

    >>> data = Data([[1.0, 0.0], [0.0, 2.0]], [1, -1])
    >>> plan = calibrate("output_gamma", n=data.n, p=data.p, epsilon=1.0, lam=1.0)
    >>> release_once(plan, data, clip=True, seed=0).clipped
    1
    """
    return prepared_release(plan, data, clip=clip)(seed)


def prepared_release(plan: Plan, data: Data, *, clip: bool = False) -> Callable[[int | None], Release]:
    """`release_once` up to the noise: what is returned takes a seed, or None, and draws the release.

    All that can refuse the plan or the records has been done by then.
    """
    if plan.scale != plan.ledger[0].scale:
        raise ValueError(
            f"plan must have the noise of its ledger, scale {plan.ledger[0].scale:g}, got scale {plan.scale:g}; "
            "a plan made by Plan.weakened has no guarantee and is for audits and tests"
        )
    if not plan.spent <= plan.requested:
        raise NotApplicable(
            f"{plan.mechanism.key} with these settings spends ({told_up(plan.spent.epsilon)}, "
            f"{told_up(plan.spent.delta)}) where "
            f"({plan.requested.epsilon:g}, {plan.requested.delta:g}) was requested: an exhibit for audits and docs; "
            "nothing is released"
        )
    clipped = 0
    if boolean("clip", clip):
        data, clipped = clip_rows(data, plan.spec.domain.R, plan.spec.domain.q)
    mechanism = plan.mechanism
    prepared = mechanism.prepare(plan, data)
    # Columns that are 0 in every record are released like the others: leaving them out would reveal them.
    prepared = mechanism.padded(prepared, plan.spec.p - data.stored)

    def draw(seed: int | None) -> Release:
        if seed is not None:
            integer("seed", seed, at_least=0)
        theta = mechanism.release_on_grid(plan, prepared, seed)
        return Release(theta, plan, seeded=seed is not None, clipped=clipped)

    return draw


def bounds_of(plan: Plan) -> tuple[Bound, ...]:
    """Bounds that the plan's mechanism states for it.

    >>> plan = calibrate("output_gaussian", n=1000, p=8, epsilon=1.0, delta=1e-5)
    >>> sorted({bound.form for bound in bounds_of(plan)})
    ['lower', 'rate', 'upper']
    """
    return plan.mechanism.bounds(plan)
