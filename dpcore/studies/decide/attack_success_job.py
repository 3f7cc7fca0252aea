"""The odds of a plan in the background: how often an attacker is right, a chunk of runs at a time."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

from ...audit.attack_success import RUNS, AttackSuccess, attack_success_after
from ...audit.game import Audit
from ...core.cancel import never
from ...core.chunks import ChunkSizer
from ...mechanisms.base import AdditiveMechanism
from ...mechanisms.plan import Plan

# Each run of a mechanism that is no sum solves a problem of its own.
FEW_RUNS = 1_000
_CHUNK_SECONDS = 0.15


@dc.dataclass(frozen=True)
class Attack:
    """How far an attack is. runs: played by now. odds: None before the last of them."""

    runs: int
    odds: AttackSuccess | None


@dc.dataclass(frozen=True)
class AttackSuccessQuestion:
    """How often is an attacker right against `plan`? seed: of the attack."""

    plan: Plan
    seed: int

    @property
    def source(self) -> None:
        """The attacker's records are made up from public facts."""

    @property
    def runs(self) -> int:
        """How many an answer needs."""
        return RUNS if isinstance(self.plan.mechanism, AdditiveMechanism) else FEW_RUNS

    def snapshots(self, cancelled: Callable[[], bool] = never) -> Iterator[Attack]:
        """The attack after each chunk of runs; the last one has the odds, the same as `attack_success` finds.

        cancelled: asked before each chunk; when it says yes, CancelledError is raised.
        """
        audit, chunks = Audit(self.plan, seed=self.seed), ChunkSizer(_CHUNK_SECONDS)
        while audit.runs < self.runs:
            if cancelled():
                raise CancelledError
            with chunks.measured():
                audit.play(min(chunks.runs, self.runs - audit.runs))
            yield Attack(audit.runs, attack_success_after(audit) if audit.runs == self.runs else None)
