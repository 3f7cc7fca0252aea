"""Roots of increasing functions with few evaluations, by the Illinois method.

scipy's `brentq` stops when x is known to a tolerance; these stop when f(x) is small enough.
"""

import itertools
from collections.abc import Callable, Iterator


def illinois(
    f: Callable[[float], float], low: float, f_low: float, high: float, f_high: float
) -> Iterator[tuple[float, float]]:
    """Points x with f(x), ever nearer to a root between low and high; f increases from f_low < 0 to f_high > 0."""
    side = 0
    while True:
        x = (low * f_high - high * f_low) / (f_high - f_low)
        value = f(x)
        yield x, value
        # The value of an end that stays twice in a row is halved; plain regula falsi would keep it for ever.
        if value > 0.0:
            high, f_high = x, value
            f_low, side = (f_low / 2.0 if side > 0 else f_low), 1
        else:
            low, f_low = x, value
            f_high, side = (f_high / 2.0 if side < 0 else f_high), -1


def find_root(
    f: Callable[[float], float], low: float, f_low: float, high: float, f_high: float, tol: float, max_steps: int
) -> float:
    """x with |f(x)| <= tol between low and high, or the last point tried when max_steps evaluations find none."""
    for x, value in itertools.islice(illinois(f, low, f_low, high, f_high), max_steps):
        if abs(value) <= tol:
            return x
    return x
