"""Private Gaussian classifiers of many classes: accuracy against epsilon and the number of classes."""

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from ....core.validation import integer
from ....data import CLASS_SOURCES
from ...multiclass import curves, one_vs_rest
from ...multiclass.curves import Accuracies, Records
from ...papers import pathak_raj
from .base import AccuracyOfClassifiers, Claim, Outcome, claim, protocol, verdict_of

RUNS = 20
EPSILONS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
CLASSES = (2, 3, 4, 5, 6, 8, 10)
SOURCES, DRAWN = ("iris", "wine", "digits"), "gaussian_classes"
LEARNERS: tuple[one_vs_rest.LearnerKey, ...] = ("ellipsoids", "pure", "split")
_DELTA, _N, _AT = 1e-5, 1_000, 1.0
_DATASETS = 2
_CLEAR = 2.0  # standard errors


def measured(runs: int, seed: int, told: Callable[[str], None]) -> tuple[pd.DataFrame, Accuracies]:
    """The table: accuracy against epsilon on each of `SOURCES`, and against the number of drawn classes. And what the
    figure shows of it.

    runs: releases on each of two draws of the records, an even number.
    """
    if integer("runs", runs, at_least=2) % 2:
        raise ValueError(f"runs must be even, as noise is drawn in pairs, got {runs}")
    against = functools.partial(
        curves.accuracy_against, epsilon=_AT, delta=_DELTA, learners=LEARNERS, repetitions=runs, datasets=_DATASETS
    )
    every = []
    for source in SOURCES:
        every.append(against("epsilon", EPSILONS, Records(source, CLASS_SOURCES[source].size or _N, seed)))
        told(f"{source} is done")
    every.append(against("classes", CLASSES, Records(DRAWN, _N, seed)))
    parts = [
        pd.DataFrame(
            {
                "source": source,
                "axis": along.axis,
                "x": along.x,
                "learner": key,
                "accuracy": found.mean,
                "se": found.se,
                "reason": along.reasons[key],
                "not_private": along.plain,
                "logistic_not_private": along.logistic,
                "largest_class": along.chance,
            }
        )
        for source, along in zip((*SOURCES, DRAWN), every, strict=True)
        for key, found in along.learners.items()
    ]
    return pd.concat(parts, ignore_index=True), every[0]


def claims_of(table: pd.DataFrame, exists: pathak_raj.Share, theorem: pathak_raj.Excess) -> tuple[Claim, ...]:
    """exists: share of draws for which the published objective has a minimiser, at iris' number of columns. theorem:
    what Theorem 2 says of traces that are capped."""
    return (_exists(exists), _theorem(theorem), _epsilon(table), _count(table), _robust(table))


def _exists(share: pathak_raj.Share) -> Claim:
    words = (
        f"a minimiser exists in {share.found:,} of {share.draws:,} draws (d = {_columns()}, epsilon = lambda = 1), "
        f"{share.low:.2%} to {share.high:.2%}"
    )
    return claim("pathak_raj_exists", verdict_of(share.low > 0.99), words)


def _columns() -> int:
    return CLASS_SOURCES["iris"].d or 0


def _theorem(excess: pathak_raj.Excess) -> Claim:
    kept = not (excess.violated > excess.delta).any()
    shares = zip(excess.caps, excess.violated, strict=True)
    words = ", ".join(f"traces up to {cap:g}: exceeded in {share:.0%}" for cap, share in shares)
    return claim("pathak_raj_theorem", verdict_of(kept), words, bound=excess.bound, delta=excess.delta)


def _epsilon(table: pd.DataFrame) -> Claim:
    told, rises = [], True
    rows = table[(table.axis == "epsilon") & (table.learner == "ellipsoids")]
    for source, found in rows.groupby("source", sort=False):
        first, last = found.iloc[0], found.iloc[-1]
        rises &= bool(last.accuracy - first.accuracy > _CLEAR * np.hypot(first.se, last.se))
        told.append(
            f"{source}: {first.accuracy:.1%} at epsilon = {first.x:g}, {last.accuracy:.1%} at {last.x:g}, "
            f"{last.not_private:.1%} without privacy"
        )
    return claim("pathak_raj_epsilon", verdict_of(rises), "; ".join(told))


def _count(table: pd.DataFrame) -> Claim:
    rows = table[(table.axis == "classes") & (table.learner == "ellipsoids")]
    lost, errors = (rows.not_private - rows.accuracy).to_numpy(), rows.se.to_numpy()
    grows = bool(lost[-1] - lost[0] > _CLEAR * np.hypot(errors[0], errors[-1]))
    points = ", ".join(f"C = {c:g}: {100.0 * points:.1f}" for c, points in zip(rows.x, lost, strict=True))
    words = f"accuracy loss in points, at epsilon = {_AT:g}, n = {_N:,}: {points}"
    return claim("pathak_raj_count", verdict_of(grows), words)


def _robust(table: pd.DataFrame) -> Claim:
    joint, split = (table[table.learner == key].reset_index() for key in ("ellipsoids", "split"))
    more, error = joint.accuracy - split.accuracy, _CLEAR * np.hypot(joint.se, split.se)
    ahead, behind = int((more > error).sum()), int((-more > error).sum())
    words = f"all classes at once is ahead of one-vs-rest at {ahead} of {len(more)} points, behind at {behind}"
    return claim("pathak_raj_robust", "differs" if behind > ahead else "unexplained", words)


def run(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    table, shown = measured(RUNS if runs is None else runs, seed, told)
    words = f"bundled {', '.join(SOURCES)} and drawn Gaussian classes (the figure shows {SOURCES[0]})"
    exists = pathak_raj.existence(_columns(), 1.0, 1.0, seed=seed)
    claims = claims_of(table, exists, pathak_raj.theorem_2_violations(seed=seed))
    return Outcome(words, table, AccuracyOfClassifiers(shown, _AT), claims)


_ENDS = {"low": EPSILONS[0], "high": EPSILONS[-1], "fewest": CLASSES[0], "most": CLASSES[-1]}
PROTOCOL = protocol(
    "pathak_raj_accuracy", delta=_DELTA, epsilon=_AT, records=_N, runs=RUNS, datasets=_DATASETS, **_ENDS
)
