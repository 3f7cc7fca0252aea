"""The page Decide without a browser: what it says is what dpcore computes, in every view and at every edge."""

from __future__ import annotations

import functools
import io
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from streamlit.testing.v1 import AppTest

from dpcore import Experiment, Problem, list_mechanisms, run
from dpcore.data import Category, Declared, UploadedRecords, get_source, read_table
from dpcore.figures.figure import Figure
from dpcore.mechanisms.signed import SignedPlan, keyed_digest
from dpcore.studies.decide import loss_curve
from dpcore.studies.decide.equivalent_sample_size import EquivalentSampleSizeQuestion
from dpcore.studies.decide.loss_curve import Setting, lost_curve, smallest_budget
from pages.decide import takeaway, words
from pages.decide.briefing.page import html_page
from pages.ui import upload_form
from pages.ui.numbers import points
from pages.ui.pickers import DEFAULT_PLACE, OVERVIEW, OWN_FILE
from tests.decisions import last
from tests.nights import each
from tests.page_driver import captions, charts, finished, open_app, open_script, said, shown, spaced, tells, texts
from tests.upload_page import people

PAGE = "decide/page.py"
SMALL: dict[str, Any] = {"n": 500}
FEW = 2  # splits, where their number is not what a test is about


@pytest.fixture(autouse=True)
def few_splits(monkeypatch):
    monkeypatch.setattr(loss_curve, "SPLITS", FEW)


def opened(**state: Any) -> AppTest:
    """The page in a state, once all its questions are answered; not to be moved."""
    return shown(PAGE, **(SMALL | state))


def readouts(page: AppTest) -> list[str]:
    (cards,) = [e.proto.body for e in page.get("html") if 'class="cards"' in e.proto.body]
    return [spaced(re.sub(r"<[^>]+>", " ", card)) for card in re.findall("<div>.*?</div></div>", cards)]


def test_the_headline_and_the_read_outs_are_what_dpcore_computes():
    page = opened(give_up=5.0)
    setting = Setting(Problem("synthetic", n=500, p=8, delta=1e-6, seed=7), OVERVIEW[DEFAULT_PLACE], splits=FEW)
    curve = lost_curve(setting)
    found = smallest_budget(curve, 5.0)
    assert found.reachable
    right = 100 * curve.reference.mean() - curve.lost_at(found.value)
    at_one = curve.smooth[np.flatnonzero(curve.epsilons == 1.0)[0]]
    best, here = f"ε = {words.number(found.value)} is the smallest", f"At the slider's ε = 1 the loss is {at_one:.1f}"
    assert tells(said(page), "500 people", best, f"{right:.1f}% of people", here)
    budget, lost, equivalent, needed = readouts(page)
    assert f"ε = {words.number(found.value)}" in budget and words.interval(found) in budget
    assert all("at ε = 1" in card for card in (lost, equivalent, needed))
    assert f"{at_one:.1f} points" in lost and "Attack success at ε = 1" in texts(page)
    size = last(EquivalentSampleSizeQuestion(setting)).answers("loss")[np.flatnonzero(curve.epsilons == 1.0)[0]]
    assert (words.number(size.value) if not size.at_first else "or fewer") in equivalent and "log loss" in equivalent
    assert "so far" not in equivalent
    assert "people for a loss of at most 5.0 points in nine of ten releases" in needed


def test_the_smallest_equivalent_size_is_not_called_equal_nor_more_lost_than_can_be_learned(monkeypatch):
    monkeypatch.setattr(loss_curve, "SPLITS", 4)
    page = opened(way="output_gaussian", n=200, epsilon=0.01, give_up=0.1)
    assert "10 or fewer" in texts(page) and "inf" not in readouts(page)[0]
    assert "(95% interval: more than 10)" in readouts(page)[0] and "; all of the" in readouts(page)[1]


def test_what_is_not_reachable_is_said_and_no_budget_is_marked():
    page = finished(open_script(PAGE, at_hand="iris", n=105, give_up=0.1))
    assert "Not reachable." in said(page) and "not reachable" in readouts(page)[0]
    (chart,) = [c for c in charts(page).values() if c["alt"].startswith("Not reachable")]
    assert not any("smallest budget" in a["text"] for a in json.loads(chart["figure"])["layout"]["annotations"])


def test_a_what_if_is_named_and_has_no_equivalent_sample_size():
    page = opened(at_hand="iris", n=2_000)
    assert (
        tells(said(page), "2,000 flowers", " 105 ", "what-if")
        and "what-if" not in readouts(page)[2]
        and "none" in readouts(page)[2]
    )


@functools.cache
def declared(oldest: float, content: bytes) -> UploadedRecords:
    said_of_it = Declared(("age", "dose"), (0.0, 0.0), (oldest, 1.0), "yes")
    return UploadedRecords(read_table(content, "people.csv", "sick"), said_of_it, "people.csv")


def own_file(monkeypatch: pytest.MonkeyPatch, oldest: float, content: bytes = people(400)) -> UploadedRecords:
    """A file, by default of 280 records to learn from, as if its holder had declared ages from 0 to `oldest`."""
    records = declared(oldest, content)
    monkeypatch.setattr(upload_form, "upload_source", lambda: records.source)
    return records


@pytest.mark.parametrize("before", each(2, [{"n": 1_000}, {}, {"at_hand": "breast_cancer", "n": 398}]))
def test_n_is_that_of_a_file_whatever_it_was_before_and_more_is_called_a_what_if(monkeypatch, before):
    held = own_file(monkeypatch, 100.0)
    page = open_script(PAGE, give_up=5.0, **before)
    page.selectbox(key="at_hand").select(OWN_FILE).run()
    n = page.select_slider(key="n")
    assert n.value == 280 and max(int(option.replace(",", "")) for option in n.options) == 100_000
    assert "280 records" in said(finished(page)) and "what-if" not in said(page)
    n.set_value(1_000).run()
    assert re.search(r"1,000 records .* 280 .*what-if", said(finished(page)))
    page.select_slider(key="n").set_value(200).run()
    assert "200 of 280 records" in said(finished(page)) and "clip" not in said(page)
    assert held.source.size == 280


def rarely_sick(old_only: bool) -> bytes:
    """2,000 records, about a ninth of them sick: those beyond 90, more or less, or anybody."""
    rng = np.random.default_rng(0)
    age = rng.uniform(0.0, 100.0, 2_000)
    sick = np.where(rng.random(2_000) < (expit((age - 90.0) / 3.0) if old_only else 0.11), "yes", "no")
    lines = [f"{a:.1f},{d:.2f},{s}" for a, d, s in zip(age, rng.random(2_000), sick, strict=True)]
    return "\n".join(["age,dose,sick", *lines, ""]).encode()


@pytest.mark.parametrize(
    "old_only, give_up, phrase",
    each(
        2,
        [
            (True, 5.0, "points above it, 2.0 are lost ("),
            (True, 20.0, "no better than always predicting the larger class"),
            (False, 2.0, "Nothing to learn from 1,400 records: always predicting the larger class has an accuracy"),
        ],
    ),
)
def test_the_larger_class_is_a_number_where_it_is_near_and_a_line(monkeypatch, old_only, give_up, phrase):
    held = own_file(monkeypatch, 100.0, rarely_sick(old_only))
    page = finished(open_script(PAGE, at_hand=OWN_FILE, give_up=give_up, epsilon=0.3))
    curve = lost_curve(Setting(Problem(held.key, n=1_400, p=3, seed=7), OVERVIEW[DEFAULT_PLACE], splits=FEW))
    assert phrase in said(page) and f"{100 * curve.floor.mean():.1f}" in said(page)
    assert (curve.learnable < 0.05) == phrase.startswith("Nothing")
    if curve.learnable >= 0.05:
        share = curve.smooth[np.flatnonzero(curve.epsilons == 0.3)[0]] / curve.learnable
        assert f"{100 * share:.0f}% of the {curve.learnable:.1f} points that learning gains" in readouts(page)[1]
    (chart,) = [c["figure"] for c in charts(page).values() if "larger class" in c["figure"]]
    assert f"always the larger class: loss {curve.learnable:.1f}" in [t.get("name") for t in json.loads(chart)["data"]]


def test_a_column_that_is_clipped_comes_first_in_the_headline(monkeypatch):
    held = own_file(monkeypatch, 50.0)
    page = finished(open_script(PAGE, at_hand=OWN_FILE))
    share = held.report.clipped["age"] / 400
    assert said(page).startswith(f"Your bounds clip 'age' in {share:.1%} ") and share > 0.3


def test_repeated_releases_cost_more_and_say_what_each_may_have():
    page = opened(more="repeated", releases=4, per_person=3)
    told = texts(page)
    assert "4 releases" in told and "3 records per person" in told
    assert float(re.search(r"privacy spent is \*\*ε = ([\d.]+)\*\*", told)[1]) > 4.0
    assert float(re.search(r"give each release ε = ([\d.]+)", told)[1].rstrip(".")) < 0.25
    assert "No accounting here includes them" in captions(page)
    once = texts(opened(more="repeated", releases=1, per_person=1))
    assert "the guarantee holds as stated" in once


def test_every_registered_mechanism_is_in_the_table_with_its_numbers_or_its_reason():
    page = opened(more="compare", n=200)
    _, reasons = texts(page).split("**Not applicable to these records:**")
    why = [line for line in reasons.splitlines() if line.startswith("- ")]
    assert len(page.dataframe[0].value) + len(why) == len(list_mechanisms())
    assert "- private FTRL:" in reasons
    assert all(line.endswith(".") and "dpcore" not in line for line in why)
    assert "Always predicting the larger class has an accuracy" in texts(page)
    assert "tried so far" not in texts(page) and "costs privacy" in texts(page)


@pytest.mark.parametrize("place", OVERVIEW)
def test_a_state_has_one_loss_on_all_of_the_page_and_overview_shows_its_first_split(place):
    way = OVERVIEW[place]
    curve = lost_curve(Setting(Problem("wine", delta=1e-6, seed=7), way, splits=FEW))
    page, lost, at = (
        opened(at_hand="wine", n=125, more="compare", way=way),
        curve.lost_at(1.0),
        list(curve.epsilons).index(1.0),
    )
    rows = page.dataframe[0].value.set_index("mechanism")
    assert rows["accuracy loss at ε = 1, points"][words.mechanisms()[way]] == round(lost, 2)
    here = f"the loss is {points(lost)} on average over {FEW} splits (Overview shows the first)"
    assert here in said(page) and points(lost) in readouts(page)[1]
    overview = Experiment(curve.setting.problem, (way,), repetitions=4)
    (seen,) = run(overview).query("metric == 'accuracy' and x == 1.0").itertuples()
    assert (seen.mean, seen.reference) == (curve.private[0, at], curve.reference[0])
    if place == "output":  # exact: as with any number of releases
        there = open_script("overview/page.py", source="wine", place=place)
        assert f"classifies {100 * seen.mean:.1f}%" in said(there)
        assert f"{points(100 * (seen.reference - seen.mean)).replace(' ', ' percentage ')} fewer" in said(there)


def test_a_refused_budget_has_no_attack_and_a_refused_mechanism_no_curve():
    state = {"n": 500, "way": "objective_gaussian", "lam": 1e-4, "epsilon": 0.01, "more": "download"}
    page = finished(open_script(PAGE, **state))
    assert tells(captions(page), "Nothing is released", "no briefing")


def test_a_key_is_shown_once_and_the_release_of_the_briefing_needs_it(monkeypatch):
    content, made = people(400), []
    own_file(monkeypatch, 100.0, content)
    make = takeaway.briefing_of
    monkeypatch.setattr(takeaway, "briefing_of", lambda *a: made.append(make(*a)) or made[-1])
    upload = upload_form._Upload("people.csv", content)
    page = finished(open_app(PAGE, at_hand=OWN_FILE, more="download", **{upload_form._HELD: upload}))
    assert made[-1].signing.plan is None and "key" in made[-1].signing.reason
    (draw,) = [button for button in page.button if button.label == "Draw a key"]
    draw.click().run()
    (key,) = [block.value for block in page.code]
    signing = made[-1].signing
    assert signing.plan.digest == keyed_digest(content, key) == upload.digest
    assert key not in html_page(made[-1]) + str(vars(upload))
    assert (signing.records, signing.releases, signing.total) == (1, 1, signing.plan.plan().spent)
    looks = signing.looks
    page.run()
    assert not page.code and key not in texts(page) and made[-1].signing == signing and looks == len(upload.looks) > 0
    page.select_slider(key="releases").set_value(4)
    page.select_slider(key="per_person").set_value(2).run()
    several = made[-1].signing
    assert (several.releases, several.records) == (4, 2) and several.total.epsilon > 2 * signing.total.epsilon
    document = json.loads(made[-1].to_json())
    released = SignedPlan.read(document["release"]).release(content, key)
    assert released.plan == signing.plan.plan() and not released.seeded
    finished(page.select_slider(key="epsilon").set_value(2.0).run())
    assert made[-1].signing.looks == looks + 1 and made[-1].signing.plan.arguments["epsilon"] == 2.0


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
def test_the_code_for_an_upload_reads_the_file_by_its_name_and_finds_the_page_s_number(
    name, content, said_of_it, tmp_path, monkeypatch
):
    sheet = read_table(content, name, "sick")
    held = UploadedRecords(sheet, said_of_it, name)
    monkeypatch.setattr("pages.ui.pickers.pick_source_or_file", lambda *_: get_source(held.key))
    page = finished(open_script(PAGE, give_up=20.0))
    page.pills(key="behind").set_value("Code").run()
    budget, code = readouts(page)[0], page.code[0].value
    assert held.key not in code and f"n={held.source.size}" in code
    (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Figure, "show", lambda _: None)
    ran: dict[str, Any] = {}
    exec(code, ran)
    found = ran["found"]
    assert found.reachable and f"ε = {words.number(found.value)}" in budget and words.interval(found) in budget
