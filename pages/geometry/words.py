"""The words of the page Geometry. Every number comes out of the curves, a plan or a rate."""

import dataclasses as dc
import math
from typing import Any

import numpy as np
import pandas as pd

from dpcore.core.facts import text_beside
from dpcore.experiments.summary import LEAST_BANDED
from dpcore.mechanisms import mechanism_class
from dpcore.studies.geometry.excess_by_n import PEOPLE, ExcessByN, learner_key
from dpcore.studies.geometry.excess_by_norm import AgainstOrder, order_text
from dpcore.studies.geometry.hardest_data import Tracing
from dpcore.studies.geometry.noise import BallPicture, NoiseLengths, PrivateMean
from dpcore.studies.geometry.table_1 import Row
from pages.ui.html import readable
from pages.ui.numbers import nearest, people, rate, rounded
from pages.ui.pickers import chips_beside
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import NO_LOWER, verdict

VIEWS = {"order": "norm order", "n": "people"}
LAWS = {"gaussian": "Gaussian", "generalized_gaussian": "generalised"}
SCALES = {"displacement": "as far as it moved", "fixed": "worst case"}
VARIANTS = {"minibatch": "minibatches", "tree": "trees", "published": "as published"}
SIDES = ("Ball", "Rates", "Private mean", "Noise", "Tracing")
JUST_ABOVE = "1 + 1/ln d"
ORDERS: dict[str, float] = {"1": 1.0, "1.1": 1.1, "1.25": 1.25, "1.5": 1.5, "2": 2.0, "4": 4.0, "∞": math.inf}
CHIPS = chips_beside(__file__, "chips.json")
NAMES = {1.0: "L1 ball", 2.0: "L2 ball", math.inf: "box"}

FORMULA = text_beside(__file__, "formula.md")


def order_of(name: str, d: int) -> float:
    """The norm order that a name on the slider stands for."""
    return 1.0 + 1.0 / math.log(d) if name == JUST_ABOVE else ORDERS[name]


def learner(name: str) -> str:
    """The mechanism of a name on the slider, whatever d is."""
    return learner_key(order_of(name, d=8))


def variant_knobs(variant: str) -> dict[str, str]:
    """Algorithm 2 as published is so with its own noise, too."""
    return {"variant": variant} | ({"accounting": "published"} if variant == "published" else {})


def fewer(p_norm: float, knobs: dict[str, str]) -> dict[str, Any]:
    """What keeps a picture live: fewer runs where steps are projected on a curved ball, or choices are many."""
    if knobs.get("variant") == "published":
        return {"ns": PEOPLE[:-2], "repetitions": 4, "datasets": 2}
    return {"repetitions": 4, "datasets": 2} if 2.0 < p_norm < math.inf else {}


@dc.dataclass(frozen=True)
class GeometryState(Controls):
    """What all pictures of the page share. name: of the norm order on its slider."""

    name: str

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


def _at(found: AgainstOrder, p_norm: float) -> int:
    return nearest(1.0 / found.p_norm, 1.0 / p_norm)


def _learned(found: AgainstOrder, k: int) -> bool:
    """Whether a private answer loses less than learning nothing, by more than the error."""
    return bool(found.mean[k] + 2.0 * found.se[k] < found.signal[k])


def order_takeaway(found: AgainstOrder, here: GeometryState) -> str:
    """What the chart says: vertices against a round ball, and the cursor's place between them."""
    first, euclid, k = 0, _at(found, 2.0), _at(found, here.p_norm)
    ratio = found.mean[euclid] / found.mean[first]
    why = "the L1 ball has only 2d vertices to choose from; the L2 ball feels noise in every column"
    if found.chosen[euclid] == "vertices":
        why = "the L1 ball has only 2d vertices to choose from; the best model of the L2 ball is near none of them"
    apart = found.mean[euclid] - found.mean[first] > 2.0 * math.hypot(found.se[euclid], found.se[first])
    corner, ball = rounded(found.mean[first]), rounded(found.mean[euclid])
    said = f"With {found.d:,} columns a private answer loses **{corner}** on the L1 ball and **{ball}** on the L2 ball"
    if not _learned(found, first):
        said += (
            f": **nothing is learned**, which loses {rounded(found.signal[first])} and {rounded(found.signal[euclid])}"
        )
    elif not _learned(found, euclid):
        said += f", where learning nothing loses {rounded(found.signal[euclid])}: {why}"
    elif apart:
        said += f", **{rounded(ratio, 2)} times** as much: {why}"
    said += "."
    if k not in (first, euclid):
        share = found.mean[k] / found.signal[k]
        said += f" At {here.words} it is {rounded(found.mean[k])}, {rounded(100 * share, 2)}% of learning nothing."
    return said


def order_readouts(found: AgainstOrder, row: Row, here: GeometryState) -> list[tuple[str, str]]:
    """(value, label) pairs below the chart."""
    k = _at(found, here.p_norm)
    chosen = "exponential mechanism" if found.chosen[k] == "vertices" else "Gaussian noise"
    other = found.gaussian if found.chosen[k] == "vertices" else found.vertices
    return [
        (chosen, f"smaller proved bound at {here.words}; the choice looks at no record"),
        (
            rounded(found.mean[k]),
            f"excess of that choice; the other one leaves {rounded(other.mean[k])}, nothing learned "
            f"{rounded(found.signal[k])}",
        ),
        (f"n = {people(row.free)}", "from here on, by the rates, sampling costs more than privacy"),
    ]


def order_verdict(found: AgainstOrder, here: GeometryState) -> str:
    """What the upper bounds say along the norm orders."""
    curves = [
        ("exponential mechanism", found.vertices.mean, found.vertices.bound),
        ("Gaussian noise", found.gaussian.mean, found.gaussian.bound),
    ]
    told = verdict(
        1.0 - 1.0 / found.p_norm,  # where an infinite order has a place, too
        curves,
        found.signal,
        1.0 - 1.0 / here.p_norm,
        "p",
        text=lambda place: order_text(1.0 / (1.0 - place) if place < 1.0 else math.inf),
    )
    return f"{told} {NO_LOWER}"


def order_caption(found: AgainstOrder) -> str:
    return (
        f"Means of {found.repetitions} draws of records and noise, bars: two standard errors. {found.n0} of "
        f"{found.n:,} records are fingerprints, the hardest data known, the others zero; the same columns for every p, "
        "scaled to norm 1 in the dual norm. Thin: the same at other d. **Not the same guarantee**: the exponential "
        f"mechanism has ({found.epsilon:g}, 0), Gaussian noise ({found.epsilon:g}, {delta_text(found.delta)})."
    )


def people_takeaway(found: ExcessByN, here: GeometryState) -> str:
    """What the chart against n says at the cursor."""
    k = nearest(found.n, here.n)
    if found.reasons[k]:
        return f"**Nothing is released**: {readable(found.reasons[k])}."
    mean = found.private.mean[k]
    measured, bound, _ = found.exponents
    said = (
        f"At {here.words} and n = {found.n[k]:,.0f} one pass over the records leaves **{rounded(mean)}** of excess "
        f"risk on fresh ones; nothing learned has {rounded(found.nothing)}, without noise it would be "
        f"{rounded(found.plain[k])}."
    )
    if measured is not None and measured >= 0.0:
        return f"{said} It does not fall with n here."
    if measured is not None and bound is not None:
        return f"{said} It falls like **{rate(measured)}**, its proved bound like {rate(bound)}."
    return f"{said} It follows no one power of n here." if measured is None else said


def people_verdict(found: ExcessByN, here: GeometryState) -> str:
    """What the upper bound says along n."""
    return f"{verdict(found.n, [('', found.private.mean, found.bound)], found.nothing, here.n, 'n')} {NO_LOWER}"


def people_readouts(found: ExcessByN, row: Row, here: GeometryState) -> list[tuple[str, str]]:
    k = nearest(found.n, here.n)
    if found.reasons[k]:
        return []
    _, _, work = found.exponents
    leads = {"sampling": "sampling", "privacy": "privacy", "trivial": "neither, the rate says nothing"}
    return [
        (
            f"{rounded(found.bound[k] / found.private.mean[k], 2)} times",
            f"how far the proved bound, {rounded(found.bound[k])}, lies above the mean: it holds for all data",
        ),
        (
            f"{found.gradients[k]:,.0f}",
            "gradients of single records that a run evaluates"
            + ("" if work is None else f"; they grow like {rate(work)}: linear time"),
        ),
        (leads[row.leads], f"larger term of the rate here; both are equal at n = {people(row.free)}"),
    ]


def people_caption(found: ExcessByN, here: GeometryState) -> str:
    label = mechanism_class(found.mechanism).label
    label = label[0].upper() + label[1:]
    said = (
        f"{label}, logistic loss, {found.repetitions} runs on tables of their own"
        f"{'; band: 8 of 10' if found.repetitions >= LEAST_BANDED else ''}. Risk on fresh "
        "people; the best model is known exactly. The bound holds for all data and is loose on easy ones."
    )
    if found.mechanism == "polyhedral_frank_wolfe":
        said += (
            " Its steps are those with the smallest proved bound; a larger n or δ lowers that bound and allows more "
            "steps, which can leave more on these people"
        )
        rises = np.diff(found.private.mean) > 2.0 * np.hypot(found.private.se[1:], found.private.se[:-1])
        if rises.any():
            k = int(np.argmax(rises))
            said += (
                f": from n = {found.n[k]:,.0f} to {found.n[k + 1]:,.0f} the mean rises from "
                f"{rounded(found.private.mean[k])} to {rounded(found.private.mean[k + 1])}"
            )
        said += "."
    least = np.nanmin(found.spent) if np.isfinite(found.spent).any() else here.epsilon
    if least < 0.99 * here.epsilon:
        most = np.nanmax(found.spent)
        said += f" The noise as printed spends ε = {rounded(least)} to {rounded(most)} of the {here.epsilon:g} granted."
    if found.n[-1] < here.n:
        said += f" Drawn up to n = {found.n[-1]:,.0f}: a step for every record takes its time."
    refused = sorted({reason for reason in found.reasons if reason})
    return f"{said} Left out: {readable(refused[0])}." if refused else said


def ball_caption(found: BallPicture, here: GeometryState) -> str:
    spots = len(np.unique(found.models.round(9), axis=0))
    return (
        f"{found.people} people in the plane, ε = {here.epsilon:g}: {len(found.noisy)} noisy means lead to {spots} "
        f"different models. {'Corners hide noise' if spots < 10 else 'A round ball shows every bit of it'}."
    )


def rates_caption(row: Row, here: GeometryState) -> str:
    leads = {"sampling": "sampling leads", "privacy": "privacy leads", "trivial": "the rate says nothing"}
    return (
        f"At {here.words}, d = {here.d:,}, n = {here.n:,}: {leads[row.leads]}. Orders of growth without "
        f"constants, {row.source}; lower bound: {readable(row.least_formula)}."
    )


def mean_caption(found: PrivateMean, here: GeometryState) -> str:
    """The generalised Gaussian mechanism by itself, at the reader's d."""
    k = nearest(found.d, here.d)
    return (
        f"The generalised Gaussian mechanism by itself: the mean of n = {found.n:,} records, each of norm at most 1 in "
        f"l_q, q = {order_text(found.q_star)}. At d = {found.d[k]:,.0f} its error is {rounded(found.generalized[k])} "
        f"on average (proved: at most {rounded(found.bound[k])}), with Gaussian noise scaled to the norm "
        f"{rounded(found.gaussian[k])}; an answer that uses no record errs by 1 at most. Density ~ exp(−‖z‖ᵣ²/2), "
        f"r = {rounded(found.order[k])}."
    )


def noise_caption(found: NoiseLengths) -> str:
    worst = int(np.argmax(found.generalized / found.gaussian))
    return (
        f"For one and the same promise the paper's generalised Gaussian is never shorter; at p = "
        f"{order_text(found.p_norm[worst])} it is {rounded(found.generalized[worst] / found.gaussian[worst], 3)} times "
        f"as long (r = {rounded(found.order[worst], 3)}). Its accounting is zCDP, that of Gaussian noise exact."
    )


def tracing_caption(found: Tracing) -> str:
    last = len(found.epsilon) - 1
    return (
        f"Fingerprints of {found.n} members in {found.d:,} columns at p = {order_text(found.p_norm)}: the exact model "
        f"tells them from strangers in {rounded(100 * found.exact, 3)}% of pairs, at ε = {found.epsilon[0]:g} in "
        f"{rounded(100 * found.auc[0], 3)}%, and then it has lost {rounded(100 * found.excess[0] / found.signal, 2)}% "
        f"of what can be learned; at ε = {found.epsilon[last]:g} it has lost "
        f"{rounded(100 * found.excess[last] / found.signal, 2)}%."
    )


def assumptions(here: GeometryState) -> str:
    return assumed(__file__, "assumptions.md", epsilon=here.epsilon, delta=delta_text(here.delta))


def order_table(found: AgainstOrder) -> pd.DataFrame:
    columns: dict[str, Any] = {"p_norm": found.p_norm, "chosen": found.chosen, "mean": found.mean, "se": found.se}
    for name, side in (("corner", found.vertices), ("gradient", found.gaussian)):
        columns |= {f"{name}_{key}": getattr(side, key) for key in ("mean", "se", "noiseless", "bound")}
    return pd.DataFrame(columns | {"nothing_learned": found.signal})


def people_table(found: ExcessByN) -> pd.DataFrame:
    columns: dict[str, Any] = {"n": found.n.astype(int)}
    columns |= {key: getattr(found.private, key) for key in ("mean", "se", "q10", "q90")}
    more: dict[str, Any] = {"q95": found.q95, "without_noise": found.plain, "bound": found.bound, "rate": found.rate}
    more["gradients"] = found.gradients
    return pd.DataFrame(columns | more | {"reason": found.reasons})
