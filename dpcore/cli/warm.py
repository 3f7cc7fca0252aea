"""Compilation of every kernel into the disk cache, so that later processes need not compile."""

import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

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
from ..solvers.erm.objective import MAX_FACTOR
from ..solvers.frank_wolfe.sparse import descend_sparse
from ..solvers.frank_wolfe.vertices import Run
from ..solvers.multiclass.objective import ClassRecords, MulticlassObjective
from ..solvers.multiclass.solver import minimise_ellipsoids
from ..studies.dimension.lasso.data import instances
from ..studies.selection.streaming.regret import play

# Narrow and wide noise take different compiled paths.
_EPSILONS = (0.01, 10.0)
_SOURCES = {
    "classification": "synthetic",
    "regression": "synthetic_regression",
    "location": "synthetic_location",
}
# Losses as compiled functions, which are loaded on first use.
_TABLES = (
    *(kernels.VALUE, kernels.DERIVATIVE, kernels.CURVATURE, kernels.GAUSSIAN_MEAN),
    *(kernels.SINGLE_VALUE, kernels.SINGLE_DERIVATIVE, kernels.SINGLE_CURVATURE),
)


Piece = tuple[str, Callable[[], object]]


def pieces() -> list[Piece]:
    """Computations to run, with their names: tiny problems that reach every compiled function."""
    found: list[Piece] = [("losses", lambda: [list(table.values()) for table in _TABLES])]
    for key in list_mechanisms():
        if mechanism_class(key).quantity == "regret":
            stream = partial(play, "random", 4, 20, epsilon=1.0, delta=1e-6)
            found.append((f"{key} on a stream", stream))
            continue
        for loss, record in LOSSES.items():
            source = _SOURCES.get(record.task)
            if source is None:  # costs come as a stream, not as a table
                continue
            problem = Problem(source, n=50, loss=loss)
            experiment = Experiment(problem, (key,), sweep=Axis("epsilon", _EPSILONS), repetitions=2)
            found.append((f"{key} with {loss}", partial(run, experiment)))
    return [
        *found,
        ("noise for many columns", lambda: NOISES["gaussian"].direction(1_000, 1_000, np.random.default_rng(0))),
        ("descent record by record", _projected_descents),
        ("large sparse tables", _sparse_tables),
        ("ellipsoids of classes", _ellipsoids),
        ("moments of sparse records", lambda: instances((2,), 8, 8, 1.0, 0)),
    ]


@contextmanager
def helper() -> Iterator[None]:
    """A second process that runs all pieces from the last to the first, on a machine with a second core.

    Whoever comes to a function second finds it in the cache. The first process still runs every piece.
    """
    process = multiprocessing.get_context("spawn").Process(target=_run_backwards, daemon=True)
    if (os.cpu_count() or 1) > 1:
        process.start()
    try:
        yield
    finally:
        if process.pid:
            process.terminate()
            process.join()


def _run_backwards() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process is told, and ends this one
    logging.disable()  # and says what there is to say
    for _, piece in reversed(pieces()):
        piece()


def warm_up(todo: Sequence[Piece]) -> Iterator[str]:
    """Run pieces and yield the name of each finished one.

    Raises OSError if compiled code cannot be kept.
    """
    kernels.prune_old_caches()
    for name, piece in todo:
        piece()
        if kernels.unkept:
            raise kernels.unkept[0]
        yield name


def _sparse_tables() -> None:
    table = scipy.sparse.eye_array(MAX_FACTOR + 1, format="csr")
    minimise(get_loss("hinge"), Data(table, np.ones(MAX_FACTOR + 1)), 1.0, tol=1e-3)
    logistic, rng = get_loss("logistic"), np.random.default_rng(0)
    sparse = Data(scipy.sparse.eye_array(4, format="csr"), np.ones(4))
    descend_sparse(logistic, sparse, [Run(3, 1.0)], [rng], size=1.0, signed=True)
    minimise(logistic, sparse, 1.0, tol=1e-3)
    noisy_descent(logistic, sparse, steps=1, step=1.0, decaying=True, sigma=1.0, rng=rng)
    Descender(logistic, 0.0, sparse, norm_ball(2.0), 1.0).average(Phase(0, 4, 1.0, 0.0), np.zeros((1, 4)))


def _projected_descents() -> None:
    data, look = Data(np.eye(4), np.ones(4)), {"steps": 4, "step": 1.0, "decaying": True, "sigma": 0.0, "radius": 1.0}
    for rate in (0.0, 1.0):
        noisy_descent(get_loss("logistic"), data, rate=rate, rng=np.random.default_rng(0), **look)  # type: ignore[arg-type]


def _ellipsoids() -> None:
    minimise_ellipsoids(MulticlassObjective(ClassRecords(np.eye(2), [0, 1], classes=2), mu=1.0))
