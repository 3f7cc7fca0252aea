"""Published facts on real deployments, for scale. None of them is a recommendation.

Numbers are those that the owners published, read there or in the deployments registry of OpenDP
(github.com/opendp/deployments-registry-data) and in Desfontaines' list of real-world uses (desfontain.es/blog). They
are not directly comparable: units differ, and budgets that renew add up over time.
"""

import dataclasses as dc
import math
from typing import Any, Literal

from ...accounting.zcdp import zcdp_epsilon
from ...core.facts import facts_beside

Model = Literal["central", "local", "federated"]


@dc.dataclass(frozen=True)
class Deployment:
    """A release, its owner, date and guarantee.

    date: year and month (ISO), or the year. epsilon, delta: of the whole release, or of each period that the unit
    names; delta 0 is pure. unit: what the guarantee protects. model: "central": a curator sees the records; "local":
    each is noised before it leaves its owner; "federated": devices send updates, noise is added to their sum. renews:
    whether it is spent again in each period. note: why it is hard to compare. source, address: of its publication.
    """

    who: str
    what: str
    date: str
    epsilon: float
    delta: float
    unit: str
    model: Model
    renews: bool
    note: str
    source: str
    address: str


def _deployment(row: dict[str, Any]) -> Deployment:
    """Read a row; `rho`-zCDP without an epsilon is converted here."""
    rho, delta = row.pop("rho"), float(row["delta"])
    epsilon = zcdp_epsilon(float(rho), delta) if rho else float(row["epsilon"])
    return Deployment(**row | {"epsilon": epsilon, "delta": delta, "renews": row["renews"] == "yes"})


DEPLOYMENTS = tuple(map(_deployment, facts_beside(__file__, "deployments.csv")))


def nearest_deployments(epsilon: float, most: int = 3) -> tuple[Deployment, ...]:
    """Deployments with the nearest epsilon by ratio, nearest first, of those that compare: one release by a curator.

    >>> [each.epsilon for each in nearest_deployments(1.0)]
    [0.45, 2.47, 9.98]
    """
    found = [each for each in DEPLOYMENTS if each.model == "central" and not each.renews]
    return tuple(sorted(found, key=lambda each: abs(math.log(each.epsilon / epsilon)))[:most])
