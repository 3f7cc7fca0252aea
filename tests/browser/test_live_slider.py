"""The benchmark of slider moves sees what it is to compare: a chart that is kept, and one that is replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import live_slider

# It drives a browser of its own, in a process that may not have another one.
pytestmark = [pytest.mark.browser, pytest.mark.nightly]


def test_our_charts_keep_node_and_zoom_and_those_of_streamlit_do_not(tmp_path: Path):
    out = tmp_path / "rows.json"
    live_slider.main(["--pages", "start", "--moves", "3", "--json", str(out)])
    rows = json.loads(out.read_text())
    assert [(row["who"], row["walk"]) for row in rows] == [
        (who, walk) for walk, _, _ in live_slider.WALKS for who in ("live_figure", "plotly_chart")
    ]
    for row in rows:
        ours = row["who"] == "live_figure"
        assert row["missed"] == 0 and 0.0 < row["p50"] <= row["p95"] <= row["max"]
        assert row["page"] >= row["p50"]
        assert (row["blank frames"] == 0) == row["node kept"] == row["zoom kept"] == ours
