"""Learning problem on named records: one value for experiments, studies and pages."""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np

from .. import data as records
from .. import solvers
from ..core.arrays import Array
from ..core.cache import SharedCache
from ..core.cancel import Cancelled
from ..core.losses import LOSSES, get_loss
from ..core.privacy import Budget
from ..core.records import Data
from ..core.sets import SetName
from ..core.specification import Spec
from ..core.validation import integer, positive, shown
from ..solvers.frank_wolfe import vertices
from .base import Mechanism, Prepared
from .output.base import OutputPerturbation
from .plan import Plan, Plans

# In models that are kept: those of all splits and sizes that a page asks for, if they have some hundred columns.
_MOST_NUMBERS = 1_000_000
_REACH = 100.0  # times the source's theta_norm: the length of models over which F* is certified


@dc.dataclass(frozen=True)
class Problem:
    """Records, a loss, and the other public facts of a run, except the mechanism and epsilon.

    source: key of a data set (`dpcore.data.SOURCES`). n: training records, >= 2. p: columns, >= 1. theta_norm: as in
    `dpcore.solve`. None for n, p or theta_norm means the source's own. delta, lam, radius: as in `dpcore.solve`, but
    for sets other than the L2 ball and the simplex a radius of None is theta_norm. loss: of the source's own task
    (classification, regression or location). seed: of the data and the noise, >= 0. Frozen, hashable and picklable.
    Raises ValueError for values outside these rules.

    >>> Problem("synthetic").n, Problem().p
    (5000, 31)
    """

    source: str = "breast_cancer"
    n: int = None  # type: ignore[assignment]  # a number from here on, like p and theta_norm
    p: int = None  # type: ignore[assignment]
    delta: float = 1e-6
    loss: str = "logistic"
    lam: float | str = "auto"
    theta_norm: float = None  # type: ignore[assignment]
    radius: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        info = records.get_source(self.source)
        if get_loss(self.loss).task != info.task:
            fitting = [loss.key for loss in LOSSES.values() if loss.task == info.task]
            raise ValueError(
                f"loss must be a {info.task} loss ({', '.join(fitting)}) for source {self.source!r}, "
                f"got {shown(self.loss)}"
            )
        set_field = object.__setattr__
        set_field(self, "n", integer("n", info.sample_size if self.n is None else self.n, at_least=2))
        set_field(self, "p", integer("p", info.p or 8 if self.p is None else self.p, at_least=1))
        B = info.theta_norm if self.theta_norm is None else self.theta_norm
        set_field(self, "theta_norm", positive("theta_norm", B))
        set_field(self, "seed", integer("seed", self.seed, at_least=0))
        # -0.0 becomes 0.0: equal problems must have equal text.
        set_field(self, "delta", Budget(1.0, self.delta).delta + 0.0)
        spec = Spec(self.loss, self.n, self.p, self.lam, radius=self.radius)  # type: ignore[arg-type]
        set_field(self, "lam", spec.lam)
        set_field(self, "radius", spec.radius)

    def load(self) -> records.Split:
        """Training and test records, from a cache; they must not be changed."""
        return records.load(self.source, self.n, self.p, self.seed)

    def spec(self, mechanism: Mechanism) -> Spec:
        """Specification for a mechanism, with the source's bounds on records in the norm that it uses."""
        domain, radius = self.load().domain.in_norm(mechanism.q, self.p), self.radius
        if radius is None and mechanism.set not in ("ball", "simplex"):
            radius = self.theta_norm
        facts = (self.n, self.p, self.lam, domain, radius, self.theta_norm, mechanism.set)
        return Spec(self.loss, *facts)  # type: ignore[arg-type]

    def plan(self, mechanism: Mechanism, epsilon: float) -> Plan:
        """Plan of the mechanism at this epsilon; raises NotApplicable with the reason if there is none."""
        return mechanism.calibrate(self.spec(mechanism), Budget(epsilon, self.delta))

    def prepared(self, mechanism: Mechanism, plans: Plans, cancelled: Cancelled) -> list[Prepared]:
        """`prepare_many` of the training records; that of one plan of output perturbation from a cache."""
        train, kind = self.load().train, type(mechanism)

        def prepare() -> list[Prepared]:
            return mechanism.prepare_many(plans, train, cancelled)

        if len(plans) > 1 or not isinstance(mechanism, OutputPerturbation):
            return prepare()
        # Noise and idle columns change no minimiser: one serves every law and every p.
        spec, tol = dc.replace(plans[0].spec, p=train.stored), plans[0].tol
        key = (self.source, self.seed, spec, tol, kind.prepare, kind.prepare_many)
        return records.kept_with(self.source, _PREPARED).get_unless(cancelled, key, prepare)

    def reference(self) -> solvers.Minimum:
        """F*, above which excess risk is measured, on the training records, from a cache: the infimum over the source's
        set of models, over the L2 ball of `radius`, or without either over all theta."""
        where, size = self._models()
        return self._least((self.radius or math.inf) if where == "ball" else size)

    def comparator(self) -> solvers.Minimum:
        """The best model with which upper bounds compare, on the training records, from a cache: `best` of them.

        `reference` itself if that is attained within the ball of theta_norm.
        """
        size, least = self._models()[1], self.reference()
        within = least.attained and (least.radius <= size or np.linalg.norm(least.theta) <= size)
        return least if within else self._least(size)

    def _least(self, size: float) -> solvers.Minimum:
        where, _ = self._models()
        # Idle columns change no risk in a ball: one minimum serves every p beyond the source's own columns.
        p = (where == "ball" and records.get_source(self.source).p) or self.p
        key = (self.source, self.n, p, self.seed, self.loss, where, size)
        kept = records.kept_with(self.source, _REFERENCES)
        return kept.get(key, lambda: self._minimum(records.load(self.source, self.n, p, self.seed).train, size))

    @property
    def cross_validated(self) -> bool:
        """True for a data set whose models live in a ball: nobody knows there how large the best one is. The ball of a
        synthetic source is known to hold the best model of its law."""
        return self._models()[0] == "ball" and records.get_source(self.source).size is not None

    def learner(self, data: Data | None = None) -> Array:
        """Model [r] without privacy with which the accuracy of private ones is compared, learned from `data`: records
        of this problem, by default its training records.

        Where `cross_validated`, it has the penalty that cross-validation chooses on the training records, elsewhere it
        is `best`. Beyond a real source's size the training records are copies, and the penalty is that of the source's
        own, in proportion to the number of records. Whatever is learned here is outside the privacy guarantee.
        """
        if not self.cross_validated:
            return (self.comparator() if data is None else self.best(data)).theta
        if data is None:
            key = (self.source, self.n, self.p, self.seed, get_loss(self.loss).task)
            return records.kept_with(self.source, _LEARNERS).get(key, lambda: self.learner(self.load().train))
        penalty, size = self._penalty(), records.get_source(self.source).size
        assert size is not None
        copied = dc.replace(penalty, weight=penalty.weight * max(1.0, data.n / size))
        return solvers.penalised(get_loss(self.loss), data, copied)

    def _penalty(self) -> solvers.Penalty:
        """Chosen on the training records, beyond a real source's size on those of which they are copies."""
        loss, n = get_loss(self.loss), min(self.n, records.get_source(self.source).sample_size)
        key, kept = (self.source, n, self.p, self.seed, loss.task), records.kept_with(self.source, _PENALTIES)
        return kept.get(key, lambda: solvers.choose_penalty(loss, dc.replace(self, n=n).load().train))

    def best(self, data: Data) -> solvers.Minimum:
        """Smallest F over the L2 ball of theta_norm (of `radius` if that is smaller), or over the source's set of good
        models, and the model that attains it, certified.

        data: any records of this problem.
        """
        return self._minimum(data, self._models()[1])

    def _minimum(self, data: Data, size: float) -> solvers.Minimum:
        loss, (where, _) = get_loss(self.loss), self._models()
        if where == "simplex":
            return solvers.minimise_on_simplex(loss, data, size)
        if where == "l1_ball":
            return solvers.minimise_on_l1_ball(vertices.risk_of(loss, data), size)
        if math.isfinite(size):
            return solvers.minimise_in_ball(loss, data, size)
        return solvers.infimum(loss, data, _REACH * records.get_source(self.source).theta_norm)

    def _models(self) -> tuple[SetName, float]:
        named = records.get_source(self.source).set
        if named == "simplex":
            return named, self.radius or 1.0
        if named == "l1_ball" and math.isfinite(get_loss(self.loss).curvature_bound):
            return named, self.radius or self.theta_norm
        return "ball", min(self.theta_norm, self.radius or math.inf)


_PREPARED: SharedCache[list[Prepared]] = SharedCache(_MOST_NUMBERS, lambda prepared: len(prepared[0].theta))
_REFERENCES: SharedCache[solvers.Minimum] = SharedCache(_MOST_NUMBERS, lambda found: len(found.theta))
_LEARNERS: SharedCache[Array] = SharedCache(_MOST_NUMBERS, len)
_PENALTIES: SharedCache[solvers.Penalty] = SharedCache(1_000)
