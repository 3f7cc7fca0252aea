"""Empirical audits: an attacker who may choose the worst two data sets tries to refute a mechanism's promise.

The game: in every run a fair coin picks D0 or D1 (two neighbours), the real code releases once with fresh noise, and
the score is the exact log-likelihood ratio ln p(seen | D1) / p(seen | D0) of the law that the plan claims, where what
is seen is the release, or for mechanisms of many steps every step of it. From the scores come lower bounds on what
leaks, each with a confidence (`dpcore.certificates`). A bound above the claim refutes it; a bound below the claim
proves nothing.
"""

from __future__ import annotations

import dataclasses as dc
import json
import zlib
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from . import __version__, certificates
from .accounting import attack_cap
from .certificates import Certificate, Scores
from .checks import integer
from .mechanisms import Mechanism, make_mechanism
from .sabotages import get_sabotage
from .targets import Target, honest_target
from .tradeoffs import Curve
from .types import Array, Budget, Data, Plan
from .wealth import Wealth

Verdict = Literal["no contradiction found", "suspicious", "contradicted"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

DEFAULT_BUDGET = Budget(1.0, 1e-5)
_LARGEST_TABLE = 10_000_000
MOST_RUNS = 10_000_000
_BATCH_NUMBERS = 1_000_000
_ATTAINS = 0.95


@dc.dataclass(frozen=True)
class AuditReport:
    """What an audit found.

    plan: what was audited. claim: its promise, in words. pair: the two data sets, in words. runs, seed, sabotage,
    comparisons: as asked for. attained: how far the pair moves the model, as a share of the sensitivity; well below 1 a
    pass says less. right: how often the attacker was. certificates: see `run_audit`.
    """

    plan: Plan
    claim: str
    pair: str
    runs: int
    seed: int
    sabotage: str | None
    comparisons: int
    attained: float
    right: float
    certificates: tuple[Certificate, ...]

    @property
    def mechanism(self) -> str:
        return self.plan.mechanism.key

    @property
    def claimed_epsilon(self) -> float:
        """What the plan says it spends, at the plan's delta."""
        return self.plan.spent.epsilon

    @property
    def certified_epsilon_95(self) -> float:
        """The largest lower bound on epsilon, 95% confidence over all certificates and comparisons together."""
        return max(c.epsilon for c in self.certificates if c.epsilon is not None)

    @property
    def certified_epsilon_999(self) -> float:
        """The same with 99.9% confidence."""
        return max(c.epsilon_flagged for c in self.certificates if c.epsilon_flagged is not None)

    @property
    def verdict(self) -> Verdict:
        """contradicted at 99.9% confidence, suspicious at 95%."""
        if any(c.flagged > c.limit for c in self.certificates):
            return "contradicted"
        return "suspicious" if any(c.shown > c.limit for c in self.certificates) else "no contradiction found"

    @property
    def attack(self) -> Certificate:
        """How often the attacker is right: lower bounds, and the mechanism's own limit."""
        return next(c for c in self.certificates if c.name == "attacker")

    @property
    def sentence(self) -> str:
        """The verdict in words that promise no more than was tested."""
        bound = (
            f"certified lower bound epsilon = {self.certified_epsilon_95:.3g} (95%), claimed {self.claimed_epsilon:.3g}"
        )
        if self.verdict == "contradicted":
            by = " and ".join(c.name for c in self.certificates if c.flagged > c.limit)
            return (
                f"With confidence 99.9% (over our runs) this implementation is not what it claims, {self.claim}: "
                f"refuted by {by}; {bound}."
            )
        if self.verdict == "suspicious":
            by = " and ".join(c.name for c in self.certificates if c.shown > c.limit)
            found = f"Suspicious: refuted by {by} with confidence 95% but not 99.9%, repeat with more runs; {bound}."
        else:
            found = f"No contradiction found; {bound}."
        if self.attained < _ATTAINS:
            found += f" The pair reaches only {self.attained:.0%} of the sensitivity, so that a pass says less."
        return f"{found} A pass is never evidence of privacy."

    def facts(self) -> dict[str, Any]:
        """Everything above, and all that is needed to repeat it, as what JSON can hold."""
        plan = self.plan
        mechanism = cast(Mechanism, plan.mechanism)
        return {
            "verdict": self.verdict,
            "claim": self.claim,
            "certified_epsilon_95": self.certified_epsilon_95,
            "certified_epsilon_999": self.certified_epsilon_999,
            "runs": self.runs,
            "seed": self.seed,
            "pair": self.pair,
            "mechanism": self.mechanism,
            "knobs": {field.name: getattr(mechanism, field.name) for field in dc.fields(mechanism) if field.init},
            "sabotage": self.sabotage,
            "comparisons": self.comparisons,
            "spec": dc.asdict(plan.spec),
            "requested": dc.asdict(plan.requested),
            "spent": dc.asdict(plan.spent),
            "scale": plan.scale,
            "attained": self.attained,
            "attacker_right": self.right,
            "sentence": self.sentence,
            "certificates": [dc.asdict(c) for c in self.certificates],
            "versions": {"dpcore": __version__, "numpy": np.__version__},
        }

    def to_json(self) -> str:
        """`facts` as text."""
        return json.dumps(self.facts(), default=str)


class Audit:
    """A game that goes on: `play` more runs, look at the `report` of those so far and at the `wealth`.

    Arguments as in `run_audit`. Runs in portions are the same runs. Certificates hold for one number of runs that was
    fixed beforehand; whoever looks in between and stops when it suits looks at `wealth`.

    >>> audit = Audit("output_gamma", sabotage="halved_noise")
    >>> audit.play(1000)
    >>> audit.play(1000)
    >>> audit.report().runs, audit.wealth.reached[1] is not None
    (2000, True)
    """

    def __init__(
        self, key_or_plan: str | Plan, *, seed: int = 0, sabotage: str | None = None, comparisons: int = 1
    ) -> None:
        self.seed = integer("seed", seed, at_least=0)
        self.comparisons = integer("comparisons", comparisons, at_least=1)
        self.sabotage = None if sabotage is None else get_sabotage(sabotage).key
        self.plan = key_or_plan if isinstance(key_or_plan, Plan) else worst_plan(key_or_plan, sabotage)
        if self.plan.spec.n * self.plan.spec.p > _LARGEST_TABLE:
            raise ValueError(f"n p must be <= {_LARGEST_TABLE} in an audit, got {self.plan.spec.n * self.plan.spec.p}")
        self.claimed = claimed_plan(self.plan)
        self.mechanism = cast(Mechanism, self.claimed.mechanism)
        # Asked of the plan itself: what was published may stand for less than what was spent.
        self.curve: Curve = self.mechanism.claimed_curve(self.plan)
        self.target: Target = honest_target(self.plan, self.claimed)
        zero, one = self.target.sides
        self.attained = self.mechanism.separation(self.plan, zero, one) / self.plan.ledger[0].sensitivity
        if sabotage is not None:
            self.target = get_sabotage(sabotage).spoil(self.plan, self.target)
        self.wealth = Wealth(self.curve, self.plan.spent.epsilon)
        self._coins, *self._noise = np.random.default_rng([seed, zlib.crc32(self.mechanism.key.encode())]).spawn(3)
        self._scores: list[Array] = []
        self._bits: list[NDArray[np.bool_]] = []

    @property
    def runs(self) -> int:
        return sum(map(len, self._bits))

    @property
    def scores(self) -> Scores:
        """Of all runs so far."""
        return _by_bit(np.concatenate(self._scores), np.concatenate(self._bits))

    def play(self, runs: int) -> None:
        """That many more runs, at least 1."""
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
                # One stream for all runs on these records: each release takes what the one before has left.
                seen = self.target.release(prepared, [self._noise[side]] * len(batch))
                scores[batch] = self.target.score(seen)
        self._scores.append(scores)
        self._bits.append(bits)
        by_bit = _by_bit(scores, bits)
        self.wealth.update(by_bit.zeros, by_bit.ones)

    def report(self) -> AuditReport:
        """Of the runs so far, of which there must be at least 100."""
        integer("runs", self.runs, at_least=100)
        plan, half = self.plan, self.runs // 2
        scores, bits = np.concatenate(self._scores), np.concatenate(self._bits)
        whole = _by_bit(scores, bits)
        first, second = _by_bit(scores[:half], bits[:half]), _by_bit(scores[half:], bits[half:])
        sensitivity, epsilon, delta = plan.ledger[0].sensitivity, plan.spent.epsilon, plan.spent.delta
        # Another law of noise that spends as much may leave more to an attacker than the one that scores are made of.
        same = self.claimed.noise == plan.noise
        limit = attack_cap(plan.spent)
        if same:
            limit = min(self.mechanism.attack_limit(self.claimed), self.curve.attack_limit())
        found = [
            Certificate(
                "sensitivity", f"a distance of at most {sensitivity:.6g}", self.attained, self.attained, 1.0 + 1e-9
            ),
            certificates.attacker(whole, limit, delta, self.curve, self.comparisons),
            certificates.pure(first, second, epsilon, self.comparisons)
            if delta == 0.0
            else certificates.curve(first, second, self.curve, delta, self.comparisons),
            certificates.point(first, second, epsilon, delta, self.comparisons),
        ]
        return AuditReport(
            plan,
            f"(epsilon = {epsilon:.6g}, delta = {delta:g})-private by {self.curve.words}",
            words_of_pair(*self.target.pair),
            self.runs,
            self.seed,
            self.sabotage,
            self.comparisons,
            self.attained,
            whole.right / self.runs,
            tuple(found),
        )


def run_audit(
    key_or_plan: str | Plan, *, runs: int = 20_000, seed: int = 0, sabotage: str | None = None, comparisons: int = 1
) -> AuditReport:
    """Play the game `runs` times against a mechanism, honest or sabotaged, and certify what leaked.

    key_or_plan: a registered key, audited at (1, 1e-5) on three columns with Huberised hinge loss, where a pair attains
    the sensitivity (or as the sabotage asks); or a Plan, audited as it is against what `plan.spent` says, with
    n p <= 1e7. runs: 100 to 10^7. seed: >= 0. sabotage: None, or a key of `dpcore.sabotages.SABOTAGES`. comparisons: of
    how many audits shown together this is one; the confidence is that of all of them (Bonferroni).

    Certificates. "sensitivity": how far the pair moves the model, as a share of the plan's sensitivity (no chance
    enters). "attacker": how often "score >= 0 means D1" is right, against the mechanism's own limit. "curve", against
    the whole trade-off curve that is claimed; for pure claims "pure", against epsilon. "point", against
    (epsilon, delta) whatever the noise. Together they raise a false "contradicted" in at most 0.1% of audits, a false
    "suspicious" in at most 5%.

    Power: docs/formulas.md, "What an audit sees". At epsilon = 20 half the Gamma noise is not seen: every rate is too
    near 1.

    Released numbers are rounded to a grid (`dpcore.noises.on_grid`), and the audit sees the rounded ones. Not looked
    for: what is left of the leak of floating-point noise (Mironov 2012), and running time. Nor are faults seen that
    leave the score's law alone: Gaussian noise that is missing at a right angle to the pair's shift, or one seed for
    all runs whose noise saturates the score or that draws the same columns from both laws.

    Raises ValueError for wrong arguments; NotApplicable where there is no worst pair or the sabotage makes no sense.

    Randomness: from (seed, mechanism key) alone: a stream for the coins and one for the releases on each data set.
    Source: the game and its certificates are those of Jagielski, Ullman and Oprea 2020 and Nasr et al. 2023.

    >>> run_audit("output_gamma", runs=2000).verdict
    'no contradiction found'
    >>> run_audit("output_gamma", runs=2000, sabotage="halved_noise").verdict
    'contradicted'
    """
    runs = integer("runs", runs, at_least=100)
    audit = Audit(key_or_plan, seed=seed, sabotage=sabotage, comparisons=comparisons)
    audit.play(runs)
    return audit.report()


def worst_plan(key: str, sabotage: str | None = None, budget: Budget = DEFAULT_BUDGET) -> Plan:
    """The plan under which a mechanism is audited: where a pair attains its sensitivity and the fault shows.

    >>> worst_plan("output_gaussian").spec.loss
    'huber_hinge'
    """
    mechanism = make_mechanism(key).audited()
    if sabotage is not None:
        return get_sabotage(sabotage).plan(mechanism, budget)
    return mechanism.calibrate(mechanism.worst_spec(), budget)


def claimed_plan(plan: Plan) -> Plan:
    """The plan with the noise that its spent budget asks for.

    Neither `plan.scale` nor the ledger's scale is the claim: the fault may be in both. All knobs but the accounting are
    the plan's: they decide what an observer sees.
    """
    made = cast(Mechanism, plan.mechanism)
    knobs = {field.name: getattr(made, field.name) for field in dc.fields(made) if field.init}
    return make_mechanism(made.key, **(knobs | {"accounting": "tight"})).calibrate(plan.spec, plan.spent)


def words_of_pair(zero: Data, one: Data) -> str:
    """Two neighbours in words: the record in which they differ, and what the others are."""
    rows = [_table(side) for side in (zero, one)]
    at = int(np.flatnonzero(np.any(rows[0] != rows[1], axis=1))[0])
    others = np.delete(rows[0], at, axis=0)
    rest = "x = 0" if not others[:, :-1].any() else "others alike in both"
    before, after = (f"x = {_numbers(side[at, :-1])}, y = {side[at, -1]:.6g}" for side in rows)
    return f"{zero.n} records of {zero.p} columns, {zero.n - 1} of them {rest}; record {at + 1}: {before} or {after}"


def _table(data: Data) -> Array:
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    return np.column_stack([X, data.y])


def _numbers(row: Array) -> str:
    shown = [f"{value:.6g}" for value in row[:8]]
    return f"({', '.join(shown)}{', ...' if len(row) > len(shown) else ''})"


def _by_bit(scores: Array, bits: NDArray[np.bool_]) -> Scores:
    return Scores(scores[~bits], scores[bits])
