"""Where a bound loses: its proof as a chain of numbers, from the measured excess to the bound."""

import dataclasses as dc
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from .. import data as records
from ..core.arrays import Array
from ..core.cache import SharedCache
from ..core.cancel import Cancelled, never
from ..core.losses import get_loss
from ..core.privacy import NotApplicable
from ..mechanisms import Mechanism
from ..mechanisms.base import Link
from ..mechanisms.problem import Problem
from . import metrics
from .cell import Cell, generators, releases_of

FEW = 4  # repetitions of the chain that comes first


@dc.dataclass(frozen=True)
class Step:
    """Number of a chain. claim, lemma, worst: as in `Link`; the claim of the measurement is "".

    se: standard error of its distance from the number before, of the first number its own; 0 where both are exact.
    """

    claim: str
    lemma: str
    value: float
    se: float
    worst: bool


@dc.dataclass(frozen=True)
class ProofChain:
    """Numbers from the measured mean excess to its bound, none below the one before but by chance.

    nothing: excess of a model that learns nothing. repetitions: of the measurement. quantity: what is bounded, in
    words.
    """

    steps: tuple[Step, ...]
    nothing: float
    repetitions: int
    quantity: str = "excess risk"


@dc.dataclass(frozen=True)
class ProofQuestion:
    """Question for the chain of a mechanism's bound on the mean excess empirical risk at one epsilon.

    repetitions: as in an `Experiment`, whose releases are measured.
    """

    mechanism: Mechanism
    problem: Problem
    epsilon: float
    repetitions: int

    @property
    def source(self) -> str:
        return self.problem.source

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[ProofChain]:
        """The chain on few releases, and on all; NotApplicable where the mechanism has none."""
        for repetitions in sorted({min(FEW, self.repetitions), self.repetitions}):
            yield proof_chain(dc.replace(self, repetitions=repetitions), cancelled)

    def share_done(self, found: ProofChain) -> float:
        return found.repetitions / self.repetitions


def proof_chain(asked: ProofQuestion, cancelled: Cancelled = never) -> ProofChain:
    """The chain that a question asks for; NotApplicable where the mechanism has no guarantee or no such bound.

    >>> from dpcore import make_mechanism
    >>> found = proof_chain(ProofQuestion(make_mechanism("output_gaussian"), Problem("synthetic", n=200), 1.0, 4))
    >>> found.steps[0].value < found.steps[1].value <= found.steps[-1].value
    True
    """
    kept = records.kept_with(asked.source, _CHAINS)
    return kept.get_unless(cancelled, asked, lambda: _compute(asked, cancelled))


_CHAINS: SharedCache[ProofChain] = SharedCache(256)


def _compute(asked: ProofQuestion, cancelled: Cancelled) -> ProofChain:
    mechanism, problem = asked.mechanism, asked.problem
    cell = Cell(mechanism, (asked.epsilon,), problem, asked.repetitions)
    plan, split, best = problem.plan(mechanism, asked.epsilon), problem.load(), problem.comparator()
    prepared = problem.prepared(mechanism, [plan], cancelled)
    releases = releases_of(cell, [plan], prepared, split.train.stored, cancelled)
    curves = metrics.curves_of(get_loss(problem.loss), split.train, split.test, problem.reference(), releases)
    excess = next(curve for curve in curves if curve.metric == "excess_empirical_risk")
    links = mechanism.chain(plan, prepared[0], split.train, best, generators(cell), cancelled)
    if not links:
        raise NotApplicable(f"{mechanism.key} has no bound on the mean excess risk of given records")
    measured = excess.mean if excess.exact else excess.draws[0]
    # The bound compares with the best model of a length, the measurement with all models.
    beyond = best.risk - problem.reference().risk
    links = tuple(dc.replace(link, values=link.values + beyond) for link in links)
    return ProofChain(chained(measured, links), excess.nothing_learned, asked.repetitions)


def chained(measured: Array, links: Sequence[Link], se: float = 0.0) -> tuple[Step, ...]:
    """Numbers of a chain from the measured excess, [R] as in `Link.values`, or [1] with its standard error `se`."""
    steps = [Step("", "", float(measured.mean()), math.hypot(_error(measured), se), False)]
    for before, link in pairwise([Link("", "", measured), *links]):
        error = math.hypot(_error(link.values - before.values), se if len(steps) == 1 else 0.0)
        steps.append(Step(link.claim, link.lemma, float(link.values.mean()), error, link.worst))
    return tuple(steps)


def _error(values: Array) -> float:
    """Standard error of the mean of releases, which come in pairs that are independent; 0 for one number."""
    pairs = values.reshape(-1, 2).mean(axis=1) if len(values) > 1 else values
    return float(pairs.std(ddof=1) / math.sqrt(len(pairs))) if len(pairs) > 1 else 0.0
