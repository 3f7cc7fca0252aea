"""Numbers and sentences as the pages write them."""

from __future__ import annotations

import html
import re

from dpcore.figures import plain_number


def emphasised(sentence: str, colour: str) -> str:
    """The sentence as HTML, with what stands between ** in the chart's colour."""
    marked = re.sub(r"\*\*(.+?)\*\*", rf'<b style="color:{colour}">\1</b>', html.escape(sentence))
    return f'<p style="font-size:1.25rem;line-height:1.4;margin:0" class="takeaway">{marked}</p>'


def framed(text: str, *, strong: bool) -> str:
    """A short remark in a frame as HTML; a strong one is a warning. st.badge would cut it on a phone."""
    look = "border:2px solid;font-weight:600" if strong else "border:1px solid"
    style = f"display:inline-block;{look};border-radius:0.5rem;padding:0.1rem 0.6rem;font-size:0.875rem"
    return f'<span style="{style}">{html.escape(text)}</span>'


def plain(sentence: str) -> str:
    """The sentence without its marks, for screen readers."""
    return sentence.replace("**", "")


def tenths(value: float) -> str:
    """A number with one decimal, without a negative zero.

    >>> tenths(2.25), tenths(-0.04)
    ('2.2', '0.0')
    """
    return f"{round(value, 1) + 0.0:.1f}"


def rounded(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, as people write it.

    >>> rounded(0.0000346012), rounded(219.7, 2), rounded(-0.25)
    ('0.0000346', '220', '−0.25')
    """
    return plain_number(float(f"{value:.{digits}g}")).replace("-", "−")


def points(value: float) -> str:
    """A difference in accuracy: "0.5 points", "1.0 point".

    >>> points(1.0), points(2.25)
    ('1.0 point', '2.2 points')
    """
    shown = tenths(value)
    return f"{shown} point" if shown in ("1.0", "-1.0") else f"{shown} points"


def readable(reason: str) -> str:
    """A library's sentence with the page's letters.

    >>> readable("needs lam > 0.02 for epsilon = 0.1 and n = 500")
    'needs λ > 0.02 for ε = 0.1 and n = 500'
    """
    for name, letter in (("lam", "λ"), ("epsilon", "ε"), ("delta", "δ")):
        reason = re.sub(rf"\b{name}\b", letter, reason)
    return reason


def people(count: float) -> str:
    """A number of people in words, to two digits.

    >>> people(54_321.0), people(1_234_567.0), people(7.1e9)
    ('54,000', '1.2 million', '7.1 billion')
    """
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if count >= size:
            return f"{float(f'{count / size:.2g}'):g} {word}"
    return f"{float(f'{count:.2g}'):,.0f}"
