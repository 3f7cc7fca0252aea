"""Randomised response (Warner 1965): the coin with which each person answers a yes/no question."""

import dataclasses as dc
import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from ...core.validation import check_real, integer

DRAWS = 2**32  # equally likely draws of a coin: one random word of a phone
_DIGITS = 60


@dc.dataclass(frozen=True)
class Coin:
    """A coin of whole numbers: `keep` of 2^32 equally likely draws send the true answer, the others the other one.

    Guarantee: the message of one person is `epsilon`-differentially private, delta = 0, whoever receives it. For both
    messages m and both true answers, P(m | yes) <= e^epsilon P(m | no) and the reverse; neighbours differ in the answer
    of one person (replace one). e^epsilon = keep / (2^32 - keep).

    Not protected: that somebody takes part, and when; a second draw for the same answer, which costs epsilon again (k
    draws cost k epsilon, and their average tells the answer); an answer that somebody sees being given; people whose
    answers depend on one another.
    """

    keep: int

    def __post_init__(self) -> None:
        integer("keep", self.keep, at_least=DRAWS // 2 + 1)
        check_real("keep", self.keep, "below 2^32", lambda v: v < DRAWS)

    @property
    def p(self) -> float:
        """Probability that the true answer is sent; 32 bits are exact."""
        return self.keep / DRAWS

    @property
    def epsilon(self) -> float:
        """Privacy loss of one message."""
        return math.log(self.keep / (DRAWS - self.keep))

    def flip(self, answers: Any, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The messages of people with these true answers (True for yes); each call is another release.

        >>> coin_for(1.0).flip([True, True, False], np.random.default_rng(0)).tolist()
        [False, True, False]
        """
        truth = np.asarray(answers, bool)
        return truth == (rng.integers(0, DRAWS, truth.shape, np.uint64) < self.keep)


def coin_for(epsilon: float) -> Coin:
    """The coin that keeps most answers within `epsilon`, from 0.001 to 20: `keep` is rounded down, to more privacy.

    >>> coin_for(1.0).keep, coin_for(1.0).epsilon <= 1.0
    (3139872686, True)
    """
    check_real("epsilon", epsilon, "from 0.001 to 20", lambda v: 0.001 <= v <= 20)
    with localcontext(prec=_DIGITS):
        odds = Decimal(float(epsilon)).exp()
        return Coin(int(DRAWS * odds / (1 + odds)))
