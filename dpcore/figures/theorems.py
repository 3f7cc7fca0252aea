"""The theorem behind a bound, which hovering over the bound's line or label shows."""

import functools
import textwrap
from typing import Any

from ..core.facts import facts_beside

THEOREMS = {name: row for row in facts_beside(__file__, "theorems.csv") for name in row["names"].split()}
_SIGNS = {"upper": "≤", "lower": "≥"}
_WIDTH = 38  # characters: a line has room on a phone


@functools.cache
def theorem(layer: str) -> str:
    """Formula, assumptions and source of a layer that names its theorem; "" for one that does not.

    >>> theorem("lower packing").split("<br>")[-1], theorem("nothing")
    ('Source: packing', '')
    """
    kind, _, name = layer.partition(" ")
    if not name:
        return ""
    proved = THEOREMS[name]
    said = f"{_SIGNS[kind]} {proved['formula']}", f"Assumes {proved['assumes']}", f"Source: {proved['source']}"
    return "<br>".join("<br>".join(textwrap.wrap(each, _WIDTH, break_on_hyphens=False)) for each in said)


def constants(rows: Any) -> list[str]:
    """Constants of the theorems at each row of a table of experiments, for `Chart.curve` as its `text`."""
    told = rows[["n", "p", "lam", "scale", "steps"]].itertuples(index=False)
    return [
        f"Here n = {n:,.0f}, p = {p:,.0f}, λ = {lam:.3g},<br>noise {s:.3g}, steps {T:,.0f}" for n, p, lam, s, T in told
    ]
