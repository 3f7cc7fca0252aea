"""A notebook draws what a figure function returns."""

import ast

import plotly.io
import pytest

from dpcore.figures.figure import Figure

from ..harness import ROOT

PLOTLY = "application/vnd.plotly.v1+json"


def test_a_figure_at_the_end_of_a_cell_is_drawn_as_plotlys_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    figure = Figure([{"type": "scatter", "y": [1.0, 2.0]}], {"height": 300})
    drawn = figure._repr_mimebundle_()[PLOTLY]
    assert drawn["layout"]["height"] == 300 and drawn["data"][0]["type"] == "scatter"


def test_every_public_figure_function_returns_figures():
    found = {}
    for file in (ROOT / "dpcore" / "figures").rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if (
                isinstance(node, ast.FunctionDef)
                and node.name.endswith(("_figure", "_figures"))
                and node.name[0] != "_"
            ):
                found[node.name] = ast.unparse(node.returns) if node.returns else ""
    assert len(found) > 30 and set(found.values()) <= {"Figure", "dict[str, Figure]"}, found
