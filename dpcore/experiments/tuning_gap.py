"""Loss of a mechanism's own lam against the best lam, which only the private records could reveal."""

from __future__ import annotations

import dataclasses as dc
from typing import TYPE_CHECKING

import numpy as np

from .. import data as records
from ..core.privacy import NotApplicable
from ..mechanisms.base import AdditiveMechanism
from .experiment import Axis, Experiment
from .run import run

if TYPE_CHECKING:
    import pandas as pd

LAMS = tuple(float(f"{lam:.3g}") for lam in 10.0 ** np.arange(-5.0, 1.01, 0.25))


def regret_at(experiment: Experiment, epsilon: float) -> float:
    """Loss of the experiment's own lam against the best of `LAMS` at one epsilon, in points (one mechanism).

    Raises NotApplicable where the mechanism releases nothing, ValueError for a source whose records are not predicted.

    >>> from dpcore import Problem
    >>> regret_at(Experiment(Problem("synthetic", n=300, lam=1e-4)), 1.0) > 1.0
    True
    """
    source = experiment.problem.source
    if records.get_source(source).task == "location":
        raise ValueError(f"source must be one whose records are predicted, got {source!r}")
    exact = all(isinstance(mechanism, AdditiveMechanism) for mechanism in experiment.mechanisms)
    repetitions = 2 if exact else experiment.repetitions
    here = dc.replace(experiment, epsilon=epsilon, sweep=Axis("epsilon", (epsilon,)), repetitions=repetitions)
    grid = dc.replace(here, sweep=Axis("lam", LAMS))
    own = _means(run(here))
    if own.empty:
        raise NotApplicable(f"no release at epsilon = {epsilon:g}")
    return 100.0 * float(_means(run(grid)).max() - own.iloc[0])


def _means(table: pd.DataFrame) -> pd.Series:
    return table[table.metric.isin(("accuracy", "r_squared"))].set_index("x")["mean"].astype(float)
