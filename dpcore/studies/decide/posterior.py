"""An attacker's posterior after a release, and attack success: "your record, or another in its place?"

Pure epsilon: for every outcome o, P(o | your record) <= e^epsilon P(o | another), so his odds grow by e^epsilon at
most, whatever he saw. That needs a prior under which the other records do not depend on which of the two is in. With
delta > 0 some outcome may settle the matter, so nothing is said of what he believes after one outcome, only of how
often his best guess is right: pi P1(S) + (1 - pi) (1 - P0(S)) at its largest over guesses S, which is
    1 - pi + pi h((1 - pi) / pi),   h(x) the most that P1(S) - x P0(S) can be: delta(ln x) for x >= 1.
"""

import dataclasses as dc
import math

import numpy as np

from ...accounting.tradeoff import TradeoffCurve
from ...core.privacy import Budget
from ...core.validation import check_real

PRIORS = (1 / 2, 1 / 10, 1 / 1000)
GUESSES = 1000
ALARMS = 0.01  # how often an attacker who must be sure accuses in vain


@dc.dataclass(frozen=True)
class Belief:
    """Posterior of an attacker who believed in your record with probability `prior`, and its largest values.

    after: what he may believe after any outcome; None unless the promise is pure. before: how often he is right who
    does not look, max(prior, 1 - prior). right: how often the best guess is right. caught: of people whose record it
    is, the share that is found by an attacker who accuses in vain in 1 of 100 cases.
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
        'Who suspected you with a chance of 100 in 1,000 may suspect you with 232 in 1,000 afterwards, and not more.'
        >>> from dpcore.accounting.tradeoff import GaussianCurve
        >>> belief_of(Budget(1.0, 1e-6), GaussianCurve(0.236676), 1 / 2).words
        'Of 1,000 such guesses at most 548 are right; without the release 500 are.'
        """
        if self.after is None:
            return (
                f"Of {GUESSES:,} such guesses at most {_of_all(self.right):,} are right; "
                f"without the release {round(GUESSES * self.before):,} are."
            )
        return (
            f"Who suspected you with a chance of {_plain(GUESSES * self.prior)} in {GUESSES:,} may suspect you with "
            f"{_of_all(self.after):,} in {GUESSES:,} afterwards, and not more."
        )


def belief_of(promise: Budget, curve: TradeoffCurve, prior: float) -> Belief:
    """Limits from `promise` and the `curve` behind it for an attacker with this prior in (0, 1).

    For several releases: `RepeatedReleases.curve`, and its epsilon and delta.

    >>> from dpcore.accounting.tradeoff import PureCurve
    >>> belief = belief_of(Budget(1.0), PureCurve(1.0), prior=1 / 2)
    >>> round(belief.after, 6), round(belief.right, 6)
    (0.731059, 0.731059)
    """
    prior = check_real("prior", prior, "in (0, 1)", lambda v: 0 < v < 1)
    caught = 1.0 - float(curve.missed(np.array([ALARMS]))[0])
    after = prior / (prior + (1.0 - prior) * math.exp(-promise.epsilon)) if promise.pure else None
    # Neighbours may change places, so that a prior above 1/2 is as good as what it leaves.
    rare = min(prior, 1.0 - prior)
    told = float(curve.delta(np.array([math.log((1.0 - rare) / rare)]))[0])
    return Belief(prior, after, max(prior, 1.0 - prior), min(1.0, 1.0 - rare + rare * told), caught)


def _of_all(share: float) -> int:
    """Rounded up: it is said to be the most."""
    return min(GUESSES, math.ceil(GUESSES * share - 1e-9))


def _plain(number: float) -> str:
    return f"{number:,.4g}"
