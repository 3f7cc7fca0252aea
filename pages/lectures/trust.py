"""The lecture on trust: attack the code, add up its steps, read what papers print."""

from pages.audit.attack_words import HONEST
from pages.audit.ledger_words import SQUARE
from pages.lectures.steps import Step, Story, asks
from pages.ui.sidebar import DEFAULTS

_DEFAULTS = DEFAULTS | {
    **{"n": 2_000, "check": "attack", "mechanism": "output_gaussian", "version": "missing_factor_2", "runs": 20_000},
    **{"beside_attack": "Errors", "noise_of": "lecture", "steps": SQUARE, "batch": 1, "behind": None},
}
_HONEST = Step(
    "An attacker guesses which of two data sets an output came from. Hatched: errors that ε forbids.",
    "beside_attack_chart",
    {"version": HONEST},
)

STORY = Story(
    "Trust",
    "Can I believe the number on the label?",
    _DEFAULTS,
    (
        _HONEST,
        asks(
            "Now somebody forgets a factor in the noise. The label stays. Can outputs alone reveal it?",
            "no: noise hides it",
            "yes: its errors are forbidden",
            "only with the source code",
            answer=1,
            over=_HONEST,
        ),
        Step("Fewer errors than the label allows: proof, with stated confidence.", "beside_attack_chart"),
        Step("Versions of the code, one label. Each bar: what the runs certify at least.", "ruler", kept=("runs",)),
        Step(
            "A bet against the label. Wealth beyond the line refutes it; honest code keeps the gambler poor.",
            "beside_attack_chart",
            {"beside_attack": "Bet"},
            ("version", "runs"),
        ),
        Step(
            "A small mistake and few runs: no contradiction. That is no proof of honesty. More runs?",
            "ruler",
            {"version": "noise_at_80_percent", "runs": 2_000},
            ("runs",),
        ),
        asks(
            "Another way: add up the steps. A lecture's formula sets their noise for ε = {epsilon:g}. It uses …",
            "too little: the label lies",
            "just enough",
            "too much: noise is wasted",
            answer=2,
        ),
        Step(
            "One run, several accountings: the tighter the proof, the smaller its ε.",
            "ledger",
            {"check": "ledger"},
            ("steps", "batch", "noise_of"),
        ),
        Step(
            "And some printed mechanisms cost more than they say: bars beyond the line are certified.",
            "exhibits",
            {"check": "printed"},
        ),
    ),
)
