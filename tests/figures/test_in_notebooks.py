"""A notebook draws what a figure function returns."""

import plotly.io
import pytest

from dpcore.figures.figure import Figure

PLOTLY = "application/vnd.plotly.v1+json"


def test_a_figure_at_the_end_of_a_cell_is_drawn_as_plotlys_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    figure = Figure([{"type": "scatter", "y": [1.0, 2.0]}], {"height": 300})
    drawn = figure._repr_mimebundle_()[PLOTLY]
    assert drawn["layout"]["height"] == 300 and drawn["data"][0]["type"] == "scatter"
