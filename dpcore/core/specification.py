"""Central value types: public facts in, plans and releases out.

Everything here is frozen, hashable (except `Data` and `Release`, which hold arrays), picklable and
free of data-dependent behaviour. Neighbouring data sets differ by *replacing one record* everywhere.
"""

from __future__ import annotations

import dataclasses as dc
import functools
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from .arrays import Array as Array
from .arrays import as_matrix as as_matrix
from .arrays import column_sums, filled_columns, float_array, sparse_norms
from .sets import SETS as SETS
from .sets import ConvexSet, dual_order, get_set, length, widening
from .sets import SetName as SetName
from .validation import check_real, integer, norm_order, positive, shown

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NoiseLaw = Literal["gaussian", "gamma", "gumbel", "laplace", "generalized_gaussian"]
LamRule = Literal["auto", "published", "population"]
LAM_RULES = get_args(LamRule)
Sampling = Literal["all", "poisson", "uniform"]


class NotApplicable(ValueError):
    """The mechanism has no guarantee for this problem and budget; the message says why."""


class BudgetExceeded(ValueError):
    """A second release was asked for where the caller has agreed to pay for one."""


class LargeDelta(UserWarning):
    """A guarantee has delta >= 1/n, which even publishing a record drawn at random would satisfy."""


class Unconverged(RuntimeError):
    """A solver could not certify the accuracy that the privacy proof needs; nothing was released."""


@dc.dataclass(frozen=True)
class Budget:
    """A privacy budget (epsilon, delta) for replace-one neighbours.

    epsilon: finite, > 0. delta: in [0, 1); 0 means pure differential privacy.

    >>> Budget(1.0).pure, Budget(1.0, 1e-6) <= Budget(2.0, 1e-6)
    (True, True)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        delta = check_real("delta", self.delta, "in [0, 1)", lambda v: 0 <= v < 1)
        object.__setattr__(self, "delta", delta)

    @property
    def pure(self) -> bool:
        return self.delta == 0.0

    def __le__(self, other: Budget) -> bool:
        """Componentwise: spending `self` never exceeds `other`."""
        return self.epsilon <= other.epsilon and self.delta <= other.delta


@dc.dataclass(frozen=True)
class Domain:
    """The public promise about every record: ||x||_q <= R and |y| <= y_max.

    q: norm order, from 1 to inf. R, y_max: finite, > 0.
    """

    q: float = 2.0
    R: float = 1.0
    y_max: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", norm_order("q", self.q))
        object.__setattr__(self, "R", positive("R", self.R))
        object.__setattr__(self, "y_max", positive("y_max", self.y_max))

    @property
    def dual(self) -> float:
        """The order of the dual norm, q / (q - 1): 2 for q = 2, 1 for q = inf."""
        return dual_order(self.q)

    def implied(self, q: float, p: int) -> Domain:
        """What this promise means in the norm of order q for records of p columns.

        ||x||_b <= ||x||_a <= p^(1/a - 1/b) ||x||_b for a <= b, and both can be attained.

        >>> import math
        >>> Domain(q=math.inf, R=0.5).implied(2.0, p=16).R
        2.0
        """
        return dc.replace(self, q=q, R=widening(q, self.q, p) * self.R)


@dc.dataclass(frozen=True)
class Spec:
    """The public facts of one empirical risk minimisation; it holds no data.

    set "ball": J(theta) = (1/n) sum_i loss(<x_i, theta>; y_i) + (lam/2) ||theta||_2^2, minimised over R^p, or over the
    L2 ball of `radius` where that is set. set "simplex": theta = radius w with w >= 0 and sum_j w_j = 1 (radius None is
    1), and J(theta) = (1/n) sum_i loss(<x_i, theta>; y_i) + lam sum_j w_j ln w_j. Any other set of `dpcore.core.sets`,
    by name or as an object: theta in radius times the set (radius None is theta_norm).

    loss: key of a loss in `dpcore.core.losses`. n: records, >= 2. p: columns, >= 1. classes: C >= 2 for losses of
    classes, where theta is a symmetric matrix for each class, in the place of a vector; others do not use it.
    lam: >= 0, or a rule that each mechanism resolves without seeing data: "auto" (good accuracy at every epsilon),
    "published" (the source's) or "population" (which minimises the Lipschitz form of the bound on fresh records). Only
    mechanisms that perturb gradients take 0, no regularisation.
    theta_norm: B > 0, a public guess of the norm of a good model: bounds compare with the best model of that norm, and
    every rule for lam depends on it.
    """

    loss: str
    n: int
    p: int
    lam: float | LamRule = "auto"
    domain: Domain = Domain()
    radius: float | None = None
    theta_norm: float = 10.0
    set: SetName | ConvexSet = "ball"
    classes: int = 2

    def __post_init__(self) -> None:
        get_set(self.set)
        object.__setattr__(self, "classes", integer("classes", self.classes, at_least=2))
        object.__setattr__(self, "n", integer("n", self.n, at_least=2))
        object.__setattr__(self, "p", integer("p", self.p, at_least=1))
        if not isinstance(self.lam, str):
            lam = check_real("lam", self.lam, "a finite number >= 0", lambda v: v >= 0)
            object.__setattr__(self, "lam", positive("lam", lam) if lam else 0.0)
        elif self.lam not in LAM_RULES:
            rule = f"a finite number >= 0 or one of {', '.join(LAM_RULES)}"
            raise ValueError(f"lam must be {rule}, got {shown(self.lam)}")
        if self.radius is not None:
            object.__setattr__(self, "radius", positive("radius", self.radius))
        object.__setattr__(self, "theta_norm", positive("theta_norm", self.theta_norm))

    @property
    def shape(self) -> ConvexSet:
        """The set at size 1."""
        return get_set(self.set)

    @property
    def size(self) -> float | None:
        """What the set is scaled by; None for models anywhere in R^p."""
        if self.radius is not None or self.set == "ball":
            return self.radius
        return 1.0 if self.set == "simplex" else self.theta_norm

    @property
    def reach(self) -> float | None:
        """The largest ||theta|| in the norm dual to the records', L2 or L1, so that |<x, theta>| <= R reach; or None.

        >>> import math
        >>> Spec("squared", n=10, p=4, domain=Domain(q=math.inf), radius=3.0, set="l1_ball").reach
        3.0
        """
        return None if self.size is None else self.size * self.shape.norm(self.domain.dual, self.p)


@dc.dataclass(frozen=True)
class Data:
    """Records as arrays: X float64 [n, r], C-contiguous or scipy.sparse CSR; y float64 [n].

    p: columns of the problem, >= r; 0 means r. Columns beyond those of X are zero in every record and are not stored.
    Construction copies nothing that already has this form and refuses what is not a finite table; the arrays must not
    be changed afterwards.
    Whether the records keep the promise of a `Domain` is checked by `check_domain`.
    """

    X: Array | csr_array
    y: Array
    p: int = 0

    def __post_init__(self) -> None:
        X = as_matrix(self.X)
        y = float_array("y", self.y)
        if X.ndim != 2 or X.shape[0] < 2 or X.shape[1] < 1:
            raise ValueError(f"X must have shape (n >= 2, p >= 1), got {X.shape}")
        if y.shape != X.shape[:1]:
            raise ValueError(f"y must have shape ({X.shape[0]},) to match X, got {y.shape}")
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "p", integer("p", self.p or X.shape[1], at_least=X.shape[1]))

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def active(self) -> int:
        """r: the columns that are stored; every other column is zero."""
        return self.X.shape[1]

    @property
    def sparse(self) -> bool:
        return not isinstance(self.X, np.ndarray)

    @functools.cached_property
    def row_norms(self) -> Array:
        """||x_i||_2, shape [n], inf where it is too large for a float; computed once."""
        with np.errstate(over="ignore"):
            if isinstance(self.X, np.ndarray):
                return np.linalg.norm(self.X, axis=1)
            return sparse_norms(self.X, 2.0)

    def norms(self, q: float) -> Array:
        """||x_i||_q for q from 1 to inf, shape [n]."""
        if q == 2.0:
            return self.row_norms
        if isinstance(self.X, np.ndarray):
            return length(self.X, q)[:, 0]
        return sparse_norms(self.X, q)

    @functools.cached_property
    def gram(self) -> Array:
        """X'X / n, shape [r, r]; computed once, since moving lam or epsilon does not change it."""
        gram = self.X.T @ self.X
        return (gram if isinstance(gram, np.ndarray) else gram.toarray()) / self.n

    @functools.cached_property
    def by_columns(self) -> Any:
        """X of sparse records as CSC, computed once."""
        return self.X.tocsc()  # type: ignore[union-attr]

    @functools.cached_property
    def masses(self) -> Array:
        """sum_i |x_ij| of each stored column, [r], of sparse records; computed once."""
        return column_sums(self.X, np.abs)

    @property
    def filled(self) -> tuple[NDArray[np.intp] | slice, Data]:
        """Which stored columns of sparse records have an entry, and the records on these alone; computed once.

        slice(None) and the records themselves where every column has one, and for a table. The values are shared;
        records without any entry keep their first column.

        >>> from scipy.sparse import csr_array
        >>> columns, records = Data(csr_array([[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 3.0]]), [1.0, -1.0]).filled
        >>> columns.tolist(), records.X.toarray().tolist(), records.p
        ([1, 3], [[1.0, 2.0], [0.0, 3.0]], 4)
        """
        return self._fewer or (slice(None), self)

    @functools.cached_property
    def _fewer(self) -> tuple[NDArray[np.intp], Data] | None:
        """`filled` where that is fewer columns; records that kept themselves here would stay in memory."""
        few = None if isinstance(self.X, np.ndarray) else filled_columns(self.X)
        if few is None:
            return None
        # Made without the checks that these entries have passed.
        fewer = object.__new__(Data)
        for field, value in (("X", few[1]), ("y", self.y), ("p", self.p)):
            object.__setattr__(fewer, field, value)
        return few[0], fewer

    @functools.cached_property
    def single(self) -> Any:
        """X in single precision, computed once: products with it take a half to a quarter of the time.

        A table lies in memory column by column, so that few columns are quickly at hand.
        """
        if isinstance(self.X, np.ndarray):
            return self.X.astype(np.float32, order="F")
        return type(self.X)((self.X.data.astype(np.float32), self.X.indices, self.X.indptr), shape=self.X.shape)

    def margins(self, thetas: Array) -> Array:
        """<x_i, theta_k> for thetas [k, r], shape [k, n], C-contiguous."""
        if isinstance(self.X, np.ndarray):
            return thetas @ self.X.T
        return np.ascontiguousarray((self.X @ thetas.T).T)

    def check_rows(self, domain: Domain) -> None:
        """Raise ValueError when a row of X breaks the public promise; nothing is clipped."""
        norms = self.norms(domain.q)
        # Scaling rows to norm R exactly leaves a few ulps; they do not change a sensitivity visibly.
        beyond = int(np.count_nonzero(norms > domain.R * (1 + 1e-12)))
        if beyond:
            raise ValueError(
                f"X must have ||x||_{domain.q:g} <= R = {domain.R:g} in every row, got {beyond} of {self.n} rows "
                f"beyond it, the longest by {norms.max() / domain.R - 1:.3g} R; scale such rows down to R (clip=True, "
                "or --clip), scale all rows by a public constant, or raise R"
            )

    def check_domain(self, domain: Domain) -> None:
        """Raise ValueError when a record breaks the public promise; nothing is clipped."""
        self.check_rows(domain)
        if np.abs(self.y).max() > domain.y_max * (1 + 1e-12):
            raise ValueError(
                f"y must lie in [-{domain.y_max:g}, {domain.y_max:g}], got {np.abs(self.y).max():.17g}; clip y to "
                "these public bounds or raise y_max"
            )


@dc.dataclass(frozen=True)
class Event:
    """One line of the privacy ledger: `times` uses of `noise` with this scale and sensitivity.

    scale and sensitivity share a unit (that of the noised vector), so `scale / sensitivity` is the
    noise multiplier that accounting works with. charge: privacy loss that comes on top of the noise's (objective
    perturbation's change of variables). sampling, rate: which records enter each use: "all"; each on its own with
    probability `rate` ("poisson"); or a single one drawn uniformly, rate = 1 / n ("uniform").
    """

    noise: NoiseLaw
    scale: float
    sensitivity: float
    times: int = 1
    charge: float = 0.0
    sampling: Sampling = "all"
    rate: float = 1.0


@dc.dataclass(frozen=True)
class Descent:
    """How a model descends from 0: theta_t = Proj(theta_{t-1} - eta_t (noisy gradient at theta_{t-1})).

    step: eta_t, or eta_t sqrt(t) where it is `decaying`. first: the release is the mean of theta_first to theta_steps,
    where theta_0 = 0; first = steps is the last alone.
    """

    step: float
    decaying: bool
    first: int


class Planner(Protocol):
    """What a plan knows of the mechanism that made it (see `dpcore.mechanisms.base.Mechanism`)."""

    @property
    def key(self) -> str: ...

    def bounds(self, plan: Plan) -> tuple[Bound, ...]: ...

    def attack_limit(self, plan: Plan) -> float: ...

    def gradients(self, plan: Plan) -> int: ...


@dc.dataclass(frozen=True)
class Plan:
    """A calibrated mechanism: everything that is public about a release before any data is seen.

    mechanism: the registered mechanism (a frozen dataclass: key and knobs).
    spec: the problem with `lam` resolved to a number.
    requested, spent: the budget asked for and the budget the noise really costs. spent <= requested, except where a
    published proof is wrong: such a plan is an exhibit and `dpcore.solve` refuses it.
    ledger: the privacy events. steps: noisy steps (1 for output perturbation).
    scale: the noise's own scale parameter as it is added, in J's normalisation: for output perturbation the standard
    deviation of each coordinate (gaussian), or s in the density exp(-||b|| / s) (gamma); for objective perturbation the
    same of the linear term that is added to J; for gradient perturbation the same of each step's noise.
    tol: certified distance ||theta - theta_hat|| below which an inexact minimiser may be released. descent: how the
    steps go, for gradient perturbation.
    """

    mechanism: Planner
    spec: Spec
    requested: Budget
    spent: Budget
    ledger: tuple[Event, ...]
    steps: int
    noise: NoiseLaw
    scale: float
    tol: float
    descent: Descent | None = None

    def weakened(self, factor: float) -> Plan:
        """A deliberately broken copy with `factor` times the noise: tests and audits must catch it."""
        return dc.replace(self, scale=positive("factor", factor) * self.scale)


@dc.dataclass(frozen=True)
class Bound:
    """One proved statement about a mechanism's risk.

    quantity: what is bounded, a metric name of the experiment table.
    form: "upper" and "lower" have explicit constants and must hold; "rate" is a shape only.
    holds: in "expectation" over the noise, or for the "probability" that the text names.
    source: paper, theorem; assumes: what must be true for the statement.
    """

    quantity: str
    form: Literal["upper", "lower", "rate"]
    value: float
    holds: Literal["expectation", "probability"]
    source: str
    assumes: str


@dc.dataclass(frozen=True)
class Release:
    """A released model and the promise it carries.

    theta: [p], or [C, p + 1, p + 1] for classes. plan: how it was made; spent: its price. seeded: True when the caller
    chose the seed; whoever knows the seed knows the noise, so only `seeded=False` carries the promise. clipped: how
    many rows were scaled down to norm R; the count comes from the records without noise, so it is not private: do not
    publish it.
    """

    theta: Array
    plan: Plan
    seeded: bool
    clipped: int = 0

    @property
    def spent(self) -> Budget:
        return self.plan.spent
