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
    ("polyhedral_frank_wolfe, tree", "diabetes", "squared"): 95.0,
}


def cells_of(text: str) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Points and standard error for each rule, task and loss."""
    cells = {}
    for table in re.findall(r"\| task \| loss \| .*\n\|[-|]+\n(?:\|.*\n)+", text):
        head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().split("\n"))
        for task, loss, *found in lines:
            for rule, cell in zip(head[2:], found, strict=True):
                if cell:
                    points, se = re.fullmatch(r"(-?[\d.]+) \(([\d.]+)\)", cell).groups()
                    cells[rule, task.strip("*"), loss] = float(points), float(se)
    return cells


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


def test_the_automatic_setting_of_a_group_is_its_largest_cell():
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    cell = r"(-?[\d.]+) \([\d.]+\)"
    groups = re.findall(rf"^\| ([^|]+) \| ([^|]+) \| {cell} \| {cell} \| {cell} \|$", text, re.MULTILINE)
    points = {(rule, task): found for (rule, task, _), (found, _) in cells_of(text).items()}
    assert len(groups) > 40
    for rule, tasks, any_rule, best_found, automatic in groups:
        assert max(points[rule, task] for task in tasks.split("; ")) == float(automatic), (rule, tasks)
        assert float(any_rule) <= float(best_found)


@pytest.mark.nightly
@pytest.mark.parametrize("rule, task, loss", list(SLICE))
def test_a_slice_of_the_table_is_what_the_command_prints(rule, task, loss):
    """The same seeds: equal up to rounding and the last bits of a model, which may change which settings are best."""
    command = [sys.executable, "-m", "benchmarks.default_settings", rule, "--task", task]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    points, _ = cells_of(printed)[rule, task, loss]
    stated, se = cells_of((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))[rule, task, loss]
    assert points == pytest.approx(stated, abs=0.06 + se)
    assert points < SLICE[rule, task, loss] / 3
