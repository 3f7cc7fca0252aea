"""The words of the view Online. Every number comes out of a played stream or a plan."""

import dataclasses as dc
from typing import Any

from dpcore.core.facts import text_beside
from dpcore.studies.selection.streaming.adversaries import ADVERSARIES
from dpcore.studies.selection.streaming.regret import Play, RegretCurve
from pages.ui.html import readable
from pages.ui.numbers import amount, nearest, rounded
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import lower_verdict, verdict

# A budget at which the λ of the smallest bound costs no more, and of one run all is exact but its arms.
NON_PRIVATE: dict[str, Any] = {"epsilon": 1e6, "lam": "auto", "repetitions": 1}

FORMULA = text_beside(__file__, "streaming_formula.md")


@dc.dataclass(frozen=True)
class StreamingState(Controls):
    """The state in view. adversary: a key of ADVERSARIES."""

    adversary: str
    steps: int

    @property
    def shared(self) -> dict[str, Any]:
        """Arguments that all computations take."""
        return self.budget | {"lam": self.lam}


def takeaway(play: Play | None, curve: RegretCurve, plain: RegretCurve, state: StreamingState, reason: str) -> str:
    """The regret of the private learner, beside that of one without privacy, plain, and that of a blind choice."""
    if not play:
        return f"**Nothing is released**: {readable(reason)}."
    regret, spent, k = float(play.expected[-1]), play.plan.spent.epsilon, nearest(plain.steps, state.steps)
    if spent > state.epsilon * (1 + 1e-9):
        return (
            f"**Nothing is released**: {state.steps:,} choices among {state.p:,} arms at this λ spend "
            f"**ε = {rounded(spent)}**, more than the budget of {state.epsilon:g}."
        )
    if state.adversary == "fair":
        return (
            f"Fair coins teach **nothing**: in {state.steps:,} choices every learner has a mean regret of "
            f"{amount(float(plain.least[k]))}, this one {amount(regret)} at ε = {state.epsilon:g}."
        )
    free = float(plain.expected[k])
    more = "**no more**" if amount(regret) == amount(free) or regret < free else "**hardly more**"
    times = f"**{rounded(regret / free, 2)} times as much** as" if regret > 1.05 * free else f"{more} than"
    return (
        f"At ε = {state.epsilon:g} the private learner loses {times} one without privacy: regret {amount(regret)} "
        f"against {amount(free)}; a blind choice loses {amount(float(curve.nothing[k]))}."
    )


def verdict_of(curve: RegretCurve, state: StreamingState) -> str:
    """The bounds along T."""
    told = verdict(curve.steps, [("", curve.expected, curve.bound)], curve.nothing, state.steps, "T")
    return f"{told} {lower_verdict(curve.steps, curve.expected, curve.least, state.steps)}"


def caption(curve: RegretCurve, state: StreamingState) -> str:
    """The learner and the costs."""
    sentences = [
        "Private FTRL (follow the regularised leader) draws an arm in each step by the exponential mechanism on the "
        f"costs so far. {ADVERSARIES[state.adversary].sentence} Shaded: 8 of 10 runs."
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
        f"One run ends {amount(abs(end))} {'behind' if end >= 0 else 'ahead of'} the best arm; the learner gives it "
        f"{100 * play.trust[-1]:.0f}% of its weight."
    )


def assumptions(state: StreamingState) -> str:
    """The assumptions of the view's statements, as a list."""
    return assumed(__file__, "streaming_assumptions.md", epsilon=state.epsilon, delta=delta_text(state.delta))
