"""Content of a briefing: one frozen record of plain numbers, checked once, from which page and download are made."""

import dataclasses as dc
import json
from collections.abc import Sequence
from typing import Any

from dpcore.audit.attack_success import AttackSuccess
from dpcore.core.privacy import Budget
from dpcore.core.validation import check_real, integer, positive, shown
from dpcore.data import Source
from dpcore.mechanisms import mechanism_class
from dpcore.mechanisms.signed import ALGORITHM, SignedPlan
from pages.decide.briefing.words import learned
from pages.ui.html import listed

# On every briefing: what epsilon does not include.
UNCOUNTED = (
    "Every further release, every new seed for a nicer result and every setting chosen by looking at results of these "
    "records cost privacy that this ε does not include."
)
_CONFIDENCE = 0.95  # of all intervals
_NAMED = 3  # columns on a line of the page to sign
_POINT_ERROR = 1e-6  # points
# What fits on a printed page at a readable size.
_LONGEST_NAME, _LONGEST_SENTENCE, _MOST_WARNINGS, _LONGEST_LINK = 140, 260, 3, 1_500


@dc.dataclass(frozen=True)
class Interval:
    """Answer with its interval; None where it, or an end, is beyond what was tried.

    reason: why the value is None. at_first: it is the smallest that was tried, so that a smaller one may do.
    """

    value: float | None
    low: float | None
    high: float | None
    reason: str = ""
    at_first: bool = False

    def __post_init__(self) -> None:
        ends = [value for value in (self.low, self.value, self.high) if value is not None]
        known = [check_real("answers", value, "> 0", lambda v: v > 0) for value in ends]
        if known != sorted(known):
            raise ValueError(f"answers must be in order (low, value, high), got {known}")
        if self.value is None:
            _sentence("reason", self.reason)


@dc.dataclass(frozen=True)
class Guarantee:
    """Privacy guaranteed and privacy spent, for one record replaced by another."""

    epsilon: float
    delta: float
    spent_epsilon: float
    spent_delta: float

    def __post_init__(self) -> None:
        for name, most in (("epsilon", self.epsilon), ("spent_epsilon", self.spent_epsilon)):
            positive(name, most)
        for name, most in (("delta", self.delta), ("spent_delta", self.spent_delta)):
            check_real(name, most, "at least 0 and below 1", lambda v: 0.0 <= v < 1.0)
        if self.spent_epsilon > self.epsilon * (1 + 1e-9) or self.spent_delta > self.delta * (1 + 1e-9):
            raise ValueError(
                f"spent must be at most what is guaranteed, got ({self.spent_epsilon}, {self.spent_delta}) "
                f"of ({self.epsilon}, {self.delta})"
            )


@dc.dataclass(frozen=True)
class Signing:
    """Facts of what is signed.

    loss_low, loss_high: interval of the accuracy loss at the guarantee's epsilon, points. records: of one person, at
    most. releases: planned. total: privacy spent by all of them on one person, None where no accounting has a number.
    looks: answers from the records of a file that its session has seen. plan: of the release, None where there is none
    to sign, for the `reason`.
    """

    loss_low: float
    loss_high: float
    records: int
    releases: int
    total: Budget | None
    looks: int
    plan: SignedPlan | None
    reason: str = ""

    def __post_init__(self) -> None:
        integer("records", self.records, at_least=1)
        integer("releases", self.releases, at_least=1)
        integer("looks", self.looks, at_least=0)
        if self.plan is None:
            _sentence("reason", self.reason)
        elif self.reason:
            raise ValueError(f"reason must be empty where there is a plan to sign, got {shown(self.reason)}")


@dc.dataclass(frozen=True)
class Briefing:
    """A decision and its basis.

    source: words for records and outcomes. mechanism: its label. n: records of which the numbers tell. at_most:
    acceptable accuracy loss, points. budget: the smallest epsilon that keeps to it. reference, score, floor: accuracy,
    a share, of the best model without privacy, of releases at guarantee.epsilon by the smoothed curve, and of the
    larger class. signing: what is signed. link: restores the state. version, seed: to compute everything again.
    warnings: sentences; UNCOUNTED is always among them.

    Raises ValueError for numbers that contradict one another, or texts that do not fit on the page.
    """

    source: Source
    mechanism: str
    n: int
    guarantee: Guarantee
    at_most: float
    reference: float
    score: float
    floor: float
    budget: Interval
    attack_success: AttackSuccess
    signing: Signing
    link: str
    version: str
    seed: int
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _sentence("link", self.link, _LONGEST_LINK)
        for name in ("mechanism", "version"):
            _sentence(name, getattr(self, name), _LONGEST_NAME)
        integer("n", self.n, at_least=2)
        integer("seed", self.seed, at_least=0)
        check_real("at_most", self.at_most, "a number of points > 0", lambda v: v > 0)
        for name in ("reference", "score", "floor"):
            check_real(name, getattr(self, name), "at most 1", lambda v: v <= 1.0)
        object.__setattr__(self, "warnings", (UNCOUNTED, *(w for w in self.warnings if w != UNCOUNTED)))
        _sentences("warnings", self.warnings)
        self._check_agreement()

    def _check_agreement(self) -> None:
        """Numbers that say the same thing in two places must say the same."""
        found, signing, stated = self.attack_success, self.signing, self.guarantee
        ordered = [0.0, found.certified, found.limit, found.cap, 1.0]
        if ordered != sorted(ordered):
            raise ValueError(
                f"attack_success needs certified <= limit <= cap, got {found.certified}, {found.limit} and {found.cap}"
            )
        if not signing.loss_low - _POINT_ERROR <= self.lost <= signing.loss_high + _POINT_ERROR:
            raise ValueError(
                f"the loss signed must be within its interval, got {self.lost} and {signing.loss_low} to "
                f"{signing.loss_high}"
            )
        spent = Budget(stated.spent_epsilon, stated.spent_delta)
        if signing.releases == signing.records == 1 and signing.total != spent:
            raise ValueError(f"total must be what one release spends, {spent}, got {signing.total}")
        if signing.plan is None:
            return
        given, calibrated = signing.plan.arguments, signing.plan.calibrated
        spending = (calibrated["epsilon"], calibrated["delta"])
        planned = (signing.plan.releases, signing.plan.records_per_person)
        signed = (mechanism_class(given["key"]).label, given["epsilon"], given["delta"], *spending, *planned)
        stated_costs = (stated.epsilon, stated.delta, stated.spent_epsilon, stated.spent_delta)
        told = (self.mechanism, *stated_costs, signing.releases, signing.records)
        if signed != told or self.rows < self.n:
            raise ValueError(f"the plan signed must be the briefing's, {(self.n, *told)}, got {(self.rows, *signed)}")

    @property
    def rows(self) -> int:
        """Records that are learned from: those of the plan to sign, or n."""
        return self.signing.plan.arguments["n"] if self.signing.plan else self.n

    @property
    def lost(self) -> float:
        """Accuracy loss at the guarantee's epsilon, in percentage points."""
        return 100.0 * (self.reference - self.score)

    def document(self) -> dict[str, Any]:
        """Everything as JSON's own types: all that the page and the download say.

        `lost`, `learnable`, `lost_share`, `attack_success_of_100` and `guarantee.delta_records` (rows delta) are the
        record's numbers in the units that sentences use; of the attack success, the certified one is rounded down and
        the limits are rounded up. `release` is the plan that `python -m dpcore solve --plan` takes, None where there is
        none to sign.
        """
        plain = dc.asdict(self) | {"confidence": _CONFIDENCE, "measure": "accuracy", "rows": self.rows}
        plan = self.signing.plan
        plain["release"] = plan.document() if plan else None
        del plain["signing"]["plan"]
        looked = listed(plan.declared.after_looking, _NAMED) if plan else ""
        plain["signing"] |= {"algorithm": ALGORITHM, "fingerprint": plan.fingerprint if plan else None}
        plain["signing"]["after_looking"] = looked
        plain["guarantee"] |= {"delta_records": self.rows * self.guarantee.delta, "one_record": 1.0 / self.rows}
        plain["source"] = {
            name: getattr(self.source, name)
            for name in ("key", "label", "record", "records", "things", "outcome", "size")
        } | {"drawn": self.source.drawn(self.n)}
        plain["guarantee"]["unit"] = f"one {self.source.record} replaced by another"
        shares = zip(("certified", "limit", "cap"), self.attack_success.of_100, strict=True)
        plain["attack_success_of_100"] = dict(shares)
        return json.loads(json.dumps(plain | learned(self.score, self.reference, self.floor), allow_nan=False))

    def to_json(self) -> str:
        """`document` as indented text."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False, allow_nan=False)


def _sentence(name: str, text: object, longest: int = _LONGEST_SENTENCE) -> None:
    if not isinstance(text, str) or not text.strip() or len(text) > longest:
        raise ValueError(f"{name} must be a text of 1 to {longest} letters, got {shown(text)}")


def _sentences(name: str, texts: Sequence[str]) -> None:
    if len(texts) > _MOST_WARNINGS:
        raise ValueError(f"{name} must be at most {_MOST_WARNINGS} sentences, got {shown(texts)}")
    for text in texts:
        _sentence(name, text)
