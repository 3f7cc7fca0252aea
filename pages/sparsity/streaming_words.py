"""The words of the tab Online. Every number comes out of a played stream or a plan."""

import dataclasses as dc
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcore.core.facts import text_beside
from dpcore.studies.sparsity.streaming.adversaries import ADVERSARIES
from dpcore.studies.sparsity.streaming.regret import Play, RegretCurve
from pages.ui.chips import chips_beside
from pages.ui.html import readable
from pages.ui.numbers import amount, rounded
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import lower_verdict, verdict

REPETITIONS = 50
ARMS = (8, 1_024)  # whose curves stand beside the reader's
ACCOUNTINGS = {"tight": "tight λ", "published": "λ as published"}
CHIPS = chips_beside(__file__, "streaming_chips.json")
# A budget at which the λ of the smallest bound costs no more, and of one run all is exact but its arms.
NON_PRIVATE: dict[str, Any] = {"epsilon": 1e6, "lam": "auto", "accounting": "tight", "repetitions": 1}
_CLOSE = 0.8  # from this share of the bound on, the measurement is said to come close

FORMULA = text_beside(__file__, "streaming_formula.md")


@dc.dataclass(frozen=True)
class StreamingState(Controls):
    """The state in view. adversary: a key of ADVERSARIES; accounting: whose λ."""

    adversary: str
    steps: int
    accounting: str

    @property
    def arms(self) -> tuple[int, ...]:
        return tuple(sorted({*ARMS, self.p}))

    @property
    def shared(self) -> dict[str, Any]:
        """Arguments that all computations take."""
        return self.budget | {"lam": self.lam, "repetitions": REPETITIONS, "accounting": self.accounting}


def takeaway(play: Play | None, plain: RegretCurve, state: StreamingState, reason: str) -> str:
    """The regret of the private learner, beside that of one without privacy."""
    if not play:
        return f"**Nothing is released**: {readable(reason)}."
    regret, T = float(play.expected[-1]), state.steps
    spent, free = play.plan.spent.epsilon, float(plain.expected[list(plain.steps).index(T)])
    bounds = f"without privacy it is {amount(free)}. For any costs the private mean is at most {amount(play.bound)}."
    choices = f"{T:,} choices among {state.p:,} arms"
    if spent > state.epsilon * (1 + 1e-9):
        return (
            f"**Nothing is released**: {choices} at this λ spend **ε = {rounded(spent)}**, more than the budget of "
            f"{state.epsilon:g}. Their regret would be **{amount(regret)}**; {bounds}"
        )
    text = f"{choices} at ε = {state.epsilon:g} have a regret of **{amount(regret)}** against the best arm; {bounds}"
    if state.adversary == "fair":
        least = float(plain.least[list(plain.steps).index(T)])
        return f"{text} On average over fair coins every learner has a regret of {amount(least)}."
    if regret > _CLOSE * play.bound:
        return f"{text} These costs come close."
    trust = float(play.trust[-1])
    if trust < 0.5 and state.adversary != "adaptive":  # who keeps it at half
        return f"{text} The learner has hardly begun: at the end the best arm has {100 * trust:.0f}% of the weight."
    return text


def readouts(play: Play, state: StreamingState) -> list[tuple[str, str, str]]:
    """(noun, value, rest) of the cards below the charts."""
    T, plan = state.steps, play.plan
    return [
        ("Weight of the best arm", f"{100 * play.trust[-1]:.0f}%", f"at the end; 1 of {state.p:,} at the start"),
        (
            "Privacy spent",
            f"ε = {rounded(plan.spent.epsilon)} of {state.epsilon:g}",
            f"{T - 1:,} choices at Λ = {rounded(T * plan.scale)}; one alone costs {rounded(4.0 / (T * plan.scale))}",
        ),
    ]


def verdict_of(curves: Sequence[RegretCurve], state: StreamingState) -> str:
    """The bounds along T for the reader's number of arms."""
    curve = next(curve for curve in curves if curve.p == state.p)
    told = verdict(curve.steps, [("", curve.expected, curve.bound)], curve.nothing, state.steps, "T")
    return f"For p = {state.p:,}: {told} {lower_verdict(curve.steps, curve.expected, curve.least, state.steps)}"


def caption(curves: Sequence[RegretCurve], state: StreamingState) -> str:
    """The learner and the costs."""
    sentences = [
        "Private FTRL (follow the regularised leader) draws an arm in each step with weights that fall with the costs "
        f"so far. {ADVERSARIES[state.adversary].sentence} Lines: exact means; bands: 8 of 10 runs."
    ]
    points = [spent for curve in curves for spent in curve.spent if np.isfinite(spent)]
    dear = sum(spent > state.epsilon * (1 + 1e-9) for spent in points)
    if dear:
        sentences.append(f"{dear} of the {len(points)} points spend more than ε = {state.epsilon:g} at this λ.")
    refused = next((reason for curve in curves for reason in curve.reasons if reason), None)
    if refused:
        sentences.append(f"Not drawn: {readable(refused)}.")
    return " ".join(sentences)


def play_caption(play: Play, state: StreamingState) -> str:
    """The end of one run."""
    end = float(play.regret[-1])
    return (
        f"One run, arm by arm. It ends {amount(abs(end))} {'behind' if end >= 0 else 'ahead of'} the best arm; 8 of 10 "
        f"runs end between {amount(play.q10[-1])} and {amount(play.q90[-1])}. The cost vectors are private; the arms "
        "are published."
    )


def assumptions(state: StreamingState) -> str:
    """The assumptions of the tab's statements, as a list."""
    return assumed(__file__, "streaming_assumptions.md", epsilon=state.epsilon, delta=delta_text(state.delta))
