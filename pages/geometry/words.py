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
from pages.ui.numbers import nearest, rate, rounded, worded
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


def _learned(found: AgainstOrder, k: int) -> bool:
    """Whether a private answer gains more than a twentieth of what there is, and more than the error."""
    return bool(found.mean[k] + 2.0 * found.se[k] < 0.95 * found.signal[k])


def order_takeaway(found: AgainstOrder, state: GeometryState) -> str:
    """The sentence above the chart: the L1 ball against the L2 ball, and the cursor's norm order between them."""
    first, l2, k = 0, _at(found, 2.0), _at(found, state.p_norm)
    lasso, ball = rounded(found.mean[first], 2), rounded(found.mean[l2], 2)
    where = f"At d = {found.d:,}"
    if not _learned(found, first):
        either = "next to nothing is learned on the L1 ball" + (
            f", and the excess risk is {ball} on the L2 ball" if _learned(found, l2) else " or on the L2 ball"
        )
        return f"{where}, ε = {found.epsilon:g} and n = {found.n:,} **{either}**."
    if not _learned(found, l2):
        text = (
            f"{where} the excess risk is **{lasso}** on the L1 ball, and on the L2 ball **next to nothing is learned**"
        )
    else:
        ratio = found.mean[l2] / found.mean[first]
        text = f"{where} the excess risk is **{lasso}** on the L1 ball and **{ball}** on the L2 ball"
        if ratio >= 1.05:
            text += f", **{rounded(ratio, 2)} times** as much"
        else:
            return f"{text}: vertices need more dimensions to pay."
    text += ": the L1 ball has only 2d vertices to tell apart."
    if k in (first, l2):
        return text
    here = rounded(found.mean[k], 2) if _learned(found, k) else "next to nothing is learned"
    return f"{text} At {state.words}: {here}."


def order_verdict(found: AgainstOrder, state: GeometryState) -> str:
    """The bounds along the norm orders."""
    curves = [
        ("the exponential mechanism", found.vertices.mean, found.vertices.bound),
        ("Gaussian noise", found.gaussian.mean, found.gaussian.bound),
    ]
    places, at = 1.0 - 1.0 / found.p_norm, 1.0 - 1.0 / state.p_norm  # where an infinite order has a place, too

    def text(place: float) -> str:
        return order_text(1.0 / (1.0 - place) if place < 1.0 else math.inf)

    told = verdict(places, curves, found.signal, at, "p", text=text)
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
        f"Linear losses, {found.repetitions} draws; {shown}{rest}. **Not the same guarantee**: the exponential "
        f"mechanism has ({found.epsilon:g}, 0), Gaussian noise ({found.epsilon:g}, {delta_text(found.delta)})."
    )


def people_takeaway(found: ExcessByN, state: GeometryState) -> str:
    """The sentence above the chart against n, at the cursor."""
    k = nearest(found.n, state.n)
    if found.reasons[k]:
        return f"**Nothing is released**: {readable(found.reasons[k])}."
    mean = found.private.mean[k]
    measured, bound, _ = found.exponents
    text = (
        f"At {state.words} and n = {found.n[k]:,.0f} one pass leaves an excess risk of **{rounded(mean, 2)}**; "
        f"learning nothing leaves {rounded(found.nothing, 2)}."
    )
    if measured is not None and measured >= 0.0:
        return f"{text} It does not fall with n here."
    if measured is not None and bound is not None:
        return f"{text} It falls like **{rate(measured)}**, its upper bound like {rate(bound)}."
    return f"{text} It follows no single power of n here." if measured is None else text


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
        f"A small example at ε = {state.epsilon:g}: {len(found.noisy)} noisy means of {found.records} records lead to "
        f"{models}. {why}."
    )
    return f"{text} {outside} means lie outside the drawing." if outside else text


def rates_caption(row: Row, found: MeanErrors, state: GeometryState) -> str:
    return (
        f"Rates without constants, {row.source}; lower bound: {readable(row.least_formula)}. A private mean of "
        f"{state.n:,} records at d = {state.d:,} errs by {rounded(found.generalized)} in the dual norm with "
        f"generalised Gaussian noise (at most {rounded(found.bound)}), by {rounded(found.gaussian)} with Gaussian."
    )


def tracing_caption(found: Tracing) -> str:
    last = len(found.epsilon) - 1
    return (
        f"Fingerprints of {found.n} members in d = {found.d:,} at p = {order_text(found.p_norm)}. An attacker ranks a "
        f"member above a non-member in {rounded(100 * found.exact, 3)}% of pairs by the non-private model, in "
        f"{rounded(100 * found.auc[0], 3)}% at ε = {found.epsilon[0]:g}. At that ε the excess risk is "
        f"{rounded(100 * found.excess[0] / found.signal, 2)}% of “nothing learned”, and at ε = "
        f"{found.epsilon[last]:g} it is {rounded(100 * found.excess[last] / found.signal, 2)}%: accurate models are "
        "traceable."
    )


def assumptions(state: GeometryState) -> str:
    return assumed(__file__, "assumptions.md", epsilon=state.epsilon, delta=delta_text(state.delta))
