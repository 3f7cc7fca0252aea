"""Private players on streams, for charts: regret against the number of steps, and one stream step by step."""

import dataclasses as dc
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....core.arrays import Array
from ....core.cache import shared
from ....core.cancel import Cancelled, go_on, never
from ....core.privacy import Budget, NotApplicable
from ....core.records import Data
from ....core.rng import generator
from ....core.specification import Domain, LamRule, Spec
from ....core.validation import integer, one_of
from ....experiments.proof_chain import ProofChain, chained
from ....experiments.summary import middle
from ....mechanisms.plan import Plan
from ....mechanisms.simplex.ftrl import FTRL, Played
from ....mechanisms.simplex.ftrl import play as play_costs
from ....solvers import Minimum
from ....theory import sampling_and_regret as theory
from .adversaries import ADVERSARIES, stream

Integers = NDArray[np.intp]

_MOST_MARKS = 400
_RUNS = "ftrl"


@dc.dataclass(frozen=True)
class RegretCurve:
    """Regret for one number of arms along streams of several lengths, each with its own plan and costs.

    p: arms. steps: [K]. mean, q10, q90: of the regret over the runs, [K]. expected: its exact mean, over all draws.
    bound: proved for the mean. least: on some costs no private learner has a smaller mean. nothing: the mean of an arm
    drawn uniformly in each step. published: an order of growth, shape only; nan where there is none. spent: epsilon.
    reasons: why there is nothing at a length, else None; values are nan there.
    """

    p: int
    steps: Array
    mean: Array
    q10: Array
    q90: Array
    expected: Array
    bound: Array
    least: Array
    nothing: Array
    published: Array
    spent: Array
    reasons: tuple[str | None, ...]


@dc.dataclass(frozen=True)
class Play:
    """One stream and one player.

    plan: the player's. marks: [M], steps done, from 0 to all of them, thinned. leader: [M], the arm whose costs so far
    are smallest; trust: [M], the weight that it has in the next step. arms: [T], as played. regret: [M], over the best
    arm so far; expected: [M], its exact mean over all draws. bound: proved for this mean at the end.
    """

    plan: Plan
    marks: Integers
    leader: Integers
    trust: Array
    arms: Integers
    regret: Array
    expected: Array
    bound: float


@shared(256)
def regret_curve(
    adversary: str,
    p: int,
    steps: Sequence[int],
    *,
    epsilon: float,
    delta: float,
    lam: float | LamRule = "auto",
    repetitions: int = 50,
    seed: int = 0,
    accounting: str = "tight",
    cancelled: Cancelled = never,
) -> RegretCurve:
    """Regret of p arms against the length of the stream; from a cache. R = 1.

    adversary: a key of `dpcore.studies.selection.streaming.adversaries.ADVERSARIES`. steps: lengths, >= 2 each. lam,
    accounting: as for `dpcore.solve`, lam of the average. What spends more than epsilon is played all the same: see
    `spent`. cancelled: asked between streams and before each is played; when it says yes, CancelledError is raised.
    Raises ValueError for wrong arguments; a plan that does not apply leaves its reason.

    Randomness: the costs from (seed, adversary), run i from (seed, i): 20 runs are a prefix of 50, and lengths, numbers
    of arms and budgets share their uniforms.

    >>> curve = regret_curve("random", 4, [10, 100], epsilon=2.0, delta=1e-5, repetitions=5)
    >>> bool((curve.expected <= curve.bound).all()), curve.reasons
    (True, (None, None))
    """
    one_of("adversary", adversary, ADVERSARIES)
    p, lengths = integer("p", p, at_least=1), [integer("steps", T, at_least=2) for T in steps]
    repetitions, seed = integer("repetitions", repetitions, at_least=1), integer("seed", seed, at_least=0)
    budget, mechanism = Budget(epsilon, delta), FTRL(accounting)
    uniforms = _uniforms(repetitions, max(lengths), seed)
    rows: list[list[float]] = []
    reasons: list[str | None] = []
    for T in lengths:
        go_on(cancelled)
        try:
            plan = _plan(mechanism, p, T, lam, budget)
        except NotApplicable as error:
            rows.append([math.nan] * 9)
            reasons.append(str(error))
            continue
        data = _costs(adversary, plan, seed)
        go_on(cancelled)  # long streams are a tenth of a second each
        played = play_costs(data, T * plan.scale, uniforms[:, :T])
        best = played.scores.min()
        regret = _paid(data, played).sum(axis=1) - best
        published = math.nan if budget.pure else theory.published_stream_rate(T, p, 1.0, budget)
        rows.append(
            [
                regret.mean(),
                *middle(regret, 0),
                played.expected.sum() - best,
                mechanism.bounds(plan)[0].value,
                theory.least_regret(p, 1.0, T, budget),
                float(np.asarray(data.X).sum()) / p - best,
                published,
                plan.spent.epsilon,
            ]
        )
        reasons.append(None)
    names = [field.name for field in dc.fields(RegretCurve)][2:-1]
    values = dict(zip(names, np.array(rows, float).T, strict=True))
    return RegretCurve(p=p, steps=np.array(lengths, float), reasons=tuple(reasons), **values)


@shared(32)
def play(
    adversary: str,
    p: int,
    steps: int,
    *,
    epsilon: float,
    delta: float,
    lam: float | LamRule = "auto",
    seed: int = 0,
    accounting: str = "tight",
) -> Play:
    """One stream step by step; from a cache. Arguments and randomness as in `regret_curve`, whose first run it is.

    Raises NotApplicable with the reason where there is no plan.

    >>> made = play("counterexample", 8, 50, epsilon=4.0, delta=1e-5)
    >>> len(made.arms), int(made.leader[-1]), bool(made.expected[-1] <= made.bound)
    (50, 0, True)
    """
    one_of("adversary", adversary, ADVERSARIES)
    seed = integer("seed", seed, at_least=0)
    plan = _plan(FTRL(accounting), p, integer("steps", steps, at_least=2), lam, Budget(epsilon, delta))
    T, lam_sum = plan.steps, plan.steps * plan.scale
    data = _costs(adversary, plan, seed)
    played = play_costs(data, lam_sum, _uniforms(1, T, seed))
    marks = np.unique(np.linspace(0, T, min(T, _MOST_MARKS) + 1).round().astype(int))
    sums = np.vstack([np.zeros(plan.spec.p), np.cumsum(np.add.reduceat(data.X, marks[:-1], axis=0), axis=0)])
    lowest = sums.min(axis=1)

    def regret_of(paid: Array) -> Array:
        """Regret over the best arm so far, at the marks, for payments [T]."""
        return np.append(0.0, np.cumsum(paid))[marks] - lowest

    return Play(
        plan=plan,
        marks=marks,
        leader=sums.argmin(axis=1),
        trust=1.0 / np.exp((lowest[:, None] - sums) / lam_sum).sum(axis=1),
        arms=played.arms[0].astype(np.intp),
        regret=regret_of(_paid(data, played)[0]),
        expected=regret_of(played.expected),
        bound=plan.mechanism.bounds(plan)[0].value,
    )


@shared(64)
def proof(adversary: str, p: int, steps: int, *, seed: int = 0, **asked: Any) -> ProofChain:
    """Proof of the bound on the mean regret of one stream, as a chain from the exact mean; arguments and errors as in
    `play`.

    >>> made = proof("counterexample", 8, 50, epsilon=4.0, delta=1e-5)
    >>> made.steps[0].value < made.steps[1].value <= made.steps[-1].value
    True
    """
    made = play(adversary, p, steps, seed=seed, **asked)
    data = _costs(adversary, made.plan, seed)
    sums = np.asarray(data.X).sum(axis=0)
    best = Minimum(np.eye(1, p, int(sums.argmin()))[0], float(sums.min()), 0.0, 1.0)
    mechanism = made.plan.mechanism
    links = mechanism.chain(made.plan, mechanism.prepare(made.plan, data), data, best, (), never)
    nothing = float(sums.mean()) - best.risk
    return ProofChain(chained(made.expected[-1:], links), nothing, 1, "regret")


def _plan(mechanism: FTRL, p: int, T: int, lam: float | LamRule, budget: Budget) -> Plan:
    return mechanism.calibrate(Spec("linear", T, p, lam, Domain(math.inf), set="simplex"), budget)


def _uniforms(repetitions: int, T: int, seed: int) -> Array:
    return np.array([generator(seed, _RUNS, i).random(T) for i in range(repetitions)])


def _costs(adversary: str, plan: Plan, seed: int) -> Data:
    costs = stream(adversary, steps=plan.steps, p=plan.spec.p, seed=seed, lam=plan.scale)
    return Data(costs, np.zeros(plan.steps))


def _paid(data: Data, played: Played) -> Array:
    return np.take_along_axis(np.asarray(data.X), played.arms.astype(np.intp).T, axis=1).T
