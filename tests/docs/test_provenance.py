"""Every guarantee and every bound has its assumption, its theorem and a test that is marked as showing it."""

import ast
import functools
import inspect
import re

import pytest

from dpcore import bounds_of, calibrate, list_mechanisms
from dpcore.core.privacy import Bound
from dpcore.mechanisms import mechanism_class
from dpcore.mechanisms.base import Mechanism
from tests.harness import ROOT
from tests.problems import CLASSIFYING

SETTINGS = {"n": 2_000, "p": 50, "epsilon": 1.0, "delta": 1e-5}
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


@functools.cache
def marked() -> dict[str, set[str]]:
    """Mechanism -> forms of statements that tests check, as their marks `shows(form, *mechanisms)` say.

    A mark without a mechanism speaks of all that are registered.
    """
    found: dict[str, set[str]] = {key: set() for key in list_mechanisms()}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for test in ast.parse(text).body if "mark.shows(" in text else ():
            for mark in getattr(test, "decorator_list", ()):
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.shows":
                    form, *keys = (ast.literal_eval(argument) for argument in mark.args)
                    for key in keys or found:
                        found[key].add(form)
    return found


@functools.cache
def bounds(key: str) -> list[Bound]:
    return list(bounds_of(calibrate(key, **SETTINGS, classes=3 if key in CLASSIFYING else None)))


@pytest.mark.parametrize("key", list_mechanisms())
def test_every_guarantee_and_every_bound_has_its_assumptions_and_a_test(key):
    assert all(bound.assumes and bound.source for bound in bounds(key))
    states, assumes = mechanism_class(key).guarantee()
    assert states.endswith("-differential privacy") and "replacing one record" in assumes
    claimed = {"privacy", *(bound.form for bound in bounds(key))}
    assert marked()[key] == claimed, "a test for each claim, and none for what is not claimed"


@pytest.mark.parametrize("key", list_mechanisms())
def test_every_theorem_is_in_the_docstring(key):
    said = places(docstrings(key))
    for theorem in (mechanism_class(key).source, *(bound.source for bound in bounds(key))):
        assert places(theorem) <= said, f"{theorem} is not in the docstring of {key}"


def test_a_mechanism_that_says_no_guarantee_is_noticed():
    class Silent(Mechanism):
        """Nothing."""

        key = "silent"

    with pytest.raises(ValueError, match="docstring of silent"):
        Silent.guarantee()
