"""The lecture on geometry: the shape of the set of models."""

from pages.geometry.words import JUST_ABOVE
from pages.lectures.steps import Step, Story, asks
from pages.ui.sidebar import DEFAULTS

_DEFAULTS = DEFAULTS | {
    **{"n": 2_000, "p": 1_024, "view": "order", "p_norm": "1", "beside_geometry": "Ball", "noise": "gaussian"},
    **{"scales": "displacement", "variant": "minibatch", "behind": None},
}

STORY = Story(
    "Geometry",
    "Why is L1 so much kinder than L2?",
    _DEFAULTS,
    (
        Step(
            "A diamond: wherever a noisy mean points, the model is one of few corners. Corners hide noise.",
            "beside_geometry_chart",
            kept=("p_norm", "epsilon"),
            aside=True,
        ),
        Step(
            "A round ball: every bit of noise leads to another model.",
            "beside_geometry_chart",
            {"p_norm": "2"},
            ("p_norm", "epsilon"),
            aside=True,
        ),
        asks(
            "That was the plane. Now {p:,} columns: how much more does a round ball lose than the diamond?",
            "about the same",
            "about twice as much",
            "more than 5 times as much",
            answer=2,
        ),
        Step(
            "Each column has noise of its own, and a round ball feels all of it.",
            "geometry",
            {"p_norm": "2"},
            ("p_norm", "epsilon"),
        ),
        Step(
            "A cliff just right of the diamond: corners vanish at once, not little by little.",
            "geometry",
            {"p_norm": JUST_ABOVE},
            ("p_norm", "epsilon"),
        ),
        Step(
            "The cliff grows with the number of columns; here d = {p:,}. Move d.",
            "geometry",
            {"p_norm": JUST_ABOVE, "p": 65_536},
            ("p", "epsilon"),
        ),
        asks(
            "These records are fingerprints. Can an accurate model hide who was among them?",
            "yes: it shows only a mean",
            "yes, with a little noise",
            "no: accurate means traceable",
            answer=2,
        ),
        Step(
            "Noise that hides the members takes what can be learned with it: no mechanism escapes this.",
            "beside_geometry_chart",
            {"beside_geometry": "Tracing", "p_norm": "1.5"},
            ("epsilon",),
            aside=True,
        ),
        Step(
            "One pass over the records, on the round ball: more people, less of both chance and noise.",
            "geometry",
            {"view": "n", "p_norm": "2"},
            ("n", "epsilon"),
        ),
    ),
)
