"""Published values of papers against corrected ones, both computed anew on each call.

The words are in `errata.csv`. Each erratum here can be computed in well under a second; docs/errata.md has all of
them, with their evidence.
"""

import dataclasses as dc
import functools
import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.special import lambertw

from ...accounting import gaussian
from ...accounting.kamath import kamath_multiplier
from ...accounting.subsampled_rdp import subsampled_epsilon
from ...accounting.zcdp import zcdp_epsilon
from ...audit.objective_worst_pair import pair_plan, worst_for_gamma, worst_for_gaussian
from ...core.arrays import Array
from ...core.facts import facts_beside
from ...core.privacy import Budget
from ...core.specification import Domain, Spec
from ...core.validation import integer, one_of
from ...mechanisms.api import calibrate
from ...mechanisms.frank_wolfe.one_pass_sensitivity import Slopes, entry_moves, slopes_of
from ...mechanisms.noise.generalized_gaussian import quoted_noise
from ...theory import sampling_and_regret as theory
from ..selection.simplex.published_draws import theorem_3_draws
from ..selection.streaming.adversaries import counterexample_regret
from .pathak_raj import existence
from .pathak_raj_lemmas import lemma_1
from .two_vertices import TwoVertices, choices_plan, two_column_delta

# broken: costs more than is published, which a pair of data sets shows. unproved: the proved cost is more than is
# published, and it is open whether that is safe. false: a statement that is no guarantee does not hold. wasteful:
# private, with more noise than is needed.
Kind = Literal["broken", "unproved", "false", "wasteful"]
# What the number of a document is called: reconstructed where the document's formula was lost.
Word = Literal["published", "reconstructed"]
KINDS: dict[Kind, str] = {
    "broken": "breaks its guarantee",
    "unproved": "claims more than is proved",
    "false": "is false",
    "wasteful": "is private, with more noise than needed",
}


@dc.dataclass(frozen=True)
class Erratum:
    """title, source, says, holds: in words. unit: what the two numbers are. setting: for which they are computed.

    word: how the document's number is known. page: address below the dashboard's root that shows it. chance: "yes" if
    the numbers need draws.
    """

    title: str
    source: str
    kind: Kind
    word: Word
    says: str
    holds: str
    unit: str
    setting: str
    page: str
    chance: str


@dc.dataclass(frozen=True)
class Recomputed:
    """An erratum's numbers. published, corrected: in the erratum's unit, both > 0."""

    name: str
    erratum: Erratum
    published: float
    corrected: float

    @property
    def times(self) -> float:
        """Ratio of the larger to the smaller."""
        return max(self.published / self.corrected, self.corrected / self.published)

    @property
    def facts(self) -> dict[str, Any]:
        """A row of the table of all errata."""
        numbers = {"published": self.published, "corrected": self.corrected, "times": self.times}
        return {"name": self.name, **dc.asdict(self.erratum), **numbers}

    @property
    def sentence(self) -> str:
        """Published and corrected value, with three digits."""
        e = self.erratum
        return (
            f"{e.title} ({e.source}) {KINDS[e.kind]}: {e.unit} is {self.corrected:.3g} where {self.published:.3g} is "
            f"{e.word}, a factor of {three_digits(self.times)} ({e.setting})"
        )


def three_digits(value: float) -> str:
    """A factor >= 1 as people write it.

    >>> three_digits(4220.7), three_digits(1.4055)
    ('4,220', '1.41')
    """
    return f"{float(f'{value:.3g}'):,.10g}"


def recompute(name: str, seed: int = 0) -> Recomputed:
    """Compute an erratum's two numbers, once a process; ValueError names the known ones.

    seed: of the few that need draws, >= 0.

    >>> found = recompute("objective_gamma")
    >>> found.published, round(found.corrected, 4)
    (1.0, 1.4055)
    """
    erratum = ERRATA[one_of("name", name, ERRATA)]
    seed = integer("seed", seed, at_least=0)
    return Recomputed(name, erratum, *_numbers(name, seed if erratum.chance == "yes" else None))


@functools.lru_cache(maxsize=64)
def _numbers(name: str, seed: int | None) -> tuple[float, float]:
    return _COMPUTE[name]() if seed is None else _COMPUTE[name](seed)


def _gaussian_multiplier() -> tuple[float, float]:
    budget = Budget(1.0, 1e-5)
    return gaussian.published_multiplier(budget), 1.0 / gaussian.gaussian_mu(budget)


def _gamma_noise() -> tuple[float, float]:
    """Kernel exp(-epsilon n lam ||b|| / (4 L R)) against the exact one."""
    corrected = calibrate("output_gamma", n=100, p=2, epsilon=1.0, lam=1.0).scale
    return 2.0 * corrected, corrected


def _objective_gamma() -> tuple[float, float]:
    pair = worst_for_gamma(pair_plan("objective_gamma", Budget(1.0), "published"))
    return 1.0, pair.log_ratio(pair.kink)


def _objective_gaussian() -> tuple[float, float]:
    plan = pair_plan("objective_gaussian", Budget(1.0, 1e-5), "published")
    return 1e-5, worst_for_gaussian(plan, 1.0).delta(1.0)


def _simplex_draws() -> tuple[float, float]:
    return 1e-3, published_draws_delta(1e-3)


def published_draws_delta(delta: float) -> float:
    """delta that Theorem 3's draws of Jain and Thakurta 2014 cost at epsilon = 1 and L R = 64, for the worst pair.

    One record moves the log-odds of two columns by 4 R / (n lam), around a middle that the other records set: of those
    on a grid, the worst. Opposite middles are the pair in the other order, and beyond 1/2 choices cost less.

    >>> round(published_draws_delta(1e-3) / 1e-3, 2), round(published_draws_delta(1e-5) / 1e-5, 2)
    (15.87, 32.26)
    """
    n, lam, R = 1000, 3.0, 64.0
    draws = int(theorem_3_draws(Spec("linear", n, 2, lam, Domain(math.inf, R), set="simplex"), Budget(1.0, delta)))
    return two_column_delta(draws, 4.0 * R / (n * lam), 1.0, np.linspace(-0.5, 0.5, 1001))


def _stream_condition() -> tuple[float, float]:
    T, budget = 100, Budget(10.0, 1e-3)
    lam = math.sqrt(8.0 * T * math.log(1.0 / budget.delta)) / budget.epsilon
    return budget.delta, two_column_delta(T - 1, 4.0 / lam, budget.epsilon)


def _lasso_laplace() -> tuple[float, float]:
    budget = Budget(12.0, 1e-2)
    return budget.delta, TwoVertices(choices_plan(budget, 201, "published")).delta(budget.epsilon)


def _equation_12() -> tuple[float, float]:
    T, p, budget = 1_000_000, 1_000, Budget(10.0, 1e-3)
    lam = theory.published_stream_lam(T, p, 1.0, budget)
    return theory.published_stream_rate(T, p, 1.0, budget), counterexample_regret(T, p, lam)


def entropy_excess(lam: float, p: int) -> float:
    """Excess risk lam W((p - 1) / e) that entropy with weight lam can leave, W Lambert's function.

    It is that of the minimiser of F(w) + lam sum_j w_j ln w_j over the simplex of p columns, F linear. If column 1 has
    the mean cost -a and all others 0, w_1 = 1 / (1 + (p - 1) e^(-a / lam)) leaves an excess of a (1 - w_1), which is
    largest at a = lam (1 + W).

    >>> round(entropy_excess(1.0, 1_000), 3), round(entropy_excess(1.0, 1_000_000), 3)
    (4.421, 10.467)
    """
    return lam * float(lambertw((p - 1) / math.e).real)


def _entropy_weight() -> tuple[float, float]:
    n, p = 10_000, 1_000_000
    lam = math.sqrt(n * math.log(p)) / n
    return math.sqrt(math.log(p) / n), entropy_excess(lam, p)


def _quoted_kappa() -> tuple[float, float]:
    d = 1_000
    quoted = 2.0 * math.log(d)
    return quoted, quoted * quoted_noise(math.inf, d)[1]


def _kamath_descent() -> tuple[float, float]:
    n = 2_000
    budget = Budget(1.0, 1.0 / n**2)
    return 1.0, subsampled_epsilon(kamath_multiplier(n, budget), 1.0 / n, n**2, budget.delta, "uniform")


def _classifier_minimiser(seed: int) -> tuple[float, float]:
    return 1.0, existence(1, 1.0, 1.0, seed=seed).share


def _classifier_gradient() -> tuple[float, float]:
    found = lemma_1(3)
    return found.published, found.joint


def _textbook_gaussian() -> tuple[float, float]:
    epsilon, delta = 9.0, 1e-5
    multiplier = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
    return delta, gaussian.hockey_stick(epsilon, 1.0 / multiplier)


def published_stream(n: int, facts: Slopes, budget: Budget) -> tuple[float, Array]:
    """Steps eta of Algorithm 2 of Bassily, Guzmán and Nandi 2021, and the scales of its Laplace noise, [n / 2 + 1].

    One record a step after n / 2 for the first estimate, eta = ln(n / ln J) / n; choice t has noise
    2 max{(1 - eta)^t s_0, s_1} sqrt(n ln(1/delta)) / epsilon, s_0 = L D / (n / 2), s_1 = eta (L D + Gamma)
    (reconstructed).
    """
    eta = math.log(n / math.log(facts.vertices)) / n
    s0, s1 = facts.across / (n // 2), eta * (facts.across + facts.curvature)
    moves = np.maximum((1.0 - eta) ** np.arange(n - n // 2 + 1) * s0, s1)
    return eta, 2.0 * moves * math.sqrt(-n * math.log(budget.delta)) / budget.epsilon


def _minibatch_noise() -> tuple[float, float]:
    """A choice with noise b whose scores a record moves by half a range s is (2 s / b)-DP; a record moves those after
    it was read, by s (1 - eta)^j."""
    n, budget = 1_000, Budget(1.0, 1e-6)
    facts = slopes_of(Spec("logistic", n, 100, 0.0, Domain(math.inf), radius=1.0, set="l1_ball"))
    eta, noise = published_stream(n, facts, budget)
    s0, s1 = entry_moves(facts, n // 2, 1, eta)

    def cost(first: int, s: float) -> float:
        each = 2.0 * s * (1.0 - eta) ** np.arange(len(noise) - first) / noise[first:]
        return min(float(each.sum()), zcdp_epsilon(0.5 * float(each @ each), budget.delta))

    return budget.epsilon, max(cost(0, s0), *(cost(first, s1) for first in range(1, len(noise))))


def _spent(key: str, n: int, p: int, accounting: str, **knobs: Any) -> Callable[[], tuple[float, float]]:
    """Privacy spent by the noise of a published accounting that claims epsilon = 1."""

    def compute() -> tuple[float, float]:
        plan = calibrate(key, n=n, p=p, epsilon=1.0, delta=1e-6, accounting=accounting, **knobs)
        return 1.0, plan.spent.epsilon

    return compute


# The document's and the correct number, from a seed if they need draws.
_COMPUTE: dict[str, Callable[..., tuple[float, float]]] = {
    "objective_gaussian": _objective_gaussian,
    "objective_gamma": _objective_gamma,
    "simplex_draws": _simplex_draws,
    "stream_condition": _stream_condition,
    "lasso_laplace": _lasso_laplace,
    "textbook_gaussian": _textbook_gaussian,
    "quoted_kappa": _quoted_kappa,
    "lasso_noise": _spent("frank_wolfe_polytope", 10_000, 100, "published", T=201, radius=1.0),
    "equation_12": _equation_12,
    "entropy_weight": _entropy_weight,
    "classifier_minimiser": _classifier_minimiser,
    "classifier_gradient": _classifier_gradient,
    "kamath_lemma": _spent("output_gaussian", 2_000, 2, "kamath"),
    "kamath_descent": _kamath_descent,
    "minibatch_noise": _minibatch_noise,
    "gaussian_multiplier": _gaussian_multiplier,
    "gamma_noise": _gamma_noise,
}
ERRATA = {row.pop("name"): Erratum(**row) for row in facts_beside(__file__, "errata.csv")}


def recomputed(seed: int = 0) -> tuple[Recomputed, ...]:
    """Numbers of all errata, kind by kind, the largest ratio first. seed: as in `recompute`.

    >>> recomputed()[0].name
    'objective_gaussian'
    """
    order = list(KINDS)
    found = [recompute(name, seed) for name in ERRATA]
    return tuple(sorted(found, key=lambda r: (order.index(r.erratum.kind), -r.times)))
