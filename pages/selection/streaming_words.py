"""The words of the view Online. Every number comes out of a played stream or a plan."""

import dataclasses as dc
from typing import Any

from dpcore.core.facts import text_beside
from dpcore.studies.selection.streaming.adversaries import ADVERSARIES
from dpcore.studies.selection.streaming.regret import Play, RegretCurve
from pages.ui.html import readable
from pages.ui.numbers import amount, rounded
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import lower_verdict, verdict

REPETITIONS = 50
# A budget at which the λ of the smallest bound costs no more, and of one run all is exact but its arms.
NON_PRIVATE: dict[str, Any] = {"epsilon": 1e6, "lam": "auto", "repetitions": 1}
_CLOSE = 0.8  # from this share of the bound on, the measurement is said to come close

FORMULA = text_beside(__file__, "streaming_formula.md")


@dc.dataclass(frozen=True)
class StreamingState(Controls):
    """The state in view. adversary: a key of ADVERSARIES."""

    adversary: str
    steps: int

    @property
    def shared(self) -> dict[str, Any]:
        """Arguments that all computations take."""
        return self.budget | {"lam": self.lam, "repetitions": REPETITIONS}


def takeaway(play: Play | None, plain: RegretCurve, state: StreamingState, reason: str) -> str:
    """The regret of the private learner, beside that of one without privacy."""
    if not play:
        return f"**Nothing is released**: {readable(reason)}."
    regret, T = float(play.expected[-1]), state.steps
    spent, free = play.plan.spent.epsilon, float(plain.expected[list(plain.steps).index(T)])
    choices = f"{T:,} choices among {state.p:,} arms"
    if spent > state.epsilon * (1 + 1e-9):
        return (
            f"**Nothing is released**: {choices} at this λ spend **ε = {rounded(spent)}**, more than the budget of "
            f"{state.epsilon:g}."
        )
    text = f"{choices} at ε = {state.epsilon:g} have a regret of **{amount(regret)}** against the best arm"
    if state.adversary == "fair":
        least = float(plain.least[list(plain.steps).index(T)])
        return f"{text}; on average over fair coins every learner has {amount(least)}."
    close = ", which comes close to the bound" if regret > _CLOSE * play.bound else ""
    return f"{text}{close}; without privacy it is {amount(free)}."


def verdict_of(curve: RegretCurve, state: StreamingState) -> str:
    """The bounds along T."""
    told = verdict(curve.steps, [("", curve.expected, curve.bound)], curve.nothing, state.steps, "T")
    return f"{told} {lower_verdict(curve.steps, curve.expected, curve.least, state.steps)}"


def caption(curve: RegretCurve, state: StreamingState) -> str:
    """The learner and the costs."""
    sentences = [
        "Private FTRL (follow the regularised leader) draws an arm in each step by the exponential mechanism on the "
        f"costs so far. {ADVERSARIES[state.adversary].sentence}"
    ]
    dear = int((curve.spent > state.epsilon * (1 + 1e-9)).sum())
    if dear:
        sentences.append(f"{dear} of the {len(curve.steps)} points spend more than ε = {state.epsilon:g} at this λ.")
    refused = next((reason for reason in curve.reasons if reason), None)
    if refused:
        sentences.append(f"Not drawn: {readable(refused)}.")
    return " ".join(sentences)


def play_caption(play: Play) -> str:
    """The end of one run."""
    end = float(play.regret[-1])
    return (
        f"One run ends {amount(abs(end))} {'behind' if end >= 0 else 'ahead of'} the best arm, which has "
        f"{100 * play.trust[-1]:.0f}% of the weight."
    )


def assumptions(state: StreamingState) -> str:
    """The assumptions of the view's statements, as a list."""
    return assumed(__file__, "streaming_assumptions.md", epsilon=state.epsilon, delta=delta_text(state.delta))
