"""Content of a briefing: one frozen record of plain numbers, checked once, from which everything else is made."""

import dataclasses as dc
import json
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from dpcore.audit.attack_success import AttackSuccess
from dpcore.core.privacy import Budget
from dpcore.core.validation import check_real, integer, one_of, positive, shown
from dpcore.data import Source
from dpcore.figures.style import FAMILIES
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
_POINT_ERROR = 1e-6  # points: the curve and the score at the budget are two ways to the same number
# What fits on a printed page at a readable size.
_LONGEST_TITLE, _LONGEST_SENTENCE, _MOST_SENTENCES, _LONGEST_LINK = 140, 260, 6, 1_500


@dc.dataclass(frozen=True)
class Interval:
    """Answer with its interval; None where it, or an end, is beyond what was tried. reason: why it is None."""

    value: float | None
    low: float | None
    high: float | None
    reason: str = ""

    def __post_init__(self) -> None:
        known = [check_real("answers", v, "> 0", lambda v: v > 0) for v in _known(self.low, self.value, self.high)]
        if known != sorted(known):
            raise ValueError(f"answers must be in order (low, value, high), got {known}")
        if self.value is None:
            _sentence("reason", self.reason)


@dc.dataclass(frozen=True)
class LossCurve:
    """Accuracy loss in percentage points along epsilon, with its interval; [K] each.

    mean: as measured. smooth: made non-increasing, the line that is drawn; low <= smooth <= high.
    """

    epsilons: tuple[float, ...]
    mean: tuple[float, ...]
    smooth: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        _columns(self, "curve", at_least=2)
        if any(not a <= b <= c for a, b, c in zip(self.low, self.smooth, self.high, strict=True)):
            raise ValueError("curve must be ordered (low <= smooth <= high), got one that is not")


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
class EquivalentSizes:
    """Number of records on which a learner without privacy does as well as the private one on all.

    metric: by which it does. here: at the briefing's epsilon. epsilons, size, low, high: along epsilon, [K] each, None
    below the smallest size that was tried; all empty where there is no curve.
    """

    metric: str
    here: Interval
    epsilons: tuple[float, ...] = ()
    size: tuple[float | None, ...] = ()
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        _sentence("metric", self.metric)
        _columns(self, "equivalent", at_least=0)


@dc.dataclass(frozen=True)
class Signing:
    """Facts of the page to sign that no other slide has.

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

    title: the question. source: words for records and outcomes. mechanism, family: its label, and its colour's key in
    `FAMILIES`. n: records. at_most: acceptable accuracy loss, points. budget: the smallest epsilon that keeps to it.
    reference, score, floor: accuracy, a share, of the best model without privacy, of releases at guarantee.epsilon by
    the smoothed curve, and of the larger class. needed: records with which guarantee.epsilon loses at most at_most.
    signing: what is signed. assumptions, warnings: sentences; UNCOUNTED is always among the warnings. link: restores
    the state. version, seed, snippet: to compute everything again.

    Raises ValueError for numbers that contradict one another, or texts that fit on no page.
    """

    title: str
    source: Source
    mechanism: str
    family: str
    n: int
    guarantee: Guarantee
    at_most: float
    curve: LossCurve
    reference: float
    score: float
    floor: float
    budget: Interval
    attack_success: AttackSuccess
    equivalent: EquivalentSizes
    needed: Interval
    signing: Signing
    assumptions: tuple[str, ...]
    link: str
    version: str
    seed: int
    snippet: str
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _sentence("title", self.title, _LONGEST_TITLE)
        _sentence("link", self.link, _LONGEST_LINK)
        for name in ("mechanism", "version", "snippet"):
            _sentence(name, getattr(self, name), 10_000 if name == "snippet" else _LONGEST_TITLE)
        one_of("family", self.family, FAMILIES["light"])
        integer("n", self.n, at_least=2)
        integer("seed", self.seed, at_least=0)
        check_real("at_most", self.at_most, "a number of points > 0", lambda v: v > 0)
        for name in ("reference", "score", "floor"):
            check_real(name, getattr(self, name), "at most 1", lambda v: v <= 1.0)
        object.__setattr__(self, "warnings", (UNCOUNTED, *(w for w in self.warnings if w != UNCOUNTED)))
        for name in ("assumptions", "warnings"):
            _sentences(name, getattr(self, name))
        self._check_agreement()

    def _check_agreement(self) -> None:
        """Numbers that say the same thing in two places must say the same."""
        found = self.attack_success
        ordered = [0.0, found.certified, found.limit, found.cap, 1.0]
        if ordered != sorted(ordered):
            raise ValueError(
                f"attack_success needs certified <= limit <= cap, got {found.certified}, {found.limit} and {found.cap}"
            )
        if self.guarantee.epsilon in self.curve.epsilons:
            there = self.curve.smooth[self.curve.epsilons.index(self.guarantee.epsilon)]
            if not math.isclose(there, self.lost, abs_tol=_POINT_ERROR):
                raise ValueError(
                    f"score must be the curve's at epsilon, got a loss of {self.lost} points against {there}"
                )
        for value in _known(self.equivalent.here.value, *self.equivalent.size):
            if value > self.n:
                raise ValueError(f"equivalent sizes must be at most n = {self.n}, got {value}")
        self._check_signing()

    def _check_signing(self) -> None:
        signing, stated = self.signing, self.guarantee
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
        given, found = signing.plan.arguments, signing.plan.calibrated
        spending = (found["epsilon"], found["delta"])
        signed = (mechanism_class(given["key"]).label, given["n"], given["epsilon"], given["delta"], *spending)
        told = (self.mechanism, self.n, stated.epsilon, stated.delta, stated.spent_epsilon, stated.spent_delta)
        if signed != told:
            raise ValueError(f"the plan signed must be the briefing's, {told}, got {signed}")

    @property
    def lost(self) -> float:
        """Accuracy loss at the guarantee's epsilon, in percentage points."""
        return 100.0 * (self.reference - self.score)

    def document(self) -> dict[str, Any]:
        """Everything as JSON's own types: all that the page and the download say.

        `lost`, `learnable`, `lost_share`, `attack_success_of_100` and `guarantee.delta_records` (n delta) are the
        record's numbers in the units that sentences use; of the attack success, the certified one is rounded down and
        the limits are rounded up. `release` is the plan that `python -m dpcore solve --plan` takes, None where there is
        none to sign.
        """
        plain = dc.asdict(self) | {"confidence": _CONFIDENCE, "measure": "accuracy"}
        plan = self.signing.plan
        plain["release"] = plan.document() if plan else None
        del plain["signing"]["plan"]
        looked = listed(plan.declared.after_looking, _NAMED) if plan else ""
        plain["signing"] |= {"algorithm": ALGORITHM, "fingerprint": plan.fingerprint if plan else None}
        plain["signing"]["after_looking"] = looked
        plain["guarantee"] |= {"delta_records": self.n * self.guarantee.delta, "one_record": 1.0 / self.n}
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

    def csv(self) -> str:
        """The curves as a table; cells are empty where a value is unknown."""
        found = self.equivalent
        lost = zip(("epsilon", "loss", "loss_smooth", "loss_low", "loss_high"), dc.astuple(self.curve), strict=True)
        columns = found.epsilons, found.size, found.low, found.high
        names = ("epsilon", "equivalent_size", "equivalent_low", "equivalent_high")
        sizes = dict(zip(names, columns, strict=True))
        both = pd.DataFrame(dict(lost)).merge(pd.DataFrame(sizes, dtype=float), how="outer", on="epsilon")
        return both.to_csv(index=False, lineterminator="\n")


def _known(*values: float | None) -> list[float]:
    return [value for value in values if value is not None]


def _columns(record: Any, name: str, at_least: int) -> None:
    """Make every tuple of a record floats of one length, epsilons > 0 and increasing, or raise ValueError."""
    epsilons = tuple(positive("epsilons", value) for value in record.epsilons)
    if list(epsilons) != sorted(set(epsilons)) or len(epsilons) < at_least:
        raise ValueError(f"epsilons must be increasing and at least {at_least}, got {shown(epsilons)}")
    for field in dc.fields(record):
        values = getattr(record, field.name)
        if not isinstance(values, (str, Interval)):
            if len(values) != len(epsilons):
                raise ValueError(f"{name}.{field.name} must be as long as epsilons, got {len(values)} values")
            rule = "finite numbers"
            finite = tuple(v if v is None else check_real(field.name, v, rule, lambda v: True) for v in values)
            if None in finite and at_least:
                raise ValueError(f"{name}.{field.name} must be {rule}, got None")
            object.__setattr__(record, field.name, finite)


def _sentence(name: str, text: object, longest: int = _LONGEST_SENTENCE) -> None:
    if not isinstance(text, str) or not text.strip() or len(text) > longest:
        raise ValueError(f"{name} must be a text of 1 to {longest} letters, got {shown(text)}")


def _sentences(name: str, texts: Sequence[str]) -> None:
    if isinstance(texts, str) or not 1 <= len(texts) <= _MOST_SENTENCES:
        raise ValueError(f"{name} must be 1 to {_MOST_SENTENCES} sentences, got {shown(texts)}")
    for text in texts:
        _sentence(name, text)
