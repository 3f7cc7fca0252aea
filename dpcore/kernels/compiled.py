"""All kernels: the functions of the modules beside this one, each with its place on disk.

Importing this module compiles nothing that an earlier process has compiled (`disk_cache`).
"""

import sys

from .csr import kink_sweep, pull_rows, unsigned
from .disk_cache import CACHE_FOLDER, keep_on_disk, prune_old_caches, unkept
from .frank_wolfe import best_of_noisy, draw_vertices, follow, tally
from .frank_wolfe_sparse import AFFINE, CONSTANT, SIGMOID, sparse_frank_wolfe
from .lazy_registry import Entries
from .losses import CURVATURE, DERIVATIVE, GAUSSIAN_MEAN, SINGLE_CURVATURE, SINGLE_DERIVATIVE, SINGLE_VALUE, VALUE
from .multiclass_hinge import margin_curvatures, margin_losses, margin_slope
from .multiplicative_weights import play_stream
from .passes import (
    apply,
    apply_to_rows,
    forces_of_rows,
    gaussian_mean,
    mean_of_rows,
    means_of_rows,
    move_rows,
    row_accuracies,
    row_means,
)
from .random_draws import draw_counts, fill_normals
from .sgd import records_of, stochastic_descent
from .sgd_one_pass import average_of_phase, project_rows

for _name, _module in list(sys.modules.items()):
    if _name.startswith(f"{__package__}."):
        keep_on_disk(_module)
