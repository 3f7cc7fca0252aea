"""The words of the tab L1 ball. Every number comes out of the curves, a run or a plan."""

import dataclasses as dc
from typing import Any

import numpy as np
import pandas as pd

from dpcore.accounting.zcdp import bounded_range_rho, zcdp_epsilon
from dpcore.core.facts import text_beside
from dpcore.core.power_law import power_law
from dpcore.data import load
from dpcore.studies.sparsity.l1.curves import AgainstN, AgainstP, AgainstT, ExcessCurve, Path
from dpcore.studies.sparsity.l1.data import SOURCE, Setting
from dpcore.studies.sparsity.l1.membership import Tracing, literal_size
from dpcore.studies.sparsity.simplex.beside_others import BesideSampling
from pages.ui.html import readable
from pages.ui.numbers import nearest, people, rate, rounded
from pages.ui.pickers import chips_beside
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import NO_LOWER, verdict

AXES = {"T": "steps", "n": "people", "p": "columns"}
ACCOUNTINGS = {"tight": "tight", "published": "printed", "published_safe": "4 × printed"}
SIMPLEX_LOSS = "huber"
CHIPS = chips_beside(__file__, "l1_chips.json")
# A power law is read off from this many people on: below, few steps are affordable.
_LEAST_PEOPLE = 1_000
_MORE_COLUMNS = 256
Found = AgainstT | AgainstN | AgainstP

FORMULA = text_beside(__file__, "l1_formula.md")


@dc.dataclass(frozen=True)
class L1State(Controls):
    """What all pictures of the tab share. T: steps or "auto"."""

    accounting: str
    T: int | str
    radius: float

    @property
    def setting(self) -> Setting:
        return Setting(self.epsilon, self.delta, self.radius, self.accounting, self.seed)


def steps_of(walked: Path | None, asked: int | str) -> int:
    """T of the cursor: 2 where there is no plan and none was asked for."""
    if walked:
        return walked.plan.steps + 1
    return asked if isinstance(asked, int) else 2


def gumbel_epsilon(walked: Path) -> float:
    """What Gumbel noise of the plan's scale would cost."""
    (event,) = walked.plan.ledger
    rho = bounded_range_rho(2.0 * event.sensitivity / event.scale, event.times)
    return zcdp_epsilon(rho, walked.plan.requested.delta)


def overspent(walked: Path) -> bool:
    return walked.plan.spent.epsilon > walked.plan.requested.epsilon * (1 + 1e-9)


def takeaway(found: Found, walked: Path | None, here: L1State, reason: str) -> str:
    """What the chart says at the cursor."""
    if walked is None:
        return f"**Nothing is released**: {readable(reason)}."
    if overspent(walked):
        spent = walked.plan.spent
        said = (
            f"With the noise as printed, {walked.plan.steps:,} choices cost **ε = {rounded(spent.epsilon)}** by what "
            f"is proved, more than the {here.epsilon:g} that was granted: nothing is released."
        )
        if gumbel_epsilon(walked) <= here.epsilon:
            said += " Gumbel noise of the same scale would keep the promise."
        return said
    if isinstance(found, AgainstN):
        return _by_people(found, here)
    return _by_columns(found, here) if isinstance(found, AgainstP) else _by_steps(found, walked, here)


def verdict_of(found: Found, walked: Path | None, here: L1State) -> str:
    """What the upper bound says along the axis."""
    letter, at = ("n", here.n) if isinstance(found, AgainstN) else ("p", here.p)
    if isinstance(found, AgainstT):
        letter, at = "T", steps_of(walked, here.T)
    curve = "", found.private.measured.mean, found.private.bound
    said = verdict(getattr(found, letter), [curve], found.nothing, at, letter)
    return said if isinstance(found, AgainstN) else f"{said} {NO_LOWER}"


def _by_steps(found: AgainstT, walked: Path, here: L1State) -> str:
    mean, T = found.private.measured.mean, walked.plan.steps + 1
    k, last = nearest(found.T, T), len(found.T) - 1
    best = int(np.nanargmin(mean))
    said = f"**{T} steps** at ε = {here.epsilon:g} leave **{rounded(mean[k])}** of excess risk"
    others = []
    if best != k:
        others.append(f"{found.T[best]:.0f} would leave {rounded(mean[best])}")
    if k not in (last, best) and best != last:
        others.append(f"{found.T[last]:.0f}, each with more noise, {rounded(mean[last])}")
    plain = f"Without privacy {T} steps leave {rounded(found.plain[T - 1])}."
    return f"{'; '.join([said, *others])}. {plain}"


def _by_people(found: AgainstN, here: L1State) -> str:
    measured, hard, bound = slopes(found)
    parts = [
        f"{words} {_moves(slope)}"
        for words, slope in (
            ("the excess where few features matter", measured),
            ("the excess on hard records", hard),
            ("the bound for all data", bound),
        )
        if slope is not None
    ]
    if measured is None:
        said = (
            f"The excess follows **no power of n** here: at n = {here.n:,} it is "
            f"{rounded(_value(found.n, found.private, here.n))}, and θ = 0 has "
            f"{rounded(found.nothing[nearest(found.n, here.n)])}"
        )
        return "; ".join([said, *parts]) + "."
    return f"With more people, {', '.join(parts)}."


def _moves(slope: float) -> str:
    """
    >>> _moves(-0.97), _moves(0.001)
    ('falls like **n⁻⁰·⁹⁷**', 'stays the same')
    """
    if abs(slope) < 0.005:  # n^0.00
        return "stays the same"
    return f"{'falls' if slope < 0.0 else 'grows'} like **{rate(slope)}**"


def slopes(found: AgainstN) -> tuple[float | None, float | None, float | None]:
    """Exponents of n from 1,000 people on: measured, on hard records, of the bound; None where there is none."""
    far = found.n >= _LEAST_PEOPLE
    curves = (found.private.measured.mean, found.hardest, found.private.bound)
    measured, hard, bound = (power_law(found.n[far], curve[far]).slope for curve in curves)
    return measured, hard, bound


def _by_columns(found: AgainstP, here: L1State) -> str:
    private, whole, last = found.private.measured, found.whole.measured.mean, len(found.p) - 1
    first, mean = nearest(found.p, found.p[last] / _MORE_COLUMNS), private.mean
    said = (
        f"**{found.p[last] / found.p[first]:.0f} times more columns**, {found.p[last]:,.0f} instead of "
        f"{found.p[first]:,.0f}, "
    )
    if mean[last] + 2.0 * private.se[last] >= found.nothing[last]:
        said += (
            f"leave **nothing learned**: the excess is {rounded(mean[last])} with {found.p[last]:,.0f} columns, where "
            f"θ = 0 has {rounded(found.nothing[last])}, and {rounded(mean[first])} with {found.p[first]:,.0f}, where "
            f"it has {rounded(found.nothing[first])}"
        )
    elif abs(mean[last] - mean[first]) <= 2.0 * np.hypot(private.se[last], private.se[first]):
        said += f"leave **the same excess** within the error, {rounded(mean[last])} and {rounded(mean[first])}"
    else:
        verb = "cost" if mean[last] > mean[first] else "leave"
        said += f"{verb} **{rounded(mean[last] / mean[first], 2)} times** the excess"
    if not np.isfinite(whole[last]):
        return f"{said}. {readable(found.whole.reasons[last])}"
    share = whole[last] / found.nothing[last]
    return (
        f"{said}. Noise in the whole gradient leaves {rounded(whole[last])}, {rounded(100 * share, 2)}% of what θ = 0, "
        "which has learned nothing, leaves."
    )


def _value(grid: Any, curve: ExcessCurve, at: float) -> float:
    return float(curve.measured.mean[nearest(grid, at)])


def readouts(found: Found, walked: Path | None, here: L1State) -> list[tuple[str, str]]:
    """(value, label) pairs below the chart."""
    if walked is None:
        return []
    plan = walked.plan
    pairs = [
        (
            f"{walked.found} of {np.count_nonzero(walked.truth)}",
            f"features that matter were chosen with their sign in {plan.steps} steps; "
            f"{rounded(100 * walked.share[walked.right].sum(), 2)}% of the weight went to them",
        ),
        (
            f"ε = {rounded(plan.spent.epsilon)}",
            f"is what {plan.steps} choices cost, "
            + (
                f"more than the {here.epsilon:g} granted: an exhibit"
                if overspent(walked)
                else f"of the {here.epsilon:g} granted; every vertex may be published"
            ),
        ),
    ]
    if isinstance(found, AgainstT):
        best = int(np.nanargmin(found.private.measured.mean))
        pairs.append(
            (
                f"T = {found.tuned}",
                f"has the smallest bound with this noise, auto takes {found.auto}, about a quarter of it; the smallest "
                f"measured mean is at {found.T[best]:.0f}, but choosing T from the data would cost extra privacy",
            )
        )
    if isinstance(found, AgainstN):
        pairs.append(
            (
                f"{people(found.free)} people",
                "and more: what privacy costs falls under what fresh records add, by bounds at the best T, and privacy "
                "comes for free",
            )
        )
    if isinstance(found, AgainstP):
        k = nearest(found.p, here.p)
        pairs.append(
            (
                f"{rounded(found.private.measured.mean[k])}",
                f"excess at p = {here.p:,} with a noisy vertex a step, {rounded(found.whole.measured.mean[k])} with "
                "noise in the whole gradient",
            )
        )
    return pairs


def caption(found: Found, here: L1State) -> str:
    """What the curves share, and why measured and proved slopes differ."""
    said = [f"Means over {found.repetitions} runs that share their randomness; band: 8 of 10."]
    if isinstance(found, AgainstN):
        said.append(
            "A bound holds for all data. Where few features matter a handful of vertices is enough, and the excess "
            "falls faster; on the hard records every column matters, no few vertices come near, and it falls like the "
            "bound."
        )
    if here.accounting != "tight":
        over = [T for T, spent in zip(found.private.T, found.private.spent, strict=True) if spent > here.epsilon]
        if over:
            said.append(f"{len(over)} of {len(found.private.T)} points spend more than was granted: exhibits.")
    stored = int(np.max(found.stored))
    if stored < here.p or (isinstance(found, AgainstP) and stored < found.p[-1]):
        said.append(f"At most {stored:,} columns are filled, all others are zero in every record.")
    refused = sorted({reason for reason in found.private.reasons if reason})
    if refused:
        said.append(f"Left out: {readable(refused[0])}.")
    return " ".join(said)


def path_caption(walked: Path) -> str:
    """One run in words."""
    missed = int((~walked.right).sum())
    return (
        f"One run: {missed} of {walked.plan.steps} choices are not a feature that matters with its sign, and the model "
        f"leaves {rounded(walked.excess)}. Early choices fade: the last of T vertices weighs "
        f"{rounded(walked.share[-1] / walked.share[0], 2)} times the first."
    )


def remark_caption(found: BesideSampling, here: L1State) -> str:
    """Both mechanisms on the records of the tab Simplex."""
    last = len(found.n) - 1
    pair = found.frank_wolfe.mean[last], found.sampling.mean[last]
    said = (
        f"Over the simplex, with Huber loss and ε = {here.epsilon:g}: at n = {found.n[last]:,.0f} Frank-Wolfe leaves "
        f"{rounded(pair[0])} and m draws {rounded(pair[1])}. Remark 2 promises n⁻²⁄³ instead of n⁻¹⁄³."
    )
    if found.stored < here.p:
        said += f" {found.stored:,} of {here.p:,} columns are filled."
    return f"{said} Means of {found.repetitions} runs."


def tracing_caption(tracing: Tracing) -> str:
    """What the attack sees, and how far it is from the theorem."""
    size = literal_size()
    last = len(tracing.epsilon) - 1
    worse = tracing.epsilon[tracing.excess > tracing.nothing]
    said = (
        f"Who of {tracing.w} users was in the data? The exact minimiser tells members from strangers with AUC "
        f"{tracing.exact:.2f}; at ε = {tracing.epsilon[last]:,.0f} it is {tracing.auc[last]:.2f}, at ε = "
        f"{tracing.epsilon[0]:g} it is {tracing.auc[0]:.2f}, while the excess grows from "
        f"{rounded(tracing.excess[last])} to {rounded(tracing.excess[0])}: accurate means traceable."
    )
    if len(worse):
        said += f" Up to ε = {worse[-1]:g}, a model of zeros would do better."
    return (
        f"{said} A scaled illustration with {tracing.n} records; the theorem's own data need m ≥ {size.m:,}, "
        f"{people(size.p)} columns and {people(size.n)} records."
    )


def assumptions(here: L1State) -> str:
    """What has to be true for the page's statements, as a list."""
    domain = load(SOURCE, 2, 8, seed=0).domain
    facts = {"R": domain.R, "y_max": domain.y_max, "radius": here.radius}
    return assumed(__file__, "l1_assumptions.md", **facts, epsilon=here.epsilon, delta=delta_text(here.delta))


def table(found: Found) -> pd.DataFrame:
    """The curves as numbers."""
    over = {AgainstT: "T", AgainstN: "n", AgainstP: "p"}[type(found)]
    columns: dict[str, Any] = {over: getattr(found, over).astype(int)}
    curves = {"private": found.private} | ({"whole": found.whole} if isinstance(found, AgainstP) else {})
    for name, curve in curves.items():
        measured = {key: getattr(curve.measured, key) for key in ("mean", "se", "q10", "q90")}
        more = {"steps": curve.T, "bound": curve.bound, "spent_epsilon": curve.spent, "reason": curve.reasons}
        columns |= {f"{name}_{key}": values for key, values in (measured | more).items()}
    if isinstance(found, AgainstN):
        columns |= {key: getattr(found, key) for key in ("hardest", "packing", "sampling", "nothing")}
    return pd.DataFrame(columns)
