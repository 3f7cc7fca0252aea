"""Numbers and sentences as the pages write them."""

from __future__ import annotations

import html
import re


def emphasised(sentence: str, colour: str) -> str:
    """The sentence as HTML, with what stands between ** in the chart's colour."""
    marked = re.sub(r"\*\*(.+?)\*\*", rf'<b style="color:{colour}">\1</b>', html.escape(sentence))
    return f'<p style="font-size:1.25rem;line-height:1.4;margin:0">{marked}</p>'


def plain(sentence: str) -> str:
    """The sentence without its marks, for screen readers."""
    return sentence.replace("**", "")


def tenths(value: float) -> str:
    """A number with one decimal, without a negative zero.

    >>> tenths(2.25), tenths(-0.04)
    ('2.2', '0.0')
    """
    return f"{round(value, 1) + 0.0:.1f}"


def points(value: float) -> str:
    """A difference in accuracy: "0.5 points", "1.0 point".

    >>> points(1.0), points(2.25)
    ('1.0 point', '2.2 points')
    """
    shown = tenths(value)
    return f"{shown} point" if shown in ("1.0", "-1.0") else f"{shown} points"
