"""After `warm` no process compiles: not for another warm-up, nor for sparse tables in each of the descents."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPARSE = """
import numpy as np
from scipy.sparse import csr_array
from dpcore.core.losses import get_loss
from dpcore.core.sets import norm_ball
from dpcore.solvers.descent.phased_sgd import Descender, Phase
from dpcore.solvers.descent.noisy_sgd import noisy_descent
from dpcore.core.records import Data

table = csr_array(([1.0, -0.5, 0.25], ([0, 1, 2], [4, 0, 4])), (3, 5))
data = Data(table, np.array([1.0, -1.0, 1.0]))
rng = np.random.default_rng(0)
for rate in (0.0, 0.5):
    noisy_descent(get_loss("huber_hinge"), data, steps=3, step=0.1, decaying=False, sigma=1.0, rng=rng, rate=rate)
for order in (2.0, 4.0, np.inf):
    Descender(get_loss("huber"), 0.5, data, norm_ball(order), 1.0).average(Phase(0, 3, 0.1, 0.0), np.zeros((2, 5)))
"""


def compiled(folder: Path) -> set[str]:
    """numba writes a file .nbc for each signature that it compiles."""
    return {file.name for file in folder.rglob("*.nbc")}


def call(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, *words], cwd=ROOT, env=os.environ | {"NUMBA_CACHE_DIR": str(folder)}, check=True)


@pytest.mark.nightly
def test_after_warm_no_process_compiles(tmp_path):
    call(tmp_path, "-m", "dpcore", "warm", "--json")
    found = compiled(tmp_path)
    assert any("stochastic_descent" in name for name in found)
    call(tmp_path, "-c", SPARSE)
    call(tmp_path, "-m", "dpcore", "warm", "--json")
    assert compiled(tmp_path) - found == set()
