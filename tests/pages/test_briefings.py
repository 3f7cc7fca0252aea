"""A briefing says what its download says, on a page that asks nobody for anything and runs no text of a visitor's."""

from __future__ import annotations

import dataclasses as dc
import hashlib
import json
import re

import pytest

import dpcore
from dpcore.core.privacy import Budget
from dpcore.data import SOURCES, Category
from dpcore.mechanisms.signed import SignedPlan
from pages.decide.briefing import words
from pages.decide.briefing.content import UNCOUNTED, Briefing, Guarantee, Interval
from pages.decide.briefing.page import html_page

from ..briefings import EVIL, KEY, PEOPLE, Reader, evil, example, signed, to_sign, untrue


def test_the_page_says_what_the_download_says():
    briefing = to_sign()
    document, page = json.loads(briefing.to_json()), html_page(briefing)
    assert document == briefing.document() and untrue(page, document) == []
    # The power twin: a page that says one number otherwise, or one more, is caught.
    assert untrue(page.replace(">93.4%</data>", ">93.5%</data>", 1), document)
    assert untrue(page.replace("an accuracy loss of", "an accuracy loss in 2026 of", 1), document)
    assert untrue(page, document | {"score": 0.91})
    assert {path for path, *_ in Reader(page).said} >= {
        *("budget.value", "score", "reference", "attack_success_of_100.limit", "warnings.0", "link"),
        *("signing.records", "guarantee.unit", "guarantee.epsilon", "guarantee.delta", "guarantee.delta_records"),
        *("mechanism", "version", "signing.releases", "signing.total.epsilon", "signing.total.delta", "lost"),
        *("signing.loss_low", "signing.loss_high", "signing.looks", "signing.algorithm", "release.digest"),
        *("signing.fingerprint", "release.calibrated.scale"),
    }
    assert document["guarantee"]["delta_records"] == 100 * 1e-6
    assert page.count('class="blank"') == len(words.BLANKS)
    assert SignedPlan.read(document["release"]) == signed()


def test_no_text_of_a_visitor_s_becomes_markup_and_the_page_refers_to_nothing():
    harmed = Reader(html_page(evil()))
    assert harmed.tags == Reader(html_page(example())).tags and not {"script", "img", "link", "a"} & {*harmed.tags}
    assert harmed.addresses == [] and untrue(html_page(evil()), evil().document()) == []
    assert any(text == EVIL for _, _, text in harmed.said)
    page = html_page(example())
    assert page.count("http") == 2  # the link, and http-equiv
    assert "default-src 'none'" in page and "url(" not in page and "@import" not in page


def test_attack_success_is_rounded_to_the_safe_side():
    found = dpcore.AttackSuccess(cap=0.7001, limit=0.6001, measured=0.61, certified=0.5999, runs=100)
    rounded = example(attack_success=found).document()["attack_success_of_100"]
    assert rounded == {"certified": 59, "limit": 61, "cap": 71}
    found = dc.replace(found, limit=0.55, certified=0.55)
    rounded = example(attack_success=found).document()["attack_success_of_100"]
    assert rounded == {"certified": 55, "limit": 55, "cap": 71}


def test_what_is_spent_is_rounded_up():
    for spent, told in ((1.2341, "1.24"), (0.05120001, "0.0513"), (1.23, "1.23"), (1e-6, "0.000001")):
        assert words.fill("{spent:spent}", {"spent": spent}) == told


@pytest.mark.parametrize(
    "changes, said",
    [
        (
            {"budget": Interval(None, None, None, "Too few.")},
            "With 4,321 patients drawn with replacement from 398 (a what-if), at no privacy budget that was "
            "tried do nine of ten releases lose at most 5.5 points of accuracy. Too",
        ),
        ({"budget": Interval(0.01, None, 0.02, at_first=True)}, "any privacy budget from ε = 0.01 on"),
        ({"source": SOURCES["synthetic"]}, "With 4,321 people, ε = 0.57 is the smallest privacy budget"),
        ({"budget": Interval(0.5, None, None)}, "95% interval: below the scale to beyond the scale"),
        (
            {"floor": 0.9262},
            "an accuracy of 92.6%: of the 3.1 points above it, 2.3 are lost (74%)",
        ),
        ({"floor": 0.94}, "no better than always predicting the larger class (94.0%): all of the 1.7 points"),
        ({"floor": 0.957}, "Nothing to learn from 4,321 patients drawn with replacement from 398 (a what-if): always"),
        ({"guarantee": Guarantee(1.0, 0.0, 1.0, 0.0)}, "δ = none (pure)"),
    ],
)
def test_what_cannot_be_told_is_said(changes, said):
    document = example(**changes).document()
    sentences = (words.budget(document), words.floor(document), words.guarantee(document))
    assert said in words.fill("".join(sentences), document).replace("**", "")
    assert untrue(html_page(example(**changes)), document) == []


def sign(**changes: object) -> Briefing:
    """The briefing with a plan to sign, and something else on its last page."""
    planned = {"releases": changes.get("releases", 1), "records_per_person": changes.get("records", 1)}
    briefing = to_sign(dc.replace(signed(), **planned))  # type: ignore[arg-type]
    return dc.replace(briefing, signing=dc.replace(briefing.signing, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda: example(attack_success=dpcore.AttackSuccess(0.7, 0.6, 0.6, 0.61, 10)), "certified <= limit <= cap"),
        (lambda: example(at_most=0.0), "at_most must be"),
        (lambda: example(warnings=("One.", "Two.", "Three.")), "warnings must be at most 3"),
        (lambda: sign(loss_low=2.4), "within its interval"),
        (lambda: sign(loss_high=2.2), "within its interval"),
        (lambda: sign(total=Budget(1.1, 1e-6)), "total must be what one release spends"),
        (lambda: sign(plan=signed(epsilon=2.0)), "the plan signed must be the briefing's"),
        (lambda: to_sign(mechanism="Objective perturbation"), "the plan signed must be the briefing's"),
        (lambda: to_sign(n=101), "the plan signed must be the briefing's"),
        (lambda: sign(plan=signed(releases=2)), "the plan signed must be the briefing's"),
        (lambda: sign(plan=None), "reason must be"),
        (lambda: sign(reason="None."), "reason must be empty"),
        (lambda: sign(releases=0), "releases must be"),
        (lambda: Interval(1.0, 2.0, 3.0), "answers must be in order"),
        (lambda: Interval(None, None, None), "reason must be"),
        (lambda: Guarantee(1.0, 1e-6, 1.1, 1e-6), "spent must be at most"),
    ],
)
def test_numbers_that_contradict_one_another_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        change()


def test_what_epsilon_does_not_include_is_always_said():
    assert example(warnings=()).warnings == (UNCOUNTED,)
    assert example(warnings=("Another.", UNCOUNTED)).warnings == (UNCOUNTED, "Another.")


def test_the_page_to_sign_names_the_smallest_budget_where_another_is_signed():
    signed_epsilon = to_sign().guarantee.epsilon
    for budget, told in (
        (Interval(signed_epsilon, None, None), None),
        (
            Interval(2.0 * signed_epsilon, None, None),
            f"is ε = {2.0 * signed_epsilon:g}; signed is ε = {signed_epsilon:g}",
        ),
        (
            Interval(None, None, None, "Too few."),
            "No budget that was tried keeps the loss of nine of ten releases to 5.5 points; "
            f"signed is ε = {signed_epsilon:g}",
        ),
    ):
        document = to_sign(budget=budget).document()
        line = words.fill(words.signed(document)["Accuracy loss"], document)
        assert told in line if told else "signed is" not in line


def test_the_page_to_sign_names_what_was_declared_after_looking():
    plan = signed()
    assert "signing.after_looking" not in html_page(to_sign(plan))
    categories = (Category("ward", ("a", "b")),)
    declared = dc.replace(plan.declared, categories=categories, after_looking=("age", "ward"))
    plan = dc.replace(plan, declared=declared)
    document = to_sign(plan).document()
    assert ("signing.after_looking", "age, ward") in {
        (path, text) for path, _, text in Reader(html_page(to_sign(plan))).said
    }
    assert SignedPlan.read(document["release"]) == plan
    assert plan.declared.names == ("age", "dose", "ward = a", "ward = b", "constant 1")


def test_the_json_holds_the_digest_and_neither_key_nor_values():
    def numbers(text: str) -> set[float]:
        return {float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", text)}

    text = to_sign().to_json()
    assert signed().digest in text and KEY not in text and html_page(to_sign()).count(KEY) == 0
    assert signed("a0" * 32).digest not in text
    values = {float(cell) for line in PEOPLE.decode().splitlines()[1:] for cell in line.split(",")[2:4]}
    # An example without the file has most of the other numbers.
    values -= {0.01}  # one in 100 records, too
    assert len(values) > 150 and len(numbers(text)) > 30 and not values & (numbers(text) - numbers(example().to_json()))
    assert hashlib.sha256(PEOPLE).hexdigest() not in text and hashlib.md5(PEOPLE).hexdigest() not in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"total": Budget(3.21, 0.0), "releases": 3}, "ε = 3.21."),
        ({"total": None, "records": 7}, "no guarantee is left"),
        ({"total": Budget(3.21, 1e-6), "records": 7}, "at most 7 of the 100 records"),
    ],
)
def test_all_releases_and_all_records_of_a_person_count(changes, said):
    briefing = sign(**changes)
    lines = words.signed(briefing.document()).values()
    assert said in " ".join(words.fill(line, briefing.document()) for line in lines)
    assert untrue(html_page(briefing), briefing.document()) == []


def test_a_delta_that_promises_nothing_is_called_too_large():
    def told(delta: float) -> str:
        briefing = example(guarantee=Guarantee(1.0, delta, 1.0, delta))
        return words.fill(words.signed(briefing.document())["Guarantee"], briefing.document())

    large, below = told(1 / 4_321), told(0.9 / 4_321)
    assert "Too large" in large and "Too large" not in below and "0.9 of 4,321" in below
    assert "Publishing" not in told(0.0)
