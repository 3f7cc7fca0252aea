"""The dashboard with less work in the background, which most tests of pages do not look at.

Attacks are short, the hardest records are sought at two budgets, Decide averages over few splits, and no pictures are
drawn ahead while `crowd` visitors move, which zero visitors always do.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from .harness import ROOT

FEW = """
from dpcore.audit import attack_success
from dpcore.studies.decide import loss_curve
from pages.background import hardest
from pages.server import prefetch
hardest.EPSILONS = (0.1, 1.0)
attack_success.RUNS, attack_success.FEW_RUNS, loss_curve.SPLITS = 2_000, 50, 5
prefetch._CROWD = {crowd}
"""


def write_light_app(folder: Path, crowd: int = 0) -> Path:
    """Write it, with the real settings, into a folder; returns its script."""
    here, script = "Path(__file__).resolve().parent", (ROOT / "app.py").read_text(encoding="utf-8")
    assert here in script
    script = FEW.format(crowd=crowd) + script.replace(here, f"Path({str(ROOT)!r})")
    (folder / "app.py").write_text(script, encoding="utf-8")
    shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
    return folder / "app.py"
