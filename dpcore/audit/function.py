"""Audit of any function that trains: an attacker sees what it returns on two neighbouring data sets, and nothing else.

The game is that of `dpcore.audit.game`. The law of the returned numbers is unknown here, so that the score is learned:
from runs of their own, which no certificate and no bet uses again.
"""

from __future__ import annotations

import dataclasses as dc
import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..accounting.attack_limits import attack_cap
from ..accounting.tradeoff import PureCurve, TradeoffCurve
from ..core.arrays import Array
from ..core.losses import get_loss
from ..core.privacy import Budget
from ..core.records import Data
from ..core.validation import integer, shown
from ..solvers import choose_penalty, penalised
from . import certificates
from .betting import BettingTest
from .certificates import Scores
from .game import MOST_RUNS
from .report import VERDICTS, Findings, table_of, told, words_of_pair

Train = Callable[[Data, np.random.Generator], Any]

CANNOT_SHOW = (
    "A lower bound on epsilon only: the true epsilon may be larger, and no number of runs proves a guarantee.",
    "These pairs of data sets only: other records, other neighbours and other settings may leak more.",
    "This score only: a better attacker may see more in the same numbers.",
    "Fresh randomness in every run is taken on trust: noise from a seed that the caller knows protects nothing.",
    "Only the returned numbers count: running time, memory, logs and errors may leak, and so may the low-order bits of "
    "floating-point noise.",
)
IN_FAMILY = (
    "The certified epsilon is that of a curve in the claimed family; for noise of any other kind only the certificate "
    '"point" bounds epsilon.'
)
_LEAST_RUNS = 100
_MOST_NUMBERS = 20_000_000  # returned in all runs together; learning a score takes five times their memory
_FITTING_SHARE = 4  # one run in so many, from the first on
_BINS, _RUNS_A_BIN = 12, 20  # of each number that a learned score reads
_BLOCK = 1 << 20  # numbers that are scored at once


@dc.dataclass(frozen=True, eq=False)
class FunctionReport(Findings):
    """Result of an audit of a function.

    claimed, claim: the guarantee that was tested, and the same in words. runs, seed, comparisons: as asked for.
    function: its name. curve: the claimed trade-off curve. tried: largest lower bound on epsilon at 95%, for each pair
    by name. All else is of the pair that shows most. pair: its name and its two data sets, in words. fitting_runs:
    runs, the first ones, that the score was learned from; 0 for a given score. scores: of all other runs, from which
    everything follows. attack_success: the attacker's share of right guesses in those. certificates: see
    `audit_function`. betting_test: the bet on those.
    """

    function: str
    curve: TradeoffCurve
    fitting_runs: int
    scores: Scores
    betting_test: BettingTest
    tried: dict[str, float]

    @property
    def sentence(self) -> str:
        """The verdict in words that claim only what was tested, with the lower bound from each pair."""
        bounds = ", ".join(f"{name} {bound:.3g}" for name, bound in self.tried.items())
        return f"{super().sentence} Lower bound by pair (95%): {bounds}."

    @property
    def cannot_show(self) -> tuple[str, ...]:
        """Sentences on what this audit cannot show, nor any other of a black box."""
        return CANNOT_SHOW if isinstance(self.curve, PureCurve) else (*CANNOT_SHOW, IN_FAMILY)

    def facts(self) -> dict[str, Any]:
        reached = self.betting_test.reached
        return super().facts() | {
            "function": self.function,
            "tried": self.tried,
            "claimed": dc.asdict(self.claimed),
            "curve": self.curve.words,
            "fitting_runs": self.fitting_runs,
            "bet": {"log": float(self.betting_test.logs[-1]), "pairs_to_95": reached[0], "pairs_to_999": reached[1]},
            "cannot_show": self.cannot_show,
        }


def audit_function(
    train: Train,
    pairs: Mapping[str, tuple[Data, Data]],
    *,
    epsilon: float,
    delta: float = 0.0,
    curve: TradeoffCurve | None = None,
    score: Callable[[Array], Array] | None = None,
    runs: int = 20_000,
    seed: int = 0,
    comparisons: int = 1,
) -> FunctionReport:
    """Train `runs` times on one of two neighbouring data sets, for each pair, and certify how much the numbers leak.

    train: called as train(data, rng) with data0 or data1 and a new `numpy.random.Generator` for each run. It returns a
    number, or an array of numbers of the same shape every time. All its randomness must be fresh in every run: from rng
    (then the audit repeats by seed), or from the operating system. It must not use a fixed seed, change the data or
    keep anything from one run for the next. pairs: (data0, data1) by name, from `canary_pairs`, or of your own such as
    {"mine": (data0, data1)}: neighbours in the sense of the claim, one record replaced or left out. epsilon > 0, delta
    in [0, 1): the claim. curve: the claimed trade-off curve where the proof gives one, as
    `dpcore.accounting.tradeoff.GaussianCurve(mu)` for Gaussian noise; it must imply (epsilon, delta), and bugs show in
    far fewer runs. score: numbers returned by k runs, [k, d], to scores, [k], that grow with what speaks for data1, 0
    for undecided; fixed before the audit. None learns one for each pair from the first quarter of its runs, which is
    not used again: logistic regression on the returned numbers, their squares and the quantile bins that they lie in.
    runs: of each pair, 100 to 10^7, at most 2e7 returned numbers. seed: >= 0, of the coins and of rng. comparisons:
    number of audits that are shown together, as in `run_audit`.

    Certificates are those of `run_audit` with the same confidence: "attacker"; "pure" for delta = 0, or "curve" where a
    curve is given; "point". All pairs share the probability of error, and their bets one stake; the result is that of
    the pair that shows most. With a learned score the second quarter of the runs chooses thresholds, and the second
    half certifies. `FunctionReport.cannot_show` says what remains open.

    Raises ValueError for wrong arguments; for data that are equal or no neighbours; for runs that are too few to refute
    the claim even if everything leaks, with the number that is needed; for returned values that are not finite numbers
    of one shape, or the same in every run; for data that train has changed. Raises RuntimeError where train raises an
    error.

    Randomness: from the seed alone, if train draws from rng: a stream for the coins, and one that spawns each rng.
    Source: Jagielski, Ullman and Oprea 2020 for the game; the learned score is ours.

    >>> pairs = {"a label of 0 or 1": (Data([[0.0], [0.0]], [0.0, 0.0]), Data([[0.0], [0.0]], [0.0, 1.0]))}
    >>> def noisy_sum(data, rng, scale=1.0):
    ...     return data.y.sum() + rng.laplace(scale=scale)
    >>> audit_function(noisy_sum, pairs, epsilon=1.0, runs=2000).verdict
    'no contradiction found'
    >>> audit_function(lambda data, rng: noisy_sum(data, rng, 0.5), pairs, epsilon=1.0, runs=2000).verdict
    'contradicted'
    """
    if not callable(train):
        raise ValueError(f"train must be a function of (data, rng), got {shown(train)}")
    claimed = Budget(epsilon, delta)
    claim = _claimed_curve(curve, claimed)
    words = _words_of_pairs(pairs)
    comparisons, seed = integer("comparisons", comparisons, at_least=1), integer("seed", seed, at_least=0)
    together, limit = comparisons * len(pairs), min(attack_cap(claimed), claim.attack_limit())
    runs = _enough_runs(runs, limit, together, learned=score is None)
    fitting = runs // _FITTING_SHARE if score is None else 0
    half, by = runs // 2 - fitting, "" if curve is None else f" by {curve.words}"
    streams, reports = np.random.default_rng([seed, zlib.crc32(b"function")]), []
    for name, pair in pairs.items():
        coins, noise = streams.spawn(2)
        bits = coins.random(runs) < 0.5
        seen = _returned(train, name, pair, bits, noise)
        scoring = score or learned_score(seen[:fitting], bits[:fitting])
        scores, bits = _checked(scoring(seen[fitting:]), runs - fitting), bits[fitting:]

        whole = Scores.by_bit(scores, bits)
        first, second = Scores.by_bit(scores[:half], bits[:half]), Scores.by_bit(scores[half:], bits[half:])
        found = [certificates.attacker(whole, limit, claimed.delta, claim, together)]
        if claimed.pure:
            found.append(certificates.pure(first, second, claimed.epsilon, together))
        elif curve is not None:
            found.append(certificates.curve(first, second, claim, claimed.delta, together))
        found.append(certificates.point(first, second, claimed.epsilon, claimed.delta, together))
        bet = BettingTest(claim, claimed.epsilon, together)
        bet.update(whole.zeros, whole.ones)
        reports.append(
            FunctionReport(
                claimed=claimed,
                claim=f"(epsilon = {claimed.epsilon:.6g}, delta = {claimed.delta:g})-private{by}",
                pair=f"{name}: {words[name]}",
                runs=runs,
                seed=seed,
                comparisons=comparisons,
                attack_success=whole.right / len(bits),
                certificates=tuple(found),
                function=getattr(train, "__qualname__", type(train).__name__),
                curve=claim,
                fitting_runs=fitting,
                scores=whole,
                betting_test=bet,
                tried={},
            )
        )
    most = max(reports, key=lambda report: (VERDICTS.index(report.verdict), report.certified_epsilon_95))
    bounds = [report.certified_epsilon_95 for report in reports]
    return dc.replace(most, tried=dict(zip(pairs, bounds, strict=True)))


def learned_score(seen: Array, bits: NDArray[np.bool_]) -> Callable[[Array], Array]:
    """Score function, [k, d] -> [k], learned from the numbers that runs returned, [j, d], and their coins, [j].

    It estimates the log-likelihood ratio: logistic regression, its penalty chosen by cross-validation, on the numbers
    in units of their spread in these runs, on their squares, and on which of their quantiles they reach: those between
    12 bins of each number, or as many as leave 20 runs for each of all bins. Beyond five units a number counts as five.
    """
    middle = np.median(seen, axis=0)
    sizes = np.abs(seen - middle)
    spread, most = np.quantile(sizes, 0.9, axis=0), sizes.max(axis=0)
    unit = np.where(spread > 0.0, spread, np.where(most > 0.0, most, 1.0))
    bins = max(1, min(_BINS, len(seen) // (_RUNS_A_BIN * seen.shape[1]), _MOST_NUMBERS // seen.size))
    cuts = np.quantile(seen, np.arange(1, bins) / bins, axis=0)

    def features(numbers: Array) -> Array:
        scaled = np.clip((numbers - middle) / unit, -5.0, 5.0)
        return np.column_stack([np.ones(len(numbers)), scaled, scaled**2, *(numbers >= cut for cut in cuts)])

    logistic, records = get_loss("logistic"), Data(features(seen), np.where(bits, 1.0, -1.0))
    theta = penalised(logistic, records, choose_penalty(logistic, records))
    uneven = math.log(np.count_nonzero(bits) / np.count_nonzero(~bits))  # the coin was fair

    def score(numbers: Array) -> Array:
        blocks = np.array_split(numbers, 1 + numbers.size // _BLOCK)
        return np.concatenate([features(block) @ theta for block in blocks]) - uneven

    return score


def _claimed_curve(curve: TradeoffCurve | None, claimed: Budget) -> TradeoffCurve:
    """The claim as a curve: the given one, or that of (epsilon, delta) alone."""
    if curve is None:
        return PureCurve(claimed.epsilon, failure=claimed.delta)
    if not isinstance(curve, TradeoffCurve):
        raise ValueError(f"curve must be None or a curve of dpcore.accounting.tradeoff, got {shown(curve)}")
    implied = curve.epsilon(curve.mu, claimed.delta)
    if implied > claimed.epsilon * (1.0 + 1e-6):
        raise ValueError(
            f"curve must imply the claimed epsilon = {claimed.epsilon:g} at delta = {claimed.delta:g}, got "
            f"{curve.words}, which has epsilon = {implied:.6g} there; claim that, or leave the curve out"
        )
    return curve


def _words_of_pairs(pairs: Any) -> dict[str, str]:
    """Each pair in words, by name; ValueError if there is none, or one of no neighbours."""
    rule = "pairs must be a dictionary of two dpcore.Data each, as dpcore.canary_pairs or {'mine': (data0, data1)}"
    if not isinstance(pairs, Mapping) or not pairs:
        raise ValueError(f"{rule}, got {shown(pairs)}")
    for name, pair in pairs.items():
        if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(side, Data) for side in pair)):
            raise ValueError(f"{rule}, got {shown(pair)} as {name!r}")
    return {name: _words_of_neighbours(*pair) for name, pair in pairs.items()}


def _words_of_neighbours(zero: Data, one: Data) -> str:
    """The pair in words; ValueError if the data sets are equal or differ in more than one record."""
    if (zero.p, zero.stored) == (one.p, one.stored) and abs(zero.n - one.n) <= 1:
        before, after = table_of(zero), table_of(one)
        if zero.n == one.n:
            if np.count_nonzero(np.any(before != after, axis=1)) == 1:
                return words_of_pair(zero, one)
        else:
            longer, shorter = (before, after) if zero.n > one.n else (after, before)
            changed = np.any(longer[:-1] != shorter, axis=1)
            at = int(changed.argmax()) if changed.any() else len(shorter)
            if np.array_equal(np.delete(longer, at, axis=0), shorter):
                lacking = "data1" if zero.n > one.n else "data0"
                return f"{len(longer)} records of {zero.p} columns; {lacking} lacks record {at + 1}: {told(longer[at])}"
    raise ValueError(
        "data0 and data1 must be neighbours: equal but for one record, replaced or left out, with the others in the "
        f"same order; got {zero.n} records of {zero.p} columns and {one.n} of {one.p}, which are equal or differ in "
        "more; dpcore.canary_pairs builds pairs"
    )


def _enough_runs(runs: int, limit: float, comparisons: int, *, learned: bool) -> int:
    """`runs` if a function that leaks everything would be contradicted, else ValueError with the number needed."""
    runs = integer("runs", runs, at_least=_LEAST_RUNS)
    fewest = certificates.fewest_runs(limit, comparisons)
    if learned and math.isfinite(fewest):
        fewest = math.ceil(fewest * _FITTING_SHARE / (_FITTING_SHARE - 1))
    if fewest > MOST_RUNS:
        raise ValueError(
            f"epsilon must be small enough to be refuted in {MOST_RUNS:,} runs, got a claim under which an attacker at "
            f"50:50 may be right {limit:.10g} of the time; audit a smaller epsilon"
        )
    if runs < fewest:
        raise ValueError(
            f"runs must be at least {fewest:,} for this claim, got {runs:,}: with fewer it could not be refuted even "
            "if an attacker were right in every run"
        )
    if runs > MOST_RUNS:
        raise ValueError(f"runs must be at most {MOST_RUNS:,}, got {runs:,}")
    return runs


def _returned(
    train: Train, name: str, pair: tuple[Data, Data], bits: NDArray[np.bool_], noise: np.random.Generator
) -> Array:
    """Numbers that train returned in each run, [runs, d]; ValueError if it changed the data or is not random."""
    before = [table_of(side) for side in pair]
    seen, shape = np.empty((0, 0)), None
    for run, bit in enumerate(bits):
        where = f"run {run + 1}, on data{int(bit)} of {name!r}"
        try:
            given = np.asarray(train(pair[int(bit)], noise.spawn(1)[0]))
        except Exception as error:
            raise RuntimeError(
                f"train must return numbers, but raised {type(error).__name__} ({error}) in {where}"
            ) from error
        if given.dtype.kind not in "buif" or not given.size or not np.all(np.isfinite(given)):
            raise ValueError(f"train must return finite real numbers, got {shown(given)} in {where}")
        if shape is None:
            if given.size * len(bits) > _MOST_NUMBERS:
                raise ValueError(
                    f"train must return at most {_MOST_NUMBERS // len(bits):,} numbers in each of {len(bits):,} runs, "
                    f"got {given.size:,}; return fewer, such as a projection, or make fewer runs"
                )
            seen, shape = np.empty((len(bits), given.size)), given.shape
        if given.shape != shape:
            raise ValueError(
                f"train must return the same shape in every run, got {shape}, then {given.shape} in {where}"
            )
        seen[run] = given.ravel()
    if not all(np.array_equal(table, table_of(side)) for table, side in zip(before, pair, strict=True)):
        raise ValueError("train must leave the data as they are, got changed ones after the runs; let it change a copy")
    if all(np.array_equal(side, np.broadcast_to(side[:1], side.shape)) for side in (seen[~bits], seen[bits])):
        raise ValueError(
            f"train must be random, got the same numbers in all {len(seen):,} runs on the same data; without noise "
            "there is no guarantee, so look for a fixed seed, and draw from rng"
        )
    return seen


def _checked(scores: Array, runs: int) -> Array:
    """Scores as finite floats, [runs], else ValueError."""
    found = np.asarray(scores, float)
    if found.shape != (runs,) or not np.all(np.isfinite(found)):
        raise ValueError(f"score must return a finite number for each of {runs:,} runs, got {shown(scores)}")
    return found
