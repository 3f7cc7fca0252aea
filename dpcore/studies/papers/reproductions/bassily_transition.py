"""Cost of the number of columns under each norm, from p = 1 over 1 < p < 2 and p = 2 to infinity."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ....core.power_law import power_law
from ...geometry import excess_by_n, excess_by_norm, table_1
from ...geometry.excess_by_norm import AgainstOrder
from .base import Claim, ExcessAgainstOrder, Outcome, claim, protocol, verdict_of

RUNS = 20
COLUMNS = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
ORDERS = (1.0, 1.001, 1.01, 1.05, 1.1, 1.25, 1.5, 2.0, 4.0, math.inf)
FEW_COLUMNS, FEW_ORDERS = (4, 16, 64), (2.0, 4.0, math.inf)
RECORDS = 10_000  # beyond p = 2
HARDEST, FRESH = "hardest, linear", "fresh, logistic"
_N, _EPSILON, _DELTA = 2_000, 1.0, 1e-6
_NEAR = 0.1  # of an exponent; and of a ratio, as a share


def measured(runs: int, seed: int, told: Callable[[str], None]) -> tuple[pd.DataFrame, list[AgainstOrder]]:
    """The table: excess of linear losses on the hardest records, of what the bounds choose, and of phased descent on
    fresh ones, with what is proved of it. And the curves along the norm order, one for each of `COLUMNS`.

    runs: >= 2, each with its own records and noise.
    """
    parts, curves = [], []
    for d in COLUMNS:
        found = excess_by_norm.against_order(d, _N, _EPSILON, _DELTA, seed, runs, ORDERS)
        excess = {"p_norm": ORDERS, "excess": found.mean, "se": found.se, "nothing_learned": found.signal}
        parts.append(pd.DataFrame({"records": HARDEST, "d": float(d), **excess}))
        curves.append(found)
        told(f"d = {d:,} is done")
    setting: dict[str, Any] = {"epsilon": _EPSILON, "delta": _DELTA, "seed": seed, "ns": (RECORDS,), "runs": runs}
    for d in FEW_COLUMNS:
        for p_norm in FEW_ORDERS:
            fresh = excess_by_n.excess_against_n(p_norm, d=d, **setting)
            excess = {"p_norm": p_norm, "excess": fresh.private.mean, "bound": fresh.bound}
            parts.append(pd.DataFrame({"records": FRESH, "d": float(d), **excess}))
    return pd.concat(parts, ignore_index=True), curves


def wide(table: pd.DataFrame, records: str, column: str = "excess") -> pd.DataFrame:
    """A column of the table, for one kind of records. Rows: d; columns: norm orders."""
    return table[table.records == records].pivot(index="d", columns="p_norm", values=column)


def claims_of(table: pd.DataFrame) -> tuple[Claim, ...]:
    hard = wide(table, HARDEST)
    return (
        _at_one(hard),
        _beyond_one(hard, wide(table, HARDEST, "nothing_learned")[2.0]),
        _sharp(hard),
        _beyond_two(wide(table, FRESH), wide(table, FRESH, "bound")),
    )


def growth_of(values: pd.Series) -> float:
    """The last value over the first."""
    return float(values.iloc[-1] / values.iloc[0])


def _at_one(hard: pd.DataFrame) -> Claim:
    growth, d = growth_of(hard[1.0]), hard.index
    logs, root = math.log(2.0 * d[-1]) / math.log(2.0 * d[0]), math.sqrt(d[-1] / d[0])
    slow = growth <= (1.0 + _NEAR) * logs
    told, facts = f"the excess grows {growth:.2f} times", {"first": d[0], "last": d[-1], "logs": logs, "root": root}
    return claim("bassily_at_one", verdict_of(slow), told, **facts)


def _beyond_one(hard: pd.DataFrame, signal: pd.Series) -> Claim:
    """signal: excess of a model that learned nothing, at p = 2."""
    told, root = [], True
    for p_norm in (1.25, 1.5, 2.0):
        law = power_law(hard.index, hard[p_norm])
        root &= law.slope is not None and abs(law.slope - 0.5) <= _NEAR
        told.append(f"p = {p_norm:g}: {law.reason or f'{law.slope:.3f}'}")
    shares = [float(hard[p_norm].iloc[-1] / hard[2.0].iloc[-1]) for p_norm in (1.25, 1.5)]
    alike = all(abs(share - 1.0) <= 2.0 * _NEAR for share in shares)
    left, nothing = hard[2.0] / signal, power_law(hard.index, signal)
    words = (
        f"exponents in d: {', '.join(told)}; at most columns {shares[0]:.2f} (p = 1.25) and {shares[1]:.2f} (p = 1.5) "
        f"times the excess at p = 2"
    )
    facts = {"low": left.min(), "high": left.max(), "alone": nothing.reason or f"{nothing.slope:.3f}"}
    return claim("bassily_beyond_one", verdict_of(root and alike), words, **facts)


def _sharp(hard: pd.DataFrame) -> Claim:
    d, last = hard.index[-1], hard.iloc[-1]
    begins = max((p for p, excess in last.items() if p <= 2.0 and excess < 0.5 * last[2.0]), default=math.nan)
    near, jump = 1.0 + 1.0 / math.log(d), last[1.25] / last[1.0]
    sharp = jump >= 0.25 * math.sqrt(d / math.log(2.0 * d)) and begins <= near + _NEAR
    words = (
        f"at d = {d:,.0f} the excess at p = 1.25 is {jump:.0f} times that at p = 1; the largest p of the grid below "
        f"half of the excess at p = 2 is {excess_by_norm.order_text(begins)}, beside 1 + 1/ln d = {near:.3f}"
    )
    return claim("bassily_sharp", verdict_of(sharp), words)


def _beyond_two(excess: pd.DataFrame, bound: pd.DataFrame) -> Claim:
    kept, told, n = bool((excess <= bound).to_numpy().all()), [], excess.index
    for p_norm in FEW_ORDERS:
        rows = [table_1.table_row(float(p_norm), int(d), RECORDS, _EPSILON, _DELTA).value for d in n]
        name, growth = excess_by_norm.order_text(float(p_norm)), growth_of(excess[p_norm])
        told.append(f"p = {name}: {growth:.1f} times (rate {rows[-1] / rows[0]:.1f})")
    more = bool((np.diff(excess.iloc[-1]) > 0.0).all())
    words = (
        f"growth of the excess from d = {n[0]:.0f} to {n[-1]:.0f}, n = {RECORDS:,}: {', '.join(told)}; "
        f"{'no mean' if kept else 'some mean'} above its proved bound"
    )
    return claim("bassily_beyond_two", verdict_of(kept and more), words)


def run(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    table, (*others, last) = measured(RUNS if runs is None else runs, seed, told)
    words = "drawn: the hardest records of the paper's lower bound, and labels times features for phased descent"
    return Outcome(words, table, ExcessAgainstOrder(last, others, 1.25), claims_of(table))


_ENDS = {"d": (COLUMNS[0], COLUMNS[-1]), "few": (FEW_COLUMNS[0], FEW_COLUMNS[-1])}
PROTOCOL = protocol("bassily_transition", n=_N, epsilon=_EPSILON, delta=_DELTA, runs=RUNS, records=RECORDS, **_ENDS)
