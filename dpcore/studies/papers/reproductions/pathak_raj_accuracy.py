"""Private Gaussian classifiers of many classes: accuracy against epsilon and the number of classes."""

import dataclasses as dc
import functools
from collections.abc import Callable, Mapping
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
SOURCES = ("iris", "wine", "digits")
LEARNERS: tuple[one_vs_rest.LearnerKey, ...] = ("ellipsoids", "pure", "split")
_DELTA, _N, _AT = 1e-5, 1_000, 1.0
_DATASETS = 2
_CLEAR = 2.0  # standard errors


@dc.dataclass(frozen=True)
class Found:
    """against_epsilon: of each real source. against_classes: of drawn classes. exists: share of draws for which the
    published objective has a minimiser, at iris' number of columns, as an interval. theorem: what Theorem 2 says of
    traces that are capped."""

    against_epsilon: Mapping[str, Accuracies]
    against_classes: Accuracies
    exists: pathak_raj.Share
    columns: int
    theorem: pathak_raj.Excess


def found_of(runs: int, seed: int, told: Callable[[str], None]) -> Found:
    """runs: releases on each of two draws of the records, an even number."""
    if integer("runs", runs, at_least=2) % 2:
        raise ValueError(f"runs must be even, as noise is drawn in pairs, got {runs}")
    against = functools.partial(
        curves.accuracy_against, epsilon=_AT, delta=_DELTA, learners=LEARNERS, repetitions=runs, datasets=_DATASETS
    )
    along = {}
    for source in SOURCES:
        records = Records(source, CLASS_SOURCES[source].size or _N, seed)
        along[source] = against("epsilon", EPSILONS, records)
        told(f"{source} is done")
    d = CLASS_SOURCES["iris"].d or 0
    drawn = Records("gaussian_classes", _N, seed)
    counted = against("classes", CLASSES, drawn)
    return Found(
        along, counted, pathak_raj.existence(d, 1.0, 1.0, seed=seed), d, pathak_raj.theorem_2_violations(seed=seed)
    )


def claims_of(found: Found) -> tuple[Claim, ...]:
    return (_exists(found), _theorem(found), _epsilon(found), _count(found), _robust(found))


def _exists(found: Found) -> Claim:
    share = found.exists
    words = (
        f"a minimiser exists in {share.found:,} of {share.draws:,} draws (d = {found.columns}, epsilon = lambda = 1), "
        f"{share.low:.2%} to {share.high:.2%}"
    )
    return claim("pathak_raj_exists", verdict_of(share.low > 0.99), words)


def _theorem(found: Found) -> Claim:
    excess = found.theorem
    kept = not (excess.violated > excess.delta).any()
    shares = zip(excess.caps, excess.violated, strict=True)
    words = ", ".join(f"traces up to {cap:g}: exceeded in {share:.0%}" for cap, share in shares)
    return claim("pathak_raj_theorem", verdict_of(kept), words, bound=excess.bound, delta=excess.delta)


def _epsilon(found: Found) -> Claim:
    told, rises = [], True
    for source, along in found.against_epsilon.items():
        measured = along.learners["ellipsoids"]
        gain = measured.mean[-1] - measured.mean[0]
        rises &= bool(gain > _CLEAR * np.hypot(measured.se[0], measured.se[-1]))
        told.append(
            f"{source}: {measured.mean[0]:.1%} at epsilon = {along.x[0]:g}, {measured.mean[-1]:.1%} at "
            f"{along.x[-1]:g}, {along.plain[-1]:.1%} without privacy"
        )
    return claim("pathak_raj_epsilon", verdict_of(rises), "; ".join(told))


def _count(found: Found) -> Claim:
    along, measured = found.against_classes, found.against_classes.learners["ellipsoids"]
    lost = along.plain - measured.mean
    grows = bool(lost[-1] - lost[0] > _CLEAR * np.hypot(measured.se[0], measured.se[-1]))
    points = ", ".join(f"C = {c:g}: {100.0 * points:.1f}" for c, points in zip(along.x, lost, strict=True))
    words = f"accuracy loss in points, at epsilon = {_AT:g}, n = {_N:,}: {points}"
    return claim("pathak_raj_count", verdict_of(grows), words)


def _robust(found: Found) -> Claim:
    every = [*found.against_epsilon.values(), found.against_classes]
    ahead, behind, places = 0, 0, 0
    for along in every:
        joint, split = along.learners["ellipsoids"], along.learners["split"]
        error = _CLEAR * np.hypot(joint.se, split.se)
        ahead += int((joint.mean - split.mean > error).sum())
        behind += int((split.mean - joint.mean > error).sum())
        places += len(along.x)
    words = f"all classes at once is ahead of one-vs-rest at {ahead} of {places} points, behind at {behind}"
    return claim("pathak_raj_robust", "differs" if behind > ahead else "unexplained", words)


def table_of(found: Found) -> pd.DataFrame:
    every = [*found.against_epsilon.items(), ("gaussian_classes", found.against_classes)]
    return pd.DataFrame(
        [
            {
                "source": source,
                "axis": along.axis,
                "x": x,
                "learner": key,
                "accuracy": measured.mean[k],
                "se": measured.se[k],
                "reason": along.reasons[key][k],
                "not_private": along.plain[k],
                "logistic_not_private": along.logistic[k],
                "largest_class": along.chance[k],
            }
            for source, along in every
            for key, measured in along.learners.items()
            for k, x in enumerate(along.x)
        ]
    )


def run(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    found = found_of(RUNS if runs is None else runs, seed, told)
    shown = next(iter(found.against_epsilon))
    words = f"bundled {', '.join(found.against_epsilon)} and drawn Gaussian classes (the figure shows {shown})"
    return Outcome(
        words,
        table_of(found),
        AccuracyOfClassifiers(found.against_epsilon[shown], _AT),
        claims_of(found),
    )


_ENDS = {"low": EPSILONS[0], "high": EPSILONS[-1], "fewest": CLASSES[0], "most": CLASSES[-1]}
PROTOCOL = protocol(
    "pathak_raj_accuracy", delta=_DELTA, epsilon=_AT, records=_N, runs=RUNS, datasets=_DATASETS, **_ENDS
)
