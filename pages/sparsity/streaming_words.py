"""The words of the tab Streaming. Every number comes out of a played stream or a plan."""

import dataclasses as dc
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpcore import Budget
from dpcore.core.facts import text_beside
from dpcore.studies.sparsity.streaming import regret as streaming
from dpcore.studies.sparsity.streaming.adversaries import ADVERSARIES, counterexample_regret
from dpcore.studies.sparsity.streaming.regret import Play, RegretCurve
from dpcore.theory import sampling_and_regret as theory
from pages.ui.html import readable
from pages.ui.numbers import amount, rounded
from pages.ui.pickers import chips_beside
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed

REPETITIONS = 50
ARMS = (8, 128, 2_048)  # whose curves stand beside the reader's
ACCOUNTINGS = {"tight": "proved λ", "published": "published λ"}
CHIPS = chips_beside(__file__, "streaming_chips.json")
# What privacy costs nothing at, and where equation (12)'s ratio has settled.
_FREE, _LONG, _REFUTED_AT = 1e6, 4_000_000, (10, 1_000, 1_000_000)
_CLOSE = 0.8  # from this share of the bound on, costs are called as bad as they get

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


def without_privacy(here: StreamingState) -> float:
    """Expected regret of the learner whose λ minimises the bound, on the same costs."""
    curve = streaming.regret_curve(
        here.adversary, here.p, [here.steps], epsilon=_FREE, delta=here.delta, repetitions=1, seed=here.seed
    )
    return float(curve.expected[0])


def takeaway(play: Play | None, free: float, here: StreamingState, reason: str) -> str:
    """What the private learner loses, beside one without privacy."""
    if not play:
        return f"**No private play here**: {readable(reason)}."
    regret, T = float(play.expected[-1]), here.steps
    spent = play.plan.spent.epsilon
    told = (
        f"lose **{amount(regret)}** against the best arm, {amount(free)} without privacy; no costs can force more than "
        f"{amount(play.bound)} on average."
    )
    choices = f"{T:,} choices among {here.p:,} arms"
    if spent > here.epsilon * (1 + 1e-9):
        return (
            f"{choices} at this λ cost **ε = {rounded(spent)}**, more than the {here.epsilon:g} that was granted: "
            f"nothing is released. They would {told}"
        )
    said = f"{choices} at ε = {here.epsilon:g} {told}"
    if regret > _CLOSE * play.bound:
        return f"{said} These costs come close."
    trust = float(play.trust[-1])
    if trust < 0.5:
        return (
            f"{said} The learner has hardly begun: at the end it gives the best arm {100 * trust:.0f}% of its weight."
        )
    return said


def readouts(play: Play, here: StreamingState) -> list[tuple[str, str]]:
    """(value, label) pairs below the charts."""
    T, plan = here.steps, play.plan
    return [
        (rounded(play.expected[-1] / T), f"average regret a step after T = {T:,}; a blind choice costs up to 2"),
        (f"{100 * play.trust[-1]:.0f}%", "of the weight is on the best arm at the end: what the learner knows"),
        (
            f"ε = {rounded(plan.spent.epsilon)}",
            f"is what {T - 1:,} plays cost at Λ = {rounded(T * plan.scale)}; one alone "
            f"{rounded(4.0 / (T * plan.scale))}",
        ),
        (amount(play.one_run), "is the regret that a single run stays below in nine of ten, whatever the costs"),
    ]


def caption(curves: Sequence[RegretCurve], here: StreamingState) -> str:
    """What the curves share; and what the counterexample does to equation (12)."""
    sentence = ADVERSARIES[here.adversary].sentence.replace("-R", "−R")
    said = [f"{sentence} Lines: exact means; bands: 8 of 10 runs; dashed: proved."]
    if here.adversary == "counterexample":
        ratios = " / ".join(rounded(forced_ratio(p)) for p in _REFUTED_AT)
        arms = " / ".join(f"{p:,}" for p in _REFUTED_AT)
        said.append(
            f"With its own λ these costs force {ratios} times what equation (12) claims at p = {arms}: √8 ln p, not a "
            "constant."
        )
    points = [spent for curve in curves for spent in curve.spent if np.isfinite(spent)]
    dear = sum(spent > here.epsilon * (1 + 1e-9) for spent in points)
    if dear:
        said.append(f"{dear} of the {len(points)} points cost more than ε = {here.epsilon:g} at this λ.")
    refused = next((reason for curve in curves for reason in curve.reasons if reason), None)
    if refused:
        said.append(f"Some lengths are left out: {readable(refused)}.")
    return " ".join(said)


@functools.lru_cache(maxsize=8)
def forced_ratio(p: int) -> float:
    """Regret that the counterexample forces over equation (12) without its constant, on a long stream.

    >>> round(forced_ratio(10), 2)
    6.51
    """
    budget = Budget(10.0, 1e-6)
    lam_sum = theory.published_stream_lam(_LONG, p, 1.0, budget)
    return counterexample_regret(_LONG, p, lam_sum) / theory.published_stream_rate(_LONG, p, 1.0, budget)


def play_caption(play: Play, here: StreamingState) -> str:
    """How one run ends."""
    end = float(play.regret[-1])
    return (
        f"One run, arm by arm: it ends {amount(abs(end))} {'behind' if end >= 0 else 'ahead of'} the best arm; "
        f"8 of 10 runs end between {amount(play.q10[-1])} and {amount(play.q90[-1])}. Each cost vector is somebody's "
        "secret; what is published are the arms."
    )


def assumptions(here: StreamingState) -> str:
    """What has to be true for the page's statements, as a list."""
    return assumed(__file__, "streaming_assumptions.md", epsilon=here.epsilon, delta=delta_text(here.delta))


def table(curves: Sequence[RegretCurve]) -> pd.DataFrame:
    """The curves as numbers, a row for each p and T."""
    names = [field.name for field in dc.fields(RegretCurve) if field.name not in ("p", "reasons")]
    parts = [
        pd.DataFrame({"p": curve.p} | {name: getattr(curve, name) for name in names} | {"reason": curve.reasons})
        for curve in curves
    ]
    return pd.concat(parts, ignore_index=True).astype({"steps": int})
