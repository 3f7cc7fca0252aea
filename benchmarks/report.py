"""What a run leaves: lines on the screen, results.json and chart.html."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from benchmarks.rows import Row
from benchmarks.targets import TARGETS

_PACKAGES = ("numpy", "numba", "scipy", "scikit-learn")
_COLOURS = {True: "#0072B2", False: "#D55E00", None: "#777777"}
_WORDS = {True: "met", False: "missed", None: "no target"}


def seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"


def said(row: Row) -> str:
    """One line."""
    ratio = "" if row.ratio is None or row.who == row.against else f"ratio {row.ratio:.3g}"
    figures = ", ".join(f"{name} {value:.3g}" for name, value in row.accuracy.items())
    verdict = {True: "met", False: "MISSED", None: "not judged"}[row.met]
    goals = "; ".join(str(TARGETS[key]) for key in row.targets)
    parts = (f"  {row.who:<34} {seconds(row.cpu):>9} CPU {seconds(row.wall):>9} wall", f"{ratio:<12}", figures)
    return "  ".join((*parts, f"[{goals}: {verdict}]" if goals else "", row.note)).rstrip()


def heading(row: Row) -> str:
    sizes = ", ".join(f"{name} {value:,g}" for name, value in row.sizes.items())
    return f"{row.benchmark}: {row.work} ({sizes})"


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    from threadpoolctl import threadpool_info

    pools = {(p["internal_api"], p.get("version") or "", p.get("architecture", "")) for p in threadpool_info()}
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "python": platform.python_version(),
        "blas": [" ".join(pool).strip() for pool in sorted(pools)],
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    names = [line for line in facts.read_text().splitlines() if line.startswith("model name")] if facts.exists() else []
    return names[0].split(":", 1)[1].strip() if names else platform.processor()


def table(rows: Sequence[Row]) -> str:
    """As Markdown, for documents."""
    lines = ["| work | who | CPU | wall | ratio | accuracy | target |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        goals = "; ".join(str(TARGETS[key]) for key in row.targets)
        verdict = f"{goals}: {'not judged' if row.met is None else _WORDS[row.met]}" if goals else ""
        ratio = "" if row.ratio is None or row.who == row.against else f"{row.ratio:.3g}"
        figures = ", ".join(f"{name} {value:.2g}" for name, value in row.accuracy.items()) or row.note
        cells = (heading(row), row.who, seconds(row.cpu), seconds(row.wall), ratio, figures, verdict)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def chart(rows: Sequence[Row]) -> go.Figure:
    """How many times as long as ours each peer takes, on a logarithmic axis, with a mark at each target."""
    peers = [row for row in rows if row.ratio is not None and row.who != row.against]
    names = [f"{heading(row)}<br>{row.who} against {row.against}" for row in peers]
    figure = go.Figure()
    for met, colour in _COLOURS.items():
        chosen = [(name, row) for name, row in zip(names, peers, strict=True) if row.met is met]
        figure.add_scatter(
            x=[row.ratio for _, row in chosen], y=[name for name, _ in chosen], mode="markers", name=_WORDS[met],
            marker={"color": colour, "size": 9}, hovertemplate="%{y}<br>%{x:.3g} times our CPU time<extra></extra>",
        )  # fmt: skip
    bounds = [
        (name, TARGETS[key].bound)
        for name, row in zip(names, peers, strict=True)
        for key in row.targets
        if TARGETS[key].figure == "ratio"
    ]
    figure.add_scatter(
        x=[bound for _, bound in bounds], y=[name for name, _ in bounds], mode="markers", name="target",
        marker={"symbol": "line-ns", "size": 14, "line": {"color": "black", "width": 2}},
    )  # fmt: skip
    figure.add_vline(x=1.0, line={"dash": "dot", "color": "black"})
    figure.update_layout(
        title="CPU time of peers over ours, same work, same run",
        xaxis={"type": "log", "title": "ratio; to the right of 1 ours is faster"},
        yaxis={"autorange": "reversed", "categoryorder": "array", "categoryarray": names, "tickfont": {"size": 10}},
        height=160 + 34 * len(names),
        margin={"l": 20, "r": 20},
        template="plotly_white",
    )
    figure.update_yaxes(automargin=True)
    return figure


def write(rows: Sequence[Row], folder: Path) -> None:
    """results.json, results.md and chart.html, which loads nothing from elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    results = {"machine": machine(), "rows": [_plain(row.facts()) for row in rows]}
    (folder / "results.json").write_text(json.dumps(results, indent=1, allow_nan=False) + "\n")
    (folder / "results.md").write_text(table(rows) + "\n")
    chart(rows).write_html(folder / "chart.html", include_plotlyjs=True, include_mathjax=False)


def _plain(value: Any) -> Any:
    """JSON knows no NaN: a figure that is not finite is null."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
