"""docs/architecture.md says how many files a new thing touches; here they are counted."""

import functools
import re
from pathlib import Path

import pytest

from dpcore import list_mechanisms
from dpcore.core.losses import LOSSES
from dpcore.data import SOURCES

from ..harness import ROOT
from ..page_driver import SCRIPTS

KINDS = {
    "mechanism": list_mechanisms(),
    "page": [page.title() for page in SCRIPTS],
    "loss": list(LOSSES),
    "data set of scikit-learn": [key for key in SOURCES if not key.startswith("synthetic")],
    "synthetic data set": [key for key in SOURCES if key.startswith("synthetic")],
}
SAID = re.findall(
    r"^\| ([\w -]+) \| (\d) \| (.+) \|$", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"), re.MULTILINE
)


@functools.cache
def contents() -> dict[Path, str]:
    """Of all files but the tests, in small letters."""
    rooms = [ROOT / room for room in ("dpcore", "pages", "tools", "benchmarks")]
    files = [file for room in rooms for kind in ("*.py", "*.csv") for file in room.rglob(kind)]
    return {file: file.read_text(encoding="utf-8").lower() for file in files}


def naming(keys: list[str]) -> set[str]:
    """The files, tests aside, that name all of these, or all but one: in quotes, in names of functions, in rows."""
    written = {".py": r'"{}"|\bdef {}_', ".csv": r"(?m)^{},"}
    words = [key.lower() for key in keys]
    return {
        file.relative_to(ROOT).as_posix()
        for file, text in contents().items()
        if sum(word in text for word in words) >= len(keys) - 1
        and sum(bool(re.search(written[file.suffix].replace("{}", word), text)) for word in words) >= len(keys) - 1
    }


def test_every_kind_is_said():
    assert [kind for kind, _, _ in SAID] == list(KINDS)


@pytest.mark.parametrize(("kind", "count", "files"), SAID)
def test_a_new_thing_touches_the_files_that_are_named(kind, count, files):
    assert len(KINDS[kind]) > 4
    named = re.findall(r"`(\S+)`", files)
    assert len(named) == int(count) and naming(KINDS[kind]) == set(named)
