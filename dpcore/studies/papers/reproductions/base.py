"""Base of reproductions: a protocol that can be run, its comparison with the paper, and its chart."""

import dataclasses as dc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import pandas as pd

from ....core.arrays import Array
from ....core.facts import facts_beside, text_beside
from ....experiments.summary import Summary
from ...geometry.excess_by_norm import AgainstOrder
from ...multiclass.curves import Accuracies

Verdict = Literal["agrees", "differs", "unexplained"]


@dc.dataclass(frozen=True)
class Claim:
    """Claim of a paper's figure or text, beside the result found here.

    words: the claim in a sentence. published: what the paper shows. found: the same in this run's numbers. verdict:
    "differs" is explained in `why`; "unexplained" says in `why` what was tried.
    """

    words: str
    published: str
    found: str
    verdict: Verdict
    why: str = ""


_CLAIMS = {row.pop("claim"): row for row in facts_beside(__file__, "claims.csv")}


def claim(key: str, verdict: Verdict, found: str, **numbers: object) -> Claim:
    """A claim of `claims.csv`, which has its words and says why, always or for this verdict.

    numbers: what stands in its braces.
    """
    row = _CLAIMS[key]
    texts = row["words"], row["published"], row["always"] or row[verdict]
    words, published, why = (text.format(**numbers) for text in texts)
    return Claim(words, published, found, verdict, why)


def protocol(module: str, **numbers: object) -> str:
    """Protocol from a module's Markdown file. numbers: values for its braces."""
    return text_beside(__file__, f"{module}.md").format(**numbers).strip()


def verdict_of(holds: bool, otherwise: Verdict = "differs") -> Verdict:
    return "agrees" if holds else otherwise


@dc.dataclass(frozen=True)
class RightAgainst:
    """Accuracy in % against x in many runs.

    table: columns run, x, mechanism ("none" is without privacy), right and larger_class, both of 100; right is nan for
    a refusal. published: mechanism -> (x, right of 100) of the paper. over: what x is, in words.
    """

    table: pd.DataFrame
    published: Mapping[str, Sequence[tuple[float, float]]]
    over: str


@dc.dataclass(frozen=True)
class Exponent:
    """A power of `over`, mean and standard error over the runs; nan where a run's points show none, as `reason` says.

    claimed: the paper's formula fitted to the same points, its logarithms included.
    """

    curve: str
    over: str
    mean: float
    se: float
    claimed: float
    reason: str = ""


@dc.dataclass(frozen=True)
class ExcessOfMechanisms:
    """Excess risk against epsilon [K] of several mechanisms with the same guarantee.

    measured: name -> (mechanism, what was measured [K]). nothing: excess of theta = 0.
    """

    epsilon: Array
    measured: Mapping[str, tuple[str, Summary]]
    nothing: float


@dc.dataclass(frozen=True)
class ExcessAgainstOrder:
    """Excess of linear losses against the norm order, marked at p_norm; others: the same at other d."""

    found: AgainstOrder
    others: Sequence[AgainstOrder]
    p_norm: float


@dc.dataclass(frozen=True)
class AccuracyOfClassifiers:
    """Accuracy of classifiers of many classes against epsilon, marked at one."""

    found: Accuracies
    epsilon: float


Chart = RightAgainst | tuple[Exponent, ...] | ExcessOfMechanisms | ExcessAgainstOrder | AccuracyOfClassifiers


@dc.dataclass(frozen=True)
class Outcome:
    """Result of one run.

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
