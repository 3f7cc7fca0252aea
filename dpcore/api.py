"""The programmatic face: calibrate a mechanism, release once, read its bounds."""

from __future__ import annotations

from typing import cast

import numpy as np

from .mechanisms import Mechanism, make_mechanism
from .types import Array, Bound, Budget, Data, Domain, Plan, Release, Spec, integer


def calibrate(
    key: str,
    *,
    n: int,
    p: int,
    epsilon: float,
    delta: float = 0.0,
    loss: str = "logistic",
    lam: float | str = "auto",
    R: float = 1.0,
    y_max: float = 1.0,
    radius: float | None = None,
    theta_norm: float = 10.0,
    accounting: str = "tight",
    **knobs: object,
) -> Plan:
    """Everything public about a release, from public facts only: no data is seen.

    key: see `list_mechanisms`. n: records, >= 2. p: columns, >= 1. epsilon: finite, > 0. delta: in [0, 1).
    loss: key of a loss. lam: regularisation of the *average* loss, > 0, or "auto" (a rule of the
    mechanism). R: bound on ||x||_2. y_max: bound on |y|. radius: of a constraint set, None for none.
    theta_norm: public guess of ||theta*|| where a bound needs one. accounting, knobs: see the mechanism.

    Raises ValueError for arguments out of range and NotApplicable where no guarantee exists.

    >>> plan = calibrate("output_gaussian", n=1000, p=8, epsilon=1.0, delta=1e-5, lam=0.1)
    >>> round(plan.scale, 6), plan.spent.epsilon, plan.steps
    (0.074613, 1.0, 1)
    """
    spec = Spec(loss, n, p, lam, Domain(R=R, y_max=y_max), radius, theta_norm)  # type: ignore[arg-type]
    return make_mechanism(key, accounting=accounting, **knobs).calibrate(spec, Budget(epsilon, delta))


def solve(
    key: str,
    X: Array,
    y: Array | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    loss: str = "logistic",
    lam: float | str = "auto",
    R: float = 1.0,
    y_max: float = 1.0,
    radius: float | None = None,
    theta_norm: float = 10.0,
    accounting: str = "tight",
    seed: int | None = None,
    **knobs: object,
) -> Release:
    """Release one private parameter vector.

    X: [n, p], every row with ||x||_2 <= R (refused otherwise, never clipped). y: [n], -1 or +1 for classification.
    seed: None draws the noise from the operating system's entropy, and only then does the release carry
    its promise; an integer repeats a run, for teaching and tests. Other arguments as in `calibrate`.

    Raises ValueError, NotApplicable, and Unconverged where the solver cannot certify what the proof needs.

    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> release = solve("output_gaussian", X, [1, 1, -1, -1], epsilon=1.0, delta=1e-5, lam=1.0, seed=0)
    >>> release.theta.shape, release.spent.epsilon, release.seeded
    ((2,), 1.0, True)
    """
    if y is None:
        raise ValueError(f"y must be given for {key}, got None")
    if seed is not None:
        integer("seed", seed, at_least=0)
    data = Data(X, y)
    plan = calibrate(
        key,
        n=data.n,
        p=data.p,
        epsilon=epsilon,
        delta=delta,
        loss=loss,
        lam=lam,
        R=R,
        y_max=y_max,
        radius=radius,
        theta_norm=theta_norm,
        accounting=accounting,
        **knobs,
    )
    mechanism = cast(Mechanism, plan.mechanism)
    theta = mechanism.release(plan, mechanism.prepare(plan, data), np.random.default_rng(seed))
    return Release(theta, plan, seeded=seed is not None)


def bounds_of(plan: Plan) -> tuple[Bound, ...]:
    """Every bound that the plan's mechanism knows for it.

    >>> plan = calibrate("output_gaussian", n=1000, p=8, epsilon=1.0, delta=1e-5)
    >>> sorted({bound.form for bound in bounds_of(plan)})
    ['rate', 'upper']
    """
    return plan.mechanism.bounds(plan)
