"""Betting test of a claimed guarantee, valid whenever it is read: if the claim is true, its e-value grows only by luck.

A pair of runs, one on D0 and one on D1, bets a share w of the e-value that the scores distinguish the data sets better
than the claim allows. For any event S and any epsilon, (epsilon, delta)-privacy means
P1(S) - e^epsilon P0(S) <= delta, so that
    1 + w (1[s1 in S] - e^epsilon 1[s0 in S] - delta) / (e^epsilon + delta),   0 <= w <= 1,
is never negative and has a mean of at most 1. Products of such factors over fresh pairs are a supermartingale, and
their average over stakes, epsilons and both orders of D0 and D1 is one too. The probability that it ever reaches
1/alpha is at most alpha (Ville 1939): a reader may stop when it does, or play on.

Source: Gonzalez, Dulce, Ramdas and Ribero 2025 (constants explicit).
"""

import math

import numpy as np
from scipy.special import logsumexp

from ..accounting.tradeoff import TradeoffCurve
from ..core.arrays import Array
from ..core.validation import positive

# A claim is suspicious, or contradicted, with confidence 1 - alpha.
ALPHAS = (0.05, 0.001)
_STAKES = np.array([0.1, 0.3, 0.6, 0.9])
# Bets: the epsilon at which the claim is tested (0 tests the total variation) and the threshold of S, both as shares of
# the claimed epsilon. S = {score >= epsilon} would be best against code that leaks just what it claims; code that leaks
# more passes lower thresholds more often, and scores of Gamma noise never reach epsilon.
_BETS = np.array([(0.0, 0.0), (0.25, 0.0), (0.5, 0.25), (1.0, 0.6)])
_CHUNK = 100_000
# Numbers of pairs after which the e-value is stored: all of the first, then fewer and fewer.
_KEPT = np.unique(np.ceil(1.02 ** np.arange(800)).astype(np.int64))


class BettingTest:
    """E-value of a bet against the claim, 1/comparisons at the start.

    comparisons: number of bets that are shown together and share a stake of 1; the confidence is that of all of them.
    pairs, logs: numbers of pairs and ln of the e-value after each, [k] both, for a growing selection that ends with the
    last pair. reached: number of pairs after which the e-value was first at least 1/alpha, or None, for each of ALPHAS.

    >>> from dpcore.accounting.tradeoff import GaussianCurve
    >>> bet = BettingTest(GaussianCurve(0.1), epsilon=0.5)
    >>> bet.update(np.full(200, -1.0), np.full(200, 1.0))  # scores that are always right
    >>> bet.reached, bool(bet.logs[-1] > 100.0)
    ([8, 15], True)
    """

    def __init__(self, claim: TradeoffCurve, epsilon: float, comparisons: int = 1) -> None:
        at, thresholds = (_BETS * positive("epsilon", epsilon)).T
        self.reached: list[int | None] = [None for _ in ALPHAS]
        self._at, self._ratio, self._deltas = thresholds[:, None], np.exp(at)[:, None], claim.delta(at)[:, None]
        start = math.log(1.0 / comparisons)
        self._won = np.full((len(_STAKES), 2 * len(at)), start)
        self._waiting = np.empty(0), np.empty(0)
        self._last = (0, start)
        self._kept: list[tuple[int, float]] = [self._last]

    @property
    def pairs(self) -> Array:
        return np.array([pair for pair, _ in (*self._kept, self._last)])

    @property
    def logs(self) -> Array:
        return np.array([log for _, log in (*self._kept, self._last)])

    def update(self, zeros: Array, ones: Array) -> None:
        """Bet on the scores of further runs on D0 and on D1; a run without a partner waits for the next call."""
        zeros, ones = (np.concatenate(both) for both in zip(self._waiting, (zeros, ones), strict=True))
        pairs = min(len(zeros), len(ones))
        self._waiting = zeros[pairs:], ones[pairs:]
        for start in range(0, pairs, _CHUNK):
            end = min(start + _CHUNK, pairs)
            self._bet(zeros[start:end], ones[start:end])

    def _bet(self, zeros: Array, ones: Array) -> None:
        # S is {score >= t} for D1 against D0, and {-score >= t} for D0 against D1.
        gains = np.concatenate(
            [
                (right >= self._at) - self._ratio * (wrong >= self._at) - self._deltas
                for right, wrong in ((ones, zeros), (-zeros, -ones))
            ]
        )
        gains /= np.tile(self._ratio + self._deltas, (2, 1))
        won = self._won[..., None] + np.cumsum(np.log1p(_STAKES[:, None, None] * gains), axis=2)
        self._won = won[..., -1]
        logs = logsumexp(won, axis=(0, 1)) - math.log(self._won.size)
        before = self._last[0]
        for k, alpha in enumerate(ALPHAS):
            if self.reached[k] is None and logs.max() >= -math.log(alpha):
                self.reached[k] = before + 1 + int(np.argmax(logs >= -math.log(alpha)))
        kept = _KEPT[before < _KEPT]
        kept = kept[kept <= before + len(logs)]
        self._kept += [(int(pair), float(logs[pair - before - 1])) for pair in kept]
        self._last = before + len(logs), float(logs[-1])
