"""What a rule for lam loses against the best lam, which only a look at the private records could find."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from . import data as records
from .checks import integer, one_of
from .experiment import Axis, Experiment, run
from .losses import LOSSES
from .mechanisms import list_mechanisms, make_mechanism, mechanism_class
from .mechanisms.base import AdditiveMechanism
from .types import LAM_RULES, Array, Budget, NotApplicable, Spec

if TYPE_CHECKING:
    import pandas as pd

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
LAMS = tuple(float(f"{lam:.3g}") for lam in 10.0 ** np.arange(-5.0, 1.01, 0.25))
_SYNTHETIC_PEOPLE = 1000
_REPETITIONS = 40


def regret_table(
    sources: Iterable[str] = tuple(records.SOURCES),
    seeds: int = 8,
    *,
    rule: str = "auto",
    on_step: Callable[[], object] = lambda: None,
) -> pd.DataFrame:
    """Points of accuracy (of explained variance for regression) that `lam = rule` loses to the best of `LAMS`.

    One row per source, fitting loss, mechanism and epsilon of `EPSILONS`. seeds: independent splits or draws of the
    records; quality is the mean over the noise, exact for output perturbation and of 40 releases otherwise, averaged
    over them. The best lam is picked on these very averages, which can only raise the regret. regret: in points of 100,
    negative where the rule beats the whole grid. se: standard error of the difference over the seeds. on_step: called
    after each source, loss and mechanism.

    Where the rule, or every lam of the grid, releases nothing there is no row.

    Raises ValueError for an unknown source or rule and for seeds < 2.
    """
    import pandas as pd

    check_request(seeds, rule)
    rows = []
    for case in cases(dict.fromkeys(sources)):
        source, loss, mechanism = case
        ours = _quality(*case, rule, seeds)
        grid = [_quality(*case, lam, seeds) for lam in LAMS]
        for k, epsilon in enumerate(EPSILONS):
            means = np.array([quality[:, k].mean() for quality in grid])
            if np.isnan(ours[:, k]).any() or np.isnan(means).all():
                continue
            best = int(np.nanargmax(means))
            lost = 100.0 * (grid[best] - ours)[:, k]
            rows.append(
                {
                    "source": source,
                    "loss": loss,
                    "mechanism": mechanism,
                    "epsilon": epsilon,
                    "quality": 100.0 * ours[:, k].mean(),
                    "best_lam": LAMS[best],
                    "regret": lost.mean(),
                    "se": lost.std(ddof=1) / np.sqrt(seeds),
                }
            )
        on_step()
    return pd.DataFrame(rows)


def check_request(seeds: int, rule: str) -> None:
    """Raise ValueError for what `regret_table` would refuse, before any time is spent."""
    integer("seeds", seeds, at_least=2)
    one_of("rule", rule, LAM_RULES)


def regret_at(experiment: Experiment, epsilon: float) -> float:
    """Points of quality that the experiment's own lam loses to the best of `LAMS` at one epsilon (one mechanism).

    Raises NotApplicable where the mechanism releases nothing.

    >>> regret_at(Experiment(source="synthetic", n=300, lam=1e-4), 1.0) > 1.0
    True
    """
    exact = all(isinstance(mechanism, AdditiveMechanism) for mechanism in experiment.mechanisms)
    repetitions = 2 if exact else experiment.repetitions
    here = dc.replace(experiment, epsilon=epsilon, sweep=Axis("epsilon", (epsilon,)), repetitions=repetitions)
    grid = dc.replace(here, sweep=Axis("lam", LAMS))
    own = _means(run(here))
    if own.empty:
        raise NotApplicable(f"no release at epsilon = {epsilon:g}")
    return 100.0 * float(_means(run(grid)).max() - own.iloc[0])


def cases(sources: Iterable[str]) -> list[tuple[str, str, str]]:
    """Every (source, loss, mechanism) in which the loss fits the source's labels and the mechanism the loss.

    Sources for location losses have none: nothing is predicted there whose quality could be compared in points.

    >>> len(cases(["diabetes"]))  # objective perturbation refuses squared loss
    6
    """
    return [
        (source, loss.key, mechanism)
        for source in sources
        for loss in LOSSES.values()
        if loss.linear and loss.task == records.get_source(source).task
        for mechanism in list_mechanisms()
        if _takes(mechanism, loss.key)
    ]


def _takes(mechanism: str, loss: str) -> bool:
    try:
        make_mechanism(mechanism).calibrate(Spec(loss, _SYNTHETIC_PEOPLE, 1, 1.0), Budget(1.0, 1e-6))
    except NotApplicable:
        return False
    return True


def _quality(source: str, loss: str, mechanism: str, lam: float | str, seeds: int) -> Array:
    """Mean quality on fresh records, [seeds, epsilons]; NaN where nothing is released."""
    exact = issubclass(mechanism_class(mechanism), AdditiveMechanism)
    tables = (
        run(
            Experiment(
                source=source,
                mechanisms=(mechanism,),
                n=records.get_source(source).size or _SYNTHETIC_PEOPLE,
                loss=loss,
                lam=lam,
                sweep=Axis("epsilon", EPSILONS),
                repetitions=2 if exact else _REPETITIONS,
                seed=seed,
            )
        )
        for seed in range(seeds)
    )
    return np.stack([_means(table).reindex(EPSILONS).to_numpy(float) for table in tables])


def _means(table: pd.DataFrame) -> pd.Series:
    """Mean quality by x; points without a release are missing."""
    return table[table.metric.isin(("accuracy", "r_squared"))].set_index("x")["mean"].astype(float)
