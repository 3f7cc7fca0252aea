"""Compile every kernel into the disk cache, so that no later process has to."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse

from .. import kernels
from ..core.losses import LOSSES, get_loss
from ..core.records import Data
from ..core.sets import norm_ball
from ..experiments.experiment import Axis, Experiment
from ..experiments.run import run
from ..mechanisms import list_mechanisms, mechanism_class
from ..mechanisms.noise.spherical import NOISES
from ..mechanisms.problem import Problem
from ..solvers import minimise
from ..solvers.descent.noisy_sgd import noisy_descent
from ..solvers.descent.phased_sgd import Descender, Phase
from ..solvers.erm.objective import MAX_FACTOR, pull_single
from ..solvers.frank_wolfe.sparse import descend_sparse
from ..solvers.frank_wolfe.vertices import Run
from ..solvers.multiclass.objective import ClassRecords, MulticlassObjective
from ..solvers.multiclass.solver import minimise_ellipsoids
from ..studies.perturbation.non_private_descent import work
from ..studies.sparsity.streaming.regret import play

# Narrow and wide noise take different compiled paths.
_EPSILONS = (0.01, 10.0)
_SOURCES = {
    "classification": "synthetic",
    "regression": "synthetic_regression",
    "location": "synthetic_location",
}
# Losses as compiled functions, which are loaded when they are asked for.
_TABLES = (
    *(kernels.VALUE, kernels.DERIVATIVE, kernels.CURVATURE, kernels.GAUSSIAN_MEAN),
    *(kernels.SINGLE_VALUE, kernels.SINGLE_DERIVATIVE, kernels.SINGLE_CURVATURE),
)


def warm_up() -> Iterator[str]:
    """Run each mechanism on a tiny problem with each loss; yields the name of each piece as it is done.

    Raises OSError where what is compiled cannot be kept.
    """
    for piece in _pieces():
        if kernels.unkept:
            raise kernels.unkept[0]
        yield piece


def _pieces() -> Iterator[str]:
    pruned = kernels.prune_old_caches()
    if pruned:
        yield f"removed {pruned} cache folders of earlier versions"
    for table in _TABLES:
        list(table.values())
    yield "losses"
    for key in list_mechanisms():
        if mechanism_class(key).quantity == "regret":
            play("random", 4, 20, epsilon=1.0, delta=1e-6, repetitions=2)
            yield f"{key} on a stream"
            continue
        for loss, record in LOSSES.items():
            source = _SOURCES.get(record.task)
            if source is None:  # costs come as a stream, not as a table
                continue
            sweep = Axis("epsilon", _EPSILONS)
            run(Experiment(Problem(source, n=50, loss=loss), (key,), sweep=sweep, repetitions=2))
            yield f"{key} with {loss}"
    NOISES["gaussian"].direction(1_000, 1_000, np.random.default_rng(0))
    yield "noise for many columns"
    work(Problem("synthetic", n=4, p=2))
    yield "descent record by record"
    table = scipy.sparse.eye_array(MAX_FACTOR + 1, format="csr")
    minimise(get_loss("hinge"), Data(table, np.ones(MAX_FACTOR + 1)), 1.0, tol=1e-3)
    yield "hinge on large sparse tables"
    sparse = Data(scipy.sparse.eye_array(4, format="csr"), np.ones(4))
    descend_sparse(get_loss("logistic"), sparse, [Run(3, 1.0)], [np.random.default_rng(0)], size=1.0, signed=True)
    yield "Frank-Wolfe on sparse tables"
    get_loss("logistic").sweep(np.eye(2), np.ones(2), np.ones(2))
    for records in (sparse.X, sparse.single):
        pull_single(records, np.ones(4))
    yield "gradients of large tables"
    noisy_descent(
        get_loss("logistic"), sparse, steps=1, step=1.0, decaying=True, sigma=1.0, rng=np.random.default_rng(0)
    )
    Descender(get_loss("logistic"), 0.0, sparse, norm_ball(2.0), 1.0).average(Phase(0, 4, 1.0, 0.0), np.zeros((1, 4)))
    yield "stochastic descent on sparse tables"
    minimise_ellipsoids(MulticlassObjective(ClassRecords(np.eye(2), [0, 1], classes=2), mu=1.0))
    yield "ellipsoids of classes"
