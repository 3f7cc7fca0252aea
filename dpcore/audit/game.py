"""Empirical audits: an attacker who may choose the worst two data sets tries to refute a mechanism's guarantee.

The game: in every run a fair coin picks D0 or D1 (two neighbours), the real code releases once with fresh noise, and
the score is the exact log-likelihood ratio ln p(seen | D1) / p(seen | D0) under the law that the plan claims. The
attacker sees the release, or every step of a mechanism with many steps. The scores give lower bounds on the privacy
loss, each with a confidence (`dpcore.audit.certificates`). A bound above the claim refutes it; a bound below the claim
proves nothing.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from ..accounting.attack_limits import attack_cap
from ..accounting.tradeoff import TradeoffCurve
from ..core.arrays import Array
from ..core.privacy import Budget, NotApplicable
from ..core.rng import Generators
from ..core.validation import integer
from ..mechanisms import make_mechanism
from ..mechanisms.plan import Plan
from . import certificates
from .attacks import Attack, attacks_of, get_attack
from .betting import BettingTest
from .bugs import get_bug
from .certificates import Certificate, Scores
from .report import AuditReport, words_of_pair
from .target import Target, correct_target

DEFAULT_BUDGET = Budget(1.0, 1e-5)
_LARGEST_TABLE = 10_000_000
MOST_RUNS = 10_000_000
_BATCH_NUMBERS = 1_000_000


class Audit:
    """Audit in progress: `play` more runs, read the `report` of the runs so far or the `betting_test`.

    Arguments as in `run_audit`. Runs played in portions equal runs played at once. Certificates hold for one number of
    runs that is fixed beforehand; the `betting_test` may be read in between, and the game stopped at any time.

    >>> audit = Audit("output_gamma", bug="halved_noise")
    >>> audit.play(1000)
    >>> audit.play(1000)
    >>> audit.report().runs, audit.betting_test.reached[1] is not None
    (2000, True)
    """

    def __init__(
        self,
        key_or_plan: str | Plan,
        *,
        seed: int = 0,
        bug: str | None = None,
        comparisons: int = 1,
        attack: str | None = None,
    ) -> None:
        self.seed = integer("seed", seed, at_least=0)
        self.comparisons = integer("comparisons", comparisons, at_least=1)
        self.bug = None if bug is None else get_bug(bug).key
        self.plan = key_or_plan if isinstance(key_or_plan, Plan) else worst_plan(key_or_plan, bug, attack=attack)
        if self.plan.spec.n * self.plan.spec.p > _LARGEST_TABLE:
            raise ValueError(f"n p must be <= {_LARGEST_TABLE} in an audit, got {self.plan.spec.n * self.plan.spec.p}")
        self.claimed = claimed_plan(self.plan)
        self.mechanism = self.claimed.mechanism
        # Of the plan, not of `claimed`: the claimed guarantee is what the plan itself spends.
        self.curve: TradeoffCurve = self.mechanism.claimed_curve(self.plan)
        self.attack = attack_for(self.mechanism.key, bug, attack)
        self.target: Target = correct_target(self.plan, self.claimed, self.attack.pair(self.plan))
        zero, one = self.target.sides
        self.sensitivity_share = self.mechanism.separation(self.plan, zero, one) / self.plan.ledger[0].sensitivity
        if bug is not None:
            self.target = get_bug(bug).inject(self.plan, self.target)
        self.betting_test = BettingTest(self.curve, self.plan.spent.epsilon)
        self._coins, *self._noise = np.random.default_rng([seed, zlib.crc32(self.mechanism.key.encode())]).spawn(3)
        self._scores: list[Array] = []
        self._bits: list[NDArray[np.bool_]] = []

    @property
    def runs(self) -> int:
        return sum(map(len, self._bits))

    @property
    def scores(self) -> Scores:
        """Scores of all runs so far."""
        return Scores.by_bit(np.concatenate(self._scores), np.concatenate(self._bits))

    def play(self, runs: int) -> None:
        """Play `runs` more runs, at least 1."""
        runs = integer("runs", runs, at_least=1)
        if self.runs + runs > MOST_RUNS:
            raise ValueError(f"runs must be at most {MOST_RUNS:,}, got {self.runs + runs:,}")
        bits = self._coins.random(runs) < 0.5
        scores = np.empty(runs)
        step = max(1, _BATCH_NUMBERS // (self.plan.spec.p * self.plan.steps))
        for side, prepared in enumerate(self.target.sides):
            of_side = np.flatnonzero(bits == side)
            for start in range(0, len(of_side), step):
                batch = of_side[start : start + step]
                seen = self.target.release(prepared, self._streams(side, len(batch)))
                scores[batch] = self.target.score(seen)
        self._scores.append(scores)
        self._bits.append(bits)
        portion = Scores.by_bit(scores, bits)
        self.betting_test.update(portion.zeros, portion.ones)

    def _streams(self, side: int, releases: int) -> Generators:
        """Generators for that many releases; no draw depends on how many releases are made together."""
        noise = self._noise[side]
        if self.plan.steps > 1:  # releases draw in turns, some steps at a time
            return noise.spawn(releases)
        return [noise] * releases  # each continues where the one before stopped

    def report(self) -> AuditReport:
        """Report on the runs so far, at least 100 of them."""
        integer("runs", self.runs, at_least=100)
        plan, half = self.plan, self.runs // 2
        scores, bits = np.concatenate(self._scores), np.concatenate(self._bits)
        whole = Scores.by_bit(scores, bits)
        first, second = Scores.by_bit(scores[:half], bits[:half]), Scores.by_bit(scores[half:], bits[half:])
        sensitivity, epsilon, delta = plan.ledger[0].sensitivity, plan.spent.epsilon, plan.spent.delta
        share = self.sensitivity_share
        # Another law of noise at the same budget may allow an attacker more than the law that the scores are made of.
        same = self.claimed.noise == plan.noise
        limit = attack_cap(plan.spent)
        if same:
            limit = min(self.mechanism.attack_limit(self.claimed), self.curve.attack_limit())
        found = [
            Certificate("sensitivity", f"a distance of at most {sensitivity:.6g}", share, share, 1.0 + 1e-9),
            certificates.attacker(whole, limit, delta, self.curve, self.comparisons),
            certificates.pure(first, second, epsilon, self.comparisons)
            if delta == 0.0
            else certificates.curve(first, second, self.curve, delta, self.comparisons),
            certificates.point(first, second, epsilon, delta, self.comparisons),
        ]
        return AuditReport(
            claimed=plan.spent,
            claim=f"(epsilon = {epsilon:.6g}, delta = {delta:g})-private by {self.curve.words}",
            pair=words_of_pair(*self.target.pair),
            runs=self.runs,
            seed=self.seed,
            comparisons=self.comparisons,
            attack_success=whole.right / self.runs,
            certificates=tuple(found),
            plan=plan,
            bug=self.bug,
            term=self.attack.term,
            sensitivity_share=share,
        )


def run_audit(
    key_or_plan: str | Plan,
    *,
    runs: int = 20_000,
    seed: int = 0,
    bug: str | None = None,
    comparisons: int = 1,
    attack: str | None = None,
) -> AuditReport:
    """Play the game `runs` times against a mechanism, correct or with an injected bug, and certify what leaks.

    key_or_plan: a registered key, audited at (1, 1e-5) on three columns with Huberised hinge loss, where a pair attains
    the sensitivity (or as the bug asks); or a Plan, audited as it is against the guarantee `plan.spent`, with
    n p <= 1e7. runs: 100 to 10^7. seed: >= 0. bug: None, or a key of `dpcore.audit.bugs.BUGS`. comparisons:
    number of audits that are shown together; the confidence is that of all of them (Bonferroni). attack: the term of
    one of `dpcore.audit.attacks.attacks_of(key)`, which says in which terms of a proof a fault shows; None for the one
    that reaches the bug, or the first.

    Certificates. "sensitivity": the distance between the pair's models, as a share of the plan's sensitivity (nothing
    random). "attacker": the share of right guesses by "score >= 0 means D1", against the mechanism's own limit.
    "curve": against the whole claimed trade-off curve; for pure claims "pure", against epsilon. "point": against
    (epsilon, delta) under any noise. Together they raise a false "contradicted" in at most 0.1% of audits, a false
    "suspicious" in at most 5%.

    Power: docs/formulas.md, "What an audit sees". At epsilon = 20 the audit misses that half the Gamma noise is gone:
    every rate is too near 1.

    Released numbers are rounded to a grid (`dpcore.mechanisms.noise.rounding.on_grid`), and the audit sees the rounded
    ones; of "output_gaussian" these are sums of doubles, where `dpcore.solve` rounds exactly. It does not test for the
    rest of the leak of floating-point noise (Mironov 2012) or for running time. It cannot detect faults that leave the
    score's law unchanged: Gaussian noise that is missing at a right angle to the pair's shift, or one seed for all runs
    if its noise saturates the score or draws the same columns from both laws.

    Raises ValueError for wrong arguments; NotApplicable where there is no worst pair or the bug does not apply.

    Randomness: from (seed, mechanism key) alone: a stream for the coins and one for the releases on each data set, from
    which each release of several steps spawns its own.
    Source: the game and its certificates are those of Jagielski, Ullman and Oprea 2020 and Nasr et al. 2023.

    >>> run_audit("output_gamma", runs=2000).verdict
    'no contradiction found'
    >>> run_audit("output_gamma", runs=2000, bug="halved_noise").verdict
    'contradicted'
    """
    runs = integer("runs", runs, at_least=100)
    audit = Audit(key_or_plan, seed=seed, bug=bug, comparisons=comparisons, attack=attack)
    audit.play(runs)
    return audit.report()


def worst_plan(key: str, bug: str | None = None, budget: Budget = DEFAULT_BUDGET, *, attack: str | None = None) -> Plan:
    """Plan under which a mechanism is audited: a pair reaches the attack's terms, and the bug shows.

    attack: as in `run_audit`.

    >>> worst_plan("output_gaussian").spec.loss
    'huber_hinge'
    """
    mechanism = make_mechanism(key).audited()
    own = None if bug is None else get_bug(bug).plan
    return (own or attack_for(key, bug, attack).plan)(mechanism, budget)


def attack_for(key: str, bug: str | None, attack: str | None) -> Attack:
    """Attack with the term `attack`; for None the one that reaches the bug, or the first.

    ValueError for an unknown term; NotApplicable if the bug is in a term that the mechanism's proof does not have.
    """
    reached = None if bug is None else get_bug(bug).term
    if reached and reached not in (known.term for known in attacks_of(key)):
        raise NotApplicable(f"{bug} is a bug in the term {reached}, which no attack on {key} reaches")
    return get_attack(key, attack or reached)


def claimed_plan(plan: Plan) -> Plan:
    """Plan with the noise that the given plan's spent budget requires.

    Neither `plan.scale` nor the ledger's scale is the claim: a bug may be in both. All knobs but the accounting are
    the given plan's: they decide what an observer sees.
    """
    made = plan.mechanism
    return make_mechanism(made.key, **(made.knobs | {"accounting": "tight"})).calibrate(plan.spec, plan.spent)
