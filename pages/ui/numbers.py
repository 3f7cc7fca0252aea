"""Numbers as the pages write them."""

from decimal import Context

import numpy as np
from numpy.typing import ArrayLike

from dpcore.figures.style import plain_number

LEARNED = "what can be learned"


def tenths(value: float) -> str:
    """A number with one decimal, without a negative zero. numpy would round its own numbers otherwise.

    >>> tenths(2.25), tenths(-0.04), tenths(-1.0)
    ('2.2', '0.0', '−1.0')
    """
    return f"{round(float(value), 1) + 0.0:.1f}".replace("-", "−")


def rounded(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, as people write it: below 0.0001 with a power of ten, from a million
    on in words.

    >>> rounded(0.0000346012), rounded(219.7, 2), rounded(-0.25), rounded(5_640.0, 2), rounded(1_234_567.0)
    ('3.46 × 10⁻⁵', '220', '−0.25', '5,600', '1.23 million')
    """
    shown = float(f"{value:.{digits}g}")
    if 0.0 < abs(shown) < 1e-4:
        mantissa, exponent = f"{shown:e}".split("e")
        return scientific(f"{float(mantissa):g}", int(exponent)).replace("-", "−")
    return (worded(shown, digits) if shown >= 1_000 else plain_number(shown)).replace("-", "−")


def safely(value: float, rounding: str, digits: int = 3) -> str:
    """A number rounded to so many digits by a rounding of `decimal`, but not because a computer has no 0.1.

    >>> from decimal import ROUND_DOWN, ROUND_UP
    >>> safely(1.2341, ROUND_UP), safely(0.1 + 0.2, ROUND_UP), safely(0.2987, ROUND_DOWN, 2)
    ('1.24', '0.3', '0.29')
    """
    return rounded(float(Context(prec=digits, rounding=rounding).create_decimal(f"{value:.12g}")), digits)


def points(value: float) -> str:
    """A difference in accuracy: "0.5 points", "1.0 point".

    >>> points(1.0), points(2.25)
    ('1.0 point', '2.2 points')
    """
    shown = tenths(value)
    return f"{shown} point" if shown in ("1.0", "−1.0") else f"{shown} points"


def cost(excess: float, nothing: float, digits: int = 2) -> str:
    """An excess risk as a share of what can be learned, that is of the excess risk of learning nothing, which is > 0.

    >>> cost(0.0001, 0.25), cost(0.006, 0.25), cost(0.09, 0.25), cost(0.0912, 0.25, 3), cost(-0.01, 0.25)
    ('0.04%', '2.4%', '36%', '36.5%', '0%')
    """
    return f"{rounded(100 * max(excess / nothing, 0.0), digits)}%"


def share(excess: float, nothing: float, of: str = "") -> str:
    """`cost` with the name of the whole; where none is given, "it", which a percentage need not say.

    >>> share(0.09, 0.25), share(0.249, 0.25), share(0.5, 0.25, LEARNED)
    ('36%', 'all of it', 'more than there is to learn')
    """
    if excess < 0.995 * nothing:
        return cost(excess, nothing) + (f" of {of}" if of else "")
    return f"all of {of or 'it'}" if excess < 1.005 * nothing else "more than there is to learn"


def rate(slope: float) -> str:
    """A measured power of n.

    >>> rate(-0.968)
    'n⁻⁰·⁹⁷'
    """
    return power("n", f"{slope:.2f}")


def power(base: str, exponent: str) -> str:
    """
    >>> power("n", "2"), power("R", "p"), power("d", "1/2 − 1/p")
    ('n²', 'Rᵖ', 'd¹⁄²⁻¹⁄ᵖ')
    """
    return base + exponent.translate(str.maketrans("-−0123456789./pr", "⁻⁻⁰¹²³⁴⁵⁶⁷⁸⁹·⁄ᵖʳ", " "))


def scientific(mantissa: str, exponent: int) -> str:
    if 0 <= exponent < 15:
        return f"{float(f'{mantissa}e{exponent}'):,.0f}"
    return ("" if mantissa == "1" else f"{mantissa} × ") + power("10", str(exponent))


def worded(count: float, digits: int = 2) -> str:
    """A large number in words, to so many digits.

    >>> worded(54_321.0), worded(1_234_567.0), worded(7.1e9), worded(133_496_331, 3)
    ('54,000', '1.2 million', '7.1 billion', '133 million')
    """
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if count >= size:
            return f"{float(f'{count / size:.{digits}g}'):g} {word}"
    return f"{float(f'{count:.{digits}g}'):,.0f}"


def amount(value: float) -> str:
    """A quantity to three digits, or four from 1,000 on.

    >>> amount(1963.4), amount(48.36), amount(-406.2), amount(100263.1)
    ('1,963', '48.4', '−406', '100,300')
    """
    if abs(value) < 1_000:
        return rounded(value)
    return f"{float(f'{value:.4g}'):,.0f}".replace("-", "−")


def nearest(grid: ArrayLike, value: float) -> int:
    """Which of a grid's numbers is nearest to a value, the first of several.

    >>> nearest((1.0, 10.0, 100.0), 12.0)
    1
    """
    return int(np.argmin(np.abs(np.asarray(grid) - value)))
