"""Accuracy of linear classifiers of several mechanisms on test records."""

import dataclasses as dc
import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ....core.cancel import never
from ....core.losses import get_loss
from ....core.privacy import Budget, NotApplicable
from ....core.records import Data
from ....core.specification import Domain, Spec
from ....data.sources import training_records
from ....experiments.metrics import accuracy, larger_class
from ....mechanisms import make_mechanism
from ....mechanisms.plan import Plan
from ....solvers import minimise

NONE = "none"  # the mechanism of the model without privacy
LAWS = ("gaussian", "gamma")
MECHANISMS = tuple(f"{place}_{law}" for place in ("objective", "output") for law in LAWS)


class Point(NamedTuple):
    """A place on the axis of a figure: x, its epsilon, and the columns of the records, most of which may be idle."""

    x: float
    epsilon: float
    p: int


@dc.dataclass(frozen=True)
class Protocol:
    """Facts shared by all points: the loss, lam of the average loss, and delta."""

    loss: str
    lam: float
    delta: float

    def spec(self, n: int, p: int) -> Spec:
        return Spec(self.loss, n, p, self.lam, Domain())


def split(data: Data, seed: int, run: int) -> tuple[Data, Data]:
    """Training records, 70% of all, and test records; each run has another split."""
    order, size = np.random.default_rng([seed, run]).permutation(data.n), training_records(data.n)
    return Data(data.X[order[:size]], data.y[order[:size]], data.p), Data(data.X[order[size:]], data.y[order[size:]])


def generator(seed: int, run: int, mechanism: str, place: int) -> np.random.Generator:
    """Generator of the noise of one release, independent of all other points and runs."""
    return np.random.default_rng([seed, run, zlib.crc32(mechanism.encode()), place])


def rows_of(
    train: Data, test: Data, points: Sequence[Point], protocol: Protocol, seed: int, run: int
) -> Iterator[dict[str, Any]]:
    """One release of every mechanism at every point: run, x, epsilon, p, larger_class, mechanism, right and reason.

    right, larger_class: of 100. Right is nan where a mechanism refuses, and reason says why. The model without privacy
    stands beside them; margin is its mean |<x, theta>|. Noise is drawn in the columns that are stored, by the law that
    it has there among all p.
    """
    plain = minimise(get_loss(protocol.loss), train, protocol.lam, tol=1e-6 / protocol.lam).theta
    best, margin = 100.0 * accuracy(plain, test), float(np.abs(test.X @ plain).mean())
    larger = 100.0 * larger_class(test)
    facts = [{"run": run, **point._asdict(), "larger_class": larger} for point in points]
    for fact in facts:
        yield fact | {"mechanism": NONE, "right": best, "margin": margin, "reason": ""}
    for key in MECHANISMS:
        mechanism, plans = make_mechanism(key), dict[int, Plan]()
        for place, point in enumerate(points):
            try:
                plans[place] = mechanism.calibrate(
                    protocol.spec(train.n, point.p), Budget(point.epsilon, protocol.delta)
                )
            except NotApplicable as refusal:
                yield facts[place] | {"mechanism": key, "right": math.nan, "reason": str(refusal)}
        for p in sorted({plan.spec.p for plan in plans.values()}):
            # They share one minimiser, which the plan that asks for most accuracy comes first to set.
            places = sorted((k for k in plans if plans[k].spec.p == p), key=lambda k: plans[k].tol)
            data = dc.replace(train, p=p)
            prepared = mechanism.prepare_many([plans[k] for k in places], data, never)
            for k, side in zip(places, prepared, strict=True):
                theta = mechanism.release(plans[k], side, generator(seed, run, key, k))
                right = 100.0 * accuracy(mechanism.rounded(plans[k], theta), test)
                yield facts[k] | {"mechanism": key, "right": right, "reason": ""}


def means_of(table: pd.DataFrame) -> pd.DataFrame:
    """Rows: x; columns: mechanisms; mean right of 100 over the runs, nan where any run was refused."""
    return table.groupby(["x", "mechanism"])["right"].agg(lambda right: right.mean(skipna=False)).unstack()


def span(values: Sequence[float]) -> str:
    """Range from the smallest to the largest value, in whole numbers.

    >>> span([70.2, 86.9, 80.0])
    '70 to 87'
    """
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"


def epsilon_at(means: pd.DataFrame, mechanism: str, right: float) -> float:
    """Place where a curve over epsilon first passes `right`, on straight lines over ln epsilon; nan where it does not.

    >>> epsilon_at(pd.DataFrame({"output_gamma": [50.0, 90.0]}, index=[0.01, 1.0]), "output_gamma", 60.0)
    0.031622776602
    """
    curve = means[mechanism].dropna()
    above = np.flatnonzero(curve.to_numpy() >= right)
    if not len(above) or above[0] == 0:
        return math.nan
    (low, high), logs = curve.iloc[above[0] - 1 : above[0] + 1], np.log(curve.index[above[0] - 1 : above[0] + 1])
    return round(float(np.exp(logs[0] + (right - low) / (high - low) * (logs[1] - logs[0]))), 12)
