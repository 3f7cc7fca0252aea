"""`python -m benchmarks` as a command: the lightest comparison at its small size, and what it writes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from .harness import ROOT


def test_the_lightest_benchmark_writes_whole_rows_with_ratios_over_ours(tmp_path):
    command = [sys.executable, "-m", "benchmarks", "noise", "--quick", "-o", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    results = json.loads((tmp_path / "results.json").read_text())
    ours, numpy = results["rows"]
    assert (ours["who"], ours["ratio"], numpy["who"]) == ("ours", None, "numpy") and results["machine"]["cores"] >= 1
    assert numpy["ratio"] == pytest.approx(numpy["cpu"] / ours["cpu"]) and ours["met"] is None is numpy["met"]
    table = (tmp_path / "results.md").read_text().strip().splitlines()
    assert done.stdout.splitlines()[: len(table)] == table and len(table) == 2 + len(results["rows"])
