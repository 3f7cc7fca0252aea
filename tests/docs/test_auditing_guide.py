"""docs/auditing.md: its function is refuted, from Python and from the shell, and passes once its bug is mended."""

from __future__ import annotations

import re
import sys

import pytest

import dpcore
from dpcore.__main__ import main
from dpcore.audit.function import CANNOT_SHOW
from tests.harness import ROOT

TEXT = (ROOT / "docs" / "auditing.md").read_text(encoding="utf-8")
FILE, USE = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
(CHANGE,) = re.findall(r"^```diff\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_the_missing_factor_is_caught_and_its_mending_passes(capsys):
    """The mended function is contradicted by chance in at most 0.1% of seeds."""
    wrong, right = (line[1:] for line in CHANGE.splitlines())
    assert FILE.count(wrong) == 1
    exec(FILE + USE, found := {})
    assert capsys.readouterr().out == f"{found['report'].sentence}\n"
    exec(FILE.replace(wrong, right), mended := {})
    assert dpcore.audit_function(**mended["question"](), runs=2_000).verdict == "no contradiction found"


def test_the_command_says_so_too(tmp_path, monkeypatch, capsys):
    (tmp_path / "training.py").write_text(FILE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (command,) = re.findall(r"`python -m dpcore (audit training:\S+ .*?)`", TEXT)
    try:
        with pytest.raises(SystemExit) as stop:
            main(command.split())
    finally:
        sys.modules.pop("training")
    out = capsys.readouterr().out
    assert stop.value.code == 1 and "refuted by" in out and all(sentence in out for sentence in CANNOT_SHOW)
