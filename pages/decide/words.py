"""The words of the page Decide. Every number comes out of a curve, an audit or an accounting."""

import dataclasses as dc
from collections.abc import Sequence

import pandas as pd

from dpcore import AttackSuccess
from dpcore.studies.decide.deployments import Deployment
from dpcore.studies.decide.equivalent_sample_size import EquivalentSampleSize, Error
from dpcore.studies.decide.loss_by_group import GroupLoss
from dpcore.studies.decide.loss_curve import LostCurve
from dpcore.studies.decide.smallest_epsilon import RARE
from dpcore.studies.decide.threshold_interval import Answer
from pages.background.asking import Answer as Known
from pages.background.asking import waiting
from pages.decide.briefing.content import MODERATE, Briefing, lost_by_half
from pages.decide.state import State
from pages.ui.chips import chips_beside
from pages.ui.html import readable
from pages.ui.numbers import points, rounded, worded

ERRORS: dict[Error, str] = {"loss": "log loss", "accuracy": "accuracy"}
NO_FILE = "Drop a file: only this session sees it. Then say the question, confirm its columns, and read the ε to sign."
UNDECLARED = "Say the question, confirm the columns, and read the ε to sign."
GROUPS = (
    "Points lost on the held-out rows of each group at ε = {:g}, a mean over splits and noises, with its standard "
    "error over rows. A group with few rows says little. This is a look at the records, which ε does not cover."
)
CHIPS = chips_beside(__file__, "chips.json")
_FLOORS = {"accuracy": "the larger class alone", "auc": "a model that learns nothing", "r_squared": "the mean alone"}


def number(value: float) -> str:
    """Two digits, as people write them.

    >>> number(0.4712), number(1234.0)
    ('0.47', '1,200')
    """
    return rounded(value, 2)


def interval(found: Answer) -> str:
    """The confidence interval of an answer, with open ends where they are beyond the scale.

    >>> import math
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


def no_answer(drawn: str, known: Known, curve: LostCurve | None) -> str:
    """Why there is no answer: none yet, or none to come."""
    if curve is not None:
        return f"**No release** at any ε with {drawn}: {readable(next(iter(curve.refused.values())))}."
    if known.reason:
        return f"**No release** at any ε with {drawn}: {readable(known.reason)}."
    return waiting(known) if known.failed else "The first splits are being computed …"


def sentence(state: State) -> str:
    """The answer, with what is to be signed between **."""
    answer = state.answer
    start = f"Sign ε = {answer.epsilon:g}" if answer.useful else "No useful budget"
    told = answer.sentence().replace(start, f"**{start}**", 1)
    if not state.complete:
        return f"By {answer.curve.splits} of {state.setting.splits} splits so far: {told}"
    judged = _judged(state)
    return f"{told} That is {judged.strength.lower()}." if answer.useful and judged.odds > MODERATE else told


def _judged(state: State) -> Briefing:
    """How strong the protection is, earlier releases included."""
    ledger = state.upload.ledger if state.upload else None
    return Briefing(state.answer, state.source, None, "", state.unit, ledger, 0, "")


def points_kept(state: State) -> str:
    """What the share means in points."""
    answer = state.answer
    if answer.at_most <= 0.0:
        return "Without privacy nothing is learned."
    return (
        f"Learning gains {points(answer.gain)} over {_FLOORS[state.setting.metric]}; a release may lose "
        f"{points(answer.at_most)}."
    )


def caption(state: State) -> str:
    """What the curves are."""
    counted = "all" if state.complete else f"{state.answer.curve.splits} of"
    what = {
        "accuracy": f"share of {state.source.things} {state.source.outcome}",
        "auc": f"AUC (pairs of a yes and a no in the right order, since the rarer answer has under {RARE:.0%} of rows)",
        "r_squared": "share of the variance explained",
    }[state.setting.metric]
    return (
        f"{state.drawn[0].upper()}{state.drawn[1:]}; {state.mechanism.label}. Points below the best model without "
        f"privacy, by {what}, over {counted} {state.setting.splits} splits. Band: from what half of the releases lose "
        "less than to what nine of ten do. Dotted: the mean."
    )


def readouts(state: State) -> list[tuple[str, str, str]]:
    """(noun, value, rest) triples below the chart; none where there is no budget to sign."""
    answer = state.answer
    if not answer.useful or answer.found is None:
        return []
    splits = "other splits of this file" if answer.curve.in_file else "other splits"
    judged = _judged(state)
    before = f" and {len(judged.ledger.releases):,} earlier" if judged.ledger and judged.ledger.releases else ""
    planned = "one release" if state.releases == 1 else f"{state.releases} releases"
    return [
        ("Budget to sign", f"ε = {answer.epsilon:g}", f"95% interval over {splits}: {interval(answer.found)}"),
        (
            "One release loses",
            f"< {points(answer.most_lost)}",
            f"in nine of ten cases; in half of them {lost_by_half(answer)}",
        ),
        (
            "An attacker is right",
            f"≤ {judged.odds} of 100 times",
            f"about one {state.unit} after {planned}{before}; a coin is right 50 times. {judged.strength}",
        ),
    ]


def attack_success(found: AttackSuccess, records: int = 1) -> tuple[str, tuple[str, str, str]]:
    """What 100 dots count, on one of so many records a person; and what the solid, the pale and the ringed ones add."""
    certified, limit, cap = found.of_100
    whose = "your record" if records == 1 else f"one of your {records} records"
    return f"Right guesses, of 100, whether {whose} or a substitute was used:", (
        f"at least {certified}: our attack (99.9% sure)",
        f"at most {limit}: any attack on this mechanism's noise",
        f"at most {cap}: any mechanism with this guarantee",
    )


def groups(found: Sequence[GroupLoss]) -> pd.DataFrame:
    """Loss by group, for readers."""
    return pd.DataFrame(
        {
            "group": [each.group for each in found],
            "rows": [each.rows for each in found],
            "points lost": [round(each.lost, 1) for each in found],
            "± (1 s.e.)": [round(each.error, 1) for each in found],
        }
    )


def equivalent(state: State, metric: Error, found: EquivalentSampleSize) -> str:
    """The equivalent sample size at the epsilon of the grid next above the one to sign."""
    at = int((found.curve.epsilons < state.answer.epsilon).sum())
    at = min(at, len(found.curve.epsilons) - 1)
    here, records = found.answers(metric)[at], state.source.records
    reached = f"**{here.first:,.0f} or fewer**" if here.at_first else f"about **{number(here.value)}**"
    return (
        f"At ε = {found.curve.epsilons[at]:g}, {state.problem.n:,} {records} with privacy reach the {ERRORS[metric]} "
        f"that {reached} reach without (95% interval: {interval(here)}). Another metric gives another number: "
        "predicted classes can survive noise that ruins probabilities."
    )


def sample_size(state: State, epsilon: float, known: Known) -> str:
    """How many records make an epsilon affordable."""
    records, lost = state.source.records, points(state.answer.at_most)
    if known.reason:
        return f"**No release** at ε = {epsilon:g}: {readable(known.reason)}."
    if known.snapshot is None or not known.complete:
        return f"How many {records} make ε = {epsilon:g} affordable is being computed …"
    found: Answer = known.snapshot.answer()
    if not found.reachable:
        return f"At ε = {epsilon:g}, more than **{found.last:,.0f}** {records} are needed for a loss of {lost}."
    count = f"{found.first:,.0f} or fewer" if found.at_first else f"about {worded(found.value)}"
    size = state.source.size
    copies = f" This is a what-if, from copies of {size:,}." if size is not None and found.value > size else ""
    return (
        f"At ε = {epsilon:g}, **{count}** {records} are enough for nine of ten releases to lose at most {lost} (95% "
        f"interval: {interval(found)}).{copies}"
    )


def deployments(epsilon: float, used: Sequence[float]) -> str:
    """How many of the deployments stand on either side of an epsilon."""
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
