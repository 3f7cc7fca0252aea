"""Cost of the number of columns under each norm, from p = 1 over 1 < p < 2 and p = 2 to infinity."""

import dataclasses as dc
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from ....core.arrays import Array
from ....core.power_law import power_law
from ...geometry import excess_by_n, excess_by_norm, table_1
from .base import Claim, ExcessAgainstOrder, Outcome, claim, protocol, verdict_of

RUNS = 20
COLUMNS = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
ORDERS = (1.0, 1.001, 1.01, 1.05, 1.1, 1.25, 1.5, 2.0, 4.0, math.inf)
FEW_COLUMNS, FEW_ORDERS = (4, 16, 64), (2.0, 4.0, math.inf)
RECORDS = 10_000  # beyond p = 2
_N, _EPSILON, _DELTA = 2_000, 1.0, 1e-6
_NEAR = 0.1  # of an exponent; and of a ratio, as a share


@dc.dataclass(frozen=True)
class Transition:
    """Excess of linear losses on the hardest records: mean and se [columns, orders], of what the bounds choose; signal:
    of nothing learned, the same. beyond, beyond_bound: excess on fresh records of phased descent, [few columns, few
    orders], and what is proved of it."""

    columns: Array
    mean: Array
    se: Array
    signal: Array
    pictures: tuple[excess_by_norm.AgainstOrder, ...]
    few_columns: Array
    beyond: Array
    beyond_bound: Array

    def at(self, p_norm: float) -> Array:
        """Mean excess along the columns at one norm order."""
        return np.asarray(self.mean[:, ORDERS.index(p_norm)])


def transition(runs: int, seed: int, told: Callable[[str], None]) -> Transition:
    """Excess along norms and columns. runs: >= 2, each with its own records and noise."""
    pictures = []
    for d in COLUMNS:
        pictures.append(excess_by_norm.against_order(d, _N, _EPSILON, _DELTA, seed, runs, ORDERS))
        told(f"d = {d:,} is done")
    beyond = np.empty((2, len(FEW_COLUMNS), len(FEW_ORDERS)))
    for i, d in enumerate(FEW_COLUMNS):
        for k, p_norm in enumerate(FEW_ORDERS):
            found = excess_by_n.excess_against_n(
                p_norm,
                d=d,
                epsilon=_EPSILON,
                delta=_DELTA,
                seed=seed,
                ns=(RECORDS,),
                runs=runs,
            )
            beyond[:, i, k] = found.private.mean[0], found.bound[0]
    return Transition(
        np.array(COLUMNS, float),
        np.array([each.mean for each in pictures]),
        np.array([each.se for each in pictures]),
        np.array([each.signal for each in pictures]),
        tuple(pictures),
        np.array(FEW_COLUMNS, float),
        *beyond,
    )


def claims_of(found: Transition) -> tuple[Claim, ...]:
    return (_at_one(found), _beyond_one(found), _sharp(found), _beyond_two(found))


def _growth(values: Array) -> float:
    return float(values[-1] / values[0])


def _at_one(found: Transition) -> Claim:
    growth, d = _growth(found.at(1.0)), found.columns
    logs, root = math.log(2.0 * d[-1]) / math.log(2.0 * d[0]), math.sqrt(d[-1] / d[0])
    slow = growth <= (1.0 + _NEAR) * logs
    told, facts = f"the excess grows {growth:.2f} times", {"first": d[0], "last": d[-1], "logs": logs, "root": root}
    return claim("bassily_at_one", verdict_of(slow), told, **facts)


def _beyond_one(found: Transition) -> Claim:
    told, root = [], True
    for p_norm in (1.25, 1.5, 2.0):
        law = power_law(found.columns, found.at(p_norm))
        root &= law.slope is not None and abs(law.slope - 0.5) <= _NEAR
        told.append(f"p = {p_norm:g}: {law.reason or f'{law.slope:.3f}'}")
    shares = [float(found.at(p_norm)[-1] / found.at(2.0)[-1]) for p_norm in (1.25, 1.5)]
    alike = all(abs(share - 1.0) <= 2.0 * _NEAR for share in shares)
    signal = found.signal[:, ORDERS.index(2.0)]
    left, nothing = found.at(2.0) / signal, power_law(found.columns, signal)
    words = (
        f"exponents in d: {', '.join(told)}; at most columns {shares[0]:.2f} (p = 1.25) and {shares[1]:.2f} (p = 1.5) "
        f"times the excess at p = 2"
    )
    facts = {"low": left.min(), "high": left.max(), "alone": nothing.reason or f"{nothing.slope:.3f}"}
    return claim("bassily_beyond_one", verdict_of(root and alike), words, **facts)


def _sharp(found: Transition) -> Claim:
    d, last = found.columns[-1], found.mean[-1]
    half = 0.5 * float(found.at(2.0)[-1])
    begins = max((p for p, excess in zip(ORDERS, last, strict=True) if p <= 2.0 and excess < half), default=math.nan)
    near = 1.0 + 1.0 / math.log(d)
    jump = float(found.at(1.25)[-1] / found.at(1.0)[-1])
    sharp = jump >= 0.25 * math.sqrt(d / math.log(2.0 * d)) and begins <= near + _NEAR
    words = (
        f"at d = {d:,.0f} the excess at p = 1.25 is {jump:.0f} times that at p = 1; the largest p of the grid below "
        f"half of the excess at p = 2 is {excess_by_norm.order_text(begins)}, beside 1 + 1/ln d = {near:.3f}"
    )
    return claim("bassily_sharp", verdict_of(sharp), words)


def _beyond_two(found: Transition) -> Claim:
    n, excess = found.few_columns, found.beyond
    kept, told = bool((excess <= found.beyond_bound).all()), []
    for k, p_norm in enumerate(FEW_ORDERS):
        rows = [table_1.table_row(float(p_norm), int(d), RECORDS, _EPSILON, _DELTA).value for d in n]
        name, growth = excess_by_norm.order_text(float(p_norm)), _growth(excess[:, k])
        told.append(f"p = {name}: {growth:.1f} times (rate {rows[-1] / rows[0]:.1f})")
    more = bool((np.diff(excess[-1]) > 0.0).all())
    words = (
        f"growth of the excess from d = {n[0]:.0f} to {n[-1]:.0f}, n = {RECORDS:,}: {', '.join(told)}; "
        f"{'no mean' if kept else 'some mean'} above its proved bound"
    )
    return claim("bassily_beyond_two", verdict_of(kept and more), words)


def table_of(found: Transition) -> pd.DataFrame:
    hard = [
        {"records": "hardest, linear", "d": d, "p_norm": p, "excess": found.mean[i, k], "se": found.se[i, k]}
        | {"nothing_learned": found.signal[i, k]}
        for i, d in enumerate(found.columns)
        for k, p in enumerate(ORDERS)
    ]
    fresh = [
        {"records": "fresh, logistic", "d": d, "p_norm": p, "excess": found.beyond[i, k]}
        | {"bound": found.beyond_bound[i, k]}
        for i, d in enumerate(found.few_columns)
        for k, p in enumerate(FEW_ORDERS)
    ]
    return pd.DataFrame(hard + fresh)


def run(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    found = transition(RUNS if runs is None else runs, seed, told)
    *others, last = found.pictures
    words = "drawn: the hardest records of the paper's lower bound, and labels times features for phased descent"
    return Outcome(
        words,
        table_of(found),
        ExcessAgainstOrder(last, others, 1.25),
        claims_of(found),
    )


_ENDS = {"d": (COLUMNS[0], COLUMNS[-1]), "few": (FEW_COLUMNS[0], FEW_COLUMNS[-1])}
PROTOCOL = protocol("bassily_transition", n=_N, epsilon=_EPSILON, delta=_DELTA, runs=RUNS, records=RECORDS, **_ENDS)
