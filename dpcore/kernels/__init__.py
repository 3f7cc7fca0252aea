"""Compiled inner loops: arrays, scalars, first-class functions and Generators in, arrays out.

Importing this package compiles nothing that an earlier process has compiled. numba names a cache entry by the
file that defines a function and does not notice an edit in *another* file that the function calls, so a
stale noise scale could survive an edit. The cache folder is therefore named by a hash of all kernel sources.

Arrays are copied element by element: numba compiles for `a[i] = b` the text of the error of a shape mismatch, strings,
joins and all, which takes seconds. Reductions like `a.min()` cost a large part of a second, so loops stand for them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numba
from numba.core import config

from .keeping import keep_where_there_is_room, unkept

_FOLDER = Path(__file__).resolve().parent
_PREFIX = "dpcore-numba-"


def source_hash() -> str:
    """Twelve hex digits that change with any kernel source and with the versions of numba and Python."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag} {platform.machine()}".encode())
    for file in sorted(_FOLDER.glob("*.py")):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _user_cache() -> Path:
    home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "dpcore"


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _choose_cache_folder() -> Path:
    """The first writable of $NUMBA_CACHE_DIR, the package, the user's cache and a private temporary folder."""
    name = f"{_PREFIX}{source_hash()}"
    parents = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    parents += [_FOLDER / "__pycache__", _user_cache()]
    for parent in parents:
        if _writable(parent / name):
            return parent / name
    return Path(tempfile.mkdtemp(prefix="dpcore-")) / name


CACHE_FOLDER = _choose_cache_folder()


def prune_old_caches() -> int:
    """Delete the caches of earlier kernel sources beside `CACHE_FOLDER`; return how many there were."""
    old = [folder for folder in CACHE_FOLDER.parent.glob(f"{_PREFIX}*") if folder != CACHE_FOLDER]
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)
    return len(old)


@contextlib.contextmanager
def _numba_cache_in(folder: Path) -> Iterator[None]:
    """numba reads the folder when a function is decorated; other libraries' functions keep their own."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


with _numba_cache_in(CACHE_FOLDER):
    from .apply import apply, apply_along, gaussian_mean, row_accuracies, row_means
    from .batch import apply_to_rows, mean_of_rows, means_of_rows, move_rows
    from .coupled import coupled_descent
    from .descent import records_of, stochastic_descent
    from .entries import Entries
    from .losses import CURVATURE, DERIVATIVE, GAUSSIAN_MEAN, VALUE
    from .margins import margin_curvatures, margin_losses, margin_slope
    from .norm_balls import project_rows
    from .phased import average_of_phase
    from .rows import kink_sweep, pull_rows, unsigned
    from .sampling import draw_counts, fill_normals
    from .secants import fold_secants, keep_secant, unfold_secants
    from .single import SINGLE_CURVATURE, SINGLE_DERIVATIVE, SINGLE_VALUE
    from .stream import play_stream
    from .sweeps import sweep
    from .threefry import counted_normals, counted_uniforms
    from .touched import AFFINE, CONSTANT, SIGMOID, touched_frank_wolfe
    from .vertices import best_of_noisy, draw_vertices, follow, tally

for _name, _module in list(sys.modules.items()):
    if _name.startswith(f"{__name__}."):
        keep_where_there_is_room(_module, CACHE_FOLDER)

__all__ = [
    "AFFINE",
    "CACHE_FOLDER",
    "CONSTANT",
    "CURVATURE",
    "DERIVATIVE",
    "GAUSSIAN_MEAN",
    "SIGMOID",
    "SINGLE_CURVATURE",
    "SINGLE_DERIVATIVE",
    "SINGLE_VALUE",
    "VALUE",
    "Entries",
    "apply",
    "apply_along",
    "apply_to_rows",
    "average_of_phase",
    "best_of_noisy",
    "counted_normals",
    "counted_uniforms",
    "coupled_descent",
    "draw_counts",
    "draw_vertices",
    "fill_normals",
    "fold_secants",
    "follow",
    "gaussian_mean",
    "keep_secant",
    "kink_sweep",
    "margin_curvatures",
    "margin_losses",
    "margin_slope",
    "mean_of_rows",
    "means_of_rows",
    "move_rows",
    "play_stream",
    "project_rows",
    "prune_old_caches",
    "pull_rows",
    "records_of",
    "row_accuracies",
    "row_means",
    "source_hash",
    "stochastic_descent",
    "sweep",
    "tally",
    "touched_frank_wolfe",
    "unfold_secants",
    "unkept",
    "unsigned",
]
