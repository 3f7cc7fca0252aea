"""`python -m benchmarks` as a command: the lightest comparison at its small size."""

import subprocess
import sys

import pytest

from .harness import ROOT


def test_the_lightest_benchmark_prints_a_row_for_each_rival_with_ratios_over_ours():
    command = [sys.executable, "-m", "benchmarks", "frank_wolfe", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("|-")]
    head, *rows = [line.strip("| ").split(" | ") for line in lines]
    ours, loop = (dict(zip(head, row, strict=True)) for row in rows[:2])
    assert (ours["who"], ours["ratio"], loop["who"]) == ("ours", "", "plain scipy.sparse")
    times = [float(row["CPU"].split()[0]) * (1e3 if row["CPU"].endswith(" s") else 1.0) for row in (ours, loop)]
    assert float(loop["ratio"]) == pytest.approx(times[1] / times[0], rel=0.02)
