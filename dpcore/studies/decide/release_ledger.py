"""Ledger of the releases from one file: what each cost, and the total that is proved for one person.

It is JSON that holds no record and no fact of one: budgets, mechanisms and numbers of rows, which are public.
"""

from __future__ import annotations

import dataclasses as dc
import json
import math
from datetime import UTC, datetime

from ...accounting.gaussian import gaussian_epsilon, gaussian_mu
from ...accounting.releases import Cost, least_epsilon
from ...accounting.tradeoff import PureCurve
from ...accounting.zcdp import zcdp_epsilon, zcdp_rho
from ...core.privacy import Budget, added_up, composed
from ...core.validation import integer, positive, shown
from ...mechanisms.plan import Plan
from .repeated_releases import MOST_RECORDS, guarantee_alone

_SAME = 1e-6  # relative: rounding to the safe side leaves no more between two numbers of one guarantee


@dc.dataclass(frozen=True)
class LedgerEntry:
    """A release that was begun.

    when: in UTC, ISO 8601. plan: fingerprint of the signed plan, "" for none. rows: that were learned from.
    records_per_person: at most, as declared. epsilon, delta: spent on one record. gdp, rho: of the Gaussian guarantee
    and of the zCDP that are proved of it, by which releases compose; None where neither is known.
    """

    when: str
    plan: str
    mechanism: str
    rows: int
    records_per_person: int
    epsilon: float
    delta: float
    gdp: float | None
    rho: float | None

    def __post_init__(self) -> None:
        for name in ("when", "plan", "mechanism"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a text, got {shown(getattr(self, name))}")
        datetime.fromisoformat(self.when)
        for name in ("rows", "records_per_person"):
            integer(name, getattr(self, name), at_least=1)
        if self.records_per_person > MOST_RECORDS:
            raise ValueError(f"records_per_person must be at most {MOST_RECORDS}, got {self.records_per_person:,}")
        spent = Budget(self.epsilon, self.delta)
        for name, cost in (("gdp", self.gdp), ("rho", self.rho)):
            if cost is not None and positive(name, cost) < (1 - _SAME) * _least(name, spent):
                raise ValueError(f"{name} must be enough for epsilon = {spent.epsilon:g}, got {cost:g}")

    @classmethod
    def of(cls, plan: Plan, fingerprint: str = "", records_per_person: int = 1) -> LedgerEntry:
        """Entry of a release by this plan that begins now."""
        curve, spent = plan.mechanism.claimed_curve(plan), plan.spent
        gdp, rho = (cost if math.isfinite(cost) else None for cost in (curve.gdp, curve.rho))
        when = datetime.now(UTC).isoformat(timespec="milliseconds")
        facts = (plan.mechanism.key, plan.spec.n, records_per_person, spent.epsilon, spent.delta)
        return cls(when, fingerprint, *facts, gdp, rho)


@dc.dataclass(frozen=True)
class ReleaseLedger:
    """Releases from the file of this name, in the order in which they began."""

    file: str
    releases: tuple[LedgerEntry, ...] = ()

    @classmethod
    def read(cls, content: bytes, name: str) -> ReleaseLedger:
        """Ledger from JSON as `to_json` writes it; else ValueError, naming the part. name: of the file."""
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or set(found) != {"file", "releases"} or not isinstance(found["file"], str):
            raise ValueError(f"{name} must be a ledger of releases, as the command line writes it, got another file")
        if not isinstance(found["releases"], list):
            raise ValueError(f"{name} must list its releases, got {shown(found['releases'])}")
        entries = []
        for number, each in enumerate(found["releases"], 1):
            try:
                entries.append(LedgerEntry(**each))
            except (ValueError, TypeError) as error:
                raise ValueError(f"release {number} in {name} must be as the command line writes it: {error}") from None
        return cls(found["file"], tuple(entries))

    def to_json(self) -> str:
        """The ledger as JSON, a release on a line."""
        lines = ",\n  ".join(json.dumps(dc.asdict(each), allow_nan=False) for each in self.releases)
        return f'{{"file": {json.dumps(self.file)}, "releases": [\n  {lines}\n]}}\n'

    def total(self) -> Budget | None:
        """Privacy spent on one person by all releases; each, but for its cost, may be chosen after seeing earlier ones.

        By `least_epsilon` at the sum of their deltas. A person has as many records as the release that allows most.
        None where no guarantee is left.

        >>> one = LedgerEntry("2026-01-31T12:00:00+00:00", "", "output_gamma", 100, 1, 0.1, 0.0, None, None)
        >>> ReleaseLedger("people.csv", (one,) * 10).total()
        Budget(epsilon=1.0000000000000002, delta=0.0)
        """
        records = max((each.records_per_person for each in self.releases), default=1)
        alone = [_alone(each, records) for each in self.releases]
        costs = [cost for cost in alone if cost is not None]
        if not costs or len(costs) < len(alone) or added_up(cost.delta for cost in costs) >= 1.0:
            return None
        known = [Cost(cost, *_for_person(each, records)) for each, cost in zip(self.releases, costs, strict=True)]
        delta = composed(costs).delta
        return Budget(least_epsilon(known, delta), delta)


def _least(name: str, spent: Budget) -> float:
    """Least mu or rho with which a release can spend so much; of many pure choices, rho is as small as you like."""
    if spent.pure:
        return PureCurve(spent.epsilon).gdp if name == "gdp" else 0.0
    return gaussian_mu(spent) if name == "gdp" else zcdp_rho(spent)


def _alone(entry: LedgerEntry, records: int) -> Budget | None:
    """Cost of one release for a person with so many records, at delta as spent where it can be."""
    spent = Budget(entry.epsilon, entry.delta)
    known = guarantee_alone(spent, 1, records)
    if records == 1 or spent.pure:
        return known
    gdp, rho = _for_person(entry, records)
    better = [gaussian_epsilon(gdp, spent.delta)] if entry.gdp is not None else []
    better += [zcdp_epsilon(rho, spent.delta)] if entry.rho is not None else []
    return Budget(min(better), spent.delta) if better else known


def _for_person(entry: LedgerEntry, records: int) -> tuple[float, float]:
    """mu and rho of one release for a person with so many records, inf for none."""
    gdp, rho = (math.inf if cost is None else cost for cost in (entry.gdp, entry.rho))
    return records * gdp, records**2 * rho
