"""The words of the page Decide. Every number comes out of a curve, an audit or an accounting."""

import dataclasses as dc
import math
from collections.abc import Sequence
from typing import cast

import pandas as pd

from dpcore import AttackSuccess
from dpcore.audit.attack_success import AttackSuccessQuestion
from dpcore.experiments.experiment import EPSILON_GRID
from dpcore.mechanisms import list_mechanisms, mechanism_class
from dpcore.studies.decide.deployments import Deployment
from dpcore.studies.decide.loss_curve import Scope
from dpcore.studies.decide.threshold_interval import Answer
from pages.decide.briefing import words as briefings
from pages.decide.state import State
from pages.ui.chips import chips_beside
from pages.ui.html import readable
from pages.ui.numbers import points, rounded, worded
from pages.ui.pickers import OVERVIEW, SHOWN, is_drawn

ERRORS: dict[str, str] = {"loss": "log loss", "accuracy": "accuracy"}
SPENDS = (
    "Another run, a λ tuned by eye and a slider tried on your own records cost privacy that this ε does not include."
)
SCOPES: tuple[Scope, ...] = ("population", "file")
NO_FILE = "Upload a file to find its smallest privacy budget: only this session sees it, and you declare its bounds."
CHIPS = chips_beside(__file__, "chips.json")


def mechanisms() -> dict[str, str]:
    """Labels of the mechanisms that learn to predict a class on R^p or in the L2 ball, by their keys."""
    found = {key: mechanism_class(key) for key in list_mechanisms()}
    return {key: cls.label for key, cls in found.items() if (cls.usual_loss, cls.set) == ("logistic", "ball")}


def number(value: float) -> str:
    """Two digits, as people write them.

    >>> number(0.4712), number(1234.0)
    ('0.47', '1,200')
    """
    return rounded(value, 2)


def interval(found: Answer) -> str:
    """The confidence interval of an answer, with open ends where they are beyond the scale.

    >>> interval(Answer(0.47, 0.352, 0.618, 0.01, 10.0)), interval(Answer(8.0, 6.0, math.inf, 0.01, 10.0))
    ('0.35 to 0.62', '6 or more')
    """
    if found.low > found.last:
        return f"more than {number(found.last)}"
    low = "" if found.low <= found.first else number(found.low)
    high = "" if found.high > found.last else number(found.high)
    if low and high:
        return f"{low} to {high}"
    if low:
        return f"{low} or more"
    return f"up to {high}" if high else "the whole scale"


def budget(found: Answer) -> str:
    """The smallest epsilon, or that none on the scale is enough."""
    if not found.reachable:
        return f"over {number(found.last)}"
    return f"{number(found.first)} or less" if found.at_first else number(found.value)


def takeaway(state: State) -> str:
    """The smallest budget and what it costs, then the loss at the slider's epsilon; or why there is no answer."""
    if state.refusal:
        return f"**No release** at any ε with {state.drawn}: {readable(state.refusal)}."
    if state.curve is None:
        return "The first splits are being computed …"
    found, source = state.found, state.source
    told = state.learned(found.value if found.reachable else found.last)
    if none := briefings.nothing(told):
        return briefings.fill(none, told)
    right = (
        f"**{100 * told['score']:.1f}%** of {source.things} are {source.outcome}, "
        f"without privacy {100 * state.reference:.1f}%. {briefings.fill(briefings.floor(told), told)}"
    ).strip()
    setting = f"With {state.drawn} and {mechanisms()[state.way].split(',')[0]}"
    limit = f"nine of ten releases lose at most {points(state.at_most)} of accuracy"
    if found.reachable:
        text = (
            f"{setting}, **ε = {budget(found)}** is the smallest privacy budget at which {limit}: on average, {right}"
        )
    else:
        last = f"ε = {found.last:g}"
        text = (
            f"**Not reachable.** {setting}, at no privacy budget up to {last} {limit}. At {last}, on average, {right}"
        )
    lost = state.lost_at(state.epsilon)
    also = state.way in OVERVIEW.values() and source.key in SHOWN and not is_drawn(source)
    seen = " (Overview shows the first)" if also else ""
    here = f"the loss is {points(lost)} on average over {state.curve.splits} splits{seen}"
    return f"{text} At the slider's ε = {state.epsilon:g} {'nothing is released' if math.isnan(lost) else here}."


def caption(state: State) -> str:
    """What the curve is."""
    assert state.curve is not None
    source, splits = state.source, state.curve.splits
    counted = "all" if splits == state.setting.splits else f"{splits} of"
    return (
        f"Accuracy: share of {source.things} {source.outcome}. Accuracy loss: percentage points below the best model "
        f"without privacy, mean over {counted} {state.setting.splits} splits, made non-increasing in ε. Band: 95% "
        f"interval{_about(state)}."
    )


def next_budget(state: State) -> list[tuple[str, dict[str, float]]]:
    """A preset that puts the slider on the first epsilon of its scale that is enough; none where there is none."""
    if state.curve is None or not state.found.reachable:
        return []
    enough = min(epsilon for epsilon in EPSILON_GRID if epsilon >= state.found.value)
    return [(f"ε = {enough:g}, the next above the smallest budget", {"epsilon": enough})]


def readouts(state: State) -> list[tuple[str, str, str]]:
    """Four (noun, value, rest) triples below the chart."""
    return [_budget(state), _lost(state), _equivalent(state), _needed(state)]


def _budget(state: State) -> tuple[str, str, str]:
    found, noun = state.found, "Smallest budget"
    lost = f"for an accuracy loss of at most {points(state.at_most)} in nine of ten releases"
    rest = f"{lost} (95% interval{_over_splits(state)}: {interval(found)})"
    return noun, f"ε = {budget(found)}" if found.reachable else "not reachable", rest


def _lost(state: State) -> tuple[str, str, str]:
    lost = state.lost_at(state.epsilon)
    noun, here = "Accuracy loss", f"at ε = {state.epsilon:g}"
    if math.isnan(lost):
        return noun, "no release", here
    share = briefings.share(state.learned(state.epsilon))
    scopes = ("file",) if state.no_population else SCOPES
    told = ["{} to {}".format(*(rounded(end, 2) for end in state.lost_limits(scope))) for scope in scopes]
    sure = f"95% interval{_over_splits(state)}: {told[0]}"
    if state.in_file and not state.no_population:
        sure = f"95% intervals: {told[0]} for the population, {told[1]} for this file"
    return noun, points(lost), f"{here} ({sure}){share}"


def _equivalent(state: State) -> tuple[str, str, str]:
    records, noun = state.source.records, "Equivalent sample size"
    rest = f"{records} without privacy reach the {ERRORS[state.error]} of {state.n:,} at ε = {state.epsilon:g}"
    if state.no_equivalent:
        return noun, "none", readable(state.no_equivalent)
    here = state.equivalent_here
    if here is None:
        return noun, "…", rest
    value = f"{here.first:,.0f} or fewer" if here.at_first else number(here.value)
    return noun, value, rest + _learned_so_far(state)


def _learned_so_far(state: State) -> str:
    return so_far(state.equivalent.curve.splits, state.setting.splits) if state.equivalent else ""


def so_far(splits: int, total: int) -> str:
    """How many splits a number is about that still changes, "" where it is about all.

    >>> so_far(3, 20), so_far(20, 20)
    (' (3 of 20 splits so far)', '')
    """
    return f" ({splits} of {total} splits so far)" if splits < total else ""


def _needed(state: State) -> tuple[str, str, str]:
    found, noun, records = state.needed, "Sample size needed", state.source.records
    rest = f"{records} for a loss of at most {points(state.at_most)} in nine of ten releases at ε = {state.epsilon:g}"
    if found is None:
        return noun, "…", rest
    if not found.reachable:
        return noun, f"over {found.last:,.0f}", rest
    count = f"{found.first:,.0f} or fewer" if found.at_first else worded(found.value)
    size = state.source.size
    copies = f"; a what-if, from copies of {size:,}" if size is not None and found.value > size else ""
    return noun, count, f"{rest} (95% interval{_over_splits(state)}: {interval(found)}{copies})"


def playing(state: State) -> str:
    """How far the attack is."""
    asked = cast(AttackSuccessQuestion, state.answers["attack_success"].question)
    return f"Our own attack is running: {state.attack.runs if state.attack else 0:,} of {asked.runs:,} runs …"


def attack_success(found: AttackSuccess) -> str:
    """Success of our attack and limits of the best one, in natural frequencies."""
    certified, limit, cap = found.of_100
    return (
        "An attacker guessing whether your record or a substitute was used is right "
        f"**at most {limit} times in 100** (pale), a coin 50. Our attack: at least {certified} (solid, 99.9% sure). "
        f"Any mechanism with this guarantee: at most {cap} (ringed)."
    )


def equivalent(state: State) -> str:
    """The equivalent sample size at the slider's epsilon, in words."""
    if state.no_equivalent:
        return f"**No equivalent sample size here:** {readable(state.no_equivalent)}."
    here, metric, records = state.equivalent_here, ERRORS[state.error], state.source.records
    if here is None:
        return "The learners without privacy are being trained …"
    if here.at_first:
        size = f"that **{here.first:,.0f} or fewer** reach without"
    else:
        size = f"that about **{number(here.value)}** reach without"
    return (
        f"At ε = {state.epsilon:g}, {state.n:,} {records} with privacy reach the {metric} {size} (95% interval"
        f"{_over_splits(state)}: {interval(here)}){_learned_so_far(state)}. "
        "Another metric gives another number: predicted classes can survive noise that ruins "
        f"probabilities.{_levels_off(state)}"
    )


def _about(state: State) -> str:
    if state.no_population:
        return f" for other splits of this file; {readable(state.no_population)}"
    return " for the population that the file is a sample of" if state.in_file else ""


def _over_splits(state: State) -> str:
    return " for this file" if state.in_file else ""


def _levels_off(state: State) -> str:
    """Why no budget recovers the full sample size where λ follows the noise."""
    if state.setting.problem.lam == "auto" and state.way.startswith("output"):
        return " With λ = auto, the noise in a prediction has the same size at every ε: no ε reaches all n."
    return ""


def deployments(epsilon: float, used: Sequence[float]) -> str:
    """How many of the deployments stand on either side of the slider's epsilon."""
    larger, equal = (sum(test(other) for other in used) for test in (epsilon.__lt__, epsilon.__eq__))
    return (
        f"**{larger} of {len(used)}** published deployments have a larger ε than {epsilon:g}, a weaker guarantee "
        f"(the same: {equal}, smaller: {len(used) - larger - equal}). This is not advice: units differ (a person, a "
        "day, a query) and repeated releases add up."
    )


def facts(deployments: Sequence[Deployment]) -> pd.DataFrame:
    """The deployments as a table for readers."""
    names = {"model": "trust", "address": "read at"}
    return pd.DataFrame([dc.asdict(one) for one in deployments]).rename(columns=names)
