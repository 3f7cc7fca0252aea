"""Two data sets for private Frank-Wolfe between two vertices, where all probabilities are exact.

One column, Huberised hinge loss on an L1 ball so small that the loss is linear there. All records are 0 but the last,
(x, y) = (1, 1) or (1, -1): on either data set the scores of the two vertices differ by Delta at every model, and the
better vertex of one data set is the worse one of the other. Each of the T - 1 choices is therefore wrong independently
of the others, with the same probability q. At noise of scale b, u = Delta / b:
    Laplace noise    q = P(Lap - Lap' > u) = e^(-u) (1 + u / 2) / 2,
    Gumbel noise     q = 1 / (1 + e^u).
From theta_1 = 0 the model is theta_T = (2 / (T (T + 1))) sum_{t < T} (t + 1) s_t. It is a function of the whole number
W = sum_{t < T} (t + 1) [choice t is right], which lies between 0 and T (T + 1) / 2 - 1.
"""

import dataclasses as dc
import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom

from ...core.arrays import Array
from ...core.privacy import Budget
from ...core.specification import Domain, Spec
from ...mechanisms import make_mechanism
from ...mechanisms.plan import Plan


def choices_plan(budget: Budget, T: int, accounting: str) -> Plan:
    """Plan of T - 1 choices between the vertices of the L1 ball of radius 0.4. accounting: `FrankWolfePolytope`'s."""
    mechanism = make_mechanism("frank_wolfe_polytope", accounting=accounting, T=T)
    return mechanism.calibrate(Spec("huber_hinge", 2, 1, 0.0, Domain(math.inf), radius=0.4, set="l1_ball"), budget)


def two_column_delta(draws: int, log_ratio: float, epsilon: float, middle: float | Array = 0.0) -> float:
    """Exact delta of independent choices between two columns whose log-odds are middle +- log_ratio / 2.

    The number of times that the first is chosen suffices: sum_k (P(k) - e^epsilon Q(k))_+ of two binomial laws. Of
    several middles it is the largest delta.

    >>> round(two_column_delta(1, 2.0, 0.0), 4) == round(math.tanh(0.5), 4)
    True
    """
    counts, odds = np.arange(draws + 1), np.reshape(middle, (-1, 1))
    one, other = (binom.logpmf(counts, draws, expit(odds + half)) for half in (0.5 * log_ratio, -0.5 * log_ratio))
    return float(np.maximum(np.exp(one) - np.exp(epsilon + other), 0.0).sum(axis=1).max())


@dc.dataclass(frozen=True)
class TwoVertices:
    """The two data sets for a plan of `choices_plan`.

    >>> pair = TwoVertices(choices_plan(Budget(12.0, 1e-2), 201, "published"))
    >>> round(pair.wrong, 4), round(pair.delta(12.0), 4)
    (0.4311, 0.0195)
    """

    plan: Plan

    @property
    def weights(self) -> NDArray[np.int64]:
        """t + 1 for each choice t = 1, ..., T - 1, [T - 1]."""
        return np.arange(2, self.plan.steps + 2, dtype=np.int64)

    @property
    def advantage(self) -> float:
        """u, by how much the better vertex leads, in units of the noise."""
        return self.plan.ledger[0].sensitivity / self.plan.scale

    @property
    def wrong(self) -> float:
        """q, the probability that a choice is wrong."""
        u = self.advantage
        return 0.5 * math.exp(-u) * (1.0 + 0.5 * u) if self.plan.noise == "laplace" else float(expit(-u))

    @cached_property
    def law(self) -> Array:
        """P(W = w), [T (T + 1) / 2]; the other data set's model has this law in reverse order."""
        law = np.ones(1)
        for weight in self.weights:
            law = np.append(self.wrong * law, np.zeros(weight)) + np.append(np.zeros(weight), (1.0 - self.wrong) * law)
        return law

    def shares(self, W: NDArray[np.int64], epsilon: float) -> Array:
        """(1 - e^(epsilon - loss))_+ for possible values W, of any shape; loss is the privacy loss of the model."""
        return np.maximum(1.0 - math.exp(epsilon) * self.law[::-1][W] / self.law[W], 0.0)

    def delta(self, epsilon: float) -> float:
        """delta at epsilon of theta_T alone."""
        return float(np.maximum(self.law - math.exp(epsilon) * self.law[::-1], 0.0).sum())
