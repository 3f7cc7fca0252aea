"""Belief of an attacker after a release, and attack success: "your record, or a substitute?"

Pure epsilon: for every outcome o, P(o | your record) <= e^epsilon P(o | another), so the attacker's odds grow by at
most e^epsilon after every outcome. This needs a prior under which the other records do not depend on which of the two
is in the data. With delta > 0 some outcome may reveal the record, so only the success of the best guess is bounded:
pi P1(S) + (1 - pi) (1 - P0(S)) at its largest over guesses S, which is
    1 - pi + pi h((1 - pi) / pi),   h(x) the largest P1(S) - x P0(S): delta(ln x) for x >= 1.
"""

import dataclasses as dc
import math

import numpy as np

from ...accounting.tradeoff import TradeoffCurve
from ...core.privacy import Budget
from ...core.validation import check_real

GUESSES = 1000
ALARMS = 0.01  # share of others whom an attacker wrongly accuses


@dc.dataclass(frozen=True)
class Belief:
    """Largest belief and success of an attacker who believes that your record was used with probability `prior`.

    after: belief after any outcome; None unless the guarantee is pure. before: success without the release,
    max(prior, 1 - prior). right: success of the best guess. caught: share of members identified by an attacker who
    wrongly accuses 1 in 100 others.
    """

    prior: float
    after: float | None
    before: float
    right: float
    caught: float

    @property
    def words(self) -> str:
        """One sentence in natural frequencies.

        >>> from dpcore.accounting.tradeoff import PureCurve
        >>> belief_of(Budget(1.0), PureCurve(1.0), 1 / 10).words
        'An attacker who suspected you with a probability of 10% may suspect you with at most 23.2% afterwards.'
        >>> from dpcore.accounting.tradeoff import GaussianCurve
        >>> belief_of(Budget(1.0, 1e-6), GaussianCurve(0.236676), 1 / 2).words
        'Of 1,000 guesses at this prior, at most 548 are right; without the release, 500 are.'
        """
        if self.after is None:
            return (
                f"Of {GUESSES:,} guesses at this prior, at most {_of_all(self.right):,} are right; "
                f"without the release, {round(GUESSES * self.before):,} are."
            )
        return (
            f"An attacker who suspected you with a probability of {100 * self.prior:.4g}% may suspect you with at most "
            f"{_of_all(self.after) * 100 / GUESSES:.4g}% afterwards."
        )


def belief_of(guarantee: Budget, curve: TradeoffCurve, prior: float) -> Belief:
    """Limits that `guarantee` and the `curve` behind it set an attacker with this prior in (0, 1).

    For several releases: `RepeatedReleases.curve`, and its epsilon and delta.

    >>> from dpcore.accounting.tradeoff import PureCurve
    >>> belief = belief_of(Budget(1.0), PureCurve(1.0), prior=1 / 2)
    >>> round(belief.after, 6), round(belief.right, 6)
    (0.731059, 0.731059)
    """
    prior = check_real("prior", prior, "in (0, 1)", lambda v: 0 < v < 1)
    caught = 1.0 - float(curve.missed(np.array([ALARMS]))[0])
    after = prior / (prior + (1.0 - prior) * math.exp(-guarantee.epsilon)) if guarantee.pure else None
    # The neighbour relation is symmetric, so a prior above 1/2 can be replaced by 1 - prior.
    rare = min(prior, 1.0 - prior)
    told = float(curve.delta(np.array([math.log((1.0 - rare) / rare)]))[0])
    return Belief(prior, after, max(prior, 1.0 - prior), min(1.0, 1.0 - rare + rare * told), caught)


def _of_all(share: float) -> int:
    """Number of guesses for a share, rounded up, because it is stated as an upper bound."""
    return min(GUESSES, math.ceil(GUESSES * share - 1e-9))
