"""Jain & Thakurta 2014, Figure 1 (d): least squares on the simplex by sampling, beside noise in the objective."""

import dataclasses as dc
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ....core.arrays import Array
from ....core.privacy import Budget, NotApplicable
from ....core.records import Data
from ....core.sets import L1Ball
from ....core.specification import Domain, Spec
from ....experiments.metrics import accuracy, larger_class
from ....mechanisms import make_mechanism
from .accuracies import LAWS, NONE, generator, means_of, span, split
from .base import Claim, Outcome, RightAgainst, claim, protocol, verdict_of
from .cod_rna import FEATURES, by_middle, cod_rna
from .jain_thakurta import LINEAR, PUBLISHED, RUNS

COLUMNS = (8, 13, 18, 23, 28, 33, 38)
_BUDGET = Budget(10.0, LINEAR.delta)
_SAMPLING, _OBJECTIVE = "simplex_sampling", tuple(f"objective_{law}" for law in LAWS)
_NEAR, _LEVEL, _WIDE = 2.0, 78.5, 28


def both_signs(data: Data) -> Data:
    """Every column and its negative: weights on the simplex then stand for models of L1 norm at most 1.

    >>> both_signs(Data([[1.0, 0.5], [0.0, 1.0]], [1.0, -1.0])).X.tolist()
    [[1.0, 0.5, -1.0, -0.5], [0.0, 1.0, -0.0, -1.0]]
    """
    return Data(np.hstack([data.X, -data.X]), data.y)


def rows_of(train: Data, test: Data, seed: int, run: int) -> Iterator[dict[str, Any]]:
    """A row for each number of columns and line: run, x, larger_class, mechanism, right, projected, reason.

    A constant comes on top of the columns, and idle ones are bounded no tighter than the others: |x_j| <= 1.
    larger_class, right: of 100. projected: right after the released model was projected on the L1 ball of 1.
    """
    common = {"run": run, "larger_class": 100.0 * larger_class(test), "projected": math.nan, "reason": ""}
    for place, columns in enumerate(COLUMNS):
        p, facts = columns + 1, common | {"x": float(columns)}
        for key, right in _sampled(train, test, 2 * p, seed, run, place):
            yield facts | {"mechanism": key, "right": right}
        for key in _OBJECTIVE:
            mechanism = make_mechanism(key)
            spec = Spec("huber", train.n, p, LINEAR.lam, Domain(q=math.inf).in_norm(2.0, p))
            try:
                plan = mechanism.calibrate(spec, _BUDGET)
            except NotApplicable as refusal:
                yield facts | {"mechanism": key, "right": math.nan, "reason": str(refusal)}
                continue
            data = dc.replace(train, p=p)
            prepared = mechanism.padded(mechanism.prepare(plan, data), p - data.stored)
            theta = mechanism.rounded(plan, mechanism.release(plan, prepared, generator(seed, run, key, place)))
            yield facts | {
                "mechanism": key,
                "right": _right(theta, test),
                "projected": _right(L1Ball().project(theta), test),
            }


def _sampled(train: Data, test: Data, p: int, seed: int, run: int, place: int) -> Iterator[tuple[str, float]]:
    """The weights themselves, which are not private, and a mean of columns that are drawn by them. p: both signs."""
    mechanism, data = make_mechanism(_SAMPLING), dc.replace(both_signs(train), p=p)
    spec = Spec("squared", data.n, p, "auto", Domain(q=math.inf), set="simplex")
    plan = mechanism.calibrate(spec, _BUDGET)
    prepared, asked = mechanism.prepare(plan, data), both_signs(test)
    yield NONE, _right(prepared.theta, asked)
    yield _SAMPLING, _right(mechanism.release(plan, prepared, generator(seed, run, _SAMPLING, place)), asked)


def _right(theta: Array, test: Data) -> float:
    return 100.0 * accuracy(theta[: test.stored], test)


def claims_d(means: pd.DataFrame, projected: pd.DataFrame) -> tuple[Claim, ...]:
    """projected: as means, of the models after projection."""
    none, sampled = means[NONE], means[_SAMPLING]
    gaussian, gamma = (means[key].dropna() for key in _OBJECTIVE)
    behind = float((none - sampled).abs().max())
    apart = float((gaussian - gamma).abs().max())
    wide = gaussian.index >= _WIDE
    falls = bool((gaussian[wide] <= sampled[wide] + 1.0).all())
    near = verdict_of(abs(float(none.mean()) - _LEVEL) <= _NEAR, "unexplained")
    wide_words = f"{span(list(gaussian[wide]))} against {span(list(sampled[wide]))}"
    facts = {"wide": _WIDE, "projected": span(list(projected[list(_OBJECTIVE)].to_numpy().ravel()))}
    return (
        claim("jain_thakurta_d_level", near, f"{none.min():.1f} to {none.max():.1f}", level=_LEVEL),
        claim("jain_thakurta_d_near", verdict_of(behind <= 5.0), f"at most {behind:.1f} points apart"),
        claim("jain_thakurta_d_alike", verdict_of(apart <= 1.0), f"at most {apart:.3f} points apart"),
        claim("jain_thakurta_d_falls", verdict_of(falls, "unexplained"), wide_words, **facts),
    )


def run(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    records = cod_rna(data, seed)
    scaled, clipped = by_middle(records)
    rows: list[dict[str, Any]] = []
    count = RUNS if runs is None else runs
    for nth in range(count):
        rows += rows_of(*split(scaled, seed, nth), seed, nth)
        told(f"run {nth + 1} of {count}")
    table = pd.DataFrame(rows)
    words = (
        f"{records.words}, less a declared middle and over a declared spread of each, "
        f"{clipped / (len(records.y) * FEATURES):.1%} of values clipped to [-1, 1]"
    )
    projected = table.assign(right=table.projected)
    claims = claims_d(means_of(table), means_of(projected))
    return Outcome(words, table, RightAgainst(table, PUBLISHED["d"], "columns p"), claims)


PROTOCOL = protocol(
    "jain_thakurta_simplex", runs=RUNS, budget=_BUDGET, features=FEATURES, columns=COLUMNS[-1], lam=LINEAR.lam
)
