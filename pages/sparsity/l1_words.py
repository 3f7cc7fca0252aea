"""The words of the tab LASSO. Every number comes out of the curves, a run or a plan."""

import dataclasses as dc

import numpy as np

from dpcore.accounting.zcdp import bounded_range_rho, zcdp_epsilon
from dpcore.core.facts import text_beside
from dpcore.core.power_law import power_law
from dpcore.data import load
from dpcore.mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from dpcore.studies.sparsity.l1.curves import AgainstN, AgainstP, AgainstT, Excesses, Path
from dpcore.studies.sparsity.l1.data import SOURCE, Setting
from dpcore.theory.lower_bounds import packing_signal
from pages.ui.chips import chips_beside
from pages.ui.html import readable
from pages.ui.numbers import nearest, rate, rounded
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import informative_from, lower_verdict, proved_words, verdict

AXES = {"T": "T", "n": "n", "p": "p"}
RECORDS = {"sparse": "sparse data", "hardest": "hardest data"}
ACCOUNTINGS = {"tight": "tight noise", "published": "noise as published", "published_safe": "4 × as published"}
CHIPS = chips_beside(__file__, "l1_chips.json")
# A power law is read off from this many records on: below, few steps are affordable.
_LEAST_N = 1_000
_MORE_COLUMNS = 256

FORMULA, CAPTION = text_beside(__file__, "l1_formula.md"), text_beside(__file__, "l1_caption.md").strip()


@dc.dataclass(frozen=True)
class L1State(Controls):
    """The state that all pictures of the tab share. T: steps or "auto". hardest: whether the records are so."""

    accounting: str
    T: int | str
    radius: float
    hardest: bool

    @property
    def setting(self) -> Setting:
        return Setting(self.epsilon, self.delta, self.radius, self.accounting, self.seed, hardest=self.hardest)


def steps_of(walked: Path | None, asked: int | str) -> int:
    """T of the cursor: 2 where there is no plan and none was asked for."""
    if walked:
        return walked.plan.steps + 1
    return asked if isinstance(asked, int) else 2


def gumbel_epsilon(walked: Path) -> float:
    """Epsilon of Gumbel noise of the plan's scale."""
    (event,) = walked.plan.ledger
    rho = bounded_range_rho(2.0 * event.sensitivity / event.scale, event.times)
    return zcdp_epsilon(rho, walked.plan.requested.delta)


def overspent(walked: Path) -> bool:
    return walked.plan.spent.epsilon > walked.plan.requested.epsilon * (1 + 1e-9)


def takeaway(found: Excesses, walked: Path | None, state: L1State, reason: str) -> str:
    """The sentence above the chart, at the cursor."""
    if walked is None:
        return f"**Nothing is released**: {readable(reason)}."
    if overspent(walked):
        spent = walked.plan.spent
        text = (
            f"**Nothing is released**: the noise as published spends **ε = {rounded(spent.epsilon)}** in "
            f"{walked.plan.steps:,} choices, more than the budget of {state.epsilon:g}."
        )
        if gumbel_epsilon(walked) <= state.epsilon:
            text += " Gumbel noise of the same scale would stay within the budget."
        return text
    if state.hardest:
        return _on_hardest(found, walked, state)
    if isinstance(found, AgainstN):
        return _by_people(found, state)
    if isinstance(found, AgainstP):
        return _by_columns(found)
    assert isinstance(found, AgainstT)
    return _by_steps(found, walked, state)


def place(found: Excesses, walked: Path | None, state: L1State) -> int:
    """The place of the cursor on the axis."""
    return {"T": steps_of(walked, state.T), "n": state.n, "p": state.p}[found.axis]


def verdict_of(found: Excesses, walked: Path | None, state: L1State) -> str:
    """The bounds along the axis."""
    mean, at = found.private.measured.mean, place(found, walked, state)
    told = verdict(found.x, [("", mean, found.private.bound)], found.nothing, at, found.axis)
    k, private = nearest(found.x, at), found.private
    far = "" if (private.bound < found.nothing).any() or state.hardest else _from_n(state, float(found.nothing[k]))
    proved = proved_words(-np.inf, private.proved[k], private.proved_se[k]) if walked else ""
    return " ".join(filter(None, (told, far, proved, lower_verdict(found.x, mean, found.packing, at))))


def _from_n(state: L1State, nothing: float) -> str:
    spec = state.setting.instance(state.n, state.p).spec

    def bound(n: int) -> float:
        plan = FrankWolfePolytope(state.accounting, state.T).calibrate(dc.replace(spec, n=n), state.setting.budget)
        return plan.mechanism.bounds(plan)[0].value

    return informative_from(state.n, bound, nothing)


def _on_hardest(found: Excesses, walked: Path | None, state: L1State) -> str:
    at = place(found, walked, state)
    k = nearest(found.x, at)
    mean, least, nothing = (rounded(c[k]) for c in (found.private.measured.mean, found.packing, found.nothing))
    proved = (
        f"no private algorithm can guarantee less than **{least}**" if least != "nan" else "no lower bound is known"
    )
    return (
        f"On the hardest data, private Frank-Wolfe leaves an excess risk of **{mean}** at {found.axis} = {at:,}; "
        f"{proved}. A model that learns nothing leaves {nothing}."
    )


def _by_steps(found: AgainstT, walked: Path, state: L1State) -> str:
    mean, T = found.private.measured.mean, walked.plan.steps + 1
    k, last = nearest(found.x, T), len(found.x) - 1
    best = int(np.nanargmin(mean))
    text = f"**{T} steps** of Frank-Wolfe at ε = {state.epsilon:g} leave an excess risk of **{rounded(mean[k])}**"
    others = []
    if best != k:
        others.append(f"{found.x[best]:.0f} steps would leave {rounded(mean[best])}")
    if k not in (last, best) and best != last:
        others.append(f"{found.x[last]:.0f} noisier steps, {rounded(mean[last])}")
    plain = f"Without privacy, {T} steps leave {rounded(found.plain[T - 1])}."
    return f"{'; '.join([text, *others])}. {plain}"


def _by_people(found: AgainstN, state: L1State) -> str:
    measured, dense, bound = slopes(found)
    parts = [
        f"{words} {_moves(slope)}"
        for words, slope in (
            ("the excess risk", measured),
            ("the excess where every column matters", dense),
            ("the upper bound", bound),
        )
        if slope is not None
    ]
    if measured is None:
        text = (
            f"The excess risk follows **no power of n** here: at n = {state.n:,} it is "
            f"{rounded(found.private.measured.mean[nearest(found.x, state.n)])}, where a model that learns nothing has "
            f"{rounded(found.nothing[nearest(found.x, state.n)])}"
        )
        return "; ".join([text, *parts]) + "."
    return f"With more records, {', '.join(parts)}."


def _moves(slope: float) -> str:
    """
    >>> _moves(-0.97), _moves(0.001)
    ('falls like **n⁻⁰·⁹⁷**', 'stays the same')
    """
    if abs(slope) < 0.005:  # n^0.00
        return "stays the same"
    return f"{'falls' if slope < 0.0 else 'grows'} like **{rate(slope)}**"


def slopes(found: AgainstN) -> tuple[float | None, float | None, float | None]:
    """Exponents of n from 1,000 records on: measured, where every column matters, of the bound; None where none is."""
    far = found.x >= _LEAST_N
    curves = (found.private.measured.mean, found.dense, found.private.bound)
    measured, dense, bound = (power_law(found.x[far], curve[far]).slope for curve in curves)
    return measured, dense, bound


def _by_columns(found: AgainstP) -> str:
    private, whole, last = found.private.measured, found.whole.measured.mean, len(found.x) - 1
    first, mean = nearest(found.x, found.x[last] / _MORE_COLUMNS), private.mean
    text = (
        f"**{found.x[last] / found.x[first]:.0f} times as many columns**, {found.x[last]:,.0f} instead of "
        f"{found.x[first]:,.0f}, "
    )
    if mean[last] + 2.0 * private.se[last] >= found.nothing[last]:
        text += (
            f"leave **nothing learned**: the excess risk is {rounded(mean[last])} at p = {found.x[last]:,.0f}, where "
            f"θ = 0 has {rounded(found.nothing[last])}, and {rounded(mean[first])} at p = {found.x[first]:,.0f}, where "
            f"θ = 0 has {rounded(found.nothing[first])}"
        )
    elif abs(mean[last] - mean[first]) <= 2.0 * np.hypot(private.se[last], private.se[first]):
        text += f"leave **the same excess risk** within its error: {rounded(mean[last])} and {rounded(mean[first])}"
    else:
        text += f"mean **{rounded(mean[last] / mean[first], 2)} times** the excess risk"
    if not np.isfinite(whole[last]):
        return f"{text}. {readable(found.whole.reasons[last])}"
    share = whole[last] / found.nothing[last]
    return (
        f"{text}. Noise in the whole gradient leaves {rounded(whole[last])}, {rounded(100 * share, 2)}% of the excess "
        "of a model that learns nothing."
    )


def readouts(found: Excesses, walked: Path | None, state: L1State) -> list[tuple[str, str, str]]:
    """(noun, value, rest) of the cards below the chart."""
    if walked is None:
        return []
    plan = walked.plan
    spent = rounded(plan.spent.epsilon)
    over = "; too much, so nothing is released" if overspent(walked) else "; every vertex may be published"
    weight = rounded(100 * walked.share[walked.right].sum(), 2)
    hits = f"{walked.found} of {np.count_nonzero(walked.truth)}"
    made = [
        ("Relevant columns found", hits, f"with their sign, in {plan.steps} choices; {weight}% of the weight"),
        ("Privacy spent", f"ε = {spent} of {state.epsilon:g}", f"{plan.steps} choices (step 1 is θ = 0){over}"),
    ]
    if isinstance(found, AgainstT):
        best = int(np.nanargmin(found.private.measured.mean))
        rest = (
            f"auto chooses T = {found.auto}, which is better on most data; the smallest measured mean is at "
            f"T = {found.x[best]:.0f}, but choosing T from the data would cost extra privacy"
        )
        made.append(("Smallest upper bound", f"T = {found.tuned}", rest))
    return made


def caption(found: Excesses, state: L1State) -> str:
    """The mechanism, the records, and why measured and proved slopes differ."""
    sentences = [CAPTION.format(repetitions=found.repetitions)]
    if state.hardest:
        signal = packing_signal(state.setting.instance(state.n, state.p).spec, state.setting.budget)
        sentences.append(
            f"Hardest data: {signal:,} of {state.n:,} records carry one label and lie on one axis; the others are "
            f"zero. The lower bound is the mean over {2 * state.p:,} such data sets, which the algorithm treats alike."
        )
    if state.accounting != "tight":
        over = [T for T, spent in zip(found.private.T, found.private.spent, strict=True) if spent > state.epsilon]
        if over:
            sentences.append(f"{len(over)} of {len(found.private.T)} points spend more than ε = {state.epsilon:g}.")
    if not state.hardest and (found.stored < state.p or (found.axis == "p" and found.stored < found.x[-1])):
        sentences.append(f"At most {found.stored:,} columns are filled; the others are zero in every record.")
    refused = sorted({reason for reason in found.private.reasons if reason})
    if refused:
        sentences.append(f"Not drawn: {readable(refused[0])}.")
    return " ".join(sentences)


def path_caption(walked: Path) -> str:
    """One run in words."""
    missed = int((~walked.right).sum())
    return (
        f"One run: {missed} of {walked.plan.steps} choices have the wrong column or sign; the model leaves an "
        f"excess risk of {rounded(walked.excess)}. Later choices weigh more: the last vertex has "
        f"{rounded(walked.share[-1] / walked.share[0], 2)} times the weight of the first."
    )


def assumptions(state: L1State) -> str:
    """The assumptions of the tab's statements, as a list."""
    domain = load(SOURCE, 2, 8, seed=0).domain
    facts = {"R": domain.R, "y_max": domain.y_max, "radius": state.radius}
    return assumed(__file__, "l1_assumptions.md", **facts, epsilon=state.epsilon, delta=delta_text(state.delta))
