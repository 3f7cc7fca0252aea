"""The lecture on the three doors for noise."""

from pages.lectures.steps import Step, Story, asks
from pages.ui.sidebar import DEFAULTS

_DEFAULTS = DEFAULTS | {
    **{"n": 1_000, "records": "synthetic", "noise": "gaussian", "layers": ["bounds", "bias"], "side": "Cloud"},
    **{"leak": "median", "behind": None},
}
_AUTO = Step(
    "Three doors, the same promise. Lower is better. Move ε: who wins where?",
    "doors",
    {"layers": []},
    ("epsilon", "n"),
)
_ONE_LAM = Step(
    "One λ for all, ε = {epsilon:g}. The records' own curvature damps noise in the question.",
    "doors",
    {"lam": 0.01, "epsilon": 0.1, "layers": []},
    ("epsilon", "lam"),
)

STORY = Story(
    "Doors",
    "Where should the noise go: the answer, the question, or every step?",
    _DEFAULTS,
    (
        Step(
            "Door zero: no noise at all. Only a median is published, and it is somebody's salary.",
            "zero_median",
            {"side": "Door zero"},
            aside=True,
        ),
        Step(
            "Each dot is one release of the model. No two are alike: that is the protection. Move ε.",
            "cloud",
            kept=("epsilon", "n"),
            aside=True,
        ),
        Step(
            "Noise in every step: the descent staggers, and need not arrive anywhere exactly.",
            "cloud",
            {"side": "Path"},
            ("epsilon", "n"),
            aside=True,
        ),
        _AUTO,
        asks(
            "Now one λ, {next_lam:g}, for all doors, and ε = {next_epsilon:g}. Answer or question: which loses less?",
            "noise in the answer",
            "noise in the question",
            "both the same",
            answer=1,
            over=_AUTO,
        ),
        _ONE_LAM,
        asks(
            "λ = {next_lam:g} instead of {lam:g}. One door can no longer keep its promise. Which?",
            "the answer",
            "the question",
            "every step",
            answer=1,
            over=_ONE_LAM,
        ),
        Step(
            "The question pays before any noise is drawn. At λ = {lam:g} that is more than all of ε.",
            "doors",
            {"lam": 0.0001, "epsilon": 0.1, "layers": []},
            ("epsilon", "lam"),
        ),
        Step(
            "Small λ: noise rules. Large λ: the model is held too tight. In between, a valley.",
            "valley",
            {"side": "λ valley"},
            ("epsilon",),
            aside=True,
        ),
        Step(
            "A λ for each door, chosen without a look at the records; dashed: proved for all records.",
            "doors",
            {"layers": ["bounds"]},
            ("epsilon", "n"),
        ),
    ),
)
