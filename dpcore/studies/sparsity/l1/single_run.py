"""One private run on the L1 ball, vertex by vertex."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
from numpy.typing import NDArray

from ....core.arrays import Array
from ....core.cache import shared
from ....mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from ....mechanisms.frank_wolfe.vertex_runs import descend
from ....mechanisms.plan import Plan
from ....solvers.frank_wolfe import vertices as fw
from .data import Setting, truth


@dc.dataclass(frozen=True)
class Path:
    """The vertices of one run, and the model that they make.

    columns, signs: [T - 1], vertex t is sign * e_column; columns from `stored` on are zero in every record. truth:
    [stored]. share: [T - 1], how much of theta_T each vertex makes up. excess: of theta_T.
    """

    plan: Plan
    columns: NDArray[np.int64]
    signs: Array
    share: Array
    truth: Array
    excess: float

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which vertices are features that matter, with their sign; [T - 1]."""
        stored = self.columns < len(self.truth)
        there = np.where(stored, self.truth[np.minimum(self.columns, len(self.truth) - 1)], 0.0)
        return there * self.signs > 0

    @property
    def found(self) -> int:
        """How many features that matter were chosen at least once, with their sign."""
        return len(set(self.columns[self.right].tolist()))


@shared(64)
def path(setting: Setting, *, n: int, p: int, T: int | str) -> Path:
    """The first run of `against_T` at this T. Raises NotApplicable where there is no plan.

    >>> setting = Setting(epsilon=1.0, delta=1e-6, radius=1.0, accounting="tight", seed=7)
    >>> walked = path(setting, n=5_000, p=64, T=12)
    >>> len(walked.columns), bool(walked.share.sum() < 1.0)
    (11, True)
    """
    here = setting.instance(n, p)
    plan = FrankWolfePolytope(setting.accounting, T).calibrate(here.spec, setting.budget)
    runs, chosen = descend([plan], here.risk, setting.generators(plan.mechanism.key)[:1])
    theta = fw.models(chosen, runs, setting.radius, np.zeros(here.stored), here.stored)[0]
    ends = runs[0].T * (runs[0].T + 1.0)
    return Path(
        plan,
        chosen.columns[0],
        chosen.signs[0],
        share=np.arange(4.0, 2.0 * runs[0].T + 2.0, 2.0) / ends,
        truth=truth(here.stored, setting.seed),
        excess=float(here.risk.values(theta)) - here.best,
    )
