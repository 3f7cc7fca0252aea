"""Every mechanism that applies, on one table of records, accuracy against epsilon, as Iyengar et al. 2019 compare."""

import dataclasses as dc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from ....core.validation import integer
from ....data import Declared, UploadedRecords, read_table
from ....mechanisms.problem import Problem
from ...decide.compare_mechanisms import CompareQuestion, ranked
from .base import Claim, Outcome, ScoresOfMechanisms, Verdict, claim, protocol

RUNS = 10
EPSILONS = tuple(10.0 ** (k / 2.0) for k in range(-4, 3))
STAND_IN, STAND_IN_RECORDS, STAND_IN_COLUMNS = "synthetic_correlated", 10_000, 14
_LABEL = "label"
_OBJECTIVE = "objective_"
_CLOSE = 2.0  # points of accuracy


def every_mechanism(
    source: str, n: int | None, p: int | None, runs: int, seed: int, told: Callable[[str], None]
) -> pd.DataFrame:
    """The rows of `ranked` at each epsilon, delta = 1/n^2; runs: an even number >= 4, two on each of runs / 2 splits.

    best: the least loss, or within two standard errors of it. behind, behind_se: points that it loses more than the
    least loss on the same splits.
    """
    if integer("runs", runs, at_least=4) % 2:
        raise ValueError(f"runs must be even, two on each split, got {runs}")
    problem = Problem(source, n, p, seed=seed)  # type: ignore[arg-type]
    problem = dc.replace(problem, delta=1.0 / problem.n**2)
    tables = []
    for epsilon in EPSILONS:
        *_, rows = CompareQuestion(problem, epsilon, splits=runs // 2, epsilons=(epsilon,)).snapshots()
        tables.append(_behind(ranked(rows)).assign(epsilon=epsilon, delta=problem.delta))
        told(f"epsilon = {epsilon:.3g} is done")
    return pd.concat(tables, ignore_index=True).drop(columns=["losses", "smallest", "seconds"])


def _behind(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its columns behind and behind_se; nan where a mechanism does not apply."""
    applied = table[table.status == "ok"]
    if applied.empty:
        return table.assign(behind=np.nan, behind_se=np.nan)
    more = np.array(applied.losses.tolist()) - np.array(applied.losses[applied.lost.idxmin()])
    errors = more.std(axis=1, ddof=1) / np.sqrt(more.shape[1])
    return table.join(pd.DataFrame({"behind": more.mean(axis=1), "behind_se": errors}, index=applied.index))


def claims_of(table: pd.DataFrame) -> tuple[Claim, ...]:
    return (_best(table), _untuned(table))


def _close(lost: float, se: float) -> Verdict:
    """Whether at most `_CLOSE` points are lost; undecided within two standard errors of them."""
    if lost + 2.0 * se <= _CLOSE:
        return "agrees"
    return "differs" if lost - 2.0 * se > _CLOSE else "undecided"


def _best(table: pd.DataFrame) -> Claim:
    verdicts, told, behind = list[Verdict](), [], 0
    applied = table[table.status == "ok"]
    for epsilon in sorted(table.epsilon.unique()):
        rows = applied[(applied.epsilon == epsilon) & applied.mechanism.str.startswith(_OBJECTIVE)]
        if rows.empty:
            verdicts.append("differs")
            told.append(f"no guarantee at {epsilon:.3g}")
        else:
            row = rows.loc[rows.behind.idxmin()]
            verdicts.append(_close(row.behind, row.behind_se))
            behind += not rows.best.any()
            told.append(f"{row.behind:.2f} ± {row.behind_se:.2f} points at {epsilon:.3g}")
    places = len(verdicts)
    words = (
        f"objective perturbation loses at most {_CLOSE:g} points more than the best mechanism, two standard errors "
        f"included, at {verdicts.count('agrees')} of {places} epsilon, and is more than two standard errors behind at "
        f"{behind}. Behind the best: {', '.join(told)}"
    )
    verdict: Verdict = max(verdicts, key=verdicts.count)
    if 2 * verdicts.count(verdict) <= places:
        verdict = "undecided"
    near = sum(_close(row.behind, row.behind_se) == "agrees" for row in applied.itertuples(index=False))
    return claim("iyengar_best", verdict, words, close=_CLOSE, near=near / places, applied=len(applied) / places)


def _untuned(table: pd.DataFrame) -> Claim:
    rows = table[(table.mechanism == "objective_gaussian") & (table.status == "ok")].sort_values("epsilon")
    if rows.empty:
        reason = table[table.mechanism == "objective_gaussian"].reason.iloc[0]
        return claim("iyengar_unused", "differs", "objective_gaussian applies at no epsilon", reason=reason)
    last = rows.iloc[-1]
    lost = (f"{row.lost:.1f} ± {row.lost_se:.1f} points at {row.epsilon:.3g}" for row in rows.itertuples(index=False))
    words = f"with defaults that see no record objective_gaussian loses {', '.join(lost)}"
    told = f"{words}; without privacy {last.without:.1%}"
    return claim("iyengar_untuned", _close(last.lost, last.lost_se), told, close=_CLOSE)


def run(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    held = None if data is None else _held(data)  # kept until the last number is computed
    if held is None:
        source, n, p = STAND_IN, STAND_IN_RECORDS, STAND_IN_COLUMNS
        words = f"a stand-in, not Adult: drawn records with correlated columns, n = {n:,}, p = {p}"
    else:
        source, n, p = held.key, None, None
        words = f"{held.source.label}: {held.source.size:,} records to learn from, {held.source.scaling}"
    table = every_mechanism(source, n, p, RUNS if runs is None else runs, seed, told)
    shown = table[table.status == "ok"]
    labels = dict(zip(shown.mechanism, shown.label, strict=True))
    wide = shown.pivot(index="epsilon", columns="mechanism", values="score").reindex(sorted(table.epsilon.unique()))
    order = shown.groupby("mechanism").lost.mean().sort_values().index
    return Outcome(
        words,
        table,
        ScoresOfMechanisms(
            wide.index.to_numpy(float),
            {key: wide[key].to_numpy(float) for key in order},
            float(shown.without.mean()),
            float(shown.floor.mean()),
            labels,
        ),
        claims_of(table),
    )


def _held(path: Path) -> UploadedRecords:
    """The records of a file, with values in [0, 1] as published: a declared range, checked and not repaired."""
    if not path.is_file():
        raise ValueError(f"--data must name a file, got {str(path)!r}")
    name = path.name
    table = read_table(path.read_bytes(), name, _LABEL)
    values, columns = table.labels[0], len(table.features)
    if len(values) != 2:
        raise ValueError(f"the label of {name} must take two values, got {len(values)}")
    # Which of two labels counts as +1 changes no accuracy.
    said = Declared(table.features, (0.0,) * columns, (1.0,) * columns, positive=values[1])
    held = UploadedRecords(table, said, name)
    beyond = {column: count for column, count in held.report.clipped.items() if count}
    if beyond:
        column, count = next(iter(beyond.items()))
        raise ValueError(
            f"features of {name} must lie in [0, 1], got {count:,} values outside in column {column!r}; divide columns "
            "by public bounds"
        )
    return held


PROTOCOL = protocol("iyengar", low=EPSILONS[0], high=EPSILONS[-1], runs=RUNS, close=_CLOSE)
