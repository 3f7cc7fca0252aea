"""Jain & Thakurta 2014, Figure 1 (a): a private linear classifier of records with twenty million columns."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from ....core.privacy import Budget
from ....core.records import Data
from ....data.synthetic import sparse_records
from ....mechanisms import make_mechanism
from ....mechanisms.noise.spherical import NOISES
from .accuracies import NONE, Point, means_of, span, split
from .base import Claim, Outcome, RightAgainst, claim, verdict_of
from .jain_thakurta import EPSILONS, LINEAR, PUBLISHED, RUNS, left_points, table_of
from .jain_thakurta import PROTOCOL as LINEAR_PROTOCOL

ROWS, COLUMNS, NONZEROS = 100_000, 20_000_000, 100
CHANCE = 62.0  # of 100, of which one half is the share of each class
_NEAR = 3.0


def url_like(seed: int) -> Data:
    """Drawn records in the unit ball; only the columns that some record fills are stored."""
    drawn = sparse_records(ROWS, COLUMNS, NONZEROS, seed=seed)
    return Data(drawn.X, np.where(drawn.y > 0.0, 1.0, -1.0)).nonempty[1]


def claims_a(means: pd.DataFrame, n: int, columns: int, margin: float) -> tuple[Claim, ...]:
    """n: records to learn from. columns: p. margin: mean |<x, theta>| of the model without privacy."""
    level = float(means[NONE].iloc[0])
    question, answer = means["objective_gaussian"].dropna(), means["output_gaussian"]
    gamma, wide = means["objective_gamma"].dropna(), means["output_gamma"]
    large = means[means.index >= 1.0][["objective_gaussian", "output_gaussian"]].to_numpy()
    from_the_left = len(question) == len(means) and level - question.iloc[0] <= _NEAR
    at_the_top = level - gamma.iloc[-1] <= _NEAR
    told = f"{span(list(large.ravel()))} from epsilon = 1 on, against {level:.1f}"
    reaches = verdict_of(bool(level - large.min() <= _NEAR))
    least = {} if from_the_left else _at_the_least(float(question.index[0]), n, columns)
    climbs = verdict_of(answer.iloc[0] <= CHANCE and level - answer.iloc[-1] <= _NEAR)
    rises = verdict_of(gamma.iloc[0] <= CHANCE and at_the_top, "unexplained")
    why = "" if at_the_top else _why_below(n, columns, margin)
    learns = verdict_of(wide.iloc[:-1].max() <= CHANCE and wide.iloc[-1] <= level - 10.0)
    return (
        claim("jain_thakurta_a_gaussian", reaches, told),
        claim("jain_thakurta_a_level", verdict_of(from_the_left, "unexplained"), _told(question), **least),
        claim("jain_thakurta_a_climbs", climbs, _told(answer)),
        claim("jain_thakurta_a_gamma", rises, _told(gamma), why=why),
        claim("jain_thakurta_a_nothing", learns, _told(wide)),
        left_points(means, n),
    )


def _why_below(n: int, columns: int, margin: float) -> str:
    """Reason why Gamma noise in the objective keeps the model from the top."""
    plan = make_mechanism("objective_gamma").calibrate(LINEAR.spec(n, columns), Budget(1.0))
    moved = plan.scale / LINEAR.lam * NOISES["gamma"].reach(columns)[0]
    return (
        f"At epsilon = 1 the noise moves a prediction by up to {moved:.0f} on average, beside a mean |prediction| of "
        f"{margin:.2f} without noise. Only the curvature of the loss can hold it, along directions that many records "
        "share: rows of URL may share more than those drawn here."
    )


def _at_the_least(epsilon: float, n: int, columns: int) -> dict[str, float]:
    """least: the smallest epsilon that noise in the objective serves. share: of it that the curvature of one record
    takes. ratio: noise in the objective over that in the output, before the loss resists it."""
    objective, output = (
        make_mechanism(f"{place}_gaussian").calibrate(LINEAR.spec(n, columns), Budget(epsilon, LINEAR.delta))
        for place in ("objective", "output")
    )
    share, ratio = objective.ledger[0].charge / epsilon, objective.scale / LINEAR.lam / output.scale
    return {"least": epsilon, "share": share, "ratio": ratio}


def _told(curve: pd.Series) -> str:
    """A curve over epsilon in words.

    >>> _told(pd.Series([50.0, 81.96], index=[0.001, 10.0]))
    '50.0 at 0.001, 82.0 at 10'
    """
    return ", ".join(f"{right:.1f} at {epsilon:g}" for epsilon, right in curve.items())


def run(data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome:
    records = url_like(seed)
    told("records are drawn")
    points = [Point(epsilon, epsilon, records.p) for epsilon in EPSILONS]
    table = table_of(records, points, RUNS if runs is None else runs, seed, told)
    words = (
        f"a stand-in, not URL: {ROWS:,} drawn records of {COLUMNS:,} columns, about {NONZEROS} entries each, "
        f"{records.stored:,} columns with any"
    )
    n = split(records, seed, 0)[0].n
    claims = claims_a(means_of(table), n, records.p, float(table.margin.mean()))
    return Outcome(words, table, RightAgainst(table, PUBLISHED["a"], "privacy budget ε"), claims)


PROTOCOL = f"""Drawn records in the place of URL, of the size that the paper names: {ROWS:,} rows, {COLUMNS:,} columns
(the published URL has 3.2 million), about {NONZEROS} entries a row, columns as frequent as words. {LINEAR_PROTOCOL}"""
