"""examples/: notebooks of public names without outputs or places of this computer; by night each is run by Jupyter."""

from __future__ import annotations

import ast
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dpcore

from ..harness import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
PACKAGES = {"dpcore", "numpy", "pandas", "scipy", "sklearn"}
PLOTLY = "application/vnd.plotly.v1+json"
UNANSWERED = "return None  # YOUR ANSWER"
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(path: Path, kind: str) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def not_public(source: str) -> list[str]:
    """What a program uses of this project that is private, or not there."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found += [alias.name for alias in names if alias.name.split(".")[0] not in PACKAGES]
            case ast.ImportFrom(module=str(module), names=names):
                if module.split(".")[0] not in PACKAGES or "._" in module:
                    found.append(module)
                elif module.startswith("dpcore"):
                    there = vars(import_module(module)) if module != "dpcore" else dict.fromkeys(dpcore.__all__)
                    found += [alias.name for alias in names if alias.name not in there or alias.name.startswith("_")]
            case ast.Attribute(value=ast.Name(id="dpcore"), attr=name) if name not in dpcore.__all__:
                found.append(name)
            case ast.Attribute(attr=name) if name.startswith("_"):
                found.append(name)
    return found


@every_notebook
def test_a_notebook_has_public_names_only_and_neither_outputs_nor_places_of_a_computer(path: Path):
    text = path.read_text(encoding="utf-8")
    read = json.loads(text)
    assert (read["nbformat"], read["metadata"]["kernelspec"]["name"]) == (4, "python3")
    code = [cell for cell in read["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 3 and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in read["cells"]}) == len(read["cells"])
    assert cells_of(path, "markdown")[0].startswith("# ")
    assert not re.search(r"/(home|root|tmp|work|Users)/|[A-Z]:\\\\", text)
    assert not_public("\n".join(cells_of(path, "code"))) == []


def run(path: Path, *answers: str) -> tuple[str, list[dict[str, Any]]]:
    """What a notebook prints, and the data that its cells show, run by a kernel. answers: for the places left open."""
    import nbformat
    from nbclient import NotebookClient

    text = path.read_text(encoding="utf-8")
    for answer in answers:
        text = text.replace(UNANSWERED, f"return {answer}", 1)
    notebook = nbformat.reads(text, 4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    printed = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    return printed, [output.data for output in outputs if "data" in output]


@pytest.mark.nightly
@every_notebook
def test_a_notebook_runs_in_jupyter_and_draws_its_figure(path: Path):
    printed, shown = run(path)
    assert printed
    figures = [data[PLOTLY] for data in shown if PLOTLY in data]
    assert len(figures) == (path.stem != "homework") and all(figure["data"] for figure in figures)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "answers, verdicts",
    [
        ((), ("Sensitivity: not yet", "Noise: not yet")),
        (("2.0 / (n * lam)", "2.0 / (n * lam) / gaussian_mu(BUDGET)"), ("Sensitivity: correct", "Noise: correct")),
        (
            ("1.0 / (n * lam)", "1.0 / (n * lam) / gaussian_mu(BUDGET)"),
            ("too small: two tables attain more", "0.50 of the noise that is needed; an attack says: contradicted"),
        ),
        (("3.0 / (n * lam)", "9.0 / (n * lam) / gaussian_mu(BUDGET)"), ("too large", "private, but 4.5 times")),
    ],
)
def test_the_homework_says_what_an_answer_is_worth(answers: tuple[str, ...], verdicts: tuple[str, ...]):
    (path,) = (each for each in NOTEBOOKS if each.stem == "homework")
    assert path.read_text(encoding="utf-8").count(UNANSWERED) == 2
    printed, _ = run(path, *answers)
    assert all(verdict in printed for verdict in verdicts), printed
