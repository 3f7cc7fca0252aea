"""The words of the page Decide. Every number comes out of a curve, an audit or an accounting."""

import dataclasses as dc
import math
from collections.abc import Sequence
from typing import cast

import pandas as pd

from dpcore import AttackSuccess
from dpcore.audit.attack_success import AttackSuccessQuestion
from dpcore.core.facts import facts_beside
from dpcore.mechanisms import list_mechanisms, mechanism_class
from dpcore.studies.decide.deployments import Deployment
from dpcore.studies.decide.equivalent_sample_size import Error
from dpcore.studies.decide.posterior import belief_of
from dpcore.studies.decide.threshold_interval import Answer
from pages.decide.briefing import words as briefings
from pages.decide.state import State
from pages.ui.html import readable
from pages.ui.numbers import people, points, rounded
from pages.ui.pickers import chips_beside

_GLOSSES = {row["mechanism"]: row["gloss"] for row in facts_beside(__file__, "glosses.csv")}
ERRORS: dict[str, str] = {"loss": "how sure and right it is (log loss)", "accuracy": "how often it is right"}
BRIEF_ERRORS: dict[Error, str] = {"loss": "log loss on fresh records", "accuracy": "share of right answers"}
ERROR_NAMES: dict[Error, str] = {"loss": "the same log loss", "accuracy": "the same share of errors"}
SPENDS = (
    "Every look costs: running it again, tuning λ by eye and trying sliders on one's own records spend privacy that no "
    "label counts."
)
PRIORS = {"2": "suspected 1 in 2", "10": "1 in 10", "1000": "1 in 1,000"}
NO_FILE = "Bring records along: a file that only this session sees, with bounds that you declare."
CHIPS = chips_beside(__file__, "chips.json")


def mechanisms() -> dict[str, str]:
    """The mechanisms that learn to predict a class on R^p or in the L2 ball, and what they are called here."""
    found = {key: mechanism_class(key) for key in list_mechanisms()}
    offered = {key: cls.label for key, cls in found.items() if (cls.usual_loss, cls.set) == ("logistic", "ball")}
    return offered | _GLOSSES


def number(value: float) -> str:
    """Two digits, as people write them.

    >>> number(0.4712), number(1234.0)
    ('0.47', '1,200')
    """
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 100 else rounded(value, 2)


def interval(found: Answer) -> str:
    """The interval of an answer in words, with ends that are open where they are beyond the scale.

    >>> interval(Answer(0.47, 0.352, 0.618, 0.01, 10.0)), interval(Answer(8.0, 6.0, math.inf, 0.01, 10.0))
    ('95% sure: 0.35 to 0.62', '95% sure: 6 or more')
    """
    if found.low > found.last:
        return f"95% sure: more than {number(found.last)}"
    low = "" if found.low <= found.first else number(found.low)
    high = "" if found.high > found.last else number(found.high)
    if low and high:
        return f"95% sure: {low} to {high}"
    if low:
        return f"95% sure: {low} or more"
    return f"95% sure: {high} or less" if high else "not known any closer"


def takeaway(state: State) -> str:
    """The answer in one sentence, or why there is none."""
    if state.refusal:
        return f"**No release** at any budget with {state.drawn}: {readable(state.refusal)}."
    if state.curve is None:
        return "The first records are being split …"
    found, source = state.found, state.source
    told = state.learned(found.value if found.reachable else found.last)
    if none := briefings.nothing(told):
        return briefings.fill(none, told)
    right = (
        f"**{100 * told['score']:.1f}** of 100 {source.things} are {source.outcome}, without privacy "
        f"{100 * state.reference:.1f}. {briefings.fill(briefings.floor(told), told)}"
    ).strip()
    if not found.reachable:
        return (
            f"**Not reachable:** with {state.drawn} no privacy budget up to {found.last:g} keeps the loss within "
            f"{points(state.at_most)}; at ε = {found.last:g}, {right}"
        )
    budget = f"{number(found.first)} or less" if found.at_first else number(found.value)
    return (
        f"With {state.drawn}, a privacy budget of **{budget}** is the smallest that gives up at most "
        f"{points(state.at_most)}: {right}"
    )


def caption(state: State) -> str:
    """What the curve is, and what no label counts."""
    assert state.curve is not None
    source, splits = state.source, state.curve.splits
    counted = "all" if splits == state.setting.splits else f"{splits} of"
    return (
        f"Points lost: of 100 {source.things}, so many fewer are {source.outcome} than by the best model without "
        f"privacy; the mean of {counted} {state.setting.splits} splits, made falling. {SPENDS}"
    )


def readouts(state: State) -> list[tuple[str, str]]:
    """Four (value, label) pairs below the chart."""
    return [_budget(state), _lost(state), _price(state), _needed(state)]


def _budget(state: State) -> tuple[str, str]:
    found = state.found
    label = f"smallest budget that costs {points(state.at_most)} or less ({interval(found)})"
    if not found.reachable:
        return "not reachable", label
    return (f"ε = {number(found.first)} or less" if found.at_first else f"ε = {number(found.value)}"), label


def _lost(state: State) -> tuple[str, str]:
    lost, low, high = state.lost
    if math.isnan(lost):
        return "no release", f"at ε = {state.epsilon:g}"
    share = briefings.share(state.learned(state.epsilon))
    return points(lost), f"lost at ε = {state.epsilon:g} (95% sure: {rounded(low, 2)} to {rounded(high, 2)}){share}"


def _price(state: State) -> tuple[str, str]:
    label = (
        f"of {state.n:,} {state.source.records} would do as well without privacy at ε = {state.epsilon:g} "
        f"({ERROR_NAMES[state.error]})"
    )
    if state.no_price:
        return "no price in people", readable(state.no_price)
    here = state.worth_here
    if here is None:
        return "…", label
    count = f"{here.first:,.0f} or fewer" if here.at_first else number(here.value)
    return count, label


def _needed(state: State) -> tuple[str, str]:
    found, what = state.needed, f"ε = {state.epsilon:g} cost {points(state.at_most)} or less"
    if found is None:
        return "…", f"{state.source.records} that make {what}"
    if not found.reachable:
        return f"over {found.last:,.0f}", f"{state.source.records} are needed to make {what}"
    count = f"{found.first:,.0f} or fewer" if found.at_first else people(found.value)
    size = state.source.size
    copies = f"; a what-if, from copies of {size:,}" if size is not None and found.value > size else ""
    return count, f"{state.source.records} make {what} ({interval(found)}{copies})"


def playing(state: State) -> str:
    """How far the attack is."""
    asked = cast(AttackSuccessQuestion, state.held.jobs["odds"].question)
    return f"Our own attack is being played: {state.attack.runs if state.attack else 0:,} of {asked.runs:,} runs …"


def odds(found: AttackSuccess, epsilon: float) -> str:
    """What our attack reached, and what the best can, in natural frequencies."""
    certified, limit, cap = found.of_100
    return (
        f"**At most {limit} times of 100** with this noise (pale); a coin is right 50 times. "
        f"Our own attack on the worst data sets we know: {100 * found.right:.1f} in {found.runs:,} tries, surely "
        f"{certified} (solid, 99.9%). Another mechanism with the label ε = {epsilon:g} could allow {cap} (ringed)."
    )


def people_told(state: State) -> str:
    """The price in people at the cursor, in words."""
    here = state.worth_here
    if state.no_price:
        return f"**No price in people here:** {readable(state.no_price)}."
    if here is None:
        return "The learners without privacy are being trained …"
    if here.at_first:
        worth = f"{here.first:,.0f} or fewer without, whose error is no larger"
    else:
        worth = f"about **{number(here.value)}** without: both make the same error"
    return (
        f"At ε = {state.epsilon:g}, {state.n:,} {state.source.records} with privacy are worth {worth} "
        f"({ERRORS[state.error]}; {interval(here)}). The number depends on the error that is "
        f"named: a decision may stay while its precision is gone.{_levels_off(state)}"
    )


def _levels_off(state: State) -> str:
    """Why no budget brings all the people back where λ follows the noise."""
    if state.setting.problem.lam == "auto" and state.way.startswith("output"):
        return " With λ = auto the noise in a prediction has one size at every ε, so no ε brings all of them back."
    return ""


def belief(state: State, prior: float) -> str:
    """What a suspicion becomes: what may be believed where the promise is pure, else how often a guess is right."""
    assert state.plan is not None
    curve = state.plan.mechanism.claimed_curve(state.plan)
    found = belief_of(state.plan.spent, curve, prior)
    if found.after is not None:
        return found.words
    return f"{found.words} Who may accuse 1 innocent of 100 finds {100 * found.caught:.1f} of 100 who are not."


def elsewhere(epsilon: float, used: Sequence[float]) -> str:
    """How many of the deployments stand on either side of the cursor."""
    larger, equal = (sum(test(other) for other in used) for test in (epsilon.__lt__, epsilon.__eq__))
    return (
        f"**{larger} of {len(used)}** published uses have a larger ε than {epsilon:g} and promise less (the same: "
        f"{equal}, more: {len(used) - larger - equal}). For scale, not as advice: their units differ (a person, a day, "
        "a query), and what renews adds up."
    )


def facts(deployments: Sequence[Deployment]) -> pd.DataFrame:
    """The deployments as a table for readers."""
    names = {"model": "trust", "address": "read at"}
    return pd.DataFrame([dc.asdict(one) for one in deployments]).rename(columns=names)
