"""The lecture on the first page: what privacy costs, and what it buys."""

from pages.lectures.steps import Step, Story, asks
from pages.ui.sidebar import DEFAULTS

_DEFAULTS = DEFAULTS | {"n": 398, "source": "breast_cancer", "proof": "tight", "at_most": 5.0, "behind": None}
_STRICT = {"epsilon": 0.1}
_MANY = {"n": 50_000}
_FEW = Step("The same {n} patients at ε = {epsilon:g}: the gap between the two lines is the price.", "cost")

STORY = Story(
    "Start",
    "What does privacy cost, and what does it buy?",
    _DEFAULTS,
    (
        asks(
            "{n} patients, a model that tells tumours apart. What will a promise of ε = {epsilon:g} cost?",
            "nothing one would see",
            "more than 10 points of accuracy",
            "everything: it guesses like a coin",
            answer=1,
        ),
        Step(
            "Privacy is noise in the model. The line on top has none; smaller ε, more noise. Move ε.",
            "cost",
            kept=("epsilon",),
        ),
        Step("What it buys: is a record yours or another's? An attacker is right so often.", "odds", kept=("epsilon",)),
        Step("A stricter promise, ε = {epsilon:g}: the attacker is almost left with a coin.", "odds", _STRICT),
        Step("The same ε = {epsilon:g} from the other side: what the model has left.", "cost", _STRICT, ("epsilon",)),
        _FEW,
        asks(
            "And with {next_n:,} patients instead of {n}, at the same ε? Privacy will cost …",
            "as much as before: ε is the same",
            "more: there is more to protect",
            "less than a quarter of that",
            answer=2,
            over=_FEW,
        ),
        Step(
            "{n:,} patients: one of them hides easily among so many. Move n.",
            "cost",
            _MANY,
            ("n", "epsilon"),
        ),
        Step("And the attacker? The odds belong to ε, not to the number of patients.", "odds", _MANY, ("epsilon",)),
    ),
)
