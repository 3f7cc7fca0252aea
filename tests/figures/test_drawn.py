"""What is drawn: plain dictionaries that plotly would take and send as they are, and a look that sees where not."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import plotly.io
import pytest

from dpcore.figures.figure import Figure

from ..drawn import checked

BARE = {"template": {}}


def sent(trace: dict, layout: dict = BARE) -> dict:
    return json.loads(checked(Figure.to_json)(Figure([{"type": "scatter", **trace}], layout)))


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.1, np.nan, np.inf, -1e300]),
        np.array([1.0, 2.5], np.float32),
        np.arange(4),
        np.array([], float),
        np.arange(6.0)[::2],
        [0.5, float("nan"), 3],
        ("a", "b"),
        np.array(["a", None], object),
        pd.Series([1.0, 2.0], index=[5, 7]),
        pd.Series(["a", "b"]),
        [np.float64(0.5), np.int64(3)],
    ],
    ids=str,
)
def test_values_reach_the_browser_as_plotly_would_send_them(values):
    figure = sent({"x": values, "customdata": np.arange(8.0).reshape(4, 2)})
    assert figure["data"][0]["customdata"]["shape"] == "4, 2"
    assert "NaN" not in json.dumps(figure) and "Infinity" not in json.dumps(figure)


@pytest.mark.parametrize("wrong", [{"line_color": "#FF0000"}, {"colour": "#FF0000"}, {"mode": "curve"}])
def test_what_plotly_refuses_or_writes_otherwise_is_seen(wrong):
    with pytest.raises((AssertionError, ValueError)):
        sent({"y": [1.0], **wrong})


@pytest.mark.parametrize("title", ["accuracy on test records", "accuracy, %", "people classified correctly, %"])
def test_an_accuracy_without_the_larger_class_beside_it_is_seen(title):
    layout = BARE | {"annotations": [{"text": title}]}
    with pytest.raises(AssertionError, match="no larger class"):
        sent({"y": [0.9], "name": "private"}, layout)
    assert sent({"y": [0.5], "name": "always the larger class"}, layout)


def test_a_figure_at_the_end_of_a_notebook_s_cell_is_drawn_as_plotlys_own(monkeypatch):
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    figure = Figure([{"type": "scatter", "y": [1.0, 2.0]}], {"height": 300})
    drawn = figure._repr_mimebundle_()["application/vnd.plotly.v1+json"]
    assert drawn["layout"]["height"] == 300 and drawn["data"][0]["type"] == "scatter"
