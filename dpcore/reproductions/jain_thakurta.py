"""Jain & Thakurta 2014, Figure 1 (b) and (c): a private linear classifier of Cod-RNA, against epsilon and against p.

Read-offs of the printed curves are of two digits at best. See "Figure 1" in docs/reproductions.md for what the paper
leaves open.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..api import release_once
from ..data import read_libsvm, scale
from ..data.records import training_records
from ..evaluate import accuracy
from ..figures.reproductions import accuracy_lines
from ..losses import get_loss
from ..mechanisms import make_mechanism
from ..solvers import minimise
from ..types import Array, Budget, Data, Domain, NotApplicable, Spec
from .base import Claim, Outcome, Reproduction, Verdict

RUNS, LAM, DELTA, LOSS = 20, 1e-3, 1e-3, "huber_hinge"
EPSILONS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
COLUMNS = (8, 10_000, 20_000, 30_000, 40_000, 50_000)  # those of the records, most of them zero
_EPSILON_C = 5.0
MECHANISMS = ("objective_gaussian", "objective_gamma", "output_gaussian", "output_gamma")
CHANCE = 62.0  # of 100: below that a classifier of records of which 2 of 3 are alike has learned nothing
# Free energy, length and six frequencies of nucleotides of a pair of strands: declared, not measured.
LOW = np.array([-2500.0, 50.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
HIGH = np.array([0.0, 150.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
_STAND_IN = 6_000
# Right of 100, as printed; where two values stand the axis is the first and last marker.
PRINTED_B: dict[str, tuple[tuple[float, float], ...]] = {
    "objective_gaussian": ((0.001, 44), (0.005, 65), (0.01, 77), (0.05, 88), (0.1, 88), (10.0, 88)),
    "objective_gamma": ((0.001, 54), (0.005, 63), (0.01, 55), (0.05, 87), (0.1, 88), (10.0, 88)),
    "output_gamma": ((0.001, 46), (0.005, 56), (0.01, 53), (0.05, 55), (0.1, 57), (5.0, 83), (10.0, 86)),
    "output_gaussian": ((0.001, 52), (0.005, 50), (0.01, 53), (0.05, 56), (0.1, 54), (1.0, 70), (5.0, 83), (10.0, 86)),
}
PRINTED_C: dict[str, tuple[tuple[float, float], ...]] = {
    "objective_gaussian": ((8, 87), (50_000, 87)),
    "output_gaussian": ((8, 74), (50_000, 74)),
    "objective_gamma": ((8, 87), (10_000, 62), (50_000, 51)),
    "output_gamma": ((8, 76), (10_000, 54), (50_000, 43)),
}


@dc.dataclass(frozen=True)
class Records:
    """All records, scaled by public constants and with a constant column, and what they are in words."""

    X: Array
    y: Array
    words: str


def cod_rna(file: Path | None, rng: np.random.Generator) -> Records:
    """The file's records, or a stand-in of the same shape. Raises ValueError where the declared ranges do not hold."""
    if file is None:
        features = rng.uniform(-1.0, 1.0, (_STAND_IN, 8))
        score = 6.0 * features @ np.array([0.6, -0.4, 0.5, -0.3, 0.2, 0.2, -0.2, 0.1]) - 2.1
        y = np.where(rng.random(_STAND_IN) < 1.0 / (1.0 + np.exp(-score)), 1.0, -1.0)
        words = f"a stand-in, not Cod-RNA: {_STAND_IN:,} drawn records of 8 features, one in three positive"
    else:
        table = read_libsvm(file)
        X = table.data.X
        features = scale(X if isinstance(X, np.ndarray) else X.toarray(), LOW, HIGH)
        y = table.data.y
        words = f"{file.name}: {len(y):,} records of 8 features, scaled by declared ranges"
    return Records(np.column_stack([features, np.ones(len(y))]) / 3.0, y, words)


def _release(key: str, train: Data, epsilon: float, seed: int) -> Array:
    mechanism = make_mechanism(key)
    spec = Spec(LOSS, train.n, train.p, LAM, Domain())
    return release_once(mechanism.calibrate(spec, Budget(epsilon, DELTA)), train, seed=seed).theta


def _points(
    records: Records, points: tuple[tuple[float, float, int], ...], runs: int, seed: int, told: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """A row for each run, mechanism and point (x, epsilon, columns); without privacy too, as mechanism "none"."""
    size = training_records(len(records.y))
    for run in range(runs):
        order = np.random.default_rng([seed, run]).permutation(len(records.y))
        train, test = order[:size], order[size:]
        held_out = Data(records.X[test], records.y[test])
        plain = minimise(get_loss(LOSS), Data(records.X[train], records.y[train]), LAM, tol=1e-6 / LAM).theta
        for x, epsilon, p in points:
            padded = Data(records.X[train], records.y[train], p=max(p, 9))
            facts = {"run": run, "x": x, "epsilon": epsilon, "p": p}
            yield facts | {"mechanism": "none", "right": 100.0 * accuracy(plain, held_out), "reason": ""}
            for key in MECHANISMS:
                try:
                    theta = _release(key, padded, epsilon, seed=1_000 * seed + run)
                except NotApplicable as refusal:
                    yield facts | {"mechanism": key, "right": math.nan, "reason": str(refusal)}
                    continue
                yield facts | {"mechanism": key, "right": 100.0 * accuracy(theta[:9], held_out), "reason": ""}
        told(f"run {run + 1} of {runs}")


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Rows: x; columns: mechanisms; mean right of 100, nan where any run was refused."""
    return table.groupby(["x", "mechanism"])["right"].agg(lambda right: right.mean(skipna=False)).unstack()


def _verdict(holds: bool) -> Verdict:
    return "agrees" if holds else "differs"


def _span(values: Array) -> str:
    return f"{np.nanmin(values):.0f} to {np.nanmax(values):.0f}"


def _run_b(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    records = cod_rna(data, np.random.default_rng([seed, 0]))
    points = tuple((epsilon, epsilon, 9) for epsilon in EPSILONS)
    table = pd.DataFrame(_points(records, points, runs or RUNS, seed, told))
    return Outcome(records.words, table, accuracy_lines(table, PRINTED_B, "privacy budget ε"), claims_b(_means(table)))


def claims_b(means: pd.DataFrame) -> tuple[Claim, ...]:
    middle = means[(means.index >= 0.05) & (means.index <= 1.0)]
    ahead = {
        law: (middle[f"objective_{law}"] - middle[f"output_{law}"]).dropna().to_numpy() for law in ("gaussian", "gamma")
    }
    behind = (means["none"] - means[list(MECHANISMS)].min(axis=1, skipna=False)).to_numpy()[-1]
    refused = {key: means.index[means[key].isna()].tolist() for key in MECHANISMS if means[key].isna().any()}
    level = float(means["none"].iloc[-1])
    return (
        Claim(
            "Without privacy the classifier is right about 88 times of 100",
            "about 88",
            f"{level:.1f}",
            "agrees" if abs(level - 88.0) <= 3.0 else "unexplained",
            ""
            if abs(level - 88.0) <= 3.0
            else "the paper does not say how the records were scaled, and lambda weighs more the smaller they are: it "
            "may have scaled by the data, which is not private, or have meant another lambda",
        ),
        Claim(
            "Noise in the objective, where it is private, is at least as good as in the output for .05 <= epsilon <= 1",
            "by 16 to 34 points",
            "; ".join(f"{law}: {_span(gain)} points better" for law, gain in ahead.items()),
            _verdict(all(len(gain) > 0 and gain.min() >= -1.0 for gain in ahead.values())),
        ),
        Claim(
            "At epsilon = 10 all four are close to the model without privacy",
            "86 to 88 against 88",
            f"the worst is {behind:.1f} points behind {means['none'].iloc[-1]:.1f}",
            _verdict(bool(behind <= 3.0)),
        ),
        Claim(
            "Noise in the objective is private down to epsilon = .001 with lambda = .001",
            "drawn from .001 on",
            "; ".join(f"{key} refuses epsilon = {', '.join(map(str, at))}" for key, at in refused.items())
            or "every epsilon is served",
            _verdict(not refused),
            "the curvature that one record adds costs ln(1 + c R^2 / (n lambda)) of epsilon before any noise is drawn; "
            "the paper's own condition, lambda >= 2c / (n epsilon), fails there too"
            if refused
            else "",
        ),
    )


def _run_c(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    records = cod_rna(data, np.random.default_rng([seed, 0]))
    points = tuple((float(p), _EPSILON_C, p) for p in COLUMNS)
    table = pd.DataFrame(_points(records, points, runs or RUNS, seed, told))
    return Outcome(records.words, table, accuracy_lines(table, PRINTED_C, "columns p"), claims_c(_means(table)))


def claims_c(means: pd.DataFrame) -> tuple[Claim, ...]:
    flat = {key: means[key].to_numpy() for key in ("objective_gaussian", "output_gaussian")}
    lost = {key: means[key].to_numpy() for key in ("objective_gamma", "output_gamma")}
    wide = means.index >= 20_000
    return (
        Claim(
            "Gaussian noise does not feel idle columns",
            "flat: 86 to 88 and 71 to 77",
            "; ".join(f"{key}: {_span(values)}" for key, values in flat.items()),
            _verdict(all(np.ptp(values) <= 6.0 for values in flat.values())),
        ),
        Claim(
            "Gamma noise ends at chance from p = 20,000 on",
            "51 to 62, and 43 to 54",
            "; ".join(f"{key}: {_span(values[wide])} from there on" for key, values in lost.items()),
            _verdict(all(values[wide].max() <= CHANCE for values in lost.values())),
        ),
        Claim(
            "At p = 8 noise in the objective beats noise in the output",
            "87 against 74 and 76",
            f"Gaussian {means['objective_gaussian'].iloc[0]:.0f} against {means['output_gaussian'].iloc[0]:.0f}, "
            f"Gamma {means['objective_gamma'].iloc[0]:.0f} against {means['output_gamma'].iloc[0]:.0f}",
            _verdict(
                all(
                    means[f"objective_{law}"].iloc[0] >= means[f"output_{law}"].iloc[0] - 1.0
                    for law in ("gaussian", "gamma")
                )
            ),
        ),
    )


_FILE = "Cod-RNA in the LIBSVM format (plain or .gz)"
_PROTOCOL = (
    f"70% of the records train, 30% test, {RUNS} runs; lambda = {LAM:g} for the average loss, delta = {DELTA:g}; "
    "linear classifier with a constant column and the Huberised hinge, since no proof covers noise in the objective of "
    "the plain one. Left open by the paper: scaling (here declared ranges), the constant column, the hinge's smoothing."
)
_SOURCE = "Jain & Thakurta 2014, Figure 1"
PANEL_B = Reproduction(
    "jain-thakurta-1b", "Right of 100 against epsilon", f"{_SOURCE} (b)", _PROTOCOL, _FILE, 1.0, _run_b
)
PANEL_C = Reproduction(
    "jain-thakurta-1c", "Right of 100 against idle columns", f"{_SOURCE} (c)", _PROTOCOL, _FILE, 1.0, _run_c
)
