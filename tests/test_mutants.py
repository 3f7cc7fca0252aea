"""Mutants of the code: each fits the code as it is, and each is noticed by the test that it names."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys

import pytest

from tools.mutants import ROOT, Mutant, read_table, run_mutants

MUTANTS = read_table()


@functools.cache
def code_of(file: str) -> str:
    """Without comments and layout."""
    return ast.dump(ast.parse((ROOT / file).read_text()))


def test_there_are_many_and_each_has_a_name_of_its_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 80


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_code_that_still_compiles(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()
    assert text.count(mutant.old) == 1
    patched = mutant.patched(text)
    assert patched != text
    if mutant.file.endswith(".py"):
        tree = ast.parse(patched)
        assert ast.dump(tree) != code_of(mutant.file), "only comments or layout change"
        compile(tree, mutant.file, "exec")


def test_what_must_notice_is_a_test() -> None:
    """Or one of its cases: pytest finds each."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", ""]
    found = subprocess.run([*command, *{mutant.test for mutant in MUTANTS}], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


@pytest.mark.nightly
def test_every_mutant_is_caught() -> None:
    found = run_mutants(MUTANTS)
    assert {name: verdict for name, verdict in found.items() if verdict != "caught"} == {}
