"""Numbers that docs/sharp_edges.md states, and that no other test holds, are what the code gives."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.model_selection import GridSearchCV, KFold

import dpcore
from dpcore.data.files import MAX_COLUMNS
from dpcore.kernels.disk_cache import choose_cache_folder, config
from dpcore.mechanisms.noise.rounding import grid_of
from dpcore.studies.geometry.excess_by_n import excess_against_n

from ..harness import ROOT

TEXT = " ".join((ROOT / "docs" / "sharp_edges.md").read_text(encoding="utf-8").split())


def stated(pattern: str) -> list[float]:
    """The numbers in the groups of a pattern that the document has once."""
    (found,) = re.findall(pattern, TEXT)
    return [float(number.replace(",", "")) for number in ([found] if isinstance(found, str) else found)]


def test_more_steps_of_the_trees_cost_what_is_said():
    """Means of 36 runs for each T, with a standard error of 2%."""
    numbers = stated(r"delta = 1e-6: (\.\d+), (\.\d+), (\.\d+) at T = 2, 3, 4")
    for T, number in zip((2, 3, 4), numbers, strict=True):
        curve = excess_against_n(1.1, d=100, epsilon=1.0, delta=1e-6, seed=0, ns=(10_000,), T=T)
        assert curve.private.mean[0] == pytest.approx(number, rel=0.1)


def test_a_search_costs_what_its_accountant_is_said_to_tell(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "sharp_edges.md").read_text("utf-8"), re.DOTALL)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (600, 3))
    names = {"dpcore": dpcore, "GridSearchCV": GridSearchCV, "KFold": KFold, "X": X, "y": np.sign(X[:, 0])}
    exec(code, names)
    fits, epsilon, delta, most = stated(r"# (\d) fits, epsilon = (\d\.\d+) at delta = (1e-5); the sum is (\d\.\d)")
    spent = names["accountant"].spent
    assert fits == names["accountant"].fits and delta == spent.delta
    assert epsilon == pytest.approx(spent.epsilon, abs=0.005) and most == pytest.approx(fits * 0.5)
    assert capsys.readouterr().out.startswith(f"{fits:g} Budget(")


def test_sizes_are_those_of_the_code():
    script = (ROOT / "pages" / "ui" / "live_figure.js").read_text(encoding="utf-8")
    assert [f"{most:g}" for most in stated(r"memory, which holds (\d+) pictures")] == re.findall(
        r"REMEMBERED = (\d+);", script
    )
    assert stated(r"reads LIBSVM files up to ([\d,]+) columns") == [MAX_COLUMNS]
    (power,) = stated(r"2\^-(\d+) of the noise")
    assert grid_of(1.0) == 2.0**-power


def test_where_the_generator_s_normals_are_sparser_than_cells_is_said():
    """numpy draws a normal beyond r as r + E / r, E = -ln(1 - U) for doubles U that are 2^-53 apart (Marsaglia)."""
    r, distance = 3.6541528853610088, 2.0**-20
    (said,) = stated(r"generator beyond (\d+\.\d) standard deviations")
    left = 2.0**-53 / (r * distance)  # 1 - U where neighbours are one cell apart
    farther = r - math.log(left) / r
    assert said == pytest.approx(farther, abs=0.05)
    apart = (math.log(left) - math.log(left - 2.0**-53)) / r
    assert apart == pytest.approx(distance, rel=1e-4)
    (chance,) = stated(r"probability of about (1e-\d+) only")
    assert chance == pytest.approx(2.0 * ndtr(-farther), rel=0.5)
    # Layers of the ziggurat are lattices of 2^52 steps; the widest reaches r, the narrowest 0.22.
    (power,) = stated(r"About 2\^(\d+) values of the generator")
    assert 2.0**power / 4.0 < distance * 2.0**52 / r < 2.0**power < distance * 2.0**52 / 0.22


def test_numba_s_cache_is_first_where_its_variable_says(tmp_path, monkeypatch):
    assert re.search(r"lives in `NUMBA_CACHE_DIR`, else", TEXT)
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    assert choose_cache_folder().parent == tmp_path


def test_limits_that_are_said_are_refused_beyond():
    (most,) = stated(r"above (\d+) classes it is refused")
    facts = {"n": 10_000, "p": 2, "epsilon": 1.0, "delta": 1e-6, "lam": 1.0}
    assert dpcore.calibrate("gaussian_classifier", classes=int(most), **facts).scale > 0
    with pytest.raises(dpcore.NotApplicable):
        dpcore.calibrate("gaussian_classifier", classes=int(most) + 1, **facts)


def test_a_lam_near_the_smallest_leaves_little_for_the_noise():
    """diffprivlib's `Vector` mechanism with data norm R, by its formulas: half of epsilon, and a lam that is raised."""
    epsilon, n, lam = stated(r"At epsilon = (0\.1), n = ([\d,]+), R = sqrt\(2\) and lam = (0\.001)")
    R = math.sqrt(2.0)

    def plan(lam):
        return dpcore.calibrate("objective_gamma", n=int(n), p=9, epsilon=epsilon, lam=lam, R=R)

    tight, auto = plan(lam), plan("auto")
    (left,) = stated(r"leaves (0\.\d+) for Gamma noise")
    assert left == pytest.approx(0.99 * epsilon - math.log1p(0.25 * R**2 / (n * lam)), rel=0.03)
    assert tight.scale == pytest.approx(2.0 * R / n / (0.99 * epsilon - math.log1p(0.25 * R**2 / (n * lam))), rel=1e-9)
    (raised,) = stated(r"to (0\.\d+) here \(Algorithm 2")
    theirs = lam + (0.25 * R / math.expm1(epsilon / 4.0) - n * lam) / n
    assert raised == pytest.approx(theirs, rel=0.02)
    moves = [tight.scale / lam, 2.0 * R / (0.5 * epsilon) / n / theirs, auto.scale / auto.spec.lam]
    assert 4.5 < moves[0] / moves[1] < 5.5 and 24.0 < moves[0] / moves[2] < 26.0
    assert stated(r'`lam="auto"` takes (0\.\d+), where') == [pytest.approx(auto.spec.lam, rel=0.01)]
