"""Where an upper bound says something, in one line below a chart of excess risk."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pages.ui.numbers import nearest, rounded

NO_LOWER = "No lower bound is proved for this setting."
Curve = tuple[str, Any, Any]  # a name, the measured means and the upper bound along the axis


def verdict(
    x: Any,
    curves: Sequence[Curve],
    nothing: Any,
    at: float,
    name: str,
    *,
    text: Callable[[float], str] = "{:,g}".format,
) -> str:
    """From where on each upper bound is below the excess of a model that learns nothing, and how far it is above the
    measurement at the cursor.

    nothing: along the axis, or one number. at, name: of the cursor, and of what the axis holds; text: how its places
    are written. A curve's name may be "" where there is one only.

    >>> x, mean, bound = [0.1, 1.0, 10.0], [0.3, 0.1, 0.01], [3.0, 0.2, 0.02]
    >>> verdict(x, [("", mean, bound)], 0.25, 10.0, "ε")
    'Upper bound (informative where below “nothing learned”): from ε = 1 on, here 2 times the measurement.'
    """
    x, level = np.asarray(x, float), np.asarray(nothing, float)
    parts = []
    for title, means, bounds in curves:
        mean, bound = np.asarray(means, float), np.asarray(bounds, float)
        if not np.isfinite(bound).any():
            continue
        k, said = nearest(x, at), f"{title} {_where(x, bound < level, name, text)}".lstrip()
        if np.isfinite(bound[k]) and mean[k] > 0.0:
            said += f", here {rounded(bound[k] / mean[k], 2)} times the measurement"
        parts.append(said)
    if not parts:
        return ""
    kind = "Upper bounds" if len(parts) > 1 else "Upper bound"
    return f"{kind} (informative where below “nothing learned”): {'; '.join(parts)}."


def lower_verdict(x: Any, means: Any, least: Any, at: float) -> str:
    """How many times a lower bound the measurement at the cursor is, or that none is proved there.

    >>> lower_verdict([1.0, 10.0], [0.3, 0.1], [0.2, float("nan")], 1.0)
    'Lower bound (hardest data): here the measurement is 1.5 times it.'
    """
    k = nearest(np.asarray(x, float), at)
    share = np.asarray(means, float)[k] / np.asarray(least, float)[k]
    if not np.isfinite(share):
        return NO_LOWER
    here = "here" if share >= 1.0 else "on this data set"
    return f"Lower bound (hardest data): {here} the measurement is {rounded(share, 2)} times it."


def _where(x: np.ndarray, below: np.ndarray, name: str, text: Callable[[float], str]) -> str:
    """On which part of the axis a bound is below the excess of learning nothing."""
    if not below.any():
        return "nowhere on this axis"
    first, last = np.flatnonzero(below)[[0, -1]]
    if not below[first : last + 1].all():
        return f"at {below.sum()} of {len(x)} points"
    if first == 0 and last == len(x) - 1:
        return "all along this axis"
    if last == len(x) - 1:
        return f"from {name} = {text(x[first])} on"
    if first == 0:
        return f"up to {name} = {text(x[last])}"
    return f"from {name} = {text(x[first])} to {text(x[last])}"
