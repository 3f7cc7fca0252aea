"""Where an upper bound says something, in one line below a chart of excess risk."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpcore.studies.hardest.excess import Hardest
from dpcore.studies.hardest.growth import first_below
from pages.ui.numbers import nearest, rounded

NO_LOWER = "No lower bound is proved here."
Curve = tuple[str, Any, Any]  # a name, the measured means and the upper bound along the axis


def verdict(
    x: Any,
    curves: Sequence[Curve],
    nothing: Any,
    at: float,
    name: str,
    *,
    text: Callable[[float], str] = "{:,g}".format,
    noun: str = "upper bound",
) -> str:
    """From where on each upper bound is below the excess of a model that learns nothing, and how far it is above the
    measurement at the cursor.

    nothing: along the axis, or one number; a row for each curve where they differ. at, name: of the cursor, and of what
    the axis holds; text: how its places are written. noun: of one bound. A curve's name may be "" where there is one
    only.

    >>> x, mean, bound = [0.1, 1.0, 10.0], [0.3, 0.1, 0.01], [3.0, 0.2, 0.02]
    >>> print(verdict(x, [("", mean, bound)], 0.25, 10.0, "ε"))
    At ε = 10 the upper bound is 2 times the measurement; it is below “nothing learned” from ε = 1 on.
    """
    x = np.asarray(x, float)
    k, places, factors = nearest(x, at), dict[str, str](), []
    for (title, means, bounds), level in zip(curves, np.broadcast_to(nothing, (len(curves), len(x))), strict=True):
        mean, bound = np.asarray(means, float), np.asarray(bounds, float)
        if not np.isfinite(bound).any():
            continue
        places[title] = _where(x, bound < level, name, text)
        if np.isfinite(bound[k]) and mean[k] > 0.0:
            factors.append(rounded(bound[k] / mean[k], 2) + (f" ({title})" if title else ""))
    if not places:
        return ""
    several = len(places) > 1
    kind, they, be = ("upper bounds", "they", "are") if several else (noun, "it", "is")
    alike = len({*places.values()}) == 1
    told = [*places.values()][:1] if alike else [f"for {title} {place}" for title, place in places.items()]
    informative = f"{be} below “nothing learned” {', '.join(told)}."
    if not factors:
        return f"The {kind} {informative}"
    *most, last = factors
    above = f"{', '.join(most)} and {last}" if most else last
    return f"At {name} = {text(x[k])} the {kind} {be} {above} times the measurement; {they} {informative}"


def lower_verdict(x: Any, means: Any, least: Any, at: float) -> str:
    """The factor between a lower bound and the measurement at the cursor, or that none is proved there.

    >>> lower_verdict([1.0, 10.0], [0.3, 0.1], [0.2, float("nan")], 1.0)
    'The measurement is 1.5 times the lower bound.'
    >>> lower_verdict([1.0], [0.3], [0.302], 1.0)
    'The measurement is as large as the lower bound.'
    >>> lower_verdict([1.0], [0.3], [0.0], 1.0) == NO_LOWER
    True
    """
    k = nearest(np.asarray(x, float), at)
    mean, bound = float(np.asarray(means)[k]), float(np.asarray(least)[k])
    if not (np.isfinite(mean) and bound > 0.0):
        return NO_LOWER
    if abs(mean - bound) < 0.05 * min(mean, bound):
        return "The measurement is as large as the lower bound."
    if mean >= bound:
        return f"The measurement is {rounded(mean / bound, 2)} times the lower bound."
    factor = f"{rounded(bound / mean, 2)} times" if mean > 0.0 else "above"
    return f"The lower bound is {factor} the measurement: easier data may fall below it."


def informative_from(n: int, bound: Callable[[int], float], nothing: float) -> str:
    """From which n on an upper bound that says nothing at n is below the excess of learning nothing, in a sentence; ""
    where that is out of reach.

    >>> informative_from(1_000, lambda n: 100.0 / n**0.5, 0.25)
    'It says something from about n = 170,000 on.'
    """
    enough = first_below(bound, n, nothing)
    return f"It says something from about n = {enough:,} on." if enough else ""


def hardest_line(found: Hardest | None, epsilon: float, n: int) -> str:
    """How far the bounds are from the hardest records known at the budget nearest to the cursor, how they fall with n,
    and from which n on the upper one says something; "" where nothing is known.

    n: of the chart.
    """
    k = nearest(np.log(found.epsilon), math.log(epsilon)) if found else 0
    if found is None or not np.isfinite(found.mean[k]):
        return ""
    mean, bound, lower, enough = (float(each[k]) for each in (found.mean, found.bound, found.lower, found.enough))
    told = (
        f"On the hardest records known at ε = {found.epsilon[k]:g} the upper bound is {rounded(bound / mean, 2)} times "
        "the mean"
    )
    if lower > 0.0:
        told += f", which is {rounded(mean / lower, 2)} times the lower bound"
        if np.isfinite(found.powers[:, k]).all():
            up, down = (rounded(10.0 ** float(power), 2) for power in found.powers[:, k])
            told += f"; ten times the records divide the bounds by {up} and {down}"
    if enough > n:
        told += f". The upper bound is below the loss of θ = 0 from n = {enough:,.0f} on"
    return f"{told}."


def _where(x: np.ndarray, below: np.ndarray, name: str, text: Callable[[float], str]) -> str:
    """On which part of the axis a bound is below the excess of learning nothing."""
    if not below.any():
        return "nowhere on this axis"
    first, last = np.flatnonzero(below)[[0, -1]]
    if not below[first : last + 1].all():
        return f"at {below.sum()} of {len(x)} points"
    if first == last:
        return f"at {name} = {text(x[first])} only"
    if first == 0 and last == len(x) - 1:
        return "all along this axis"
    if last == len(x) - 1:
        return f"from {name} = {text(x[first])} on"
    if first == 0:
        return f"up to {name} = {text(x[last])}"
    return f"from {name} = {text(x[first])} to {text(x[last])}"
