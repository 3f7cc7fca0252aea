"""Compiled inner loops: arrays, scalars, first-class functions and Generators in, arrays out.

Importing this package compiles nothing that an earlier process has compiled (`disk_cache`). With NUMBA_DISABLE_JIT=1
all of it runs as plain Python.

Arrays are copied element by element: numba compiles for `a[i] = b` the text of the error of a shape mismatch, strings,
joins and all, which takes seconds. Reductions like `a.min()` cost a large part of a second, so loops stand for them.
"""

from __future__ import annotations

import sys

from .apply import apply, apply_along, gaussian_mean, row_accuracies, row_means
from .csr import kink_sweep, pull_rows, unsigned
from .disk_cache import CACHE_FOLDER, keep_on_disk, prune_old_caches, source_hash, unkept
from .frank_wolfe import best_of_noisy, draw_vertices, follow, tally
from .frank_wolfe_sparse import AFFINE, CONSTANT, SIGMOID, sparse_frank_wolfe
from .fused_gradient import sweep
from .lazy_registry import Entries
from .lbfgs import fold_secants, keep_secant, unfold_secants
from .losses import CURVATURE, DERIVATIVE, GAUSSIAN_MEAN, VALUE
from .losses_float32 import SINGLE_CURVATURE, SINGLE_DERIVATIVE, SINGLE_VALUE
from .many_models import apply_to_rows, mean_of_rows, means_of_rows, move_rows
from .multiclass_hinge import margin_curvatures, margin_losses, margin_slope
from .multiplicative_weights import play_stream
from .random_draws import draw_counts, fill_normals
from .sgd import records_of, stochastic_descent
from .sgd_one_pass import average_of_phase
from .sgd_shared_noise import coupled_descent
from .threefry import counted_normals, counted_uniforms

for _name, _module in list(sys.modules.items()):
    if _name.startswith(f"{__name__}."):
        keep_on_disk(_module)
