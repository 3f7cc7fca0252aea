"""The page Decide without a browser: what it says is what dpcore computes, in every view and at every edge."""

from __future__ import annotations

import html
import io
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpcore import Problem, list_mechanisms
from dpcore.data import Category, Declared, UploadedRecords, read_table
from dpcore.figures.figure import Figure
from dpcore.studies.decide import loss_curve
from dpcore.studies.decide.loss_curve import lost_curve
from dpcore.studies.decide.release_ledger import ReleaseLedger
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon, usual_setting
from pages.decide import takeaway, words
from pages.decide.upload import form
from pages.decide.upload.upload import Upload
from pages.server import upload_lifetime
from pages.ui.numbers import points, tenths
from pages.ui.pickers import OWN_FILE
from tests.briefings import ledger
from tests.page_driver import captions, charts, finished, open_script, said, shown, spaced, tells, texts
from tests.upload_page import people

PAGE = "decide/page.py"
SMALL: dict[str, Any] = {"n": 500, "keep": 0.8}
FEW = 2  # splits, where their number is not what a test is about


@pytest.fixture(autouse=True)
def few_splits(monkeypatch):
    monkeypatch.setattr(loss_curve, "SPLITS", FEW)


def opened(**state: Any) -> AppTest:
    """The page in a state, once all its questions are answered; not to be moved."""
    return shown(PAGE, **(SMALL | state))


def answer_of(problem: Problem, keep: float, records: int = 1) -> SmallestEpsilon:
    return SmallestEpsilon(lost_curve(usual_setting(problem, FEW)), keep, records)


def readouts(page: AppTest) -> list[str]:
    (cards,) = [e.proto.body for e in page.get("html") if 'class="cards"' in e.proto.body]
    return [html.unescape(spaced(re.sub(r"<[^>]+>", " ", card))) for card in re.findall("<div>.*?</div></div>", cards)]


def own_file(
    monkeypatch: pytest.MonkeyPatch,
    oldest: float = 100.0,
    content: bytes = people(400),
    records: int = 1,
    earlier: ReleaseLedger | None = None,
    dose: str = "dose",
) -> UploadedRecords:
    """A file, by default of 280 records to learn from, as if its holder had declared ages from 0 to `oldest`."""
    declared = Declared(("age", dose), (0.0, 0.0), (oldest, 1.0), "yes")
    held = UploadedRecords(read_table(content, "people.csv", "sick"), declared, "people.csv")
    upload = Upload(held.source, "person", records, "0" * 64, "1" * 64, earlier)
    monkeypatch.setattr(form, "ask_file", lambda _: (upload, held)[0])  # which holds the records
    return held


def test_the_headline_the_read_outs_and_the_chart_are_one_answer_of_dpcore():
    page = opened()
    answer = answer_of(Problem("synthetic", n=500, p=8, delta=1e-6, seed=7), 0.8)
    assert answer.useful and said(page) == answer.sentence()
    signed, loses, right = readouts(page)
    assert f"ε = {answer.epsilon:g}" in signed and words.interval(answer.found) in signed
    assert f"< {points(answer.most_lost)}" in loses and tenths(answer.usual_lost) in loses
    assert f"≤ {answer.attacker} of 100 times" in right
    assert all(remark in captions(page) for remark in answer.remarks)
    (chart,) = charts(page).values()
    notes = [spaced(note["text"]) for note in json.loads(chart["figure"])["layout"]["annotations"]]
    assert spaced(chart["alt"]) == answer.sentence() and f"sign ε = {answer.epsilon:g}" in notes
    assert f"a release may lose {points(answer.at_most)}" in captions(page)
    epsilons = set(re.findall(r"ε = ([\d.]+\d)", said(page) + texts(page) + " ".join(readouts(page))))
    assert epsilons == {f"{answer.epsilon:g}"}, "one budget on the screen"


def test_the_attack_plays_against_the_release_that_is_signed():
    page = opened()
    answer = answer_of(Problem("synthetic", n=500, p=8, delta=1e-6, seed=7), 0.8)
    assert f"at most {answer.attacker}: any attack on this mechanism's noise" in html.unescape(texts(page))
    assert ": our attack (99.9% sure)" in texts(page)


def test_where_there_is_no_useful_budget_none_is_marked_and_nothing_can_be_signed():
    page = finished(open_script(PAGE, at_hand="iris", keep=0.99))
    assert said(page).startswith("No useful budget: ") and "More records" in said(page)
    (chart,) = charts(page).values()
    assert not any("sign ε" in note["text"] for note in json.loads(chart["figure"])["layout"]["annotations"])
    assert "Nothing to sign" in texts(page) and not page.get("download_button")
    assert not [e for e in page.get("html") if 'class="cards"' in e.proto.body]


def test_a_file_counts_with_all_its_rows_and_with_all_rows_of_a_person(monkeypatch):
    held = own_file(monkeypatch, records=3)
    page = finished(open_script(PAGE, at_hand=OWN_FILE, n=1_000, keep=0.5))
    problem = Problem(held.key, n=280, p=held.source.p, delta=1e-6, seed=7)
    assert said(page) == answer_of(problem, 0.5, records=3).sentence() and "280 records" in captions(page)
    assert answer_of(problem, 0.5, records=3).attacker > answer_of(problem, 0.5).attacker


def test_a_column_that_is_clipped_comes_first_in_the_headline(monkeypatch):
    held = own_file(monkeypatch, 50.0)
    page = finished(open_script(PAGE, at_hand=OWN_FILE))
    share = held.report.clipped["age"] / 400
    assert said(page).startswith(f"Your bounds clip 'age' in {share:.1%} ") and share > 0.3


def test_a_rare_answer_is_measured_by_pairs(monkeypatch):
    rng = np.random.default_rng(0)
    age = rng.uniform(0.0, 100.0, 1_000)
    sick = np.where(age + rng.normal(0.0, 10.0, 1_000) > 95.0, "yes", "no")
    lines = [f"{a:.1f},{d:.2f},{s}" for a, d, s in zip(age, rng.random(1_000), sick, strict=True)]
    own_file(monkeypatch, content="\n".join(["age,dose,sick", *lines, ""]).encode())
    page = finished(open_script(PAGE, at_hand=OWN_FILE, keep=0.5, more="groups"))
    assert tells(captions(page), "AUC", "the rarer answer has under 20%") and "larger class" not in captions(page)
    assert "No loss by group" in texts(page)


def test_who_bears_the_loss_is_a_table_of_the_declared_columns(monkeypatch):
    own_file(monkeypatch, content=people(400).replace(b"dose", b"last_dose", 1), dose="last_dose")
    page = finished(open_script(PAGE, at_hand=OWN_FILE, keep=0.5, more="groups"))
    assert page.selectbox(key="group by").options == ["age", "last_dose"]
    (found,) = [frame.value for frame in page.dataframe]
    assert list(found.group) == ["below 50", "from 50 on"] and found.rows.sum() <= 400
    assert "look at the records" in captions(page)


def test_the_attacker_s_card_counts_the_releases_of_the_ledger(monkeypatch):
    own_file(monkeypatch, earlier=ledger(2, epsilon=9.0))
    page = finished(open_script(PAGE, at_hand=OWN_FILE, keep=0.5))
    *_, right = readouts(page)
    assert (
        "one release and 2 earlier" in right
        and "Weak protection" in right
        and said(page).endswith("That is weak protection.")
    )
    own_file(monkeypatch)
    *_, alone = readouts(finished(open_script(PAGE, at_hand=OWN_FILE, keep=0.5)))
    odds, before = (int(re.search(r"≤ (\d+) of 100", card)[1]) for card in (alone, right))
    assert odds < before and "earlier" not in alone


def test_files_that_the_page_of_an_example_does_not_take_are_told(monkeypatch):
    monkeypatch.setenv(upload_lifetime.SETTING, "on")
    page = open_script(PAGE, **SMALL)
    page.file_uploader[0].set_value([(f"{name}.csv", people(), "text/csv") for name in "ab"])
    assert "A page has one file of records" in page.run().error[0].value
    page.file_uploader[0].set_value(("a.csv", people(), "text/csv"))
    assert "Say the question" in said(page.run()) and not page.error


@pytest.mark.parametrize(
    ("more", "answers"), [(None, 1), ("groups", 2), ("needed", 2), ("equivalent", 2), ("compare", 2)]
)
def test_what_is_signed_counts_the_answers_of_the_views_too(more, answers, monkeypatch):
    counted = []
    monkeypatch.setattr(takeaway, "show", lambda state, looks: counted.append(looks))
    own_file(monkeypatch)
    finished(open_script(PAGE, at_hand=OWN_FILE, keep=0.5, more=more))
    assert counted[-1] == answers


def test_rows_of_a_person_are_told_apart(monkeypatch):
    own_file(monkeypatch, records=3)
    assert "one of your 3 records" in texts(finished(open_script(PAGE, at_hand=OWN_FILE, keep=0.5, releases=2)))


def test_planned_releases_are_in_the_headline():
    page = opened(releases=4)
    assert said(page).endswith("after 4 releases.") and "Attack success of one release" in texts(page)


def test_every_registered_mechanism_is_in_the_table_with_its_budget_or_its_reason():
    page = opened(more="compare", n=200)
    _, reasons = texts(page).split("**Not applicable to these records:**")
    why = [line for line in reasons.splitlines() if line.startswith("- ")]
    assert len(page.dataframe[0].value) + len(why) == len(list_mechanisms())
    assert "- private FTRL:" in reasons
    assert all(line.endswith(".") and "dpcore" not in line for line in why)
    assert "tried so far" not in texts(page) and "This is a look" in texts(page)


def test_other_numbers_of_records_are_named_for_what_they_are():
    assert re.search(r"At ε = 1, \*\*(about )?[\d,]+( or fewer)?\*\* people are enough", texts(opened(more="needed")))
    told = texts(opened(more="equivalent"))
    assert "500 people with privacy reach the log loss that" in told


WARDS = tuple(f"ward {i}" for i in range(8))
LIBSVM = "".join(f"{'+1' if i % 3 else '-1'} 1:{i % 3 / 2} 2:{i % 7 / 7}\n" for i in range(60)).encode()


@pytest.mark.parametrize(
    ("name", "content", "said_of_it"),
    [
        ('it\'s "mine".csv', people(), Declared(("age", "dose"), (0.0, 0.0), (100.0, 1.0), "yes", "drop")),
        (
            "levels.csv",
            re.sub(rb'"Doe, \d*(\d)"', rb"ward \1", people()),
            Declared(("age",), (0.0,), (100.0,), "yes", "drop", (Category("name", WARDS),), ("name",)),
        ),
        ("mine.svm", LIBSVM, Declared(("1", "2"), (0.0, 0.0), (1.0, 1.0), "1")),
        pytest.param(
            *("mine.parquet", pd.read_csv(io.BytesIO(people())).to_parquet(index=False)),
            Declared(("age", "dose"), (0.0, 0.0), (100.0, 1.0), "yes"),
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_the_code_for_an_upload_reads_the_file_by_its_name_and_finds_the_page_s_answer(
    name, content, said_of_it, tmp_path, monkeypatch, capsys
):
    held = UploadedRecords(read_table(content, name, "sick"), said_of_it, name)
    monkeypatch.setattr(form, "ask_file", lambda _: Upload(held.source, "person", 1, "0" * 64, "1" * 64))
    page = finished(open_script(PAGE, at_hand=OWN_FILE, keep=0.5))
    page.pills(key="behind").set_value("Code").run()
    code = page.code[0].value
    assert held.key not in code and f"n={held.source.size}" in code
    (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Figure, "show", lambda _: None)
    exec(code, {})
    assert said(page).startswith(capsys.readouterr().out.strip())
