"""Report of an audit: a verdict, a sentence that claims only what was tested, and everything needed to repeat it."""

from __future__ import annotations

import dataclasses as dc
import json
import math
from typing import Any, Literal, get_args

import numpy as np

from .._version import __version__
from ..core.arrays import Array
from ..core.privacy import Budget
from ..core.records import Data
from ..mechanisms.plan import Plan
from .certificates import Certificate

Verdict = Literal["no contradiction found", "suspicious", "contradicted"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

_ATTAINS = 0.95


@dc.dataclass(frozen=True)
class Findings:
    """Result of any audit, of a mechanism or of a function.

    claimed: the guarantee that was tested. claim: the same in words. pair: the two data sets, in words. runs, seed,
    comparisons: as asked for. attack_success: the attacker's share of right guesses. certificates: lower bounds beside
    what the claim allows.
    """

    claimed: Budget
    claim: str
    pair: str
    runs: int
    seed: int
    comparisons: int
    attack_success: float
    certificates: tuple[Certificate, ...]

    @property
    def certified_epsilon_95(self) -> float:
        """The largest lower bound on epsilon, 95% confidence over all certificates and comparisons together."""
        return max(c.epsilon for c in self.certificates if c.epsilon is not None)

    @property
    def certified_epsilon_999(self) -> float:
        """The same with 99.9% confidence."""
        return max(c.epsilon_flagged for c in self.certificates if c.epsilon_flagged is not None)

    @property
    def verdict(self) -> Verdict:
        """Verdict of the certificates: "contradicted" at 99.9% confidence, "suspicious" at 95%."""
        if any(c.flagged > c.limit for c in self.certificates):
            return "contradicted"
        return "suspicious" if any(c.shown > c.limit for c in self.certificates) else "no contradiction found"

    @property
    def attack(self) -> Certificate:
        """Certificate for attack success: lower bounds, and the mechanism's own limit."""
        return next(c for c in self.certificates if c.name == "attacker")

    @property
    def sentence(self) -> str:
        """The verdict in words that claim only what was tested."""
        bound = (
            f"certified lower bound epsilon = {self.certified_epsilon_95:.3g} (95%), claimed {self.claimed.epsilon:.3g}"
        )
        if self.verdict == "contradicted":
            by = " and ".join(c.name for c in self.certificates if c.flagged > c.limit)
            return (
                f"With 99.9% confidence (over our runs) this implementation breaks its claimed guarantee: it is not "
                f"{self.claim}, refuted by {by}; {bound}."
            )
        if self.verdict == "suspicious":
            by = " and ".join(c.name for c in self.certificates if c.shown > c.limit)
            found = f"Suspicious: refuted by {by} with 95% but not 99.9% confidence; repeat with more runs; {bound}."
        else:
            found = f"No contradiction found; {bound}."
        return f"{found}{self._caveat} A pass is never evidence of privacy."

    @property
    def _caveat(self) -> str:
        """Sentence, with a space before it, on why a pass says less; empty where there is no reason."""
        return ""

    def facts(self) -> dict[str, Any]:
        """Dictionary of everything above and everything needed to repeat it, which `to_json` writes."""
        return {
            "verdict": self.verdict,
            "claim": self.claim,
            "certified_epsilon_95": self.certified_epsilon_95,
            "certified_epsilon_999": self.certified_epsilon_999,
            "runs": self.runs,
            "seed": self.seed,
            "pair": self.pair,
            "comparisons": self.comparisons,
            "attack_success": self.attack_success,
            "sentence": self.sentence,
            "certificates": [dc.asdict(c) for c in self.certificates],
            "versions": {"dpcore": __version__, "numpy": np.__version__},
        }

    def to_json(self) -> str:
        """`facts` as JSON, where infinity is the text "inf", since JSON has no number for it."""
        return json.dumps(_plain(self.facts()), default=str, allow_nan=False)


@dc.dataclass(frozen=True)
class AuditReport(Findings):
    """Result of an audit of a mechanism.

    claimed: what the plan spends. claim: the same in words. pair: the two data sets, in words. runs, seed, comparisons,
    bug: as asked for. attack_success: the attacker's share of right guesses. certificates: see `run_audit`. plan: what
    was audited. term: of the attack that was played. sensitivity_share: distance between the pair's models, as a share
    of the sensitivity; well below 1 a pass says less.
    """

    plan: Plan
    bug: str | None
    term: str
    sensitivity_share: float

    @property
    def _caveat(self) -> str:
        if self.sensitivity_share >= _ATTAINS:
            return ""
        return f" The pair reaches only {self.sensitivity_share:.0%} of the sensitivity, so a pass says less."

    def facts(self) -> dict[str, Any]:
        plan = self.plan
        return super().facts() | {
            "mechanism": plan.mechanism.key,
            "knobs": plan.mechanism.knobs,
            "bug": self.bug,
            "attack": self.term,
            "spec": dc.asdict(plan.spec),
            "requested": dc.asdict(plan.requested),
            "spent": dc.asdict(plan.spent),
            "scale": plan.scale,
            "sensitivity_share": self.sensitivity_share,
        }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def words_of_pair(zero: Data, one: Data) -> str:
    """Description of two neighbours: the record in which they differ, and the others in short."""
    rows = [table_of(side) for side in (zero, one)]
    at = int(np.flatnonzero(np.any(rows[0] != rows[1], axis=1))[0])
    others = np.delete(rows[0], at, axis=0)
    rest = "x = 0" if not others[:, :-1].any() else "others alike in both"
    before, after = (told(side[at]) for side in rows)
    return f"{zero.n} records of {zero.p} columns, {zero.n - 1} of them {rest}; record {at + 1}: {before} or {after}"


def table_of(data: Data) -> Array:
    """Records as one table, [n, r + 1]: the stored columns and y."""
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    return np.column_stack([X, data.y])


def told(record: Array) -> str:
    """A row of `table_of` in words.

    >>> told(np.array([0.5, -1.0, 1.0]))
    'x = (0.5, -1), y = 1'
    """
    shown = [f"{value:.6g}" for value in record[:-1][:8]]
    return f"x = ({', '.join(shown)}{', ...' if len(record) - 1 > len(shown) else ''}), y = {record[-1]:.6g}"
