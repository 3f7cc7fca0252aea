"""Mechanisms from outside of the library: what a file or a package must be, and the sentence that refuses another."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpcore import list_mechanisms
from dpcore.mechanisms import FaultyMechanism, add_mechanisms, mechanism_class, origin_of, own
from pages.server import arguments

GOOD = '''
import dataclasses as dc
from dpcore.mechanisms.output.gaussian import OutputGaussian

@dc.dataclass(frozen=True)
class Mine(OutputGaussian):
    """Release.

    Guarantee: (epsilon, delta)-differential privacy.
    Not protected: n.
    """

    key: str = dc.field(default="mine", init=False, repr=False)
    label = "mine"
    source = "nowhere"
'''


@pytest.fixture(autouse=True)
def library() -> Iterator[None]:
    """The library as it is, before and after."""
    own._FROM_FILES.clear()
    own._installed.cache_clear()
    yield
    own._FROM_FILES.clear()
    own._installed.cache_clear()


def install(folder: Path, source: str, name: str = "mine", package: str = "mine") -> None:
    """Leave in a folder what pip leaves there of a package."""
    (folder / f"{package}_module.py").write_text(source)
    about = folder / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[dpcore.mechanisms]\n{name} = {package}_module:Mine\n")


def test_a_file_and_a_package_are_listed_last_with_where_they_come_from(tmp_path, monkeypatch):
    before = list_mechanisms()
    own._installed.cache_clear()
    install(tmp_path, GOOD)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "other.py").write_text(GOOD.replace('"mine"', '"other"'))
    add_mechanisms(tmp_path / "other.py")
    assert list_mechanisms() == [*before, "mine", "other"]
    assert (origin_of("mine"), origin_of("other"), origin_of("ftrl")) == ("the package mine", "the file other.py", "")
    assert mechanism_class("other")().key == "other"


@pytest.mark.parametrize(
    "right, wrong, sentence",
    [
        (GOOD, "1 / 0", r"mine.py: The file cannot be imported \(ZeroDivisionError: division by zero\): mend it."),
        (GOOD, "raise SystemExit(3)", r"mine.py: The file cannot be imported \(SystemExit: 3\): mend it."),
        (GOOD, "x = 1", "must define a class that derives from Mechanism: write one"),
        ("(frozen=True)", "(frozen=True, order=True", r"cannot be imported \(SyntaxError"),
        ("@dc.dataclass(frozen=True)\n", "", "class Mine must be a frozen dataclass, .*, got 'Mine'"),
        ('"mine", init', '"ftrl", init', "must have a key that no other mechanism has, got 'ftrl'"),
        ('"mine", init', '"My key", init', "must have a key of at most 40 letters a-z, .*, got 'My key'"),
        ('label = "mine"', "", "must have a label of its own, in words, got None"),
        ('source = "nowhere"', "source = 7", "must have a source of its own, in words, got 7"),
        ('source = "nowhere"', 'source, family = "x", "blue"', "must have a family, one of output, .*, got 'blue'"),
        ("Guarantee: (epsilon, delta)-differential privacy.", "", "be made from its defaults and state its guarantee"),
    ],
)
def test_a_faulty_file_is_refused_with_the_rule_and_nothing_is_added(tmp_path, right, wrong, sentence):
    before, file = list_mechanisms(), tmp_path / "mine.py"
    assert right in GOOD
    file.write_text(GOOD.replace(right, wrong))
    with pytest.raises(FaultyMechanism, match=sentence):
        add_mechanisms(file)
    with pytest.raises(SystemExit, match=sentence):
        arguments.accept(["--mechanism", str(file)])
    assert list_mechanisms() == before


def test_a_file_that_is_not_there_or_given_twice_is_refused(tmp_path):
    with pytest.raises(FaultyMechanism, match=r"must be Python, with a name that ends with .py"):
        add_mechanisms(tmp_path / "mine.py")
    (tmp_path / "mine.py").write_text(GOOD)
    add_mechanisms(tmp_path / "mine.py")
    with pytest.raises(FaultyMechanism, match="must have a key that no other mechanism has, got 'mine'"):
        add_mechanisms(tmp_path / "mine.py")


@pytest.mark.parametrize(
    "source, name, sentence",
    [
        ("1 / 0", "mine", r"The entry point “mine” of the package faulty cannot be imported \(ZeroDivisionError"),
        ("import sys; sys.exit(1)", "mine", r"of the package faulty cannot be imported \(SystemExit: 1\): mend the"),
        ("Mine = 3", "mine", "must be a class that derives from dpcore.mechanisms.base.Mechanism, got 3"),
        (GOOD, "yours", "“yours” of the package faulty must be called as its mechanism's key, 'mine': rename one"),
    ],
)
def test_a_faulty_package_ends_the_start_with_its_name(tmp_path, monkeypatch, source, name, sentence):
    install(tmp_path, source, name, "faulty")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "faulty_module", raising=False)
    with pytest.raises(FaultyMechanism, match=sentence):
        list_mechanisms()
    with pytest.raises(SystemExit, match=sentence):
        arguments.accept([])


def test_two_packages_with_one_key_are_refused(tmp_path, monkeypatch):
    install(tmp_path, GOOD, "mine", "first")
    install(tmp_path, GOOD, "mine", "second")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FaultyMechanism, match="must have a key that no other mechanism has, got 'mine'"):
        list_mechanisms()


def test_a_wrong_number_of_the_server_ends_the_start_with_a_sentence(monkeypatch):
    monkeypatch.setenv("PRICE_OF_PRIVACY_SERVER", "first")
    with pytest.raises(SystemExit, match=r"PRICE_OF_PRIVACY_SERVER must be a whole number from 1 to 19, got 'first': "):
        arguments.accept([])
