"""The lecture on many classes, and on a mechanism that protects nobody."""

from pages.lectures.steps import Step, Story, asks
from pages.ui.sidebar import DEFAULTS

_DEFAULTS = DEFAULTS | {
    **{"n": 2_000, "classifier": "repaired", "price_against": "classes", "class_records": "gaussian_classes", "C": 5},
    **{"columns": 2, "beside_classes": "Decisions", "beside_printed": "Answers", "behind": None},
}
_PRINTED = {"classifier": "printed"}
_SHARED = Step(
    "A record enters each of the separate models, so each of them gets only a part of ε.",
    "classes",
    {"price_against": "epsilon"},
    ("epsilon", "n"),
)

STORY = Story(
    "Classes",
    "Does the price add up over classes?",
    _DEFAULTS,
    (
        Step(
            "{C} classes, one released model. Shaded: where privacy decides otherwise. Move ε.",
            "beside_classes_chart",
            kept=("epsilon", "C"),
            aside=True,
        ),
        asks(
            "One model for all {C} classes, or one for each and a shared budget: which loses less accuracy?",
            "all classes at once",
            "one model for each class",
            "no difference",
            answer=0,
        ),
        _SHARED,
        asks(
            "{next_C} classes instead of {C}. The points that privacy takes from the joint model …",
            "hardly change",
            "about double",
            "more than triple",
            answer=2,
            over=_SHARED,
        ),
        Step(
            "More classes: fewer records for each, more noise for all. It adds up.",
            "classes",
            {"C": 10},
            ("epsilon", "n"),
        ),
        asks(
            "A mechanism was printed for this. Which of two data sets has it seen? A guesser is right …",
            "half the time, like a coin",
            "three times of four",
            "every time",
            answer=2,
        ),
        Step(
            "It gives all classes the same noise, which cancels: an equation of the records alone is left.",
            "betrayal",
            _PRINTED,
        ),
        Step(
            "And mostly it has no answer at all: noise pulls its objective down without end.",
            "beside_printed_chart",
            _PRINTED,
            aside=True,
        ),
        Step(
            "Repaired: noise of its own for each class, the right sensitivity, and a bound that holds.",
            "classes",
            {"price_against": "excess"},
            ("epsilon", "n"),
        ),
    ),
)
