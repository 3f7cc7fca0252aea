"""What n messages of randomised response tell about the n people who sent them, and what a trusted server would need.

The people are the data set: their answers are fixed, only the coins are random. All shares are of these n people.
"""

import dataclasses as dc
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import bdtr

from ...core.arrays import Array
from ...core.rng import generator
from ...core.validation import check_real, integer
from .coin import Coin, coin_for

MOST_PEOPLE = 500  # the exact bound looks at every number of true answers
CONFIDENCE = 0.95
_KEY = "randomised_response"


@dc.dataclass(frozen=True)
class Survey:
    """`yes` of n messages say yes; estimate and 95% interval of the share of people whose true answer is yes.

    estimate: unbiased before it is cut to [0, 1], which brings it nearer to the truth. low, high: the shares for which
    neither tail of the number of messages has a probability of 2.5% or less (exact, by the law of the coins alone).
    bound: as `error_bound`. Of a simulated class only: share, the true one, and server, what a trusted server with the
    same epsilon tells.
    """

    n: int
    yes: int
    coin: Coin
    estimate: float
    low: float
    high: float
    bound: float
    share: float | None = None
    server: float | None = None


@dc.dataclass(frozen=True)
class AgainstPeople:
    """Error bounds of the share against the number of people: each their own coin, and a trusted server's noise."""

    epsilon: float
    people: Array
    local: Array
    central: Array


def survey_of(yes: int, n: int, coin: Coin) -> Survey:
    """What `yes` messages of n tell.

    >>> found = survey_of(24, 50, coin_for(1.0))
    >>> [round(x, 3) for x in (found.estimate, found.low, found.high, found.bound)]
    [0.457, 0.18, 0.74, 0.28]
    """
    n, yes = _people(n), integer("yes", yes, at_least=0)
    check_real("yes", yes, f"at most n = {n}", lambda v: v <= n)
    low, high = _interval(yes, n, coin)
    return Survey(n, yes, coin, float(_estimates(n, coin)[yes]), low / n, high / n, error_bound(n, coin))


def simulated(n: int, share: float, epsilon: float, seed: int) -> Survey:
    """The survey of a class that does not exist: n people, of whom a share (rounded to whole people) would say yes.

    >>> simulated(100, 0.3, 1.0, seed=7).share
    0.3
    """
    n = _people(n)
    check_real("share", share, "from 0 to 1", lambda v: 0 <= v <= 1)
    coin, true = coin_for(epsilon), round(n * share)
    messages = coin.flip(np.arange(n) < true, generator(integer("seed", seed, at_least=0), _KEY, 0))
    noise = generator(seed, _KEY, 1).laplace(scale=1.0 / epsilon)
    server = min(max((true + noise) / n, 0.0), 1.0)
    return dc.replace(survey_of(int(messages.sum()), n, coin), share=true / n, server=server)


@functools.lru_cache(256)
def error_bound(n: int, coin: Coin) -> float:
    """Smallest t such that the estimate is within t of the true share with probability 95%, whatever the true answers.

    Exact: the law of the messages for every number of true answers, from its characteristic function.

    >>> round(error_bound(100, coin_for(1.0)), 3), error_bound(100, coin_for(0.1))
    (0.195, 1.0)
    """
    n, p = _people(n), coin.p
    # k and n - k true answers have mirrored laws.
    true = np.arange(n // 2 + 1)[:, None]
    z = np.exp(-2j * np.pi * np.arange(n + 1) / (n + 1))
    law = np.fft.ifft((p * z + 1 - p) ** true * ((1 - p) * z + p) ** (n - true), axis=1).real
    error = np.abs(_estimates(n, coin) - true / n)
    order = np.argsort(error, axis=1)
    reached = np.cumsum(np.take_along_axis(law, order, axis=1), axis=1) >= CONFIDENCE
    return float(np.take_along_axis(error, order, axis=1)[np.arange(len(true)), reached.argmax(axis=1)].max())


def central_bound(n: int, epsilon: float) -> float:
    """As `error_bound`, for a trusted server that adds Laplace noise of scale 1/epsilon to the number of yes.

    One replaced answer moves that number by 1, so that this has the same epsilon and neighbours.

    >>> round(central_bound(100, 1.0), 3)
    0.03
    """
    return min(1.0, -math.log(1.0 - CONFIDENCE) / (_people(n) * epsilon))


def people_needed(error: float, epsilon: float) -> int:
    """Number of people with which a trusted server reaches an error bound.

    >>> people_needed(0.19, 1.0)
    16
    """
    return math.ceil(-math.log(1.0 - CONFIDENCE) / (error * epsilon))


def against_people(epsilon: float, people: Sequence[int]) -> AgainstPeople:
    """Both error bounds for each number of people."""
    coin = coin_for(epsilon)
    local, central = [error_bound(n, coin) for n in people], [central_bound(n, epsilon) for n in people]
    return AgainstPeople(epsilon, np.array(people, float), np.array(local), np.array(central))


def _people(n: object) -> int:
    people = integer("n", n, at_least=1)
    check_real("n", people, f"at most {MOST_PEOPLE:,}", lambda v: v <= MOST_PEOPLE)
    return people


def _estimates(n: int, coin: Coin) -> Array:
    """The estimate for each number of messages that say yes."""
    p = coin.p
    return np.clip((np.arange(n + 1) / n - (1 - p)) / (2 * p - 1), 0.0, 1.0)


def _interval(yes: int, n: int, coin: Coin) -> tuple[int, int]:
    """Smallest and largest number of true answers that the messages do not refute."""
    tail = (1.0 - CONFIDENCE) / 2
    # With more true answers more messages say yes: one tail grows, the other falls.
    low = _first(lambda true: 1.0 - _at_most(yes - 1, true, n, coin) > tail, n)
    return low, n - _first(lambda false: _at_most(yes, n - false, n, coin) > tail, n)


def _at_most(yes: int, true: int, n: int, coin: Coin) -> float:
    """Probability that at most `yes` messages say yes."""
    if yes < 0:
        return 0.0
    kept = np.arange(min(yes, true) + 1)
    below = bdtr(kept, true, coin.p)
    others = bdtr(np.minimum(yes - kept, n - true), n - true, 1.0 - coin.p)
    return float(np.diff(below, prepend=0.0) @ others)


def _first(holds: Callable[[int], bool], last: int) -> int:
    """First of 0, ..., last for which it holds, and it holds from there on; `last` where it never does."""
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
