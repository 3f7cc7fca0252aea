"""All versions of a mechanism's code on trial together: the honest one, and one for each mistake that can be made.

The audits play in the background, a portion at a time, while somebody watches. Portions of all sessions take turns in
one bounded pool, so that a long one holds nobody up. A trial begins with first runs of what is wanted and of the honest
code; then one version is played to its end before the next. Certificates hold for a number of runs that was fixed
beforehand: they come with the last run. The wealth of the bet may be read at any time.
"""

from __future__ import annotations

import dataclasses as dc
import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable

import numpy as np

from .auditing import Audit, worst_plan
from .certificates import Scores
from .checks import integer
from .refinement import Watched
from .reports import AuditReport, Verdict, words_of_pair
from .sabotages import SABOTAGES
from .tradeoffs import Curve
from .turns import BACKGROUND, Portions
from .types import Array, Budget, NotApplicable
from .wealth import ALPHAS

LEAST_RUNS = 1_000
_PORTION_SECONDS = 0.025  # a portion is not interrupted: what is given up goes on for that long
_FIRST_PICTURE = 500  # runs
_LOOK_SECONDS = 0.005
# A picture is made anew when this many times the runs are in, which keeps all pictures cheap beside the runs.
_GROWTH = 1.15
_THRESHOLDS, _BINS, _CUT = 300, 61, 0.999
_MOST_KNOWN = 48  # each of some 20 versions with a few thousand numbers

_KNOWN: OrderedDict[Asked, Trials] = OrderedDict()
_LOCK = threading.Lock()


@dc.dataclass(frozen=True)
class Asked:
    """mechanism: its key. budget: the claim. runs: of each version, at least LEAST_RUNS. seed: >= 0."""

    mechanism: str
    budget: Budget
    runs: int
    seed: int

    def __post_init__(self) -> None:
        integer("runs", self.runs, at_least=LEAST_RUNS)
        integer("seed", self.seed, at_least=0)


@dc.dataclass(frozen=True)
class Standing:
    """How one version stands after so many runs.

    right: the share of them in which "score >= 0 means D1" was. false, missed: the shares of false alarms and of misses
    at many thresholds of the score, from none of the former to all, [k]. edges: of bins of the score, [b + 1]; what is
    further out is in the outermost. zeros, ones: the shares of the runs on D0 and on D1 in each bin, [b]. pairs, logs:
    of the bet, as in `dpcore.wealth`, with the share of the error that `Trials.tests` leaves it. report: None until all
    runs are in.
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
        """For each of `wealth.ALPHAS`: the runs after which the bet was seen at 1/alpha, or None."""
        return tuple(
            2 * int(self.pairs[won.argmax()]) if (won := self.logs >= -math.log(alpha)).any() else None
            for alpha in ALPHAS
        )

    @property
    def verdict(self) -> Verdict | None:
        """The worse of what the report says and what the bet does; None while neither says anything."""
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
        pairs=audit.wealth.pairs,
        logs=audit.wealth.logs - math.log(audit.comparisons),
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


def join(asked: Asked, watcher: Hashable, wanted: str | None = None) -> Trials:
    """The trials asked for, watched by `watcher` from now on: those that are known, or new ones.

    wanted: the version to play first, where it is not played yet.

    Raises ValueError and NotApplicable as `worst_plan` does for the honest code.
    """
    with _LOCK:
        known = _KNOWN.get(asked)
        if known is None or (not known.complete and (known.finished or known.abandoned())):
            known = _KNOWN[asked] = Trials(asked, watcher)
            known.watch(watcher)
            known.wanted = wanted
            BACKGROUND.submit(watcher, known.advance)
        known.watch(watcher)
        known.wanted = wanted
        _KNOWN.move_to_end(asked)
        while len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return known


class Trials(Watched):
    """The audits of all versions, for all who watch them.

    versions: those that are played, by the key of their sabotage, None for the honest one. refused: why the other
    mistakes cannot be made here. plans, curves, pairs: what each version is audited under, what it claims, and the two
    data sets in words. standings: how each version stands that has begun to play; the mapping is replaced, never
    changed. wanted: the version to play first. complete: whether every version has its report; finished without it: an
    error has `failed` it (it is in the log), or nobody watched, so `join` again.
    """

    def __init__(self, asked: Asked, owner: Hashable) -> None:
        super().__init__()
        self.asked, self._owner = asked, owner
        self.wanted: str | None = None
        self.failed = self.complete = False
        self.refused: dict[str, str] = {}
        self.standings: dict[str | None, Standing] = {}
        self._news = 0
        self._playing: dict[str | None, Audit] = {None: self._audit(None)}
        for sabotage in SABOTAGES:
            try:
                self._playing[sabotage] = self._audit(sabotage)
            except NotApplicable as reason:
                self.refused[sabotage] = str(reason)
        self.versions = tuple(self._playing)
        for audit in self._playing.values():  # how many there are is known only now
            audit.comparisons = self.tests
        self.plans = {version: audit.plan for version, audit in self._playing.items()}
        self.curves: dict[str | None, Curve] = {version: audit.curve for version, audit in self._playing.items()}
        self.pairs = {version: words_of_pair(*audit.target.pair) for version, audit in self._playing.items()}
        self._portions = {version: Portions(_PORTION_SECONDS) for version in self.versions}

    def _audit(self, sabotage: str | None) -> Audit:
        plan = worst_plan(self.asked.mechanism, sabotage, self.asked.budget)
        return Audit(plan, seed=self.asked.seed, sabotage=sabotage)

    def wait_for_first(self, version: str | None, seconds: float) -> None:
        """Until the honest code and this version, where it can be played, have first runs to show; so long at most."""
        deadline = time.monotonic() + seconds
        while not (self.standings.keys() >= {None, version} & set(self.versions) or self.finished):
            if time.monotonic() > deadline:
                return
            self.wait(_LOOK_SECONDS)

    @property
    def tests(self) -> int:
        """How many share the error: the certificates and the bet of each version."""
        return 2 * len(self.versions)

    @property
    def news(self) -> int:
        return self._news

    def advance(self) -> None:
        """One more portion, unless nobody waits; the next one stands in line after the portions of others."""
        try:
            if not self.abandoned():
                self._play(self._next_version())
                self.complete = not self._playing
                if not self.complete:
                    BACKGROUND.submit(self._owner, self.advance)
                    return
        except Exception:
            self.failed = True
            logging.getLogger(__name__).exception("the audits of %s could not be played", self.asked)
        self._playing.clear()
        self._news += 1
        self._finished.set()

    def _next_version(self) -> str | None:
        """First of all something to show of what is wanted and of the honest code beside it."""
        for version in (self.wanted, None):
            if version in self._playing and version not in self.standings:
                return version
        return self.wanted if self.wanted in self._playing else next(iter(self._playing))

    def _play(self, version: str | None) -> None:
        audit, portions = self._playing[version], self._portions[version]
        with portions.measured():
            audit.play(min(portions.runs, self.asked.runs - audit.runs))
        if self.abandoned():
            return
        last = audit.runs == self.asked.runs
        before = self.standings.get(version)
        if last or audit.runs >= (_FIRST_PICTURE if before is None else _GROWTH * before.runs):
            self.standings = self.standings | {version: standing_of(audit, last=last)}
            self._news += 1
        if last:
            del self._playing[version]
