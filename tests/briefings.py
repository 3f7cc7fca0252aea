"""A briefing to test with, and a reader of the page that is made of it."""

from __future__ import annotations

import csv
import dataclasses as dc
import functools
import io
from html.parser import HTMLParser

import numpy as np

from dpcore import Problem, calibrate, make_mechanism
from dpcore.data import SOURCES, Category, Declared, UploadedRecords, read_table
from dpcore.mechanisms.signed import SignedPlan, keyed_digest
from dpcore.studies.decide.loss_curve import lost_curve
from dpcore.studies.decide.release_ledger import LedgerEntry, ReleaseLedger
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon, usual_setting
from pages.decide.briefing.content import Briefing
from pages.decide.upload.upload import Upload

from .upload_page import people

# What somebody might call a file, to break the page.
EVIL = "</script><script>alert(1)</script> <img src=https://evil.example/x onerror=alert(2)> '& {lost:points} **$why"
LINK = "http://localhost:8501/decide?v=1&keep=50"
KEY = "5f" * 32
PEOPLE = people(100)
MANY = people(400)
PERSON = {"releases": 1, "unit": "person", "records_per_person": 1}


def own_records(content: bytes = PEOPLE) -> UploadedRecords:
    """Records of the file, 70% of them for training."""
    declared = Declared(("age", "dose"), (0.0, 0.0), (101.0, 1.0), "yes")
    return UploadedRecords(read_table(content, "people.csv", "sick"), declared, "people.csv")


def signed(key: str = KEY, content: bytes = PEOPLE, epsilon: float = 1.0) -> SignedPlan:
    """Plan of a release from the file, of which 70 rows are for training, by output perturbation."""
    held = own_records(content)
    mechanism = make_mechanism("output_gaussian")
    problem, digest = Problem(held.key, n=70, p=3, seed=7), keyed_digest(content, key)
    return SignedPlan.of(problem, mechanism, epsilon, held, digest, **PERSON)


def ledger(releases: int, epsilon: float = 0.3) -> ReleaseLedger:
    """Of so many releases before."""
    plan = calibrate("output_gaussian", n=400, p=3, epsilon=epsilon, delta=1e-6, lam=0.1)
    return ReleaseLedger("people.csv", (LedgerEntry.of(plan),) * releases)


@functools.cache  # which holds the records
def _answered(records: int) -> tuple[SmallestEpsilon, UploadedRecords]:
    held = own_records(MANY)
    return SmallestEpsilon(lost_curve(usual_setting(Problem(held.key), 4)), 0.5, records), held


def to_sign(plan: SignedPlan | None = None, records: int = 1, **changes: object) -> Briefing:
    """A briefing on a release from a file of 400 rows, or with another plan in its place."""
    answer, held = _answered(records)
    upload = Upload(held.source, "person", records, KEY, keyed_digest(MANY, KEY))
    upload = dc.replace(upload, **{name: changes.pop(name) for name in ("unit", "ledger") if name in changes})  # type: ignore[arg-type]
    answer = dc.replace(answer, releases=changes.pop("releases", 1))  # type: ignore[arg-type]
    told = {"looks": 17, "link": LINK} | changes
    made = Briefing.of(answer, held.source, upload, **told)  # type: ignore[arg-type]
    return dc.replace(made, plan=plan) if plan else made


def forget() -> None:
    """Let the records of all briefings go."""
    _answered.cache_clear()
    named.cache_clear()


@functools.cache
def specimen() -> Briefing:
    """A briefing on records of the dashboard, where there is nothing to sign."""
    answer = SmallestEpsilon(lost_curve(usual_setting(Problem("synthetic", n=2_000), 4)), 0.5)
    return Briefing.of(answer, SOURCES["synthetic"], None, 0, LINK)


@functools.cache
def named(text: str) -> tuple[Briefing, UploadedRecords]:
    """A briefing in which everything a visitor can choose is called so, and everything is as long as it may be.

    20 columns of numbers, all looked at, and one of 83 levels; 15% of 400 rows are positive, so that it is about AUC;
    60 releases before, and 50 planned.
    """
    rng = np.random.default_rng(0)
    numbers, levels = [f"{text} {i}" for i in range(20)], tuple(f"level {i} {text}" for i in range(83))
    x = rng.uniform(0, 1, (400, 20)).round(3)
    yes = x[:, 0] + rng.normal(0, 0.1, 400) > 0.85
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow([*numbers, f"ward {text}", f"label {text}"])
    wards = rng.choice(levels, 400)
    rows.writerows([*row, ward, f"yes {text}" if one else "no"] for row, ward, one in zip(x, wards, yes, strict=True))
    content, name = file.getvalue().encode(), f"{text} {text}"[:250] + ".csv"
    category = Category(f"ward {text}", levels)
    bounds = ((0.0,) * 20, (1.0,) * 20)
    declared = Declared((*numbers,), *bounds, f"yes {text}", "drop", (category,), (*numbers,))
    held = UploadedRecords(read_table(content, name, f"label {text}"), declared, name)
    answer = SmallestEpsilon(lost_curve(usual_setting(Problem(held.key), 4)), 0.02, 3, 50)
    upload = Upload(held.source, text, 3, KEY, keyed_digest(content, KEY), ledger(60))
    link = f"http://localhost:8501/decide?{text}"[:180].ljust(180, "a")
    return Briefing.of(answer, held.source, upload, 12_345, link), held


class Reader(HTMLParser):
    """What a page says and refers to. said: texts that are read, joined; tags: in their order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.said, self.addresses, self.tags = "", [], []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "action", "srcset", "data", "poster")]
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag == self._open[-1]:
            self._open.pop()

    def handle_data(self, text: str) -> None:
        if not self._open or self._open[-1] not in ("style", "title"):
            self.said += text.replace("\N{NO-BREAK SPACE}", " ")
