"""A briefing to test with, and a reader of the page that is made of it."""

from __future__ import annotations

import dataclasses as dc
import re
from html.parser import HTMLParser

from dpcore import AttackSuccess, Problem, make_mechanism
from dpcore.core.privacy import Budget
from dpcore.data import SOURCES, Declared, Source, UploadedRecords, read_table
from dpcore.mechanisms import mechanism_class
from dpcore.mechanisms.signed import SignedPlan, keyed_digest
from pages.decide.briefing.content import Briefing, Guarantee, Interval, Signing
from pages.decide.briefing.words import FORMS, look_up

from .upload_page import people

# What somebody might call a file, to break the page.
EVIL = "</script><script>alert(1)</script> <img src=https://evil.example/x onerror=alert(2)> \"'& {lost:points} **"
# Numbers that a sentence may hold without a value behind it: of 100 times, a coin at 50:50.
WORDS = {"100", "50"}

NOTHING_SIGNED = Signing(
    1.37, 3.19, 3, 4, Budget(6.43, 9.5e-7), 0, None, "Its records are a data set of the dashboard, without a file."
)
KEY = "5f" * 32
PEOPLE = people(100)


def own_records(content: bytes = PEOPLE) -> UploadedRecords:
    """Records of the file, 70 of them for training."""
    declared = Declared(("age", "dose"), (0.0, 0.0), (101.0, 1.0), "yes")
    return UploadedRecords(read_table(content, "people.csv", "sick"), declared, "people.csv")


def signed(
    key: str = KEY,
    content: bytes = PEOPLE,
    epsilon: float = 1.0,
    releases: int = 1,
    records_per_person: int = 1,
) -> SignedPlan:
    """Plan of a release from the file, of which 70 rows are for training, by output perturbation."""
    held = own_records(content)
    mechanism = make_mechanism("output_gaussian")
    problem, digest = Problem(held.key, n=70, p=3, seed=7), keyed_digest(content, key)
    planned = {"releases": releases, "records_per_person": records_per_person}
    return SignedPlan.of(problem, mechanism, epsilon, held, digest, **planned)


def to_sign(plan: SignedPlan | None = None, **changes: object) -> Briefing:
    """A briefing on that release."""
    plan = plan or signed()
    given, found = plan.arguments, plan.calibrated
    total = Budget(found["epsilon"], found["delta"])
    told: dict[str, object] = {
        "source": own_records().source,
        "mechanism": mechanism_class(given["key"]).label,
        "n": 70,
        "guarantee": Guarantee(given["epsilon"], given["delta"], total.epsilon, total.delta),
        "signing": Signing(1.37, 3.19, plan.records_per_person, plan.releases, total, 17, plan),
    }
    return example(**(told | changes))


def example(**changes: object) -> Briefing:
    """A briefing of numbers that are all different, so that none can stand for another."""
    told: dict[str, object] = {
        "source": SOURCES["breast_cancer"],
        "mechanism": "Output perturbation, Gaussian noise",
        "n": 4_321,
        "guarantee": Guarantee(1.0, 1e-6, 0.987, 9.5e-7),
        "at_most": 5.5,
        "reference": 0.95721,
        "score": 0.9343,
        "floor": 0.62741,
        "budget": Interval(0.571, 0.437, 0.683),
        "attack_success": AttackSuccess(cap=0.73106, limit=0.6043, measured=0.5921, certified=0.5839, runs=20_000),
        "signing": NOTHING_SIGNED,
        "warnings": ("Excess risk that was measured on private records is itself not private.",),
        "link": "http://localhost:8501/decide?v=1&source=breast_cancer&epsilon=1&seed=7",
        "version": "0.1.0",
        "seed": 7,
    }
    return Briefing(**(told | changes))  # type: ignore[arg-type]


def evil() -> Briefing:
    """Every text a visitor can choose, chosen to do harm."""
    source: Source = dc.replace(SOURCES["breast_cancer"], label=EVIL, record=EVIL, records=EVIL, things=EVIL)
    return example(source=source, mechanism=EVIL, warnings=(EVIL,), link=EVIL)


def fullest() -> Briefing:
    """As much text as is allowed."""
    long = ("A sentence that goes on for as long as any may. " * 7)[:260]
    return to_sign(
        warnings=(long,) * 2,
        link="http://localhost:8501/decide?" + "a" * 1_400,
        budget=Interval(None, None, None, long),
    )


class Reader(HTMLParser):
    """What a page says and refers to. said: (path, form, text) of each value; rest: all other text that is read."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.said: list[tuple[str, str, str]] = []
        self.rest, self.addresses, self.tags = "", [], []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "action", "srcset", "data", "poster")]
        if tag != "meta":
            self._open.append(tag)
        if tag == "data":
            self.said.append((found["data-path"] or "", found["data-form"] or "", ""))

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag == self._open[-1]:
            self._open.pop()

    def handle_data(self, text: str) -> None:
        tag = self._open[-1] if self._open else ""
        if tag == "data":
            path, form, before = self.said[-1]
            self.said[-1] = path, form, before + text
        elif tag not in ("style", "title"):
            self.rest += text


def untrue(page: str, document: dict[str, object]) -> list[str]:
    """What a page says that the document does not: values that differ, and numbers without a value behind them."""
    reader = Reader(page)
    wrong = [f"{path}: {text}" for path, form, text in reader.said if text != FORMS[form](look_up(document, path))]
    return wrong + [number for number in re.findall(r"\d+", reader.rest) if number not in WORDS]
