"""What several pages say of the records that they are drawn from, and of every seeded run."""

from __future__ import annotations

from dpcore.data import Source
from pages.ui.html import readable

SEEDED = (
    "**A seeded run** like this one shows what a mechanism does; only a release with fresh noise carries its promise."
)


def axis_title(source: Source) -> str:
    """What an axis of accuracy counts."""
    return f"{source.things} {source.outcome}, %"


def records_line(source: Source) -> str:
    """Where the records come from, and what is promised of each."""
    return (
        f"**Records:** {source.label}; {readable(source.scaling)}. That keeps ‖x‖ ≤ 1; a record beyond it would be "
        "refused."
    )


def neighbours_line(source: Source) -> str:
    """Which data sets are neighbours, and what is public."""
    return f"**Neighbours:** any one {source.record} replaced by another. n, p, λ and the bounds are public."
