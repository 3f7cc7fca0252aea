"""Attack success at 50:50: the limit for any mechanism with this guarantee, the limit for this one, and the share that
an attack of ours reached."""

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
# Where noise is not added to an answer, every run solves its own optimisation problem.
FEW_RUNS = 1_000
_CHUNK_SECONDS = 0.15
_ERROR = 0.001
_FOUND: SharedCache[AttackSuccess] = SharedCache(256)


@dc.dataclass(frozen=True)
class AttackSuccess:
    """Shares of right guesses by an attacker who is given one of two neighbouring data sets at 50:50; a coin has 1/2.

    cap: the most that any (epsilon, delta)-private mechanism allows. limit: the most this one allows. measured: the
    share that our attack reached in `runs` runs of the real code, on the worst two data sets known for the loss.
    certified: a lower bound on the probability behind `measured`, with 99.9% confidence and never below 1/2.
    certified <= limit <= cap, unless the code breaks its claimed guarantee.
    """

    cap: float
    limit: float
    measured: float
    certified: float
    runs: int

    @property
    def of_100(self) -> tuple[int, int, int]:
        """certified, limit and cap as whole numbers of 100: the first rounded down, the others up.

        >>> AttackSuccess(cap=0.7311, limit=0.55, measured=0.536, certified=0.5299, runs=20_000).of_100
        (52, 55, 74)
        """
        # Nine digits, lest a rounding error turn 0.55 into 56.
        certified, limit, cap = (round(100.0 * share, 9) for share in (self.certified, self.limit, self.cap))
        return math.floor(certified), math.ceil(limit), math.ceil(cap)


def attack_success(plan: Plan, *, runs: int = RUNS, seed: int = 0) -> AttackSuccess:
    """Attack success against a plan, from a cache; arguments and errors as in `run_audit`.

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

    return _FOUND.get((plan, runs, seed), compute)


def attack_success_after(audit: Audit) -> AttackSuccess:
    """Attack success in the audit's runs, whose number must have been fixed beforehand."""
    plan, right = audit.plan, audit.scores.right
    certified = max(0.5, float(lower_bound(right, audit.runs, _ERROR)))
    return AttackSuccess(
        attack_cap(plan.spent), plan.mechanism.attack_limit(plan), right / audit.runs, certified, audit.runs
    )


@dc.dataclass(frozen=True)
class Attack:
    """Progress of an attack. runs: played so far. success: None before the last run."""

    runs: int
    success: AttackSuccess | None


@dc.dataclass(frozen=True)
class AttackSuccessQuestion:
    """Question how often an attacker is right against `plan`. seed: of the attack."""

    plan: Plan
    seed: int
    source: ClassVar[None] = None  # the attacker's records are constructed from public facts

    @property
    def runs(self) -> int:
        """Number of runs that an answer needs."""
        return RUNS if isinstance(self.plan.mechanism, AdditiveMechanism) else FEW_RUNS

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[Attack | None]:
        """Progress by quarters of the attack, None before the first is played; the last snapshot has its success, from
        the cache of `attack_success`.

        cancelled: asked before each chunk; when it says yes, CancelledError is raised.
        """
        asked = self.plan, self.runs, self.seed
        if asked not in _FOUND:
            audit, chunks = Audit(self.plan, seed=self.seed), ChunkSizer(_CHUNK_SECONDS)
            so_far: Attack | None = None
            while audit.runs < self.runs:
                go_on(cancelled)
                with chunks.measured():
                    audit.play(min(chunks.runs, self.runs - audit.runs))
                told = so_far.runs if so_far else 0
                if told + self.runs / 4 <= audit.runs < self.runs:  # each new snapshot redraws a page
                    so_far = Attack(audit.runs, None)
                yield so_far
            _FOUND.get(asked, lambda: attack_success_after(audit))
        yield Attack(self.runs, attack_success(self.plan, runs=self.runs, seed=self.seed))

    def share_done(self, so_far: Attack) -> float:
        """Share of the work behind a snapshot; the last one has its success."""
        return 1.0 if so_far.success else so_far.runs / (self.runs + 1)
