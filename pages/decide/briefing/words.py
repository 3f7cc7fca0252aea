"""The sentences of a briefing, from sentences.json: {path:form} stands there for a value of the document.

No sentence holds a number or a word of the user's by itself; the page can only say what the download says.
"""

import json
import re
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal
from functools import partial
from typing import Any

from dpcore.core.facts import text_beside
from dpcore.figures.style import plain_number
from pages.ui.numbers import points, rounded, tenths

Document = dict[str, Any]
_NOTHING = 0.05  # points that are shown as 0.0
_NEAR = 5.0  # points above the larger class below which its accuracy is named
_PLACE = re.compile(r"\{([\w.]+):(\w+)\}")
_SAID: dict[str, Any] = json.loads(text_beside(__file__, "sentences.json"))
HEADING: str = _SAID["heading"]
COST: str = _SAID["cost"]  # accuracy loss at the guarantee's epsilon, consequence first
ATTACKER: str = _SAID["attacker"]
ABOUT: str = _SAID["about"]
BLANKS: list[str] = _SAID["blanks"]  # lines of the page to sign that are filled in by hand


def _spent(value: float) -> str:
    """Three digits, rounded up: the privacy spent is no more than the number that is read."""
    return plain_number(float(Context(prec=3, rounding=ROUND_UP).create_decimal(repr(value))))


def _one_in(value: float) -> str:
    """A small probability, to three digits and rounded up."""
    return f"1 in {Context(prec=3, rounding=ROUND_DOWN).divide(Decimal(1), Decimal(repr(value))):,f}"


FORMS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "plain": plain_number,
    "two": partial(rounded, digits=2),
    "spent": _spent,
    "count": lambda value: f"{value:,.0f}",
    "tenths": tenths,
    "points": points,
    "percent": lambda value: f"{100 * value:g}%",
    "percent_tenths": lambda value: f"{tenths(100 * value)}%",
    "share": lambda value: f"{100 * value:.0f}%",
    "one_in": _one_in,
}


def look_up(document: Document, path: str) -> Any:
    """The value at a path like "warnings.0".

    >>> look_up({"guarantee": {"epsilon": 1.0}}, "guarantee.epsilon")
    1.0
    """
    found: Any = document
    for step in path.split("."):
        found = found[int(step)] if isinstance(found, list) else found[step]
    return found


def fill(
    sentence: str, document: Document, mark: Callable[[str, str, str], str] = lambda path, form, text: text
) -> str:
    """The sentence with the document's values in their places; mark(path, form, text) may wrap each.

    >>> fill("{n:count} {source.records:text}", {"n": 5000, "source": {"records": "patients"}})
    '5,000 patients'
    >>> fill("{a:percent_tenths}, {a:one_in}, {a:spent}", {"a": 0.0512})
    '5.1%, 1 in 19.5, 0.0512'
    """
    return _PLACE.sub(lambda m: mark(m[1], m[2], FORMS[m[2]](look_up(document, m[1]))), sentence)


def budget(document: Document) -> str:
    """The answer to the budget question."""
    if none := nothing(document):
        return none
    found, said = document["budget"], _SAID["budget"]
    if found["value"] is None:
        return said["none"] + ("" if found["low"] is None else said["none, not certain"])
    if found["at_first"]:
        return said["any"]
    least = "below the scale" if found["low"] is None else "{budget.low:two}"
    most = "beyond the scale" if found["high"] is None else "{budget.high:two}"
    return f"{said['smallest']} ({{confidence:percent}} interval: {least} to {most})."


def learned(score: float, reference: float, floor: float) -> Document:
    """Points lost and points that can be learned above `floor`, with the shares that they come from.

    score, reference, floor: accuracy with privacy, without it, and of the larger class. lost_share: of the
    points that can be learned; None where there are none.

    >>> found = learned(0.870, 0.890, 0.859)
    >>> round(found["lost"], 9), round(found["learnable"], 9), round(found["lost_share"], 2)
    (2.0, 3.1, 0.65)
    """
    lost, learnable = 100.0 * (reference - score), 100.0 * (reference - floor)
    share = lost / learnable if learnable >= _NOTHING else None
    known = {"score": score, "reference": reference, "floor": floor}
    return known | {"lost": lost, "learnable": learnable, "lost_share": share}


def nothing(document: Document) -> str:
    """Warning that nothing can be learned above the larger class; "" where something can."""
    return _SAID["nothing"] if document["lost_share"] is None else ""


def floor(document: Document) -> str:
    """Comparison with the accuracy of the larger class; "" where the model is far above it."""
    above = 100.0 * (document["score"] - document["floor"])
    if document["lost_share"] is None or above > _NEAR:
        return ""
    said = _SAID["floor"]
    if above < _NOTHING:
        return said["no better"]
    return said["above"] + said["free" if document["lost"] < _NOTHING else "given up"]


def share(document: Document) -> str:
    """Share of the points above the larger class that is lost, to stand after a loss; "" where there are none."""
    if document["lost_share"] is None or document["lost"] < _NOTHING:
        return ""
    told = "all" if document["lost_share"] >= 1.0 else "{lost_share:share}"
    return fill(f"; {told} of the {{learnable:points}} that learning gains over the larger class", document)


def guarantee(document: Document) -> str:
    """The guarantee, its unit, and the privacy spent."""
    said, asked = _SAID["guarantee"], document["guarantee"]
    slack = said["slack" if asked["delta"] else "no slack"]
    return said["stated"] + slack + said["spent"] + (said["spent slack"] if asked["spent_delta"] else "")


def nothing_to_sign(document: Document) -> str:
    """Reason for which no release can be signed; "" where one can."""
    return "" if document["release"] else _SAID["nothing to sign"]


def signed(document: Document) -> dict[str, str]:
    """Lines of the page to sign, by their names."""
    said, asked, signing = _SAID["sign"], document["guarantee"], document["signing"]
    delta = said["delta"] if asked["delta"] else ""
    large = said["large delta"] if asked["delta"] >= asked["one_record"] else ""
    smallest = document["budget"]["value"]
    other = said["no budget"] if smallest is None else said["other budget"] if smallest != asked["epsilon"] else ""
    total = "no total" if signing["total"] is None else "total" if signing["total"]["delta"] else "pure total"
    lines = {
        "Protected": said["unit"] + said["neighbours"],
        "Guarantee": f"{guarantee(document)}.{delta}{large}",
        "Mechanism": said["mechanism"],
        "Releases": said["releases"] + said[total],
        "Accuracy loss": said["loss"] + other,
        "Seen before": said["looks" if signing["looks"] else "no looks"]
        + (said["after looking"] if signing["after_looking"] else ""),
    }
    return lines | ({"Plan": said["plan"], "File": said["file"]} if document["release"] else {})
