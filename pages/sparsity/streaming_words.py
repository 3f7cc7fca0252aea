"""The words of the tab Streaming. Every number comes out of a played stream or a plan."""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpcore import Budget
from dpcore.studies.sparsity.streaming import regret as streaming
from dpcore.studies.sparsity.streaming.adversaries import ADVERSARIES, counterexample_regret
from dpcore.studies.sparsity.streaming.regret import Play, RegretCurve
from dpcore.theory import sampling_and_regret as theory
from pages.ui.code import call
from pages.ui.html import readable
from pages.ui.numbers import amount, rounded
from pages.ui.sidebar import delta_text
from pages.ui.sources import SEEDED

ACCOUNTINGS = {"tight": "proved λ", "published": "published λ"}
CHIPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("128 arms", {"p": 128}),
    ("ε = 5", {"epsilon": 5.0}),
    ("watched by the adversary", {"adversary": "adaptive", "epsilon": 5.0}),
    ("equation (12) refuted", {"adversary": "counterexample", "stream_lam": "published", "p": 128}),
    ("published λ, ε = 10", {"stream_lam": "published", "epsilon": 10.0}),
)
# What privacy costs nothing at, and where equation (12)'s ratio has settled.
_FREE, _LONG, _REFUTED_AT = 1e6, 4_000_000, (10, 1_000, 1_000_000)
_CLOSE = 0.8  # from this share of the bound on, costs are called as bad as they get

FORMULA = r"""
Before each cost vector $x_t$, $|x_{tj}|\le R=1$, one of $p$ arms is played: $a_t\sim w_t\propto e^{-S_{t-1}/\Lambda}$,
$S_t=x_1+\dots+x_t$, $\Lambda=T\lambda$. Regret: $\sum_tx_{t,a_t}-\min_jS_{T,j}$.

- **Privacy**: one replaced $x_t$ moves the log-ratios of each later play within an interval of length
  $\eta=\frac{4R}\Lambda$; $T-1$ plays cost $\min\{(T-1)\eta,\ \varepsilon(\rho,\delta)\}$, $\rho=(T-1)\eta^2/8$.
- **Regret**, on average: at most $\Lambda\ln p+\frac{TR^2}{2\Lambda}$ whatever the costs; one run adds at most
  $R\sqrt{2T\ln10}$ in nine of ten. $\Lambda$ is the private one or $R\sqrt{T/2\ln p}$, whichever is larger.
- **Equation (12)** of the source, $O(R\sqrt{T\ln p\ln\frac1\delta}/\varepsilon)$, does not follow: with its
  $\Lambda=R\sqrt{8T\ln p\ln\frac1\delta}/\varepsilon$ the costs $(-R,R,\dots,R)$ force $\Lambda\ln p$, which is
  $\sqrt8\ln p$ times as much.
"""


@dc.dataclass(frozen=True)
class Stream:
    """What the pickers say: a key of ADVERSARIES, the number of steps, and whose λ."""

    adversary: str
    steps: int
    accounting: str


@dc.dataclass(frozen=True)
class StreamingState:
    """The state in view."""

    stream: Stream
    p: int
    epsilon: float
    delta: float


def without_privacy(here: StreamingState, seed: int) -> float:
    """Expected regret of the learner whose λ minimises the bound, on the same costs."""
    curve = streaming.regret_curve(
        here.stream.adversary, here.p, [here.stream.steps], epsilon=_FREE, delta=here.delta, repetitions=1, seed=seed
    )
    return float(curve.expected[0])


def takeaway(play: Play | None, free: float, here: StreamingState, reason: str) -> str:
    """What the private learner loses, beside one without privacy."""
    if not play:
        return f"**No private play here**: {readable(reason)}."
    regret, T = float(play.expected[-1]), here.stream.steps
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
    T, plan = here.stream.steps, play.plan
    return [
        (rounded(play.expected[-1] / T), f"average regret a step after T = {T:,}; a blind choice costs up to 2"),
        (f"{100 * play.trust[-1]:.0f}%", "of the weight is on the best arm at the end: what the learner knows"),
        (
            f"ε = {rounded(plan.spent.epsilon)}",
            f"is what {T - 1:,} plays cost at Λ = {rounded(T * plan.scale)}; one alone "
            f"{rounded(4.0 / (T * plan.scale))}",
        ),
        (
            amount(play.one_run),
            "is the regret that a single run stays below in nine of ten, whatever the costs",
        ),
    ]


def caption(curves: Sequence[RegretCurve], here: StreamingState) -> str:
    """What the curves share; and what the counterexample does to equation (12)."""
    sentence = ADVERSARIES[here.stream.adversary].sentence.replace("-R", "−R")
    said = [f"{sentence} Lines: exact means; bands: 8 of 10 runs; dashed: proved."]
    if here.stream.adversary == "counterexample":
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
    lines = [
        "**Neighbours** replace one whole cost vector; the others, and who picks them, stay as they are.",
        "**The adversary** fixes the costs beforehand or reacts to what was played before; he never knows the arm of "
        "the step. *Watches the weights* knows the learner's probabilities as well.",
        f"**Promise**: ({here.epsilon:g}, {delta_text(here.delta)}) for all plays together.",
        "**A person who is in many cost vectors** is not covered by it.",
        "**Shapes**: equation (12) and √(Tp) have no constants; they are anchored at the smallest p.",
        SEEDED,
    ]
    return "\n".join(f"- {line}" for line in lines)


def table(curves: Sequence[RegretCurve]) -> pd.DataFrame:
    """The curves as numbers, a row for each p and T."""
    names = [field.name for field in dc.fields(RegretCurve) if field.name not in ("p", "reasons")]
    parts = [
        pd.DataFrame({"p": curve.p} | {name: getattr(curve, name) for name in names} | {"reason": curve.reasons})
        for curve in curves
    ]
    return pd.concat(parts, ignore_index=True).astype({"steps": int})


def snippet(here: StreamingState, arms: Sequence[int], lengths: Sequence[int], shared: Mapping[str, Any]) -> str:
    """Python that redraws both charts from an empty file."""
    return f"""from dpcore.figures.sparsity.streaming import play_figure, regret_figure
from dpcore.studies.sparsity.streaming import regret

shared = {call("dict", **shared)}
curves = [regret.regret_curve({here.stream.adversary!r}, p, {tuple(lengths)!r}, **shared) for p in {tuple(arms)!r}]
regret_figure(curves, steps={here.stream.steps}, theme="light", height=430).show()
play = regret.play({here.stream.adversary!r}, {here.p}, {here.stream.steps}, **shared)
play_figure(play, theme="light", height=430).show()
"""
