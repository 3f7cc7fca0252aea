"""Automatic settings against the best of a grid: the table in docs/performance.md is what the command prints."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from .harness import ROOT

# With what the bound's own T, m or step, or a fixed size of the noise, loses there.
SLICE = {
    ("simplex_sampling", "mixture, 500 x 16", "squared"): 132.0,
    ("phased_sgd", "p = 2, 1,000 x 16", "logistic"): 13.0,
    ("objective_gaussian", "diabetes", "huber"): 5.5,
    ("frank_wolfe_polytope", "diabetes", "squared"): 360.0,
}


def points_of(text: str, rule: str, task: str, loss: str) -> tuple[float, float]:
    """Points and standard error in the cell of a rule and a task."""
    for table in re.findall(r"\| task \| loss \| .*\n\|[-|]+\n(?:\|.*\n)+", text):
        head, _, *lines = (re.split(r" *\| *", line.strip("| ")) for line in table.strip().splitlines())
        for line in lines:
            if rule in head and (line[0].strip("*"), line[1]) == (task, loss):
                points, se = re.fullmatch(r"(-?[\d.]+) \(([\d.]+)\)", line[head.index(rule)]).groups()
                return float(points), float(se)
    raise AssertionError(f"the table must have a row for {rule} on {task}, {loss}")


def test_the_summary_is_that_of_the_cells():
    lines = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").split("## Automatic settings")[1].split("\n")
    found, rules = dict[tuple[str, str], list[float]](), []
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| task | loss |"):
            rules = cells[2:]
        elif line.startswith("| rule |"):
            break
        elif line.startswith("|") and not line.startswith("|---"):
            task, _, *points = cells
            for rule, cell in zip(rules, points, strict=True):
                if cell:
                    found.setdefault((rule, "seen" if task.startswith("*") else "new"), []).append(
                        float(cell.split()[0])
                    )
    assert sum(map(len, found.values())) > 300
    for (rule, kind), points in found.items():
        within = f"{sum(value <= 1.0 for value in points)} of {len(points)}"
        figures = f"{np.mean(points):.1f} | {np.median(points):.1f} | {within} | {max(points):.1f}"
        assert f"| {rule} | {kind} | {figures} |" in lines


@pytest.mark.nightly
@pytest.mark.parametrize("rule, task, loss", list(SLICE))
def test_a_slice_of_the_table_is_what_the_command_prints(rule, task, loss):
    """The same seeds: equal up to rounding and the last bits of a model, which may change which settings are best."""
    command = [sys.executable, "-m", "benchmarks.default_settings", rule, "--task", task]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    points, _ = points_of(printed, rule, task, loss)
    stated, se = points_of((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"), rule, task, loss)
    assert points == pytest.approx(stated, abs=0.06 + se)
    assert points < SLICE[rule, task, loss] / 3
