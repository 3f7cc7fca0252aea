"""The page to sign and its JSON say the same, which is what the answer, the plan and the ledger say."""

from __future__ import annotations

import dataclasses as dc
import hashlib
import json
import re

import pytest

import dpcore
from dpcore.core.privacy import Budget
from dpcore.data import Category, write_dictionary
from dpcore.mechanisms.signed import EarlierReleases, SignedPlan
from dpcore.studies.decide.release_ledger import LedgerEntry, ReleaseLedger
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon
from pages.decide import takeaway
from pages.decide.briefing.content import MODERATE, STRONG, UNCOUNTED, Briefing, _told
from pages.decide.briefing.page import html_page
from pages.decide.upload.upload import Upload

from ..briefings import EVIL, KEY, MANY, Reader, ledger, named, specimen, to_sign
from ..page_driver import open_source

# Of the registry of OpenDP, schemas/deployments-schema.yaml.
REGISTRY = {
    "basic": "name data_curators description intended_use data_product_type data_product_region data_product_sector "
    "publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units privacy_parameters "
    "privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type release_type_details "
    "data_source_type data_source_type_details access_type access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition post_processing justification "
    "utility additional_information",
    "administrative": "evidence_sources status registry_authors tier",
}


def lines(briefing: Briefing) -> dict[str, str]:
    return {name: line for section in briefing.sections.values() for name, line in section.items()}


def test_the_page_says_everything_that_is_signed_and_the_json_says_the_same():
    briefing = to_sign()
    answer, plan, said = briefing.answer, briefing.plan, lines(briefing)
    assert said["Label"] == "The column sick. Positive: yes. Negative: all others."
    assert said["Columns"].replace("\N{NO-BREAK SPACE}", " ") == "age 0 to 101; dose 0 to 1"
    assert said["Rows"] == "400 read, none left out, 400 learned from. To measure the loss, 120 were held out."
    assert plan.plan().spec.n == 400 and dpcore.__version__ in said["Mechanism"]
    assert said["File"].startswith("people.csv, HMAC-SHA-256 ") and plan.digest[:4] in said["File"]
    assert plan.fingerprint in said["Plan"]
    assert briefing.name == f"people_eps{answer.epsilon:g}_{plan.fingerprint.replace('-', '')[:8]}"
    assert "One person" in said["Protected"] and "400 rows that differ in one row" in said["Neighbours"]
    assert said["One release"].startswith(f"ε = {answer.epsilon:g} for one row") and said["Not in ε"] == UNCOUNTED
    assert f"Half of single releases lose less than {answer.usual_lost:.1f}" in said["Loss of one release"]
    assert f"nine of ten less than {answer.most_lost:.1f}" in said["Loss of one release"]
    assert f"The mean loss at ε = {answer.epsilon:g} is {answer.mean_lost:.1f}" in said["Loss of one release"]
    assert said["Seen before"].startswith("17 answers from this file on the page Decide since it was dropped")
    document, page = json.loads(briefing.to_json()), Reader(html_page(briefing)).said
    released = SignedPlan.read(document["release"]).release(MANY, KEY)
    assert released.plan == plan.plan() and not released.seeded
    assert {key: document["page"][key] for key in briefing.sections} == briefing.sections
    for text in (*said.values(), answer.sentence(), briefing.question, briefing.why, briefing.link):
        assert text.replace("\N{NO-BREAK SPACE}", " ") in page
    for each in briefing.neighbours:
        assert f"ε = {each.epsilon:.3g} for one {each.unit}: {each.who}" in page
    for blank in ("Purpose", "Recipient", "Controller", "Signature", "Date"):
        assert page.count(blank) == 1 + (blank in ("Signature", "Date"))


def test_no_text_of_a_visitor_s_becomes_markup_and_the_page_refers_to_nothing():
    evil, _ = named(EVIL)
    harmed, plain = Reader(html_page(evil)), Reader(html_page(to_sign()))
    assert {*harmed.tags} == {*plain.tags} and not {"script", "img", "link", "a"} & {*harmed.tags}
    assert harmed.addresses == [] and EVIL[:19] in harmed.said and EVIL in evil.to_json()
    page = html_page(to_sign())
    assert page.count("http") == 2  # the link, and http-equiv
    assert "default-src 'none'" in page and "url(" not in page and "@import" not in page
    assert re.fullmatch(r"[\w.-]+", evil.name)


def test_columns_that_do_not_fit_are_named_by_the_digest_of_the_dictionary():
    wide, held = named("WWWW of a long name " * 4 + "W")
    digest = hashlib.sha256(
        write_dictionary(held.label, held.declared, wide.plan.unit, wide.plan.records_per_person).encode()
    ).hexdigest()
    told = lines(wide)["Columns"]
    assert told.startswith("21: 20 of numbers, 1 of categories with 83 levels") and digest[:4] in told


def test_what_rounds_to_nothing_is_not_called_less_than_it(monkeypatch):
    assert f"lose less than {to_sign().answer.usual_lost:.1f} point" in lines(to_sign())["Loss of one release"]
    monkeypatch.setattr(SmallestEpsilon, "usual_lost", 0.04)
    assert lines(to_sign())["Loss of one release"].startswith("Half of single releases lose nothing, nine of ten less")


def test_what_is_spent_is_rounded_up():
    for spent, told in (
        (1.2341, "1.24"),
        (0.05120001, "0.0513"),
        (1.23, "1.23"),
        (1234.0, "1,240"),
        (1.0000000000000002, "1"),
    ):
        assert _told(Budget(spent, 1e-6)) == f"ε = {told} and δ = 1 in 1,000,000"


@pytest.mark.parametrize(
    ("before", "said"),
    [(None, "no ledger was shown"), (0, "The ledger counts none before"), (2, "The ledger counts 2 before, in total")],
)
def test_the_total_has_planned_and_earlier_releases_and_the_plan_knows_them(before, said):
    known = None if before is None else ledger(before)
    briefing = to_sign(releases=3, ledger=known)
    entries = (LedgerEntry.of(briefing.plan.plan()),) * 3
    assert briefing.total == ReleaseLedger("", (*(known.releases if known else ()), *entries)).total()
    told = lines(briefing)["All releases"]
    assert told.startswith("3 releases are planned.") and said in told and f"In total: {_told(briefing.total)}" in told
    earlier = briefing.plan.earlier
    assert earlier == (None if known is None else EarlierReleases(before, known.total()))
    assert SignedPlan.read(json.loads(briefing.to_json())["release"]) == briefing.plan
    assert (briefing.plan.releases, briefing.plan.unit) == (3, "person")


def test_a_person_with_several_rows_is_charged_for_all_of_them_also_in_earlier_releases():
    one, several = (to_sign(records=records, ledger=ledger(1)) for records in (1, 3))
    assert several.plan.records_per_person == 3 and "at most 3 rows" in lines(several)["Protected"]
    entries = [dc.replace(LedgerEntry.of(several.plan.plan()), records_per_person=3), ledger(1).releases[0]]
    assert several.total == ReleaseLedger("", tuple(entries)).total() and several.odds > one.odds
    upload = Upload(one.source, "person", 3, KEY, one.plan.digest)
    with pytest.raises(ValueError, match="records must be those of the answer, 1, got 3"):
        Briefing.of(one.answer, one.source, upload, 0, "")


def test_protection_is_judged_by_all_releases_together():
    once, often, heavy = to_sign(), to_sign(releases=100), to_sign(ledger=ledger(1, epsilon=9.0))
    assert once.answer.plan == once.plan.plan()  # of all rows
    assert once.odds == once.answer.attacker and once.odds < often.odds
    for briefing in (once, often, heavy, specimen()):
        word = "Strong" if briefing.odds <= STRONG else "Moderate" if briefing.odds <= MODERATE else "Weak"
        assert briefing.strength == f"{word} protection"
        assert f"right at most {briefing.odds} times in 100" in briefing.why and f"Up to {STRONG}" in briefing.why
    assert often.strength.startswith("Weak") and heavy.odds == 100
    assert to_sign(ledger=ledger(0)).odds == once.odds <= to_sign(ledger=ledger(1, epsilon=0.01)).odds


def test_a_total_that_promises_nothing_is_weak_whatever_the_attacker_s_odds():
    entry = LedgerEntry("2026-01-31T12:00:00+00:00", "", "m", 400, 1, 0.01, 1 / 400, None, None)
    large = to_sign(ledger=ReleaseLedger("people.csv", (entry,)))
    assert large.strength == "Weak protection" and "drawn at random" in large.why
    assert "too large" in lines(large)["All releases"]
    gone = to_sign(ledger=ReleaseLedger("people.csv", (dc.replace(entry, delta=0.5),) * 2))
    assert gone.total is None and gone.strength == "Weak protection" and "No guarantee" in gone.why
    assert json.loads(gone.to_json())["deployment"]["privacy_loss"]["privacy_parameters"] == {}


def test_the_page_names_what_was_declared_after_looking():
    plan = to_sign().plan
    assert "after looking" not in lines(to_sign())["Seen before"]
    declared = dc.replace(plan.declared, categories=(Category("ward", ("a", "b")),), after_looking=("age", "ward"))
    told = lines(to_sign(dc.replace(plan, declared=declared)))
    assert "after looking at the file: age, ward." in told["Seen before"] and "unknown" in told["Seen before"]
    assert "ward: a, b" in told["Columns"].replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(("positive", "question"), [(">50K", "Predict sick = >50K"), (">= 50", "Predict sick ≥ 50")])
def test_the_question_is_the_label_with_its_value_or_threshold(positive, question):
    plan = to_sign().plan
    assert to_sign(dc.replace(plan, declared=dc.replace(plan.declared, positive=positive))).question == question


def test_the_json_has_the_registry_s_fields():
    for briefing in (to_sign(), to_sign(records=3, releases=2), specimen()):
        document = briefing.document()
        assert document["url_slug"] and {*document["deployment"]} == {*REGISTRY}
        for name, fields in document["deployment"].items():
            assert {*fields} <= {*REGISTRY[name].split()}, name
    deployment = to_sign().document()["deployment"]
    assert deployment["privacy_loss"]["privacy_parameters"]["epsilon"] == to_sign().total.epsilon
    pure = to_sign().total.pure
    assert deployment["dp_variant"]["variant_name"] == ("Pure DP" if pure else "Approximate DP")
    assert deployment["deployment_model"]["model_name"] == "Central"


def test_the_json_holds_the_digest_and_neither_key_nor_values():
    def numbers(text: str) -> set[float]:
        return {float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", text)}

    text = to_sign().to_json()
    assert to_sign().plan.digest in text and KEY not in text + html_page(to_sign())
    # With fewer digits there are many others.
    values = {float(cell) for cell in re.findall(r",(0\.\d\d[1-9]),", MANY.decode())}
    assert len(values) > 150 and len(numbers(text)) > 30 and not values & numbers(text)
    assert hashlib.sha256(MANY).hexdigest() not in text and hashlib.md5(MANY).hexdigest() not in text


VIEW = """
from types import SimpleNamespace
from dpcore.studies.decide.smallest_epsilon import SmallestEpsilon
from pages.decide import takeaway
from pages.decide.state import State
from pages.decide.upload.upload import Upload
from tests.briefings import KEY, specimen, to_sign
made, asked = {made}, SimpleNamespace(complete={complete})
upload = made.plan and Upload(made.source, "person", 1, KEY, made.plan.digest)
answer = SmallestEpsilon(made.answer.curve, {keep})
takeaway.show(State(answer, asked, made.source, upload, "light"), made.looks)
"""


@pytest.mark.parametrize(("made", "kinds"), [("to_sign()", ["html", "json", "key"]), ("specimen()", ["html", "json"])])
def test_the_files_are_offered_with_names_that_tell_copies(made, kinds, monkeypatch):
    files = {}
    keep = lambda label, content, name, *_, **__: files.update({name: content})  # noqa: E731
    monkeypatch.setattr(takeaway.st, "download_button", keep)
    page = open_source(VIEW.format(made=made, complete=False, keep=0.5))
    assert not page.exception and not files and "last split" in page.caption[0].value
    page = open_source(VIEW.format(made=made, complete=True, keep=0.5))
    briefing = to_sign() if "key" in kinds else specimen()
    assert not page.exception and list(files) == [f"{briefing.name}.{kind}" for kind in kinds]
    document = json.loads(files[f"{briefing.name}.json"])
    assert document["release"] == briefing.document()["release"] and "1 release is planned" in page.markdown[0].value
    assert briefing.question in files[f"{briefing.name}.html"].replace("\N{NO-BREAK SPACE}", " ")
    assert ("without the file" in document["page"]["link"]) == ("key" in kinds)
    if "key" in kinds:
        assert files[f"{briefing.name}.key"] == KEY and "apart" in page.caption[0].value
    else:
        assert "a data set of this dashboard" in page.caption[0].value and document["release"] is None


def test_where_no_epsilon_is_useful_there_is_nothing_to_sign():
    page = open_source(VIEW.format(made="to_sign()", complete=True, keep=0.999))
    assert not page.exception and "Nothing to sign" in page.markdown[0].value and len(page.markdown) == 1
