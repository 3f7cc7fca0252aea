"""The lecture on sparse models, mixtures and streams."""

from pages.lectures.steps import Step, Story, asks
from pages.ui.sidebar import DEFAULTS

_DEFAULTS = DEFAULTS | {
    **{"n": 10_000, "p": 256, "tab": "l1", "against": "T", "vertex_noise": "tight", "T": "auto", "radius": 1.0},
    **{"beside_ball": "Vertices", "on": "training", "beside": "Draws", "adversary": "random", "stream_lam": "tight"},
    **{"steps_of_stream": 2_000, "behind": None},
}
_SIMPLEX = {"tab": "simplex", "n": 5_000, "p": 128}
_WALK = Step(
    "Every step picks one corner of the ball, in private. Filled: right column, right sign. Move ε.",
    "beside_lasso",
    kept=("epsilon", "n"),
    aside=True,
)

STORY = Story(
    "Sparse",
    "What if the model is sparse or a mixture?",
    _DEFAULTS,
    (
        _WALK,
        asks(
            "{next_p:,} columns to choose from instead of {p}, the same promise. The excess risk becomes …",
            "as many times larger as the columns",
            "the square root of that larger",
            "less than 4 times larger",
            answer=2,
            over=_WALK,
        ),
        Step(
            "A choice among many costs only the logarithm of their number.",
            "lasso",
            {"against": "p", "p": 65_536},
            ("epsilon", "n"),
        ),
        asks(
            "Each step brings the model closer, and each step needs noise of its own. How many steps are best?",
            "as few as possible",
            "as many as possible",
            "some number in between",
            answer=2,
        ),
        Step("A valley: few steps do not arrive, many drown in noise. Move T.", "lasso", kept=("T", "epsilon")),
        Step(
            "Another model, a mixture: release a few columns, drawn at random. The draw itself is the noise.",
            "beside_chart",
            _SIMPLEX,
            ("epsilon", "m"),
            aside=True,
        ),
        Step(
            "Few draws are coarse, many draws blur the weights they come from: again a valley. Move m.",
            "draws",
            _SIMPLEX,
            ("m", "epsilon"),
        ),
        Step(
            "A choice in every step of a stream. Regret: what the best arm would have saved. Move ε.",
            "regret",
            {"tab": "streaming", "p": 8, "n": 100_000},
            ("epsilon",),
        ),
    ),
)
