"""The words of the page Classes. Every number comes out of the curves, a release or a plan."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import numpy as np
import pandas as pd

from dpcore import EPSILON_GRID
from dpcore.classes import Accuracies, Excesses, LearnerKey, Picture, Records
from dpcore.data import ClassSource
from dpcore.figures import plain_number
from pages.ui.controls import delta_text, lam_text
from pages.ui.text import points, readable, rounded

PROOFS = {"repaired": "repaired", "printed": "as printed"}
VIEWS = {"classes": "classes", "epsilon": "budget ε", "d": "columns", "excess": "excess risk"}
CLASSES = tuple(range(2, 11))
COLUMNS = (2, 3, 4, 6, 8, 12, 16)
LEARNERS: dict[str, tuple[LearnerKey, ...]] = {
    "classes": ("ellipsoids", "split", "split_answer"),
    "d": ("ellipsoids", "split", "split_answer"),
    "epsilon": ("ellipsoids", "pure", "answer", "split"),
}
EXCESS_REPETITIONS = 20
CHIPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ten classes", {"classifier": "repaired", "price_against": "classes", "C": 10}),
    ("all ten digits", {"classifier": "repaired", "price_against": "epsilon", "class_records": "digits"}),
    ("iris", {"classifier": "repaired", "price_against": "epsilon", "class_records": "iris"}),
    ("a bound that is nearly met", {"classifier": "repaired", "price_against": "excess", "C": 3}),
    ("as printed", {"classifier": "printed"}),
    ("back to the start", {"classifier": "repaired", "price_against": "classes", "C": 3, "columns": 2, "epsilon": 1.0}),
)

FORMULA = r"""
Class $c$ has a symmetric matrix $\Phi_c$; $\tilde x=(x/R,1)/\sqrt2$ goes to the class of the smallest
$\tilde x^\top\Phi_c\tilde x$. With margins $m_c=\tilde x^\top(\Phi_c-\Phi_y)\tilde x$ and a hinge $\psi$ rounded within
$h=\frac12$ of its kink,
$$J(\Phi)=\frac1n\sum_i\sum_{c\ne y_i}\psi(m_{ic})+\frac\lambda2\sum_c\|\Phi_c\|_F^2 .$$

- **Released** is the minimiser of $J+\langle B,\Phi\rangle$; $B$ is noise in the space $V$ of matrices with
  $\sum_cB_c=0$, of dimension $(C-1)\frac{(d+1)(d+2)}2$: what all classes have in common decides nothing.
- **One record** moves $\nabla J$ by at most $\frac{\sqrt2\,C}n$, and $\ln\det$ of the Hessian by at most
  $\ln(1+\frac{C}{2hn\lambda})+(C-2)\ln(1+\frac1{2hn\lambda})$, which $\varepsilon$ pays for once.
- **Bound**: in every draw $J(\Phi)-J^*\le\|B\|^2/2\lambda$; on average over $B$ it is nearly met.
- **One against the others**: $C$ binary problems with $\varepsilon/C$, $\delta/C$ each (noise in the answers: $C$ Gaussian
  releases that together are exactly as private), since a record enters all of them.
- At last $t\,I$ is added to all $\Phi_c$, the least that makes ellipsoids of them; no decision changes.
"""


@dc.dataclass(frozen=True)
class Here:
    """What all pictures of the page share."""

    records: Records
    info: ClassSource
    epsilon: float
    delta: float
    lam: float | str

    @property
    def classes(self) -> int:
        return self.records.classes or len(self.info.names)

    @property
    def d(self) -> int:
        return self.records.d or self.info.d or 0


def places(view: str, here: Here) -> tuple[tuple[float, ...], float]:
    """The values of an axis, the reader's among them, and where he stands."""
    if view == "epsilon":
        return EPSILON_GRID, here.epsilon
    if view == "classes":
        return tuple(sorted({2, 3, 4, 5, 6, 8, 10, here.classes})), here.classes
    return COLUMNS, here.d


def effort(view: str, here: Here) -> dict[str, int]:
    """How many releases on how many draws of the records: real ones are split once, and along epsilon nothing else is
    drawn anew."""
    return {"repetitions": 10, "datasets": 1} if view == "epsilon" else {"repetitions": 6, "datasets": 2}


def _at(found: Accuracies | Excesses, here: Here) -> int:
    if isinstance(found, Excesses) or found.axis == "epsilon":
        return int(
            np.argmin(
                np.abs(
                    np.asarray(getattr(found, "epsilon", None) if isinstance(found, Excesses) else found.x)
                    - here.epsilon
                )
            )
        )
    return int(np.argmin(np.abs(found.x - (here.classes if found.axis == "classes" else here.d))))


def _lost(found: Accuracies, key: LearnerKey, k: int) -> float:
    """Points of accuracy below the ellipsoids without privacy."""
    return 100.0 * float(found.plain[k] - found.learners[key].mean[k])


def takeaway(found: Accuracies | Excesses, here: Here) -> str:
    """What the chart says at the cursor."""
    k = _at(found, here)
    if isinstance(found, Excesses):
        if found.reasons[k]:
            return f"**Nothing is released** at ε = {here.epsilon:g}: {readable(found.reasons[k])}."
        share = found.over.mean[k] / found.over_bound[k]
        said = (
            f"At ε = {here.epsilon:g} privacy leaves **{rounded(found.over.mean[k])}** above the regularised optimum, "
            f"{rounded(100 * share, 2)}% of what is proved of every data set"
        )
        worst = found.bound[k]
        if worst > found.nothing:
            return f"{said}. The bound over the best model, {rounded(worst)}, is vacuous: learning nothing has {rounded(found.nothing)}."
        return f"{said}; over the best model it is {rounded(found.excess.mean[k])}, and at most {rounded(worst)}."
    whole, split = _lost(found, "ellipsoids", k), _lost(found, "split", k)
    if found.reasons["ellipsoids"][k]:
        return f"**Nothing is released** at ε = {here.epsilon:g}: {readable(found.reasons['ellipsoids'][k])}."
    if found.axis == "classes":
        last = len(found.x) - 1
        return (
            f"**It adds up, but far less than if every class pays by itself.** With {found.x[k]:g} classes privacy takes "
            f"**{points(whole)}** of accuracy from ellipsoids that are learned at once and {points(split)} from one class "
            f"against the others; with {found.x[last]:g}, {points(_lost(found, 'ellipsoids', last))} and "
            f"{points(_lost(found, 'split', last))}."
            if _lost(found, "split", last) > _lost(found, "ellipsoids", last)
            else f"With {found.x[k]:g} classes privacy takes **{points(whole)}** of accuracy from ellipsoids that are learned "
            f"at once, and {points(split)} from one class against the others."
        )
    if found.axis == "d":
        return (
            f"With {here.d} columns and {here.classes} classes privacy takes **{points(whole)}** of accuracy from ellipsoids "
            f"and {points(split)} from one class against the others; the noise has {dimensions(here):,} directions."
        )
    right = 100.0 * found.learners["ellipsoids"].mean[k]
    return (
        f"At ε = {here.epsilon:g}, of 100 {here.info.things} **{rounded(right, 2)}** go to their class, "
        f"{rounded(100 * found.plain[k], 2)} without privacy and "
        f"{rounded(100.0 * found.learners['split'].mean[k], 2)} if each of {here.classes} classes gets a share of the budget."
    )


def dimensions(here: Here) -> int:
    """Of the space the noise lives in."""
    return (here.classes - 1) * (here.d + 1) * (here.d + 2) // 2


def readouts(found: Accuracies | Excesses, picture: Picture | None, here: Here) -> list[tuple[str, str]]:
    """(value, label) pairs below the charts."""
    k, made = _at(found, here), []
    if isinstance(found, Accuracies):
        if math.isfinite(found.bayes[k]):
            made.append((f"{found.bayes[k]:.1%}", "right for those who know the law of each class: nobody does better"))
        else:
            made.append((f"{found.logistic[k]:.1%}", "right by multinomial logistic regression without privacy"))
    elif not found.reasons[k]:
        made.append(
            (
                rounded(found.bound[k] / found.excess.mean[k], 2) + " times",
                "how far the worst-case bound lies above the mean over the best model",
            )
        )
    if picture is not None:
        charge = picture.plan.ledger[0].charge
        made += [
            (f"{picture.agree:.1%}", "of fresh records this one release sends where the model without privacy does"),
            (
                f"{100 * charge / here.epsilon:.0f}% of ε",
                f"pays for the Hessian's determinant at λ = {rounded(float(picture.plan.spec.lam), 2)}; the noise gets the rest, "
                f"in {dimensions(here):,} directions",
            ),
        ]
    return made


def caption(found: Accuracies | Excesses, here: Here) -> str:
    what = f"{here.info.label[0].upper()}{here.info.label[1:]}, n = {here.records.n:,}, λ {lam_text(here.lam)}"
    if isinstance(found, Excesses):
        return (
            f"{what}. Means of {found.repetitions} releases, band: 8 of 10. The best model is sought in the ball of the bound, "
            f"its loss is {rounded(found.least)} (known to {found.gap:.0e}); what is negative is drawn on the lower edge. "
            "The regularised optimum moves with λ, and λ with ε."
        )
    said = f"{what}. Means of {found.repetitions * found.datasets} releases, band: 8 of 10; {found.test_records:,} test records. "
    said += "“Not private” learns ellipsoids with hardly a ridge; black dots: logistic regression, not private. "
    if "pure" in found.learners:
        said += f"**Not the same promise**: δ = 0 beside δ = {delta_text(here.delta)}. "
    else:
        said += f"All at ε = {here.epsilon:g}, δ = {delta_text(here.delta)} in total. "
    if isinstance(here.lam, float):
        said += "λ is that of the ellipsoids; one against the others keeps its own rule. "
    if here.info.public:
        said += here.info.public
    refused = sorted({reason for reasons in found.reasons.values() for reason in reasons if reason})
    return f"{said} Left out: {readable(refused[0])}." if refused else said


def picture_caption(side: str, picture: Picture, here: Here) -> str:
    plane = "" if here.d == 2 else " In the plane of the first two columns, the others at 0."
    if side == "Decisions":
        return (
            f"One release at ε = {here.epsilon:g}: {picture.right:.1%} of fresh records right, {picture.plain_right:.1%} without "
            f"privacy. Shaded: where privacy decides otherwise.{plane}"
        )
    return (
        "Only differences between matrices decide, so what all classes share is free: here every ellipse is centred where "
        f"records can be, and drawn as large as fits without overlap. Noise moves and rounds them.{plane}"
    )


def assumptions(here: Here) -> str:
    lines = [
        "**Neighbours** replace one record, its class included; n, d, C and λ are public.",
        f"**Promise**: ({here.epsilon:g}, {delta_text(here.delta)}) for each curve by itself; δ = 0 for Gamma noise.",
        f"**Records**: {here.info.scaling}." + (f" {here.info.public}" if here.info.public else ""),
        "**λ = auto** lets noise move the model by the norm of a good one, and the determinant take at most a quarter of ε; it "
        "sees no record.",
        "**One against the others** learns from the same quadratic features, so that only the split of the budget differs.",
        "**Bounds** hold for all records; the one over the best model says nothing above C − 1, the loss of learning nothing.",
        "**A seeded run** like this one shows what a mechanism does; only fresh noise carries its promise.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def table(found: Accuracies | Excesses) -> pd.DataFrame:
    if isinstance(found, Excesses):
        columns: dict[str, Any] = {"epsilon": found.epsilon, "lam": found.lam}
        for name, measured in (("excess", found.excess), ("over_regularised", found.over)):
            columns |= {f"{name}_{key}": getattr(measured, key) for key in ("mean", "se", "q10", "q90")}
        return pd.DataFrame(columns | {"bound": found.bound, "over_bound": found.over_bound, "reason": found.reasons})
    columns = {found.axis: found.x}
    for key, measured in found.learners.items():
        columns |= {f"{key}_{name}": getattr(measured, name) for name in ("mean", "se", "q10", "q90")}
    more = {"not_private": found.plain, "logistic": found.logistic, "bayes": found.bayes, "chance": found.chance}
    return pd.DataFrame(columns | more)


def snippet(found: Accuracies | Excesses, here: Here) -> str:
    """Python that redraws the chart from an empty file."""
    own = f", d={here.records.d}, classes={here.records.classes}" if here.records.d else ""
    head = f"""from dpcore import classes, figures

records = classes.Records({here.records.source!r}, {here.records.n}, {here.records.seed}{own})
"""
    if isinstance(found, Excesses):
        return (
            head
            + f"""found = classes.excess_against_epsilon(
    {EPSILON_GRID},
    records, delta={here.delta!r}, lam={here.lam!r}, repetitions={found.repetitions},
)
figures.classes_excess_figure(found, epsilon={here.epsilon!r}, theme="light", height=430).show()
"""
        )
    values, cursor = places(found.axis, here)
    return (
        head
        + f"""found = classes.accuracy_against(
    {found.axis!r}, {tuple(values)}, records, epsilon={here.epsilon!r}, delta={here.delta!r}, lam={here.lam!r},
    learners={tuple(found.learners)}, repetitions={found.repetitions}, datasets={found.datasets},
)
figures.accuracy_figure(found, cursor={cursor!r}, theme="light", height=430).show()
"""
    )
