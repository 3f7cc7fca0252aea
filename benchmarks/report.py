"""Output of a run: lines on the screen and in results.md, and results.json."""

import dataclasses as dc
import importlib.metadata
import json
import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.runner import Row

_PACKAGES = ("numpy", "numba", "scipy", "scikit-learn")
_WORDS = {True: "met", False: "missed", None: "not judged"}
HEAD = "| work | who | CPU | wall | ratio | accuracy | target |\n|---|---|---|---|---|---|---|"


def lines(rows: Sequence[Row]) -> str:
    """Of a Markdown table, one for each row."""
    found = []
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
        figures = ", ".join([*(f"{name} {value:.2g}" for name, value in row.accuracy.items()), row.note]).strip(", ")
        verdict = f"{row.target}: {_WORDS[row.met]}" if row.target else ""
        cells = (heading(row), row.who, _seconds(row.cpu), _seconds(row.wall), ratio, figures, verdict)
        found.append(f"| {' | '.join(cells)} |")
    return "\n".join(found)


def heading(row: Row) -> str:
    sizes = ", ".join(f"{name} {value:,g}" for name, value in row.sizes.items())
    return f"{row.benchmark}: {row.work} ({sizes})"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"


def summary(rows: Sequence[Row]) -> str:
    """Number of rows that meet their targets, and those that do not or did not run."""
    judged = [row for row in rows if row.met is not None]
    missed, absent = [row for row in judged if not row.met], [row for row in rows if row.cpu is None]
    said = [f"{len(judged) - len(missed)} of {len(judged)} rows with a target meet it"]
    for words, chosen in (("missed", missed), ("not run", absent)):
        said += [f"{words}:", lines(chosen)] if chosen else []
    return "\n".join(said)


def machine() -> dict[str, Any]:
    """Facts that the figures depend on."""
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


def write(rows: Sequence[Row], folder: Path) -> None:
    """results.json and results.md."""
    folder.mkdir(parents=True, exist_ok=True)
    results = {"machine": machine(), "rows": [_plain(dc.asdict(row)) for row in rows]}
    (folder / "results.json").write_text(json.dumps(results, indent=1, allow_nan=False) + "\n")
    (folder / "results.md").write_text(f"{HEAD}\n{lines(rows)}\n")


def _plain(value: Any) -> Any:
    """JSON knows no NaN: a figure that is not finite is null."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
