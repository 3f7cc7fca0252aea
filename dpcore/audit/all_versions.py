"""Audit of all versions of a mechanism's code: the correct one, and one for each injected bug that applies to it.

The version that is wanted and the correct code play their first runs first; after that, one version is played to its
end before the next. Certificates hold for a number of runs that is fixed beforehand and come with the last run. The
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
_CHUNK_SECONDS = 0.025  # a chunk is never interrupted: an abandoned audit runs on for this long
_FIRST_PICTURE = 500  # runs
# Results are computed anew when the number of runs has grown by this factor, which keeps them cheap beside the runs.
_GROWTH = 1.15
_THRESHOLDS, _BINS, _CUT = 300, 61, 0.999


@dc.dataclass(frozen=True)
class Standing:
    """Results of one version after `runs` runs.

    attack_success: share of the runs in which "score >= 0 means D1" is right. false, missed: rates of false alarms and
    of misses at many thresholds of the score, from no false alarm to nothing else, [k]. edges: of the score's bins,
    [b + 1]; scores beyond them are counted in the outermost bins. zeros, ones: shares of the runs on D0 and on D1 in
    each bin, [b]. pairs, logs: of the betting test, as in `dpcore.audit.betting`, at its share of the error, one of
    `AllVersions.tests`. report: None until all runs are in.
    """

    runs: int
    attack_success: float
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
        """Number of runs after which the e-value was seen at 1/alpha, or None, for each of `betting.ALPHAS`."""
        return tuple(
            2 * int(self.pairs[won.argmax()]) if (won := self.logs >= -math.log(alpha)).any() else None
            for alpha in ALPHAS
        )

    @property
    def verdict(self) -> Verdict | None:
        """The worse of the report's verdict and the betting test's; None while there is neither."""
        suspicious, contradicted = (runs is not None for runs in self.reached)
        said = self.report.verdict if self.report else None
        if contradicted or said == "contradicted":
            return "contradicted"
        return "suspicious" if suspicious else said


def standing_of(audit: Audit, *, last: bool) -> Standing:
    """Results of an audit so far. last: all its runs are in.

    >>> audit = Audit("output_gamma")
    >>> audit.play(1000)
    >>> now = standing_of(audit, last=False)
    >>> now.runs, round(float(now.zeros.sum()), 6), now.report is None
    (1000, 1.0, True)
    """
    scores = audit.scores
    false, missed = error_rates(scores)
    edges, zeros, ones = histograms(scores)
    return Standing(
        runs=audit.runs,
        attack_success=scores.right / audit.runs,
        false=false,
        missed=missed,
        edges=edges,
        zeros=zeros,
        ones=ones,
        pairs=audit.betting_test.pairs,
        logs=audit.betting_test.logs - math.log(audit.comparisons),
        report=audit.report() if last else None,
    )


def error_rates(scores: Scores) -> tuple[Array, Array]:
    """Rates of false alarms and of misses of "score >= t", for falling t."""
    zeros, ones = np.sort(scores.zeros), np.sort(scores.ones)
    both = np.concatenate([zeros, ones])
    inner = np.quantile(both, np.linspace(1.0, 0.0, _THRESHOLDS), method="nearest")
    t = np.concatenate([[np.inf], inner, [-np.inf]])
    false = 1.0 - np.searchsorted(zeros, t) / max(len(zeros), 1)
    return false, np.searchsorted(ones, t) / max(len(ones), 1)


def histograms(scores: Scores) -> tuple[Array, Array, Array]:
    """Edges of equally wide bins around 0 that hold nearly all scores, [b + 1], and the shares of the runs on D0 and on
    D1 in each bin, [b]; scores beyond the bins are counted in the outermost ones."""
    edges = _edges(scores)
    zeros, ones = (
        np.histogram(np.clip(side, edges[0], edges[-1]), edges)[0] / max(len(side), 1)
        for side in (scores.zeros, scores.ones)
    )
    return edges, zeros, ones


def _edges(scores: Scores) -> Array:
    sizes = np.abs(np.concatenate([scores.zeros, scores.ones]))
    most = max(float(np.quantile(np.append(sizes[np.isfinite(sizes)], 0.0), _CUT, method="higher")), 1e-9)
    return np.linspace(-most, most, _BINS + 1)


@dc.dataclass(frozen=True)
class AllVersions:
    """Results of all versions.

    plans, curves, pairs: the plan of each version, its claimed trade-off curve and its two data sets in words, by the
    key of its bug, None for the correct code. refused: reasons why the other bugs do not apply here. standings: results
    of the versions that have played.
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
        """Number of tests that share the error: the certificates and the betting test of each version."""
        return 2 * len(self.plans)


@dc.dataclass(unsafe_hash=True)
class TrialsQuestion:
    """Question whether each version of a mechanism's code keeps its claimed guarantee.

    mechanism: its key. budget: the claimed guarantee. runs: of each version, at least LEAST_RUNS. seed: >= 0. wanted:
    the version to play first; it may change during the audit and is no part of the question. attack: the term of the
    attack that all versions play, as in `run_audit`.
    """

    mechanism: str
    budget: Budget
    runs: int
    seed: int
    wanted: str | None = dc.field(default=None, compare=False)
    attack: str | None = None
    source: ClassVar[None] = None  # an audit constructs its records

    def __post_init__(self) -> None:
        integer("runs", self.runs, at_least=LEAST_RUNS)
        integer("seed", self.seed, at_least=0)

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[AllVersions]:
        """Results of all versions before the first run and after each chunk of runs; the last ones have all reports.

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
        for audit in playing.values():  # the number of tests is known only now
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

    def share_done(self, now: AllVersions) -> float:
        """Share of the runs of all versions that the results hold."""
        return sum(standing.runs for standing in now.standings.values()) / (self.runs * len(now.plans))

    def _audit(self, bug: str | None) -> Audit:
        plan = worst_plan(self.mechanism, bug, self.budget, attack=self.attack)
        return Audit(plan, seed=self.seed, bug=bug, attack=self.attack)

    def _next(self, playing: Mapping[str | None, Audit], now: AllVersions) -> str | None:
        """The wanted version and the correct code until both have results, then one version after the other."""
        for version in (self.wanted, None):
            if version in playing and version not in now.standings:
                return version
        return self.wanted if self.wanted in playing else next(iter(playing))
