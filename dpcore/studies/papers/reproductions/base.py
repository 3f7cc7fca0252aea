"""What every reproduction is: a protocol that can be run, and what it says beside the paper."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from .charts import Chart

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["agrees", "differs", "unexplained"]


@dc.dataclass(frozen=True)
class Claim:
    """One thing that a paper's figure or text says, beside what came out here.

    words: the claim in a sentence. printed: what the paper shows. found: the same in this run's numbers. verdict:
    "differs" is explained in `why`; "unexplained" says in `why` what was tried.
    """

    words: str
    printed: str
    found: str
    verdict: Verdict
    why: str = ""


@dc.dataclass(frozen=True)
class Outcome:
    """What one run gives.

    records: which data were used, in words; a stand-in says that it is one.
    """

    records: str
    table: pd.DataFrame
    chart: Chart
    claims: tuple[Claim, ...]


class Run(Protocol):
    """Computes an outcome.

    data: a file, or None for a labelled stand-in. runs: how many repetitions, or None for the paper's number; a
    small number is for tests. seed: >= 0. told: hears of progress, a sentence at a time.
    """

    def __call__(self, data: Path | None, *, runs: int | None, seed: int, told: Callable[[str], None]) -> Outcome: ...


@dc.dataclass(frozen=True)
class Reproduction:
    """A figure or an experiment of a paper.

    source: paper and place ("Jain & Thakurta 2014, Figure 1 (b)"). protocol: what is done, in Markdown, with what the
    paper leaves open and what is chosen here. file: what `--data` may name, in words; empty where no file is used.
    minutes: about how long its repetitions take on one core. runs: how many there are, the paper's number where it has
    one. few: as many as some seconds allow, for a first look; 0 where even one takes longer.
    """

    name: str
    title: str
    source: str
    protocol: str
    file: str
    minutes: float
    runs: int
    few: int
    run: Run
