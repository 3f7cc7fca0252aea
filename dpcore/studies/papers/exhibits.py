"""Published mechanisms that break their guarantee: the privacy they spend, with lower bounds that runs certify.

None of them is private as published. An exhibit runs the published mechanism on two neighbouring data sets and bounds
the leak from below. A bound holds with the confidence that is named, over the runs: each rate is bounded as by Clopper
and Pearson, and the error is split evenly over the rates that a bound uses. What counts as a sign of D0 is fixed before
the runs, by exact probabilities where these are known.

The corrected twin of each (`accounting="tight"`, for the classifier noise of its own for each class) goes through the
same test in `tests/studies/test_exhibits.py` and is not flagged.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, Context
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import logit

from ...audit.certificates import lower_bound
from ...audit.objective_worst_pair import pair_plan, worst_for_gamma, worst_for_gaussian
from ...audit.report import Verdict
from ...core.arrays import Array
from ...core.cache import SharedCache
from ...core.facts import facts_beside
from ...core.privacy import Budget
from ...core.rng import generator
from ...core.validation import integer, one_of
from ...mechanisms.noise.generalized_gaussian import (
    lp_noise,
    quoted_noise,
    reconstructed_multiplier,
    shift_shares,
)
from .errata import Word
from .pathak_raj_leak import membership_leak
from .two_vertices import TwoVertices, choices_plan

ERRORS = (0.05, 0.001)
_FEWEST_RUNS, _MOST_TIMES = 100, 100
_FOUR_DIGITS = Context(prec=4, rounding=ROUND_DOWN)
_BATCH, _LARGE_BATCH, _SMALL_BATCH = 20_000, 250_000, 2_000
Unit = Literal["epsilon", "delta"]
_WORDS: dict[Word, str] = {"published": "published", "reconstructed": "claimed by the formula as reconstructed"}


@dc.dataclass(frozen=True)
class ExhibitResult:
    """Result of an exhibit.

    says: the published claim, in words. word: how the mechanism's formula is known, "published", or "reconstructed" if
    the document's text has lost it. unit: of the bounds, "epsilon", or "delta" at the claimed epsilon. claimed: the
    published number in that unit. exact: the value on this pair, if it is computed without chance. certified_95,
    certified_999: lower bounds with 95% and 99.9% confidence. runs, seed: as asked for. pair: the two data sets, in
    words. estimate: a mean of the runs and its standard error, where nothing exact is known and the runs have one.
    """

    key: str
    title: str
    source: str
    says: str
    unit: Unit
    claimed: float
    exact: float | None
    certified_95: float
    certified_999: float
    runs: int
    seed: int
    pair: str
    estimate: tuple[float, float] | None = None
    word: Word = "published"

    @property
    def verdict(self) -> Verdict:
        """contradicted at 99.9% confidence, suspicious at 95%; the words of an audit."""
        if self.certified_999 > self.claimed:
            return "contradicted"
        return "suspicious" if self.certified_95 > self.claimed else "no contradiction found"

    @property
    def sentence(self) -> str:
        """The verdict in words that claim only what was found; lower bounds are rounded down."""
        contradicted, over = self.verdict == "contradicted", f"over {self.runs:,} runs"
        what = "epsilon" if self.unit == "epsilon" else "delta at the claimed epsilon"
        bound = rounded_down(self.certified_999 if contradicted else self.certified_95)
        found = f"{what} is at least {bound}, where {self.says} is {_WORDS[self.word]}"
        if self.exact is not None:
            found += f"; exactly, it is {rounded_down(self.exact)} on this pair"
        if self.estimate is not None:
            found += f"; estimated by the runs as {self.estimate[0]:.3g} (standard error {self.estimate[1]:.1g})"
        if contradicted:
            return f"With confidence 99.9% {over}, {found}."
        if self.verdict == "suspicious":
            return f"Suspicious: with confidence 95% but not 99.9% {over}, {found}; repeat with more runs."
        return f"No contradiction found: with confidence 95% {over}, {found}. This is never evidence of privacy."


class Found(NamedTuple):
    """Findings of an exhibit's runs.

    published: the guarantee that is claimed. bounds: lower bounds with the confidence of each of `ERRORS`. pair, exact,
    estimate: as in `ExhibitResult`. under: what the claim assumes, in words.
    """

    published: Budget
    bounds: Sequence[float | Array]
    pair: str
    exact: float | None = None
    estimate: tuple[float, float] | None = None
    under: str = ""


def rounded_down(value: float) -> str:
    """A bound >= 0 with four digits, which never say more than it does.

    >>> rounded_down(1.27399), rounded_down(0.000120999), rounded_down(0.0)
    ('1.273', '0.0001209', '0')
    """
    return f"{float(_FOUR_DIGITS.create_decimal(repr(float(value)))):.4g}"


def pure_bounds(right: Array | int, guesses: Array | int) -> tuple[Array, Array]:
    """Lower bounds on epsilon, delta = 0, by each of `ERRORS`, from guesses which of two neighbours was used.

    Every run tosses its own fair coin, and whether a run is guessed depends only on its output: each guess is then
    right with probability at most e^epsilon / (1 + e^epsilon), given all earlier guesses.

    >>> [round(float(bound), 2) for bound in pure_bounds(500, 500)]
    [5.11, 4.28]
    """
    shown, flagged = (np.maximum(logit(lower_bound(right, guesses, error)), 0.0) for error in ERRORS)
    return shown, flagged


def rate_bounds(counted: int, runs: int) -> list[float]:
    """Lower bounds on the probability that a run counts, by each of `ERRORS`."""
    return [float(lower_bound(counted, runs, error)) for error in ERRORS]


def objective_gamma(runs: int, seed: int, *, accounting: str = "published") -> Found:
    """Objective perturbation with Gamma noise as published spends epsilon + ln(1 + epsilon / 2).

    Runs of `ObjectiveGamma` itself, Huber loss, one column, the smallest published lam; a fair coin picks the data set.
    D0 is guessed where the exact log-likelihood ratio is at least a number that is fixed beforehand: the one whose
    expected counts certify the most.

    Source: Jain and Thakurta 2014; `objective_worst_pair` has the pair.

    >>> found = objective_gamma(5_000, 0)
    >>> round(found.exact, 4), bool(found.bounds[0] < found.exact)
    (1.4055, True)
    """
    asked = Budget(1.0)
    plan = pair_plan("objective_gamma", asked, accounting)
    pair, mechanism = worst_for_gamma(plan), plan.mechanism
    ends = np.linspace(pair.kink, pair.last, 201)[1:]
    p, q = pair.probabilities(ends)
    least = pair.log_ratio(ends[np.argmax(pure_bounds(0.5 * runs * p, 0.5 * runs * (p + q))[1])])
    zero, one = (mechanism.prepare(plan, data) for data in pair.data())
    coins, *noises = (generator(seed, "exhibit objective_gamma", stream) for stream in range(3))
    on_zero, told = int(coins.binomial(runs, 0.5)), []
    for prepared, times, rng in zip((zero, one), (on_zero, runs - on_zero), noises, strict=True):
        seen = 0
        for start in range(0, times, _BATCH):
            outputs = mechanism.release_many(plan, prepared, [rng] * min(_BATCH, times - start))
            seen += int((mechanism.log_ratio(plan, zero, one, outputs) <= -least).sum())
        told.append(seen)
    return Found(asked, pure_bounds(told[0], sum(told)), pair.words, pair.log_ratio(pair.kink))


def objective_gaussian(runs: int, seed: int, *, accounting: str = "published") -> Found:
    """Objective perturbation with Gaussian noise as published has many times its delta on replaced records.

    Huber loss, one column, n lam = 2 c R^2 / epsilon; the exact minimiser as published, in closed form. Half the runs
    are on each data set; the event S is where the exact log-likelihood ratio is at least epsilon, and P0(S) is bounded
    from below and P1(S) from above, each with half the error: delta >= P0(S) - e^epsilon P1(S).

    Source: Jain and Thakurta 2014, Theorem 2; `objective_worst_pair` has the pair.

    >>> found = objective_gaussian(2_000_000, 0)
    >>> round(found.exact / found.published.delta, 1), found.bounds[1] < found.exact
    (23.6, True)
    """
    asked = Budget(1.0, 1e-5)
    plan = pair_plan("objective_gaussian", asked, accounting)
    pair = worst_for_gaussian(plan, asked.epsilon)
    end, seen, times = pair.end(asked.epsilon), [0, 0], (runs // 2, runs - runs // 2)
    for side in (0, 1):
        rng = generator(seed, "exhibit objective_gaussian", side)
        for start in range(0, times[side], _LARGE_BATCH):
            b = plan.scale * rng.standard_normal(min(_LARGE_BATCH, times[side] - start))
            theta = pair.minimisers(b, side)
            seen[side] += int(np.count_nonzero((theta >= pair.kink) & (theta <= end)))

    def bound(error: float) -> float:
        true = float(lower_bound(seen[0], times[0], 0.5 * error))
        false = 1.0 - float(lower_bound(times[1] - seen[1], times[1], 0.5 * error))
        return max(0.0, true - math.exp(asked.epsilon) * false)

    return Found(asked, [bound(error) for error in ERRORS], pair.words, pair.delta(asked.epsilon))


def lasso_laplace(runs: int, seed: int, *, accounting: str = "published") -> Found:
    """Private Frank-Wolfe with Laplace noise as published has about twice its delta at epsilon = 12.

    theta_T after T - 1 = 200 choices between two vertices, each by the best of two noisy scores; only theta_T is seen.
    Each run on one data set counts with the probability (1 - e^(epsilon - loss))_+, by its own coin, where the loss of
    a model is known exactly: one rate to bound.

    Source: Talwar, Thakurta and Zhang 2015, Algorithm 2 and Theorem 2.4; `two_vertices` has the pair.

    >>> found = lasso_laplace(2_000, 0)
    >>> round(found.exact / found.published.delta, 2), found.bounds[1] < found.exact
    (1.95, True)
    """
    asked = Budget(12.0, 1e-2)
    pair = TwoVertices(choices_plan(asked, 201, accounting))
    noises, coins = (generator(seed, "exhibit lasso_laplace", stream) for stream in range(2))
    draw, counted = noises.laplace if pair.plan.noise == "laplace" else noises.gumbel, 0
    for start in range(0, runs, _SMALL_BATCH):
        better, worse = draw(size=(2, min(_SMALL_BATCH, runs - start), pair.plan.steps))
        models = (pair.advantage + better > worse) @ pair.weights
        counted += int((coins.random(len(models)) < pair.shares(models, asked.epsilon)).sum())
    words = (
        "records of one column, for a loss that is linear on the set; all are 0 but the last, whose label is flipped"
    )
    return Found(asked, rate_bounds(counted, runs), words, pair.delta(asked.epsilon))


def quoted_kappa(runs: int, seed: int, *, accounting: str = "published") -> Found:
    """Generalised Gaussian noise for the largest entry with the quoted kappa: delta at epsilon = 4 is above 0.01.

    delta = E (1 - e^(epsilon - L))_+ over draws on D0, L the privacy loss, which the two densities give exactly. Each
    run counts with this probability, by its own coin: one rate to bound.

    Noise as reconstructed has sigma^2 = 2 kappa ln(1/delta) s^2 / epsilon^2 and the quoted kappa. The correct kappa
    with the same multiplier would hide this pair (docs/errata.md). "tight" is this library's noise.

    Source: Bassily, Guzmán and Nandi 2021, Corollary 3.3 and section 3; the quoted kappa is min{q - 1, 2 ln d}.

    >>> found = quoted_kappa(2_000, 0)
    >>> found.bounds[1] < found.bounds[0] < found.estimate[0]
    True
    """
    asked, d = Budget(4.0, 1e-2), 1_000
    if one_of("accounting", accounting, ("published", "tight")) == "published":
        noise, share = quoted_noise(math.inf, d)
        multiplier = reconstructed_multiplier(asked)
    else:
        noise, share = lp_noise("generalized_gaussian", math.inf, d), 1.0
        multiplier = noise.multiplier(asked)
    scale = multiplier * noise.widening / math.sqrt(share)
    draws, coins = (generator(seed, "exhibit quoted_kappa", stream) for stream in range(2))
    shares = shift_shares(noise, np.ones(d), scale, asked.epsilon, draws=runs, rng=draws)
    counted = int((coins.random(runs) < shares).sum())
    estimate = float(shares.mean()), float(shares.std(ddof=1) / math.sqrt(runs))
    pair = f"means of records in {d:,} columns that differ by the sensitivity in every column"
    return Found(asked, rate_bounds(counted, runs), pair, estimate=estimate)


def published_classifier(runs: int, seed: int) -> Found:
    """The published large-margin Gaussian classifier reveals on which of two neighbours it was trained.

    `pathak_raj_leak`: a fair coin picks the data set, the residuals of an equation on the output say which. Runs
    without a minimiser, without a certified one, or with fewer than two ellipsoids are not guessed. Theorem 1 claims
    epsilon + ln(1 + 2 alpha / (n lam) + (alpha / (n lam))^2) without defining alpha, which is taken as 1.

    Source: Pathak and Raj 2010, Theorem 1.
    """
    epsilon, lam, n, alpha = 1.0, 1.0, 20, 1.0
    found = membership_leak(runs, seed, epsilon=epsilon, lam=lam, n=n)
    claimed = Budget(epsilon + 2.0 * math.log1p(alpha / (n * lam)))
    pair = f"{n} records of one column, evenly from -1 to 1, with the sign as class; the last is replaced by (0.3, 0)"
    under = f" (with the open constant alpha taken as {alpha:g})"
    return Found(claimed, pure_bounds(found.right, found.guesses), pair, under=under)


_PLAYS: dict[str, Callable[..., Found]] = {
    play.__name__: play
    for play in (objective_gamma, objective_gaussian, lasso_laplace, quoted_kappa, published_classifier)
}
EXHIBITS = {row.pop("key"): row for row in facts_beside(__file__, "exhibits.csv")}
_RESULTS: SharedCache[ExhibitResult] = SharedCache(64)


def run_exhibit(key: str, *, runs: int | None = None, seed: int = 0) -> ExhibitResult:
    """Play an exhibit and certify what leaks; from a cache.

    key: one of `EXHIBITS`. runs: None for the usual number, which takes at most about three seconds; else from 100 to
    100 times that. seed: >= 0. With 99.9% confidence no exhibit says more than is true of its pair. Raises ValueError
    for wrong arguments.

    Randomness: from (key, seed) alone.

    >>> run_exhibit("published_classifier", runs=300).verdict
    'contradicted'
    """
    usual = int(EXHIBITS[one_of("key", key, EXHIBITS)]["runs"])
    times = usual if runs is None else integer("runs", runs, at_least=_FEWEST_RUNS)
    if times > _MOST_TIMES * usual:
        raise ValueError(f"runs must be at most {_MOST_TIMES * usual:,} for {key}, got {times:,}")
    seed = integer("seed", seed, at_least=0)
    return _RESULTS.get((key, times, seed), lambda: result_of(key, _PLAYS[key](times, seed), times, seed))


def result_of(key: str, found: Found, runs: int, seed: int) -> ExhibitResult:
    """Result that says what an exhibit's runs have found."""
    facts, published = EXHIBITS[key], found.published
    return ExhibitResult(
        key=key,
        title=facts["title"],
        source=facts["source"],
        says=f"epsilon = {published.epsilon:.4g}, delta = {published.delta:g}{found.under}",
        unit=facts["unit"],
        claimed=published.epsilon if facts["unit"] == "epsilon" else published.delta,
        exact=found.exact,
        certified_95=float(found.bounds[0]),
        certified_999=float(found.bounds[1]),
        runs=runs,
        seed=seed,
        pair=found.pair,
        estimate=found.estimate,
        word=facts["word"],
    )
