"""Attack success at 50:50: the limit for any mechanism with this guarantee, the limit for this one, and what an attack
of our own reached."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterator
from typing import ClassVar

from ..accounting.attack_limits import attack_cap
from ..core.cache import SharedCache
from ..core.cancel import Cancelled, go_on, never
from ..core.chunks import ChunkSizer
from ..mechanisms.base import AdditiveMechanism
from ..mechanisms.plan import Plan
from .certificates import lower_bound
from .game import Audit

RUNS = 20_000
# Each run of a mechanism that is no sum solves a problem of its own.
FEW_RUNS = 1_000
_CHUNK_SECONDS = 0.15
_ERROR = 0.001
_ODDS: SharedCache[AttackSuccess] = SharedCache(256)


@dc.dataclass(frozen=True)
class AttackSuccess:
    """Shares of right guesses where a coin has put one of two neighbours into the data; a coin's own guess has 1/2.

    cap: what (epsilon, delta) allows the best mechanism for attackers. limit: what this mechanism allows. right: what
    our attack reached in `runs` runs of the real code, on the worst two data sets that we know for the loss. certified:
    a lower bound on what it reaches, with 99.9% confidence and never below 1/2. certified <= limit <= cap, unless the
    code is not what it claims.
    """

    cap: float
    limit: float
    right: float
    certified: float
    runs: int

    @property
    def of_100(self) -> tuple[int, int, int]:
        """certified, limit and cap as whole numbers of 100, each to its safe side.

        >>> AttackSuccess(cap=0.7311, limit=0.55, right=0.536, certified=0.5299, runs=20_000).of_100
        (52, 55, 74)
        """
        # Nine digits: no rounding error may make 56 of 0.55.
        certified, limit, cap = (round(100.0 * share, 9) for share in (self.certified, self.limit, self.cap))
        return math.floor(certified), math.ceil(limit), math.ceil(cap)


def attack_success(plan: Plan, *, runs: int = RUNS, seed: int = 0) -> AttackSuccess:
    """Attack success of a plan, from a cache; arguments and errors as in `run_audit`.

    >>> from dpcore import calibrate
    >>> plan = calibrate("output_gaussian", n=1000, p=4, epsilon=1.0, delta=1e-5, loss="huber_hinge", lam=1.0)
    >>> found = attack_success(plan)
    >>> 0.5 <= found.certified <= found.limit <= found.cap
    True
    """

    def compute() -> AttackSuccess:
        audit = Audit(plan, seed=seed)
        audit.play(runs)
        return attack_success_after(audit)

    return _ODDS.get((plan, runs, seed), compute)


def attack_success_after(audit: Audit) -> AttackSuccess:
    """The success that an attack has shown; how many runs it has must have been fixed beforehand."""
    plan, right = audit.plan, audit.scores.right
    certified = max(0.5, float(lower_bound(right, audit.runs, _ERROR)))
    return AttackSuccess(
        attack_cap(plan.spent), plan.mechanism.attack_limit(plan), right / audit.runs, certified, audit.runs
    )


@dc.dataclass(frozen=True)
class Attack:
    """How far an attack is. runs: played by now. odds: its success, None before the last of them."""

    runs: int
    odds: AttackSuccess | None


@dc.dataclass(frozen=True)
class AttackSuccessQuestion:
    """How often is an attacker right against `plan`? seed: of the attack."""

    plan: Plan
    seed: int
    source: ClassVar[None] = None  # the attacker's records are made up from public facts

    @property
    def runs(self) -> int:
        """How many an answer needs."""
        return RUNS if isinstance(self.plan.mechanism, AdditiveMechanism) else FEW_RUNS

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[Attack]:
        """About each quarter of the attack; the last snapshot has its success, from the cache of `attack_success`.

        cancelled: asked before each chunk; when it says yes, CancelledError is raised.
        """
        asked = self.plan, self.runs, self.seed
        if asked not in _ODDS:
            audit, chunks, so_far = Audit(self.plan, seed=self.seed), ChunkSizer(_CHUNK_SECONDS), Attack(0, None)
            while audit.runs < self.runs:
                go_on(cancelled)
                with chunks.measured():
                    audit.play(min(chunks.runs, self.runs - audit.runs))
                if audit.runs - so_far.runs >= self.runs / 4:  # each new snapshot has a page drawn again
                    so_far = Attack(audit.runs, None)
                yield so_far
            _ODDS.get(asked, lambda: attack_success_after(audit))
        yield Attack(self.runs, attack_success(self.plan, runs=self.runs, seed=self.seed))
