"""Compiled losses against plain numpy, and the disk cache across processes."""

import itertools
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from scipy import integrate

from dpcore import kernels
from dpcore.core.losses import get_loss
from dpcore.kernels.vector_math import exp, log1p_unit
from tests.problems import LINEAR

ROOT = Path(__file__).resolve().parents[2]
# Each loss as a function of z, the label y and its half-width h.
NUMPY_VALUE = {
    "logistic": lambda z, y, h: np.logaddexp(0.0, -y * z),
    "huber_hinge": lambda z, y, h: np.where(
        y * z > 1 + h, 0.0, np.where(y * z < 1 - h, 1 - y * z, (1 + h - y * z) ** 2 / (4 * h))
    ),
    "hinge": lambda z, y, h: np.maximum(1 - y * z, 0.0),
    "squared": lambda z, y, h: (z - y) ** 2,
    "huber": lambda z, y, h: np.where(np.abs(z - y) <= h, (z - y) ** 2 / (2 * h), np.abs(z - y) - h / 2),
    "absolute": lambda z, y, h: np.abs(z - y),
}
# Where a derivative jumps, as a function of z for y = 1.
KINKS = {
    "logistic": (),
    "huber_hinge": (0.5, 1.5),
    "hinge": (1.0,),
    "squared": (),
    "huber": (0.5, 1.5),
    "absolute": (1.0,),
}
every_loss = pytest.mark.parametrize("key", LINEAR)


@numba.njit
def _exp(x, out):
    for i in range(x.size):
        out[i] = exp(x[i])


@numba.njit
def _log1p(x, out):
    for i in range(x.size):
        out[i] = log1p_unit(x[i])


def test_exp_and_log_are_accurate_to_rounding():
    x = np.concatenate([np.linspace(-708, 709, 200_001), np.linspace(-1, 1, 20_001)])
    out = np.empty_like(x)
    _exp(x, out)
    assert np.abs(out / np.exp(x) - 1).max() < 1e-15
    _exp(np.array([-1e6, 1e6]), out)
    assert out[0] == pytest.approx(math.exp(-708)) and out[1] == pytest.approx(math.exp(709))
    e = np.concatenate([np.linspace(0, 1, 200_001), 10.0 ** np.linspace(-300, 0, 1001)])
    out = np.empty_like(e)
    _log1p(e, out)
    assert np.allclose(out, np.log1p(e), rtol=1e-15, atol=0)


@every_loss
def test_values_match_numpy(key):
    loss = get_loss(key)
    z = np.concatenate([np.linspace(-40, 40, 4001), [0.0, 1e4, -1e4, 700.0, -750.0]])
    for label in (-1.0, 1.0):
        y = np.full_like(z, label)
        expected = NUMPY_VALUE[key](z, y, loss.shape)
        assert np.allclose(loss.value(z, y), expected, rtol=1e-14, atol=1e-300)


@every_loss
def test_derivatives_match_finite_differences(key):
    loss = get_loss(key)
    rng = np.random.default_rng(0)
    z, y = rng.uniform(-6, 6, 2000), rng.choice([-1.0, 1.0], 2000)
    away = np.abs(y * z - np.array([[np.inf], *([kink] for kink in KINKS[key])])).min(axis=0) > 1e-3
    z, y, step = z[away], y[away], 1e-5
    first = (loss.value(z + step, y) - loss.value(z - step, y)) / (2 * step)
    second = (loss.derivative(z + step, y) - loss.derivative(z - step, y)) / (2 * step)
    assert len(z) > 1900
    assert np.allclose(loss.derivative(z, y), first, atol=5e-9)
    if math.isfinite(loss.curvature_bound):
        assert np.allclose(loss.curvature(z, y), second, atol=5e-9)
    else:
        assert key not in kernels.CURVATURE


@every_loss
def test_constants_bound_the_derivatives_and_are_attained(key):
    """Squared loss has no slope of its own; `test_losses` proves the one it gets from the domain."""
    loss = get_loss(key)
    z = np.linspace(-60, 60, 120_001)
    y = np.ones_like(z)
    slope = loss.derivative(z, y)
    if math.isfinite(loss.slope):
        assert np.abs(slope).max() == pytest.approx(loss.slope, abs=1e-9)
        assert np.abs(slope).max() <= loss.slope
    if math.isfinite(loss.curvature_bound):
        curvature = loss.curvature(z, y)
        assert curvature.max() == pytest.approx(loss.curvature_bound, abs=1e-9)
        assert curvature.max() <= loss.curvature_bound * (1 + 1e-15)
        assert np.diff(slope).max() <= loss.curvature_bound * (z[1] - z[0]) * (1 + 1e-9), "a jump is no curvature"
    else:
        assert np.diff(slope).max() > 0.9, "an infinite curvature bound without a kink"
    assert np.all(np.diff(slope) >= -1e-15), "not convex"


@every_loss
@pytest.mark.parametrize("sd", [0.0, 1e-3, 0.5, 1.9, 2.1, 7.0, 300.0])
def test_gaussian_mean_is_the_integral(key, sd):
    loss = get_loss(key)
    margins = np.array([-60.0, -5.0, -1.0, 0.0, 0.4, 1.2, 3.0, 30.0])
    got = loss.gaussian_mean(margins, np.ones_like(margins), np.full_like(margins, sd))
    for margin, value in zip(margins, got, strict=True):
        assert value == pytest.approx(_expected_loss(key, loss.shape, margin, sd), abs=1e-8, rel=1e-10)


def _expected_loss(key: str, h: float, margin: float, sd: float) -> float:
    if sd == 0.0:
        return float(NUMPY_VALUE[key](np.float64(margin), 1.0, h))

    def integrand(g):
        return (
            float(NUMPY_VALUE[key](np.float64(margin + sd * g), 1.0, h)) * math.exp(-g * g / 2) / math.sqrt(2 * math.pi)
        )

    kinks = [(k - margin) / sd for k in (0.0, *KINKS[key])] + [(c - margin) / sd for c in (-20.0, 20.0)]
    edges = sorted({-38.0, 38.0, -6.0, 6.0, *(k for k in kinks if abs(k) < 38)})
    return sum(
        integrate.quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12, limit=400)[0] for a, b in itertools.pairwise(edges)
    )


@pytest.mark.parametrize(
    "margin, sd", [(-1e4, 1e-3), (1e4, 1.0), (-1e4, 30.0), (1.0, 1600.0), (0.5, 1e5), (-2.0, 1e8), (0.0, 1e20)]
)
@pytest.mark.parametrize(
    "key, bend, area", [("logistic", 0.0, math.pi**2 / 6), ("huber_hinge", 1.0, 1 / 24), ("hinge", 1.0, 0.0)]
)
def test_gaussian_mean_at_extreme_margins_and_widths(key, bend, area, margin, sd):
    """Far from the bend, and under very wide noise, a margin loss is a hinge plus a bump of known area."""
    got = get_loss(key).gaussian_mean(np.array([margin]), np.ones(1), np.array([sd]))[0]
    assert got == pytest.approx(
        _mean_positive(bend - margin, sd) + area * _density(bend - margin, sd), rel=1e-9, abs=1e-8
    )


@pytest.mark.parametrize(
    "residual, sd", [(-1e4, 1e-3), (1e4, 1.0), (0.5, 499.0), (0.5, 501.0), (-2.0, 1e8), (0.0, 1e20)]
)
def test_gaussian_mean_of_regression_losses_at_extremes(residual, sd):
    """Huber loss is |u| - h/2 plus a bump of area h^2/3; squared loss adds the variance."""
    z, y, s = np.array([residual + 0.3]), np.array([0.3]), np.array([sd])
    huber = _mean_positive(residual, sd) + _mean_positive(-residual, sd) - 0.25 + _density(residual, sd) / 12
    assert get_loss("huber").gaussian_mean(z, y, s)[0] == pytest.approx(huber, rel=1e-9, abs=1e-8)
    absolute = _mean_positive(residual, sd) + _mean_positive(-residual, sd)
    assert get_loss("absolute").gaussian_mean(z, y, s)[0] == pytest.approx(absolute, rel=1e-9, abs=1e-8)
    assert get_loss("squared").gaussian_mean(z, y, s)[0] == pytest.approx(residual**2 + sd**2, rel=1e-12)


def _density(t: float, sd: float) -> float:
    return math.exp(-((t / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi))


def _mean_positive(t: float, sd: float) -> float:
    """E max(t + sd g, 0)."""
    return t * 0.5 * math.erfc(-t / sd / math.sqrt(2)) + sd**2 * _density(t, sd)


def test_gaussian_mean_serves_blocks_of_mixed_widths():
    """Rows of very different norms share a block of the kernel; each must get its own value, to the guaranteed 1e-8."""
    loss = get_loss("logistic")
    rng = np.random.default_rng(1)
    z, y = rng.normal(size=1500), rng.choice([-1.0, 1.0], 1500)
    sd = 10.0 ** rng.uniform(-3, 2.5, 1500)
    together = loss.gaussian_mean(z, y, sd)
    alone = [loss.gaussian_mean(z[i : i + 1], y[i : i + 1], sd[i : i + 1])[0] for i in range(1500)]
    assert np.allclose(together, alone, rtol=0.0, atol=1e-8)


def test_row_kernels_match_numpy():
    loss = get_loss("logistic")
    rng = np.random.default_rng(2)
    margins, noise, y = rng.normal(size=40), rng.normal(size=(6, 40)), rng.choice([-1.0, 1.0], 40)
    z = margins + 0.7 * noise
    assert np.allclose(loss.row_means(margins, noise, 0.7, y), np.logaddexp(0, -y * z).mean(axis=1), rtol=1e-14)
    out = np.empty(6)
    kernels.row_accuracies(margins, noise, 0.7, y, out)
    assert np.array_equal(out, (y * z > 0).mean(axis=1))


def test_no_python_runs_between_a_call_and_compiled_code():
    """An interrupt there would come out as numba's TypeError."""
    arguments = kernels.VALUE["hinge"], np.ones(3), np.ones(3), 0.0, np.empty(3)
    kernels.apply(*arguments)
    called: list[str] = []
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        kernels.apply(*arguments)
    finally:
        sys.setprofile(None)
    assert called == ["apply"], "the call itself"


# What a process prints after the first pieces of a warm-up: where the cache is and how often numba had to compile.
PROBE = """
import json, os, pathlib
from dpcore import kernels
from dpcore.cli.warm import pieces, warm_up
list(warm_up(pieces()[:3]))
functions = [kernels.apply, kernels.row_means, kernels.row_accuracies, kernels.gaussian_mean]
tables = [kernels.VALUE, kernels.DERIVATIVE, kernels.CURVATURE, kernels.GAUSSIAN_MEAN]
compiled = sum(sum(f.stats.cache_misses.values()) for f in functions)
loaded = sum(sum(f.stats.cache_hits.values()) for f in functions)
losses = [f for table in tables for f in table.values()]
if later := os.environ.get("LATER_CACHE_HOME"):
    os.environ["XDG_CACHE_HOME"] = later
print(json.dumps({"folder": str(kernels.CACHE_FOLDER), "later": str(kernels.disk_cache.choose_cache_folder()),
                  "compiled": compiled, "loaded": loaded,
                  "losses": len(losses), "losses_loaded": sum(f.function.cache_hits for f in losses)}))
"""


def test_pruning_spares_what_is_not_ours(tmp_path, monkeypatch):
    mine, old, other = (tmp_path / n for n in ("dpcore-numba-now", "dpcore-numba-0123456789ab", "numba-other-project"))
    for folder in (mine, old, other):
        folder.mkdir()
    monkeypatch.setattr(kernels.disk_cache, "CACHE_FOLDER", mine)
    assert kernels.prune_old_caches() == 1
    assert mine.exists() and other.exists() and not old.exists()


def probe(project: Path, **environment: str) -> dict:
    command = [sys.executable, "-c", PROBE]
    base = {"PATH": "/usr/bin:/bin", "HOME": str(project / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    out = subprocess.run(command, cwd=project, env=base | environment, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout.splitlines()[-1])


@pytest.fixture()
def copy(tmp_path: Path) -> Path:
    """The library, without what numba has compiled."""
    shutil.copytree(ROOT / "dpcore", tmp_path / "dpcore", ignore=shutil.ignore_patterns("dpcore-numba-*"))
    shutil.rmtree(tmp_path / "dpcore" / "kernels" / "__pycache__", ignore_errors=True)
    return tmp_path


@pytest.mark.nightly
def test_caches_are_found_again_follow_every_edit_and_lie_where_there_is_room(copy):
    """One walk through all of it, because each new cache costs a compilation."""
    # A read-only package: a file where the folder should be stops even a process that runs as root.
    beside = copy / "dpcore" / "kernels" / "__pycache__"
    beside.write_text("not a folder")
    user = {"XDG_CACHE_HOME": str(copy / "user")}
    first = probe(copy, **user)
    assert Path(first["folder"]).parent == copy / "user" / "dpcore"
    assert first["compiled"] > 0 and first["losses_loaded"] == 0
    (copy / "blocked").write_text("not a folder")
    second = probe(copy, **user, LATER_CACHE_HOME=str(copy / "blocked"), TMPDIR=str(copy))
    assert Path(second["later"]).parent.parent == copy, "with no room there either, a private folder"
    assert second["folder"] == first["folder"]
    assert (second["compiled"], second["loaded"]) == (0, first["compiled"])
    assert second["losses_loaded"] == second["losses"]
    # The package's own folder comes first, here with the cache of the sources as they were. An edit in a file that
    # other kernels only call would go unnoticed by numba itself.
    beside.unlink()
    old = beside / Path(first["folder"]).name
    shutil.copytree(first["folder"], old)
    elementary = copy / "dpcore" / "kernels" / "vector_math.py"
    elementary.write_text(elementary.read_text() + "\n# edited\n")
    third = probe(copy, **user)
    assert Path(third["folder"]).parent == beside
    assert Path(third["folder"]) != old and third["compiled"] > 0 and third["losses_loaded"] == 0
    assert not old.exists(), "warm-up prunes caches of earlier sources"
    fourth = probe(copy, **user)
    assert fourth["folder"] == third["folder"]
    assert (fourth["compiled"], fourth["losses_loaded"]) == (0, fourth["losses"])


@pytest.mark.nightly
def test_losses_are_loaded_when_they_are_asked_for_and_all_of_them_are_warmed():
    code = """
from dpcore import kernels
from dpcore.cli import warm
import dpcore.mechanisms.output.base
assert not any(table._loaded for table in warm._TABLES)
assert kernels.VALUE["logistic"] is kernels.VALUE["logistic"] and list(kernels.VALUE._loaded) == ["logistic"]
assert "squared" in kernels.CURVATURE and not kernels.CURVATURE._loaded
assert list(warm.warm_up(warm.pieces()[:1])) == ["losses"]
from dpcore.kernels import compiled
tables = [table for table in vars(compiled).values() if isinstance(table, compiled.Entries)]
assert len(tables) == 7 and all(set(table._loaded) == set(table) for table in tables)
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


# Values and slopes of losses: a compiled loop and C functions that it calls, each with a file of its own in the cache.
SUMS = """
import json
import numpy as np
from dpcore import kernels
found, tables = np.empty((8, 3)), (kernels.VALUE, kernels.DERIVATIVE)
for k, row in enumerate(found):
    loss = ("hinge", "huber", "squared", "absolute")[k // 2]
    kernels.apply(tables[k % 2][loss], np.array([-1.0, 0.3, 2.0]), np.ones(3), 0.5, row)
print(json.dumps(found.tolist()))
"""
# Releases, the second of which draws random numbers in compiled code.
RELEASES = """
import json, sys
import numpy as np
import dpcore
rng = np.random.default_rng(0)
X = rng.uniform(-0.5, 0.5, (60, 3))
y = np.where(X[:, 0] > 0, 1.0, -1.0)
keys = "output_gaussian", "noisy_sgd", "frank_wolfe_polytope", "objective_gamma"
made = [dpcore.solve(key, X, y, epsilon=1.0, delta=1e-3, R=1.0, seed=1) for key in keys]
print(json.dumps([release.theta.tolist() for release in made]))
"""


def printed(project: Path, code: str, before: tuple[str, ...] = (), **environment: str) -> tuple[object, str]:
    """What a process of its own computes and what it says to stderr."""
    base = {"PATH": "/usr/bin:/bin", "HOME": str(project / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*before, sys.executable, "-c", code]
    out = subprocess.run(command, cwd=project, env=base | environment, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout), out.stderr


@pytest.mark.nightly
def test_what_cannot_be_read_in_the_cache_is_compiled_and_kept_again(tmp_path):
    first, _ = printed(ROOT, SUMS, NUMBA_CACHE_DIR=str(tmp_path))
    harms = [
        (lambda whole: b""),
        (lambda whole: whole[: len(whole) // 2]),
        (lambda whole: b"something else"),
        # One bit in the middle of machine code: pickle would not notice.
        (lambda whole: whole[: (at := len(whole) // 2)] + bytes([whole[at] ^ 1]) + whole[at + 1 :]),
    ]
    # Of each other function its code, of the rest its index.
    for files in (sorted(tmp_path.rglob("*.nbc"))[::2], sorted(tmp_path.rglob("*.nbi"))[1::2]):
        assert len(files) >= len(harms)
        for file, harm in zip(files, itertools.cycle(harms), strict=False):
            file.write_bytes(harm(file.read_bytes()))
    again, said = printed(ROOT, SUMS, NUMBA_CACHE_DIR=str(tmp_path))
    assert again == first
    assert said.count("cannot be read") == said.count("\n") == 1, said
    assert printed(ROOT, SUMS, NUMBA_CACHE_DIR=str(tmp_path)) == (first, ""), "what was broken has been replaced"


@pytest.mark.nightly
def test_a_read_only_installation_uses_its_warm_cache_and_no_temporary_folder_stays(copy):
    # Root may write everywhere unless it gives that up.
    alone = ("setpriv", "--bounding-set=-dac_override") if os.geteuid() == 0 else ()
    for name in ("home", "tmp"):
        (copy / name).mkdir()
    places = {"TMPDIR": str(copy / "tmp"), "XDG_CACHE_HOME": str(copy / "home")}
    first, _ = printed(copy, one_loss := SUMS.replace("(8, 3)", "(2, 3)"), **places)
    kept = [copy / "dpcore" / "kernels" / "__pycache__", copy / "home"]
    folders = [f for top in kept for f in (top, *top.rglob("*")) if f.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        files = sorted(copy.rglob("*"))
        assert printed(copy, one_loss, alone, **places) == (first, "") and sorted(copy.rglob("*")) == files
        shutil.rmtree(kept[0])
        kept[0].write_text("not a folder")
        files = sorted(copy.rglob("*"))
        assert printed(copy, one_loss, alone, **places)[0] == first and sorted(copy.rglob("*")) == files
    finally:
        for folder in folders:
            if folder.exists():
                folder.chmod(0o755)


def test_everything_runs_as_plain_python_where_numba_is_told_to_compile_nothing(capsys):
    plain, said = printed(ROOT, RELEASES, NUMBA_DISABLE_JIT="1")
    exec(RELEASES, {})
    assert not said and all(map(np.allclose, plain, json.loads(capsys.readouterr().out)))
