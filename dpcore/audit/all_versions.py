"""All versions of a mechanism's code audited together: the correct one, and one for each bug that applies to it.

A trial begins with first runs of what is wanted and of the correct code; then one version is played to its end before
the next. Certificates hold for a number of runs that was fixed beforehand: they come with the last run. The
betting test may be read at any time.
"""

import dataclasses as dc
import math
from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from ..accounting.tradeoff import TradeoffCurve
from ..core.arrays import Array
from ..core.cancel import Cancelled, go_on, never
from ..core.chunks import ChunkSizer
from ..core.privacy import Budget, NotApplicable
from ..core.validation import integer
from ..mechanisms.plan import Plan
from .betting import ALPHAS
from .bugs import BUGS
from .certificates import Scores
from .game import Audit, worst_plan
from .report import AuditReport, Verdict, words_of_pair

LEAST_RUNS = 1_000
_CHUNK_SECONDS = 0.025  # a chunk is not interrupted: what is given up goes on for that long
_FIRST_PICTURE = 500  # runs
# A picture is made anew when this many times the runs are in, which keeps all pictures cheap beside the runs.
_GROWTH = 1.15
_THRESHOLDS, _BINS, _CUT = 300, 61, 0.999


@dc.dataclass(frozen=True)
class Standing:
    """How one version stands after so many runs.

    right: the share of them in which "score >= 0 means D1" was. false, missed: the shares of false alarms and of misses
    at many thresholds of the score, from none of the former to all, [k]. edges: of bins of the score, [b + 1]; what is
    further out is in the outermost. zeros, ones: the shares of the runs on D0 and on D1 in each bin, [b]. pairs, logs:
    of the betting test, as in `dpcore.audit.betting`, with the share of the error that `AllVersions.tests` leaves it.
    report: None until all runs are in.
    """

    runs: int
    right: float
    false: Array
    missed: Array
    edges: Array
    zeros: Array
    ones: Array
    pairs: Array
    logs: Array
    report: AuditReport | None

    @property
    def reached(self) -> tuple[int | None, ...]:
        """For each of `betting.ALPHAS`: the runs after which the e-value was seen at 1/alpha, or None."""
        return tuple(
            2 * int(self.pairs[won.argmax()]) if (won := self.logs >= -math.log(alpha)).any() else None
            for alpha in ALPHAS
        )

    @property
    def verdict(self) -> Verdict | None:
        """The worse of what the report says and what the betting test does; None while neither says anything."""
        suspicious, contradicted = (runs is not None for runs in self.reached)
        said = self.report.verdict if self.report else None
        if contradicted or said == "contradicted":
            return "contradicted"
        return "suspicious" if suspicious else said


def standing_of(audit: Audit, *, last: bool) -> Standing:
    """How an audit stands; last: all its runs are in.

    >>> audit = Audit("output_gamma")
    >>> audit.play(1000)
    >>> now = standing_of(audit, last=False)
    >>> now.runs, round(float(now.zeros.sum()), 6), now.report is None
    (1000, 1.0, True)
    """
    scores = audit.scores
    false, missed = _errors(scores)
    edges = _edges(scores)
    zeros, ones = (
        np.histogram(np.clip(side, edges[0], edges[-1]), edges)[0] / max(len(side), 1)
        for side in (scores.zeros, scores.ones)
    )
    return Standing(
        runs=audit.runs,
        right=scores.right / audit.runs,
        false=false,
        missed=missed,
        edges=edges,
        zeros=zeros,
        ones=ones,
        pairs=audit.betting_test.pairs,
        logs=audit.betting_test.logs - math.log(audit.comparisons),
        report=audit.report() if last else None,
    )


def _errors(scores: Scores) -> tuple[Array, Array]:
    """Shares of false alarms and of misses of "score >= t", for falling t."""
    zeros, ones = np.sort(scores.zeros), np.sort(scores.ones)
    both = np.concatenate([zeros, ones])
    inner = np.quantile(both, np.linspace(1.0, 0.0, _THRESHOLDS), method="nearest")
    t = np.concatenate([[np.inf], inner, [-np.inf]])
    false = 1.0 - np.searchsorted(zeros, t) / max(len(zeros), 1)
    return false, np.searchsorted(ones, t) / max(len(ones), 1)


def _edges(scores: Scores) -> Array:
    """Of bins as wide as each other around 0 that hold nearly all scores."""
    sizes = np.abs(np.concatenate([scores.zeros, scores.ones]))
    most = max(float(np.quantile(np.append(sizes[np.isfinite(sizes)], 0.0), _CUT, method="higher")), 1e-9)
    return np.linspace(-most, most, _BINS + 1)


@dc.dataclass(frozen=True)
class AllVersions:
    """How all versions stand.

    plans, curves, pairs: what each version is audited under, what it claims, and the two data sets in words, by the key
    of its bug, None for the correct one. refused: why the other bugs do not apply here. standings: of the
    versions that have begun to play.
    """

    plans: Mapping[str | None, Plan]
    curves: Mapping[str | None, TradeoffCurve]
    pairs: Mapping[str | None, str]
    refused: Mapping[str, str]
    standings: Mapping[str | None, Standing]

    @property
    def versions(self) -> tuple[str | None, ...]:
        return tuple(self.plans)

    @property
    def tests(self) -> int:
        """How many share the error: the certificates and the betting test of each version."""
        return 2 * len(self.plans)


@dc.dataclass(unsafe_hash=True)
class TrialsQuestion:
    """How does each version of a mechanism's code stand against its claim?

    mechanism: its key. budget: the claim. runs: of each version, at least LEAST_RUNS. seed: >= 0. wanted: the version
    to play first, which may be changed while they play, and is no part of the question.
    """

    mechanism: str
    budget: Budget
    runs: int
    seed: int
    wanted: str | None = dc.field(default=None, compare=False)
    source: ClassVar[None] = None  # an audit makes up its records

    def __post_init__(self) -> None:
        integer("runs", self.runs, at_least=LEAST_RUNS)
        integer("seed", self.seed, at_least=0)

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[AllVersions]:
        """How all versions stand before the first run and after each chunk of runs; the last one has all reports.

        cancelled: asked before and after each chunk; when it says yes, CancelledError is raised. Raises ValueError and
        NotApplicable as `worst_plan` does for the correct code.
        """
        playing: dict[str | None, Audit] = {None: self._audit(None)}
        refused = {}
        for bug in BUGS:
            try:
                playing[bug] = self._audit(bug)
            except NotApplicable as reason:
                refused[bug] = str(reason)
        now = AllVersions(
            plans={version: audit.plan for version, audit in playing.items()},
            curves={version: audit.curve for version, audit in playing.items()},
            pairs={version: words_of_pair(*audit.target.pair) for version, audit in playing.items()},
            refused=refused,
            standings={},
        )
        for audit in playing.values():  # how many there are is known only now
            audit.comparisons = now.tests
        chunks = {version: ChunkSizer(_CHUNK_SECONDS) for version in playing}
        yield now
        while playing:
            go_on(cancelled)
            version = self._next(playing, now)
            audit = playing[version]
            with chunks[version].measured():
                audit.play(min(chunks[version].runs, self.runs - audit.runs))
            go_on(cancelled)
            last = audit.runs == self.runs
            before = now.standings.get(version)
            if last or audit.runs >= (_FIRST_PICTURE if before is None else _GROWTH * before.runs):
                now = dc.replace(now, standings={**now.standings, version: standing_of(audit, last=last)})
            if last:
                del playing[version]
            yield now

    def _audit(self, bug: str | None) -> Audit:
        return Audit(worst_plan(self.mechanism, bug, self.budget), seed=self.seed, bug=bug)

    def _next(self, playing: Mapping[str | None, Audit], now: AllVersions) -> str | None:
        """First of all something to show of what is wanted and of the correct code beside it."""
        for version in (self.wanted, None):
            if version in playing and version not in now.standings:
                return version
        return self.wanted if self.wanted in playing else next(iter(playing))
