"""The words of the page Geometry. Every number comes out of the curves, a plan or a rate."""

import dataclasses as dc
import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from dpcore.core.facts import text_beside
from dpcore.core.privacy import Budget
from dpcore.experiments.summary import LEAST_BANDED
from dpcore.figures.geometry import REACH
from dpcore.mechanisms import make_mechanism, mechanism_class
from dpcore.studies.geometry.excess_by_n import (
    SAMPLE_SIZES,
    ExcessByN,
    ExcessQuestion,
    excess_against_n,
    learner_key,
    mean_bound,
)
from dpcore.studies.geometry.excess_by_norm import AgainstOrder, order_text
from dpcore.studies.geometry.hardest_data import Tracing
from dpcore.studies.geometry.noise import BallPicture, MeanErrors
from dpcore.studies.geometry.table_1 import Row
from pages.ui.chips import chips_beside
from pages.ui.html import readable
from pages.ui.numbers import LEARNED, cost, nearest, rate, rounded, share, worded
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import NO_LOWER, informative_from, lower_verdict, verdict

VIEWS = {"order": "norm order p", "n": "sample size n"}
RECORDS = {"all": "the same for all p", "each": "hard for each p"}
LAWS = {"gaussian": "Gaussian", "generalized_gaussian": "generalised"}
BALL, RATES, TRACING = SIDES = ("Ball", "Rates", "Membership attack")
JUST_ABOVE = "1 + 1/ln d"
ORDERS: dict[str, float] = {"1": 1.0, "1.1": 1.1, "1.25": 1.25, "1.5": 1.5, "2": 2.0, "4": 4.0, "∞": math.inf}
BEYOND = ("4", "∞")  # norm orders of the view against n alone
CHIPS = chips_beside(__file__, "chips.json")
LEADS = {"sampling": "sampling", "privacy": "privacy", "trivial": "neither (above the largest loss)"}
NAMES = {1.0: "L1 ball", 2.0: "L2 ball", math.inf: "box"}

RUNS = 40  # of each n, each on a table of its own

FORMULA = text_beside(__file__, "formula.md")


def order_of(name: str, d: int) -> float:
    """The norm order that a name on the slider stands for."""
    return 1.0 + 1.0 / math.log(d) if name == JUST_ABOVE else ORDERS[name]


def learner(name: str) -> str:
    """The mechanism of a name on the slider, whatever d is."""
    return learner_key(order_of(name, d=8))


@dc.dataclass(frozen=True)
class GeometryState(Controls):
    """The state that all pictures of the page share. name: of the norm order on its slider. records: of RECORDS."""

    name: str
    records: str = "all"

    @property
    def d(self) -> int:
        return self.p

    @property
    def p_norm(self) -> float:
        return order_of(self.name, self.d)

    @property
    def words(self) -> str:
        """
        >>> GeometryState(1.0, 1e-6, 100, 8, "auto", "auto", seed=0, name="2").words
        'p = 2 (L2 ball)'
        """
        text = f"p = {order_text(self.p_norm)}"
        return f"{text} ({NAMES[self.p_norm]})" if self.p_norm in NAMES else text


def people_question(state: GeometryState, knobs: Mapping[str, str]) -> ExcessQuestion:
    """What the page asks for against n: fewer runs where steps end on a curved ball."""
    runs = 12 if 2.0 < state.p_norm < math.inf else RUNS
    return ExcessQuestion(state.p_norm, state.d, **state.budget, ns=SAMPLE_SIZES, runs=runs, knobs=tuple(knobs.items()))


def people_call(asked: ExcessQuestion) -> partial[ExcessByN]:
    """The call whose answer is that of a question."""
    told = {field.name: getattr(asked, field.name) for field in dc.fields(asked)}
    return partial(excess_against_n, told.pop("p_norm"), **dict(told.pop("knobs")), **told)


def _at(found: AgainstOrder, p_norm: float) -> int:
    return nearest(1.0 / found.p_norm, 1.0 / p_norm)


def order_takeaway(found: AgainstOrder, state: GeometryState) -> str:
    """The sentence above the chart: the cost at the cursor's norm order, on the L1 ball and on the L2 ball."""
    first, *others = dict.fromkeys(_at(found, p_norm) for p_norm in (state.p_norm, 1.0, 2.0))

    def told(k: int, rest: str = "") -> str:
        p_norm = float(found.p_norm[k])
        where = f"on the {NAMES[p_norm]}" if p_norm in NAMES else f"at p = {order_text(p_norm)}"
        return f"**{cost(found.mean[k], found.signal[k])}{rest}** {where}"

    ends = [_at(found, 1.0), _at(found, 2.0)]
    l1, l2 = found.mean[ends] / found.signal[ends]
    drawn = found.vertices.bound[ends] < found.gaussian.bound[ends]  # whether the mechanism draws a vertex
    why = ": log d against √d" if l2 >= 1.05 * l1 and drawn[0] and not drawn[1] else ""
    *most, last = (told(first, " of what can be learned"), *map(told, others))
    return f"At d = {found.d:,} privacy costs {', '.join(most)} and {last}{why}."


def order_verdict(found: AgainstOrder, state: GeometryState) -> str:
    """The bounds along the norm orders, the upper one of the mechanism that has the smaller."""
    bound = np.minimum(found.vertices.bound, found.gaussian.bound)
    places, at = 1.0 - 1.0 / found.p_norm, 1.0 - 1.0 / state.p_norm  # where an infinite order has a place, too

    def text(place: float) -> str:
        return order_text(1.0 / (1.0 - place) if place < 1.0 else math.inf)

    smaller = "smaller of the two upper bounds"
    told = verdict(places, [("", found.mean, bound)], found.signal, at, "p", text=text, noun=smaller)
    return " ".join(filter(None, (told, lower_verdict(places, found.mean, found.least, at))))


_ROWS = {
    "all": "all {all} records are fingerprints",
    "l1": "{l1} records are equal",
    "l2": "{l2} are fingerprints",
    "packing": "{packing} share one direction",
}


def order_caption(found: AgainstOrder) -> str:
    rows = {name: found.rows[name][[each == name for each in found.records]] for name in dict.fromkeys(found.records)}
    spans = {name: dict.fromkeys((f"{each.min():,}", f"{each.max():,}")) for name, each in rows.items()}
    shown = " or ".join(_ROWS[name].format(**{name: " to ".join(span)}) for name, span in spans.items())
    rest = "" if found.records[0] == "all" else ", the others zero"
    return (
        "On the L1 ball the exponential mechanism chooses among 2d vertices, and its upper bound grows like log(2d); "
        "that of Gaussian noise on the L2 ball grows like √d. "
        f"Linear losses, {found.repetitions} draws; {shown}{rest}. **Not the same guarantee**: the exponential "
        f"mechanism has ({found.epsilon:g}, 0), Gaussian noise ({found.epsilon:g}, {delta_text(found.delta)})."
    )


def people_takeaway(found: ExcessByN, state: GeometryState) -> str:
    """The sentence above the chart against n, at the cursor."""
    k = nearest(found.n, state.n)
    if found.reasons[k]:
        return f"**Nothing is released**: {readable(found.reasons[k])}."
    measured, bound, _ = found.exponents
    lost = share(found.private.mean[k], found.nothing, LEARNED)
    text = f"At {state.words} and n = {found.n[k]:,.0f} one pass loses **{lost}**."
    if measured is not None and measured > -0.005:  # n^0.00
        return f"{text} The loss does not fall with n here."
    if measured is not None and bound is not None:
        return f"{text} The loss falls like **{rate(measured)}**, its upper bound like {rate(bound)}."
    return f"{text} The loss follows no single power of n here." if measured is None else text


def people_verdict(found: ExcessByN, state: GeometryState) -> str:
    """The upper bound along n."""
    told = [verdict(found.n, [("", found.private.mean, found.bound)], found.nothing, state.n, "n")]
    k = nearest(found.n, state.n)
    if not (found.bound < found.nothing).any() and not found.reasons[k]:
        told.append(_from_n(found, state, k))
    return " ".join(filter(None, (*told, NO_LOWER)))


def _from_n(found: ExcessByN, state: GeometryState, k: int) -> str:
    mechanism, budget = make_mechanism(found.mechanism), Budget(state.epsilon, state.delta)
    return informative_from(
        int(found.n[k]), lambda n: mean_bound(mechanism, state.p_norm, state.d, n, budget), found.nothing
    )


def people_readouts(found: ExcessByN, row: Row, state: GeometryState) -> list[tuple[str, str, str]]:
    k = nearest(found.n, state.n)
    if found.reasons[k]:
        return []
    _, _, work = found.exponents
    grows = "" if work is None else f"; they grow like {rate(work)}: linear time"
    return [
        ("Gradients of single records", f"{found.gradients[k]:,.0f}", f"a run{grows}"),
        ("Larger term of the rate", LEADS[row.leads], f"both terms are equal at n = {worded(row.free)}"),
    ]


def people_caption(found: ExcessByN, state: GeometryState) -> str:
    label = mechanism_class(found.mechanism).label
    text = (
        f"{label[0].upper()}{label[1:]}, logistic loss, {found.runs} runs, each on its own table"
        f"{'; band: 8 of 10' if found.runs >= LEAST_BANDED else ''}."
    )
    k = nearest(found.n, state.n)
    if found.passes is not None and found.reads is not None and np.isfinite(found.passes[k]):
        text += (
            f" Dotted: gradient perturbation on random batches reads each record {found.reads[k] / found.n[k]:.0f} "
            "times, not once."
        )
    if found.n[-1] < state.n:
        text += f" Drawn up to n = {found.n[-1]:,.0f}: larger n are too slow to update live."
    refused = sorted({reason for reason in found.reasons if reason})
    return f"{text} Not drawn: {readable(refused[0])}." if refused else text


def ball_caption(found: BallPicture, state: GeometryState) -> str:
    spots, outside = len(np.unique(found.models.round(9), axis=0)), int((np.abs(found.noisy) > REACH).any(axis=1).sum())
    why = "Vertices hide noise" if spots < 10 else "On a round ball, all of the noise reaches the model"
    models = "one model" if spots == 1 else f"{spots} models"
    text = (
        f"A small example at ε = {state.epsilon:g}: a model is the ball's farthest point in the direction of a noisy "
        f"mean of {found.records} records. {len(found.noisy)} means lead to {models}. {why}."
    )
    return f"{text} Outside the drawing: {outside}." if outside else text


def rates_caption(row: Row, found: MeanErrors, state: GeometryState) -> str:
    return (
        f"Rates without constants, {row.source}; lower bound: {readable(row.least_formula)}. A private mean of "
        f"{state.n:,} records at d = {state.d:,} errs by {rounded(found.generalized)} in the dual norm with "
        f"generalised Gaussian noise (at most {rounded(found.bound)}), by {rounded(found.gaussian)} with Gaussian."
    )


def tracing_caption(found: Tracing, epsilon: float) -> str:
    """epsilon: of the cursor; the nearest one that was run is told."""
    k = nearest(np.log(found.epsilon), math.log(epsilon))
    here, last = (cost(found.excess[at], found.signal) for at in (k, -1))
    return (
        f"Fingerprints of {found.n} members in d = {found.d:,} at p = {order_text(found.p_norm)}. An attacker ranks a "
        f"member above a non-member in {rounded(100 * found.exact, 3)}% of pairs by the non-private model, in "
        f"{rounded(100 * found.auc[k], 3)}% at ε = {found.epsilon[k]:g}. There the excess risk is {here} of “nothing "
        f"learned”, at ε = {found.epsilon[-1]:g} only {last}: accurate models are traceable."
    )


def assumptions(state: GeometryState) -> str:
    return assumed(__file__, "assumptions.md", epsilon=state.epsilon, delta=delta_text(state.delta))
