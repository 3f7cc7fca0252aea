"""What the documents and docstrings show must run, and the paths they name must exist."""

import doctest
import functools
import importlib
import re
import tomllib
from pathlib import Path

import pytest

import dpcore
from dpcore.studies.papers.reproductions import REPRODUCTIONS, get_reproduction
from tests.harness import ROOT
from tools import bounds, documents

MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for folder in ("dpcore", "pages")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.name not in ("__main__.py", "main.py") and not path.match("pages/*/page.py")  # scripts
    if ">>>" in path.read_text(encoding="utf-8")
]
DOCUMENTS = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_public_functions_of_the_library_have_doctests():
    """One doctest per public function; a method's class or module may speak for it."""
    for name in ("bounds_of", "calibrate", "solve", "run", "list_mechanisms", "make_mechanism"):
        assert ">>>" in (getattr(dpcore, name).__doc__ or ""), name


def test_the_readme_s_python_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(code, {})
    assert "Budget(epsilon=1.0, delta=1e-06)" in capsys.readouterr().out


@functools.cache
def all_tests() -> str:
    return "\n".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_named_paths_and_tests_exist(document: Path):
    text = document.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (document.parent / target).exists(), target
    for path in re.findall(r"`((?:dpcore|pages|tests|docs|mechanisms|kernels)/[\w/.]+)(?:::\w+)?`", text):
        place = ROOT / path if (ROOT / path).exists() else ROOT / "dpcore" / path
        assert place.exists(), path
    for test in re.findall(r"`(?:[\w/.]+::)?(test_\w+)`", text):
        assert f"def {test}(" in all_tests(), test


def test_the_errata_are_those_of_the_files_that_hold_them():
    """`python -m tools.documents` writes them."""
    assert (ROOT / "docs" / "errata.md").read_text(encoding="utf-8") == documents.errata_page()


def test_the_reproductions_have_the_protocols_of_today():
    """Their verdicts are compared by night (`tests/studies/test_reproduced_claims.py`)."""
    text = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    for chosen in map(get_reproduction, REPRODUCTIONS):
        assert f"## {chosen.title}\n{chosen.source}: `{chosen.name}`. " in text and chosen.protocol in text


def test_the_packages_of_the_architecture_are_those_of_the_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (packages,) = (each["layers"] for each in contracts if each["name"] == "The packages of the library")
    block = (ROOT / "docs" / "architecture.md").read_text().split("```\n")[1]
    assert re.findall(r"^(\S.*?)   ", block, re.MULTILINE) == packages


def test_the_table_of_bounds_has_a_row_for_each_mechanism_and_its_numbers():
    """Those of output perturbation, whose means are integrals."""
    lines = (ROOT / "docs" / "bounds.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")][1:]
    assert [row[:2] for row in rows] == [[view, each.key] for view, (_, made) in bounds.VIEWS.items() for each in made]
    problem, (first, *_) = bounds.VIEWS[rows[0][0]]
    found = bounds.numbers(problem, first, bounds.hardest_of(problem, first), rows[0][6])
    assert found == rows[0][2:]
