"""Traces: every guarantee and every bound has its assumption, its theorem and tests that exist."""

import inspect
import json
import re

import pytest

from dpcore import bounds_of, calibrate, list_mechanisms
from dpcore.mechanisms import mechanism_class
from dpcore.mechanisms.base import Mechanism
from pages.sources import provenance as t
from tests.problems import CLASSIFYING
from tools import generators

NUMBERED = r"(?:theorem|algorithm|section|equation|corollary|proposition|lemma)s? \(?\d[\d.]*\)?"
PLACES = re.compile(rf"({NUMBERED})(?: and ([\d.]+))?", re.IGNORECASE)


def docstrings(key: str) -> str:
    """What the mechanism's class and those above it say, in small letters."""
    classes = [c for c in mechanism_class(key).__mro__ if c.__module__.startswith("dpcore.")]
    return " ".join(" ".join((inspect.getdoc(c) or "").lower().split()) for c in classes)


def places(words: str) -> set[str]:
    """The numbers of theorems and the like in a sentence: theorem 3, ("theorems 3 and 4" are two)."""
    found = set()
    for first, second in PLACES.findall(words.lower()):
        kind, number = first.rstrip(".").rsplit(" ", 1)
        found |= {(kind.rstrip("s"), each.rstrip(".")) for each in (number, second) if each}
    return found


def test_places_are_read_one_by_one():
    assert places("Theorems 3 and 4 as published") == {("theorem", "3"), ("theorem", "4")}
    assert places("section 5.2 and equation (12), false.") == {("section", "5.2"), ("equation", "(12)")}


@pytest.mark.parametrize("key", list_mechanisms())
def test_every_guarantee_and_every_bound_has_a_row(key):
    rows = t.traces(key)
    classes = 3 if key in CLASSIFYING else None
    bounds = bounds_of(calibrate(key, **t.SETTINGS, classes=classes))
    assert [row.form for row in rows] == ["privacy", *(bound.form for bound in bounds)]
    assert [row.value for row in rows[1:]] == [bound.value for bound in bounds]
    assert [row.theorem for row in rows[1:]] == [bound.source for bound in bounds]
    assert all(row.assumes and row.theorem and row.states and row.tests for row in rows)
    assert rows[0].states.endswith("-differential privacy") and "replacing one record" in rows[0].assumes
    named = json.loads(t.FILE.read_text(encoding="utf-8"))
    assert set(named[key]) == {row.form for row in rows}, "a test for each claim, and none for what is not claimed"


@pytest.mark.parametrize("key", list_mechanisms())
def test_every_theorem_is_in_the_docstring(key):
    said = places(docstrings(key))
    for row in t.traces(key):
        assert places(row.theorem) <= said, f"{row.theorem} is not in the docstring of {key}"


def test_the_tests_are_those_that_the_marks_name():
    """`python -m tools.generators` writes them down."""
    assert t.FILE.read_text(encoding="utf-8") == generators.provenance()


def test_a_mark_of_a_mechanism_that_is_not_registered_is_noticed(monkeypatch):
    monkeypatch.setattr(generators, "list_mechanisms", lambda: ["ftrl"])
    with pytest.raises(KeyError):
        generators.provenance()


def test_a_mechanism_that_says_no_guarantee_is_noticed():
    class Silent(Mechanism):
        """Nothing."""

        key = "silent"

    with pytest.raises(ValueError, match="docstring of silent"):
        Silent.guarantee()
