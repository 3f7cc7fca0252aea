"""The lecture on dimension: a million useless features."""

from pages.lectures.steps import Step, Story, asks
from pages.ui.sidebar import DEFAULTS

_MILLION = 2**20
_DEFAULTS = DEFAULTS | {"n": 1_000, "p": _MILLION, "noise_in": "answer", "below": "distance", "behind": None}

STORY = Story(
    "Dimension",
    "Does a million useless features hurt?",
    _DEFAULTS,
    (
        asks(
            "Few columns matter, a million are zero for everybody. Gaussian noise on every weight: predictions …",
            "are ruined",
            "get somewhat worse",
            "stay as good as they were",
            answer=2,
        ),
        Step(
            "Filled dots: predictions stay. Yet the model, below, moves many times its own length.",
            "dimension",
            kept=("p", "epsilon"),
        ),
        Step(
            "Noise on an idle weight meets a zero in every record. Nothing of it reaches a prediction. Move p.",
            "dimension",
            {"p": 1_024},
            ("p", "epsilon"),
        ),
        Step(
            "Open dots, Gamma noise: its length grows with p in every direction, also where it matters.",
            "dimension",
            {"below": "damage"},
            ("p", "epsilon"),
        ),
        Step(
            "With few columns it is the other way round: at p = {p} Gamma noise is the kinder one.",
            "dimension",
            {"p": 8},
            ("p", "epsilon"),
        ),
        asks(
            "Other records: every column counts a little, no weight may be negative. Does the noise still pass by?",
            "yes: plus and minus cancel",
            "no, it moves the prediction twice as far",
            "no, over 100 times as far",
            answer=2,
        ),
        Step(
            "What is cut off at zero no longer cancels: √p comes back. Move p.",
            "corner",
            kept=("p", "epsilon"),
            aside=True,
        ),
        Step(
            "Noise in the answer and in the question: the shape decides who is ruined, not the door.",
            "dimension",
            {"noise_in": "both"},
            ("epsilon", "n"),
        ),
    ),
)
