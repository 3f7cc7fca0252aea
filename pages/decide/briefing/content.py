"""What is signed: one record from which the page and its JSON are made, so that both say the same."""

import dataclasses as dc
import hashlib
import json
import math
import re
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from dpcore import __version__
from dpcore.accounting.attack_limits import attack_cap, joint_attack_limit
from dpcore.core.privacy import Budget
from dpcore.data import Source, held, write_dictionary
from dpcore.data.tables import threshold_in
from dpcore.mechanisms.plan import Plan
from dpcore.mechanisms.signed import ALGORITHM, EarlierReleases, SignedPlan
from dpcore.studies.decide.deployments import Deployment, nearest_deployments
from dpcore.studies.decide.release_ledger import LedgerEntry, ReleaseLedger
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon
from pages.decide.briefing.registry import deployment
from pages.decide.upload.upload import Upload
from pages.ui.html import listed, readable
from pages.ui.numbers import points, rounded, safely

# Times in 100 that an attacker may be right for protection that is called strong, or moderate.
STRONG, MODERATE = 60, 75
UNCOUNTED = (
    "Every further release, every new seed for a nicer result and every setting chosen by looking at results of these "
    "records cost privacy that this ε does not include."
)
# What fits on the page, in letters.
_NAME, _UNIT, _COLUMNS, _LINK = 32, 20, 520, 180
_LOOKED = 3  # columns that are named
_DIGITS = 16  # of a digest
_LEAST_TOLD = 0.05  # points that are not written as 0.0


def strength_of(odds: int) -> str:
    """What protection is called that leaves an attacker right at most so many times in 100.

    >>> strength_of(55), strength_of(76)
    ('strong', 'weak')
    """
    return "strong" if odds <= STRONG else "moderate" if odds <= MODERATE else "weak"


def lost_by_half(answer: SmallestEpsilon) -> str:
    """What half of single releases lose."""
    return f"less than {points(answer.usual_lost)}" if answer.usual_lost >= _LEAST_TOLD else "nothing"


@dc.dataclass(frozen=True, eq=False)
class Briefing:
    """A release to sign.

    answer: its epsilon and what it loses. plan: of the release, None where there is none to sign, for the `reason`.
    ledger: of earlier releases, None where none was shown. looks: answers from the records that
    their session has seen. link: restores the page.
    """

    answer: SmallestEpsilon
    source: Source
    plan: SignedPlan | None
    reason: str
    unit: str
    ledger: ReleaseLedger | None
    looks: int
    link: str

    @classmethod
    def of(cls, answer: SmallestEpsilon, source: Source, upload: Upload | None, looks: int, link: str) -> "Briefing":
        """The briefing on an answer that is useful; upload: None for a data set of the dashboard."""
        if upload is None:
            reason = "the records are a data set of this dashboard, without a file to release from"
            return cls(answer, source, None, reason, source.record, None, looks, link)
        if upload.records != answer.records:
            raise ValueError(f"records must be those of the answer, {answer.records}, got {upload.records}")
        setting, ledger = answer.curve.setting, upload.ledger
        earlier = None if ledger is None else EarlierReleases(len(ledger.releases), ledger.total())
        plan, reason = None, ""
        try:
            plan = SignedPlan.of(
                setting.problem,
                setting.cell(0).mechanism,
                answer.epsilon,
                held(source.key),
                upload.digest,
                releases=answer.releases,
                unit=upload.unit,
                records_per_person=upload.records,
                earlier=earlier,
            )
        except ValueError as refusal:
            reason = readable(str(refusal))
        return cls(answer, source, plan, reason, upload.unit, ledger, looks, link)

    @property
    def releases(self) -> int:
        """That are planned."""
        return self.answer.releases

    @cached_property
    def released(self) -> Plan:
        """Plan of one release: of all complete rows, or of those of the answer where there is nothing to sign."""
        return self.plan.plan() if self.plan else self.answer.plan

    @cached_property
    def total(self) -> Budget | None:
        """Privacy spent on one person by all releases, earlier ones included; None where no guarantee is left."""
        return ReleaseLedger("", (*self._earlier, *[self._entry] * self.releases)).total()

    @cached_property
    def odds(self) -> int:
        """How many times in 100 an attacker at 50:50 is right about one person after all releases, at most."""
        before = ReleaseLedger("", self._earlier).total()
        known = (attack_cap(before) if before else 1.0) if self._earlier else 0.5
        limit = joint_attack_limit(self.answer.spent(self.releases).limit, known)
        return math.ceil(100.0 * min(limit, attack_cap(self.total) if self.total else 1.0) - 1e-9)

    @property
    def _entry(self) -> LedgerEntry:
        return LedgerEntry.of(self.released, "", self.answer.records)

    @property
    def _earlier(self) -> tuple[LedgerEntry, ...]:
        """Earlier releases; a person may have as many records there as here."""
        most = self.answer.records
        found = self.ledger.releases if self.ledger else ()
        return tuple(dc.replace(each, records_per_person=max(each.records_per_person, most)) for each in found)

    @property
    def name(self) -> str:
        """Of all its files, without an ending: file, epsilon and fingerprint."""
        file, mark = (self.plan.file, self.plan.fingerprint[:9]) if self.plan else (self.source.key, "specimen")
        stem = re.sub(r"[^\w.-]+", "_", Path(file).stem)[:_NAME]
        return f"{stem}_eps{self.answer.epsilon:g}_{mark.replace('-', '')}"

    @property
    def title(self) -> str:
        return "A private release, to be signed before it is made" if self.plan else "A private release (specimen)"

    @property
    def nothing_to_sign(self) -> str:
        """Reason for which no release can be signed; "" where one can."""
        return "" if self.plan else f"Nothing to sign: {self.reason}."

    @property
    def strength(self) -> str:
        """Whether this epsilon is strong, in one word."""
        return f"{strength_of(101 if self._too_large else self.odds).capitalize()} protection"

    @property
    def why(self) -> str:
        """The reason for `strength`, and its rule."""
        what = "row and not a substitute was" if self.answer.records == 1 else "rows and not substitutes were"
        if self.total is None:
            return "No guarantee is left after all releases counted here."
        if self._too_large:
            return "Even publishing one row, drawn at random, would keep to what all releases counted here promise."
        return (
            f"Over all releases counted here, an attacker who suspects, 50:50, that one {self._unit}’s {what} used is "
            f"right at most {self.odds} times in 100; a coin is right 50 times. Up to {STRONG} times is called strong "
            f"here, up to {MODERATE} moderate, and more weak."
        )

    @property
    def neighbours(self) -> tuple[Deployment, ...]:
        """Published releases with the nearest epsilon."""
        return nearest_deployments((self.total or self.released.spent).epsilon)

    @property
    def told_total(self) -> str:
        """What all releases cost together."""
        if self.total is None:
            return "In total no guarantee is left."
        large = f" This δ is too large: it should be well below one in {self.released.spec.n:,}." * self._too_large
        return f"In total: {_told(self.total)} for one {self._unit}.{large}"

    @property
    def _too_large(self) -> bool:
        """Whether publishing a row drawn at random would keep to the total."""
        return self.total is None or self.total.delta * self.released.spec.n >= 1.0

    @property
    def _unit(self) -> str:
        return _cut(self.unit, _UNIT)

    @property
    def question(self) -> str:
        """What the model answers."""
        if self.plan is None:
            return self.source.label
        equals = "" if self._positive.startswith("≥") else "= "
        return f"Predict {_cut(self.plan.label)} {equals}{self._positive}"

    @property
    def _positive(self) -> str:
        assert self.plan is not None
        threshold = threshold_in(positive := self.plan.declared.positive)
        return _cut(positive) if threshold is None else f"≥ {threshold:,.12g}"

    @property
    def _columns(self) -> str:
        """Columns with bounds and levels, or their number where they do not fit."""
        if self.plan is None:
            return f"{self.released.spec.p}. {_capital(self.source.scaling)}."
        said = self.plan.declared
        bounds = [f"{low:,.12g} to {high:,.12g}" for low, high in zip(said.low, said.high, strict=True)]
        each = [f"{column} {ends.replace('-', '−')}" for column, ends in zip(said.columns, bounds, strict=True)]
        each = [text.replace(" ", "\N{NO-BREAK SPACE}") for text in each]
        each += [f"{category.column}: {', '.join(category.levels)}" for category in said.categories]
        if len(whole := "; ".join(each)) <= _COLUMNS:
            return whole
        levels = sum(len(category.levels) for category in said.categories)
        plan = self.plan
        dictionary = write_dictionary(plan.label, said, plan.unit, plan.records_per_person).encode()
        return (
            f"{len(said.features):,}: {len(said.columns):,} of numbers, {len(said.categories):,} of categories with "
            f"{levels:,} levels, as in the column dictionary with the SHA-256 "
            f"{_digest(hashlib.sha256(dictionary).hexdigest())} …"
        )

    @property
    def _rows(self) -> str:
        n = self.released.spec.n
        if self.plan is None:
            return f"{self.source.drawn(n)}."
        report, size = held(self.source.key).report, self.source.size or 0
        left = f"{report.read:,} read, {f'{report.dropped:,}' if report.dropped else 'none'} left out"
        return (
            f"{left}, {n:,} learned from. To measure the loss, {report.read - report.dropped - size:,} were held out."
        )

    @property
    def _delta(self) -> str:
        delta, n = self.released.spent.delta, self.released.spec.n
        if not delta:
            return "No δ: this guarantee is pure."
        return (
            f"δ = {_one_in(delta)}. Publishing each row with probability δ would keep to it: on average "
            f"{rounded(n * delta, 2)} of {n:,} rows."
        )

    @property
    def _before(self) -> str:
        if self.ledger is None:
            return "Earlier releases are not counted: no ledger was shown."
        number, total = len(self.ledger.releases), self.ledger.total()
        if not number:
            return "The ledger counts none before."
        cost = f"in total {_told(total)}" if total else "after which no guarantee is left"
        return f"The ledger counts {number:,} before, {cost}."

    @property
    def _seen(self) -> str:
        if self.plan is None:
            return "No file was looked at."
        looked = [_cut(name, _UNIT) for name in self.plan.declared.after_looking]
        after = f" Bounds or levels set after looking at the file: {listed(looked, _LOOKED)}." if looked else ""
        answers = f"{self.looks:,} answer{'s' * (self.looks != 1)} from this file"
        answers += " on the page Decide since it was dropped there."
        return f"{answers}{after} What looking costs in privacy is unknown and not part of ε."

    @property
    def _loss(self) -> str:
        most = points(max(0.0, self.answer.most_lost))
        usual = lost_by_half(self.answer)
        point = " A point is 0.01 of the AUC." if self.answer.curve.setting.metric == "auc" else ""
        return (
            f"Half of single releases lose {usual}, nine of ten less than {most}.{point} "
            f"{' '.join(self.answer.remarks)} ε does not cover these numbers."
        )

    @property
    def sections(self) -> dict[str, dict[str, str]]:
        """Lines by their names, under headings."""
        spec, mechanism = self.released.spec, self.released.mechanism
        most = f"at most {self.answer.records:,} row{'s' * (self.answer.records > 1)}"
        release = {
            "Columns": self._columns,
            "Rows": self._rows,
            "Mechanism": f"{_capital(mechanism.label)}; Price of Privacy, version {__version__}.",
        }
        if self.plan is None:
            release = {"Question": f"How many of 100 {self.source.things} are {self.source.outcome}?", **release}
        else:
            digest = f"{ALGORITHM} {_digest(self.plan.digest)} …"
            release = {
                "Label": f"The column {_cut(self.plan.label)}. Positive: {self._positive}. Negative: all others.",
                **release,
                "File": f"{self.plan.file}, {digest}",
                "Plan": f"{self.plan.fingerprint}, as in the JSON file.",
            }
        return {
            "The release": release,
            "The guarantee": {
                "Protected": f"One {self._unit}, with {most}.",
                "Neighbours": f"Two files of {spec.n:,} rows that differ in one row, replaced by another.",
                "One release": f"ε = {self.answer.epsilon:g} for one row; smaller is more private. {self._delta}",
                "All releases": f"{_planned(self.releases)} planned. {self._before} {self.told_total}",
            },
            "The cost": {"Loss of one release": self._loss, "Seen before": self._seen, "Not in ε": UNCOUNTED},
        }

    def document(self) -> dict[str, Any]:
        """Everything as JSON's own types: `deployment` for the registry (`registry.py`).

        `release` is the plan that `python -m dpcore solve --plan` takes, None where there is none to sign. `page` is
        what the page says.
        """
        plan = self.plan
        signing = {"algorithm": ALGORITHM, "fingerprint": plan.fingerprint if plan else None, "reason": self.reason}
        page = {
            "title": self.title,
            "question": self.question,
            "answer": self.answer.sentence(),
            "strength": f"{self.strength}. {self.why}",
            "neighbours": [dc.asdict(each) for each in self.neighbours],
            **self.sections,
            "link": self.link,
        }
        release = plan.document() if plan else None
        slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        whole = {"url_slug": slug, "deployment": deployment(self), "signing": signing, "release": release}
        return json.loads(json.dumps(whole | {"page": page}, allow_nan=False))

    def to_json(self) -> str:
        """`document` as indented text."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False, allow_nan=False)

    @property
    def short_link(self) -> str:
        """The link where it fits on the page."""
        return self.link if len(self.link) <= _LINK else "The link to the page is in the JSON file."


def _cut(text: str, most: int = _NAME) -> str:
    """A text of a visitor's, as much as fits in a line."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _digest(whole: str) -> str:
    return "-".join(whole[k : k + 4] for k in range(0, _DIGITS, 4))


def _told(cost: Budget) -> str:
    """A cost to three digits, rounded up.

    >>> _told(Budget(1.2341, 1e-6)), _told(Budget(0.1)), _told(Budget(1.0000000000000002))
    ('ε = 1.24 and δ = 1 in 1,000,000', 'ε = 0.1', 'ε = 1')
    """
    return f"ε = {safely(cost.epsilon, ROUND_UP)}" + (f" and δ = {_one_in(cost.delta)}" if cost.delta else "")


def _one_in(delta: float) -> str:
    """A small probability to three digits, rounded up.

    >>> _one_in(1e-6), _one_in(0.0512)
    ('1 in 1,000,000', '1 in 19.5')
    """
    return f"1 in {Context(prec=3, rounding=ROUND_DOWN).divide(Decimal(1), Decimal(repr(delta))):,f}"


def _planned(releases: int) -> str:
    return "1 release is" if releases == 1 else f"{releases:,} releases are"
