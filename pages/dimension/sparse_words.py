"""The words of the view Sparse model. Every number comes out of the curves, a run or a plan."""

import dataclasses as dc

import numpy as np

from dpcore.core.facts import text_beside
from dpcore.core.power_law import power_law
from dpcore.data import load
from dpcore.mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from dpcore.studies.dimension.lasso.curves import AgainstN, AgainstP, AgainstT, Excesses, Path
from dpcore.studies.dimension.lasso.data import SOURCE, Setting
from dpcore.theory.lower_bounds import packing_signal
from pages.ui.html import readable
from pages.ui.numbers import LEARNED, nearest, rate, share
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import informative_from, lower_verdict, verdict

AXES = {"p": "p", "T": "T", "n": "n"}
RECORDS = {"sparse": "sparse data", "hardest": "hardest data"}
# In a small ball the upper bound says something for few records and many columns.
RADIUS = 0.25
# A power law is read off from this many records on: below, few steps are affordable.
_LEAST_N = 1_000
_HARDLY = 0.02  # of what can be learned, between the cursor and the far end of the axis

FORMULA = text_beside(__file__, "sparse_formula.md")


@dc.dataclass(frozen=True)
class SparseState(Controls):
    """The state that all pictures of the view share. T: steps or "bound". hardest: whether the records are so."""

    T: int | str
    hardest: bool

    @property
    def setting(self) -> Setting:
        return Setting(self.epsilon, self.delta, RADIUS, "tight", self.seed, hardest=self.hardest)


def steps_of(walked: Path | None, asked: int | str) -> int:
    """T of the cursor: 2 where there is no plan and none was asked for."""
    if walked:
        return walked.plan.steps + 1
    return asked if isinstance(asked, int) else 2


def steps_text(T: int | str) -> str:
    return f"{T:,}" if isinstance(T, int) else "auto"


def takeaway(found: Excesses, walked: Path | None, state: SparseState, reason: str) -> str:
    """The sentence above the chart, at the cursor."""
    if walked is None:
        return f"**Nothing is released**: {readable(reason)}."
    if state.hardest:
        return _on_hardest(found, walked, state)
    if isinstance(found, AgainstN):
        return _by_people(found, state)
    if isinstance(found, AgainstP):
        return _by_columns(found, state)
    assert isinstance(found, AgainstT)
    return _by_steps(found, walked, state)


def place(found: Excesses, walked: Path | None, state: SparseState) -> int:
    """The place of the cursor on the axis."""
    return {"T": steps_of(walked, state.T), "n": state.n, "p": state.p}[found.axis]


def verdict_of(found: Excesses, walked: Path | None, state: SparseState) -> str:
    """The bounds along the axis."""
    mean, at = found.private.measured.mean, place(found, walked, state)
    told = verdict(found.x, [("", mean, found.private.bound)], found.nothing, at, found.axis)
    k, private = nearest(found.x, at), found.private
    far = "" if (private.bound < found.nothing).any() or state.hardest else _from_n(state, float(found.nothing[k]))
    return " ".join(filter(None, (told, far, lower_verdict(found.x, mean, found.packing, at))))


def _from_n(state: SparseState, nothing: float) -> str:
    spec = state.setting.instance(state.n, state.p).spec

    def bound(n: int) -> float:
        plan = FrankWolfePolytope(T=state.T).calibrate(dc.replace(spec, n=n), state.setting.budget)
        return plan.mechanism.bounds(plan)[0].value

    return informative_from(state.n, bound, nothing)


def _on_hardest(found: Excesses, walked: Path | None, state: SparseState) -> str:
    at = place(found, walked, state)
    k = nearest(found.x, at)
    mean, least, nothing = (float(c[k]) for c in (found.private.measured.mean, found.packing, found.nothing))
    proved = (
        f"no private algorithm can guarantee less than **{share(least, nothing)}**"
        if np.isfinite(least)
        else "no lower bound is known"
    )
    return (
        f"On the hardest data, private Frank-Wolfe costs **{share(mean, nothing, LEARNED)}** at "
        f"{found.axis} = {at:,}; {proved}."
    )


def _by_steps(found: AgainstT, walked: Path, state: SparseState) -> str:
    T = walked.plan.steps + 1
    mean, nothing = (curve[nearest(found.x, T)] for curve in (found.private.measured.mean, found.nothing))
    return (
        f"With {state.p:,} columns and ε = {state.epsilon:g}, **{T} steps** of private Frank-Wolfe cost "
        f"**{share(mean, nothing, LEARNED)}**, without privacy {share(found.plain[T - 1], nothing)}."
    )


def _by_people(found: AgainstN, state: SparseState) -> str:
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
        k = nearest(found.x, state.n)
        text = (
            f"The excess risk follows **no power of n** here: at n = {state.n:,} privacy costs "
            f"{share(found.private.measured.mean[k], found.nothing[k], LEARNED)}"
        )
        return "; ".join([text, *parts]) + "."
    *most, last = parts
    return f"With more records, {', '.join(most)}{' and ' if most else ''}{last}."


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


def _by_columns(found: AgainstP, state: SparseState) -> str:
    k, whole = nearest(found.x, state.p), found.whole
    far = 0 if 2 * k >= len(found.x) else len(found.x) - 1  # the other end of the axis
    mean, nothing = found.private.measured.mean, found.nothing
    few, many = ((mean / nothing)[at] for at in sorted((k, far)))
    answer = "**Hardly**: at" if many - few < _HARDLY else "**Yes**: at"
    text = (
        f"{answer if few < 0.995 else 'At'} ε = {state.epsilon:g} private Frank-Wolfe, one vertex a "
        f"step, costs **{share(mean[k], nothing[k], LEARNED)}** among "
        f"**{state.p:,} columns**, {share(mean[far], nothing[far])} among {found.x[far]:,.0f}"
    )
    if whole.reasons[k]:
        return f"{text}. {readable(whole.reasons[k])}"
    return f"{text}; noise in the whole gradient costs {share(whole.measured.mean[k], nothing[k])}."


def caption(found: Excesses, state: SparseState) -> str:
    """The mechanism, the records, and what is not drawn."""
    sentences = [
        "LASSO by private Frank-Wolfe: each step draws one of the 2p vertices of the L1 ball by the exponential "
        f"mechanism. Means of {found.repetitions} runs; shaded: proved for these records."
    ]
    if state.hardest:
        signal = packing_signal(state.setting.instance(state.n, state.p).spec, state.setting.budget)
        sentences.append(
            f"Hardest data: {signal:,} of {state.n:,} records carry one label and lie on one axis; the others are "
            f"zero. The lower bound is the mean over {2 * state.p:,} such data sets, which the algorithm treats alike."
        )
    if not state.hardest and (found.stored < state.p or (found.axis == "p" and found.stored < found.x[-1])):
        sentences.append(f"At most {found.stored:,} columns are filled; the others are zero in every record.")
    refused = sorted({reason for reason in found.private.reasons if reason})
    if refused:
        sentences.append(f"Not drawn: {readable(refused[0])}.")
    return " ".join(sentences)


def path_caption(walked: Path) -> str:
    """One run in words."""
    missed, steps = int((~walked.right).sum()), walked.plan.steps
    wrong = f"choice{'s' * (steps != 1)} {'has' if missed == 1 else 'have'} the wrong column or sign"
    return (
        f"One run finds {walked.found} of {np.count_nonzero(walked.truth)} relevant columns with their sign; {missed} "
        f"of its T − 1 = {steps} {wrong}."
    )


def assumptions(state: SparseState) -> str:
    """The assumptions of the view's statements, as a list."""
    domain = load(SOURCE, 2, 8, seed=0).domain
    facts = {"R": domain.R, "y_max": domain.y_max, "radius": RADIUS}
    return assumed(__file__, "sparse_assumptions.md", **facts, epsilon=state.epsilon, delta=delta_text(state.delta))
