"""Informative upper bounds on the pages' first views: python -m tools.bounds.

For each chart of excess risk that a page or a tab opens with, and each upper bound on it: the share of the drawn axis
on which the bound is below the excess of a model that learns nothing, at most ten times the measurement, and both.
Views on which no bound has both over a third of the axis follow with the reason; exit code 1 where none is known.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run as a script, from anywhere

from tests.page_driver import charts, shown

VIEWS: dict[str, tuple[str, dict[str, Any]]] = {
    "Overview": ("overview/page.py", {}),
    "Perturbation": ("perturbation/page.py", {}),
    "Perturbation, noisy SGD": ("perturbation/page.py", {"side": "Noisy SGD"}),
    "Sparsity, LASSO": ("sparsity/page.py", {"tab": "l1"}),
    "Sparsity, simplex sampling": ("sparsity/page.py", {"tab": "simplex"}),
    "Sparsity, online": ("sparsity/page.py", {"tab": "streaming"}),
    "Geometry, norm order": ("geometry/page.py", {}),
    "Geometry, records": ("geometry/page.py", {"view": "n"}),
    "Multiclass, excess risk": ("multiclass/page.py", {"price_against": "excess"}),
}
# Why no bound of a view has both over a third of its axis. n is the number of records.
REASONS = {
    "Overview": "few real records and a large ball: the bound is above learning nothing at every epsilon",
    "Perturbation": "a little too few records; more of them would slow each move of a slider",
    "Perturbation, noisy SGD": "noisy SGD's own bound is for the worst records: more records bring it below learning "
    "nothing, but then it is more than 10 times above these; the other bounds as before",
    "Sparsity, LASSO": "where more records or a larger epsilon bring the bound below learning nothing, the measurement "
    "has fallen faster: the bound is for the worst records",
    "Geometry, norm order": "each ball is on records that no private mechanism learns over it; of many fingerprints, "
    "a choice beside it, both bounds are below learning nothing",
    "Geometry, records": "the bound is below learning nothing at the largest n only, and more than 10 times above the "
    "measurement",
}


def numbers(told: Any) -> np.ndarray:
    """Array from its encoding for plotly.js."""
    if isinstance(told, dict):
        return np.frombuffer(base64.b64decode(told["bdata"]), told["dtype"]).astype(float)
    return np.array([np.nan if value is None else value for value in told], float)


def along(trace: dict[str, Any], x: np.ndarray) -> np.ndarray:
    """The heights of a line at places of a logarithmic axis; nan beyond its ends."""
    at, y = numbers(trace["x"]), numbers(trace["y"])
    known = np.isfinite(y)
    if not known.any():
        return np.full(len(x), np.nan)
    return np.interp(np.log(x), np.log(at[known]), y[known], left=np.nan, right=np.nan)


def bounds(traces: list[dict[str, Any]]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The name of each upper bound, and along the axis its ratios to the measurement and to learning nothing."""
    lines = [trace for trace in traces if "lines" in trace.get("mode", "") and len(numbers(trace["y"])) > 1]
    for bound in (line for line in lines if line.get("meta") == "upper"):
        x, color = numbers(bound["x"]), bound["line"]["color"]
        beside = [line for line in lines if line.get("yaxis", "y") == bound.get("yaxis", "y")]
        measured = [line for line in beside if "meta" not in line and line["line"].get("color") == color]
        nothing = [line for line in beside if line.get("meta") == "nothing"]
        if measured and nothing:
            widest = max(measured, key=lambda line: line["line"]["width"])
            height = along(bound, x)
            yield bound["name"], height / along(widest, x), height / along(nothing[0], x)
        else:
            missing = "level of nothing learned" if measured else "measurement"
            yield f"{bound['name']} (no {missing})", x * np.nan, x * np.nan


def main() -> int:
    informative_views = set()
    print("| view | upper bound | below nothing learned | at most 10 times the measurement | both |")
    print("|---" * 5 + "|")
    for view, (script, state) in VIEWS.items():
        for chart in charts(shown(script, **state)).values():
            for name, far, informative in bounds(json.loads(chart["figure"])["data"]):
                shares = (informative < 1.0, far <= 10.0, (far <= 10.0) & (informative < 1.0))
                print(f"| {view} | {name} | {' | '.join(f'{share.mean():.0%}' for share in shares)} |")
                if shares[-1].mean() > 1 / 3:
                    informative_views.add(view)
    print()
    others = [view for view in VIEWS if view not in informative_views]
    for view in others:
        print(f"- {view}: {REASONS.get(view, 'no reason is known')}")
    return int(not set(others) <= set(REASONS))


if __name__ == "__main__":
    sys.exit(main())
