"""The sentences of a briefing, with places for numbers: {path:form} stands for a value of the document.

No sentence holds a number or a word of the user's by itself; so what is read is what the download says.
"""

import re
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal
from functools import partial
from typing import Any

from dpcore.figures.style import plain_number
from pages.ui.numbers import rounded

Document = dict[str, Any]
_NOTHING = 0.05  # points that are shown as none
_NEAR = 5.0  # points above the larger class within which its accuracy is said
_PLACE = re.compile(r"\{([\w.]+):(\w+)\}")


def _tenths(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}".replace("-", "−")


def _points(value: float) -> str:
    shown = _tenths(value)
    return f"{shown} point" if shown == "1.0" else f"{shown} points"


def _spent(value: float) -> str:
    """Three digits, rounded up: what is really spent is no more than what is read."""
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
    "about": lambda value: f"{float(f'{value:.2g}'):,.0f}",
    "tenths": _tenths,
    "points": _points,
    "of_100": lambda value: _tenths(100 * value),
    "percent": lambda value: f"{100 * value:g}%",
    "share": lambda value: f"{100 * value:.0f}%",
    "one_in": _one_in,
}


def look_up(document: Document, path: str) -> Any:
    """The value at a path like "curve.epsilons.0".

    >>> look_up({"curve": {"epsilons": [0.1, 1.0]}}, "curve.epsilons.1")
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
    >>> fill("{a:of_100}, {a:about}, {a:one_in}, {a:spent}", {"a": 0.0512})
    '5.1, 0, 1 in 19.5, 0.0512'
    """
    return _PLACE.sub(lambda m: mark(m[1], m[2], FORMS[m[2]](look_up(document, m[1]))), sentence)


def budget(document: Document) -> str:
    """The answer to the budget question."""
    if none := nothing(document):
        return none
    if document["budget"]["value"] is None:
        return (
            "With {source.drawn:text} no privacy budget looked at loses at most {at_most:points}. {budget.reason:text}"
            + _sure_of_none(document)
        )
    if document["budget"]["value"] == document["curve"]["epsilons"][0]:
        return (
            "With {source.drawn:text} any privacy budget from ε = {budget.value:two} on loses at most "
            "{at_most:points}, and smaller ones may."
        )
    return (
        "With {source.drawn:text} the smallest privacy budget that loses at most {at_most:points} is "
        "**ε = {budget.value:two}**" + _sure(document)
    )


def _sure(document: Document) -> str:
    low, high = document["budget"]["low"], document["budget"]["high"]
    least = "below the scale" if low is None or low == document["curve"]["epsilons"][0] else "{budget.low:two}"
    most = "beyond the scale" if high is None else "{budget.high:two}"
    return f" ({{confidence:percent}} sure: from {least} to {most})."


def _sure_of_none(document: Document) -> str:
    if document["budget"]["low"] is None:
        return ""
    return " That is not certain: it may be as small as {budget.low:two} ({confidence:percent} sure)."


def cost(document: Document) -> str:
    """What is lost at the promise's epsilon, consequence first."""
    return (
        "At ε = {promise.epsilon:plain}, **{score:of_100}** of 100 {source.things:text} are {source.outcome:text}, "
        "instead of {reference:of_100} without privacy: privacy costs **{lost:points}**."
    )


def learned(score: float, reference: float, floor: float) -> Document:
    """What is lost and what there is to learn above `floor`, in points, with the shares that they come from.

    score, reference, floor: accuracy with privacy, without it, and of the larger class. lost_share: of what there is to
    learn; None where that is nothing.

    >>> found = learned(0.870, 0.890, 0.859)
    >>> round(found["lost"], 9), round(found["learnable"], 9), round(found["lost_share"], 2)
    (2.0, 3.1, 0.65)
    """
    lost, learnable = 100.0 * (reference - score), 100.0 * (reference - floor)
    share = lost / learnable if learnable >= _NOTHING else None
    known = {"score": score, "reference": reference, "floor": floor}
    return known | {"lost": lost, "learnable": learnable, "lost_share": share}


def nothing(document: Document) -> str:
    """That there is nothing to learn above the larger class; "" where there is."""
    if document["lost_share"] is not None:
        return ""
    return (
        "**Nothing to learn** from {source.drawn:text}: always answering with the larger class is right "
        "{floor:of_100} times of 100, the model without privacy {reference:of_100} times."
    )


def floor(document: Document) -> str:
    """How the accuracy stands to that of the larger class; "" where it is far above."""
    above = 100.0 * (document["score"] - document["floor"])
    if document["lost_share"] is None or above > _NEAR:
        return ""
    if above < _NOTHING:
        return (
            "That is **no better** than always answering with the larger class ({floor:of_100}): all of the "
            "{learnable:tenths} points there are to learn above it are lost."
        )
    given_up = "none is" if document["lost"] < _NOTHING else "{lost:tenths} are"
    share = "" if document["lost"] < _NOTHING else " ({lost_share:share})"
    return (
        "Always answering with the larger class is right {floor:of_100} times of 100: of the {learnable:tenths} points "
        f"there are to learn above it, {given_up} given up{share}."
    )


def share(document: Document) -> str:
    """The share lost of what there is to learn, after a number of points lost; "" where there is nothing."""
    if document["lost_share"] is None or document["lost"] < _NOTHING:
        return ""
    told = "all" if document["lost_share"] >= 1.0 else "{lost_share:share}"
    return fill(f"; {told} of the {{learnable:tenths}} points there are to learn above the larger class", document)


def promise(document: Document) -> str:
    """The label, its unit, and what is really spent."""
    delta = (
        ", with a slack δ of {promise.delta:one_in}" if document["promise"]["delta"] else ", without slack (δ = none)"
    )
    spent = "; really spent: {promise.spent_epsilon:spent}" + (
        " and {promise.spent_delta:one_in}" if document["promise"]["spent_delta"] else ""
    )
    return (
        "Privacy budget ε = {promise.epsilon:plain} (smaller is more private)"
        + delta
        + ", for {promise.unit:text}"
        + spent
    )


def people(document: Document) -> str:
    """The price in people."""
    if document["people"]["here"]["value"] is None:
        return "What privacy costs in people cannot be told here. {people.here.reason:text}"
    low, high = document["people"]["here"]["low"], document["people"]["here"]["high"]
    ends = (
        "fewer" if low is None else "{people.here.low:about}",
        "all" if high is None else "{people.here.high:about}",
    )
    return (
        "{n:count} {source.records:text} with privacy at ε = {promise.epsilon:plain} are worth "
        f"**{{people.here.value:about}}** without ({{confidence:percent}} sure: {ends[0]} to {ends[1]}). "
        "Both have the same {people.error:text}; another error would give another number."
    )


def needed(document: Document) -> str:
    """How many people would make the promise's epsilon affordable."""
    if document["needed"]["value"] is None:
        return (
            "How many {source.records:text} would bring the loss to {at_most:points} cannot be told. "
            "{needed.reason:text}"
        )
    low, high = document["needed"]["low"], document["needed"]["high"]
    ends = ("fewer" if low is None else "{needed.low:about}", "more" if high is None else "{needed.high:about}")
    size = document["source"]["size"]
    copies = " Only {source.size:count} exist: this is a what-if, from copies of them."
    return (
        "To lose at most {at_most:points} at ε = {promise.epsilon:plain} takes about **{needed.value:about}** "
        f"{{source.records:text}} ({{confidence:percent}} sure: {ends[0]} to {ends[1]})."
        + (copies if size is not None and document["needed"]["value"] > size else "")
    )


def each(document: Document, name: str) -> list[str]:
    """All of the document's texts of that name."""
    return [f"{{{name}.{k}:text}}" for k in range(len(document[name]))]


DATA = "{source.label:text}: {source.drawn:text}"
ATTACKER = (
    "Someone who already suspects, 50:50, whether your record or another in its place was used is right at most "
    "**{odds_of_100.limit:count}** times of 100 after seeing the model; a coin is right 50 times."
)
# What the three kinds of dot are.
ATTACKERS = (
    "Solid: our own attack, on the worst data sets we know, is surely right {odds_of_100.certified:count} times of "
    "100 (seen: {odds.right:of_100}, in {odds.runs:count} tries).",
    "Pale: no attack on this noise can be right more than {odds_of_100.limit:count} times.",
    "Ringed: another method with the same label could allow {odds_of_100.cap:count} times.",
)
ABOUT = "Price of Privacy, version {version:text}, seed {seed:plain}."
HEADINGS = {
    "question": "{title:text}",
    "curve": "What do we lose?",
    "odds": "How often could an attacker be right?",
    "people": "What is privacy's price in people?",
    "basis": "What must hold, and where to look",
}
