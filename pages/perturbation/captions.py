"""What is said below the closer looks beside the doors. Every number comes out of what is drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpcore.core.arrays import Array
from dpcore.data import Source
from dpcore.figures.perturbation import RULE_NAMES
from dpcore.figures.style import NOISES
from dpcore.mechanisms import mechanism_class
from dpcore.studies.perturbation.non_private_descent import DescentCost
from dpcore.studies.perturbation.release_scatter import ReleaseScatter
from pages.perturbation.words import noises_of
from pages.ui.html import readable
from pages.ui.numbers import rounded

_FLOOR = 1e-9  # F* is certified to 10⁻⁹


def _name(mechanism: str, several: bool) -> str:
    """Where the noise is; several: of more than one law."""
    cls = mechanism_class(mechanism)
    return f"{cls.place}, {NOISES[cls.noise]}" if several else cls.place


def cloud_caption(made: ReleaseScatter, n: int) -> str:
    """What the cloud shows, with how far releases lie from their own model without noise."""
    several = len(noises_of(cloud.mechanism for cloud in made.clouds)) > 1
    parts, outside = [], 0
    for cloud in made.clouds:
        name = _name(cloud.mechanism, several)
        if cloud.plan is None:
            parts.append(f"{name}: closed")
            continue
        away = float(np.sqrt(((cloud.thetas - cloud.theta_hat) ** 2).sum(axis=1).mean()))
        parts.append(f"{name}: {rounded(away, 2)}")
        low, high = np.array([made.x[0], made.y[0]]), np.array([made.x[-1], made.y[-1]])
        outside += int(((cloud.thetas < low) | (cloud.thetas > high)).any(axis=1).sum())
    releases = max(len(cloud.thetas) for cloud in made.clouds)
    said = (
        f"A problem with two features and {n:,} synthetic people, same promise and choice of λ: {releases} releases "
        f"each over rings of equal excess risk. Typical distance from × (no noise): {'; '.join(parts)}."
    )
    return f"{said} {outside} lie outside." if outside else said


def path_caption(made: ReleaseScatter, n: int) -> str:
    """How one descent went, and how far its noise led it away."""
    (cloud,) = made.clouds
    if cloud.plan is None or cloud.path is None or cloud.quiet_path is None:
        return f"The step's door is closed: {readable(cloud.reason)}."
    astray = float(np.linalg.norm(cloud.path[-1] - cloud.quiet_path[-1]))
    end = float(np.linalg.norm(cloud.path[-1] - cloud.thetas[0]))
    return (
        f"Two features, {n:,} synthetic people: {cloud.plan.steps} noisy steps from 0. The last iterate lies "
        f"{rounded(astray, 2)} from where the same steps end without noise (dotted); what is released is the mean of "
        f"the second half of the way, {rounded(end, 2)} from it. Triangles: {len(cloud.thetas)} such releases."
    )


def bounds_caption(table: pd.DataFrame, lecture: Array, worst: float) -> str:
    """How far each rule's bound lies above what it promises, and why the lecture's has a panel of its own.

    worst: the excess of the worst model of the ball.
    """
    rows = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
    parts = []
    for rule, name in RULE_NAMES.items():
        ratio = (rows.bound / rows["mean"])[rows.rule == rule].astype(float)
        parts.append(f"{name} {rounded(ratio.min(), 2)} to {rounded(ratio.max(), 2)} times")
    said = f"Each bound lies above what was measured, by a factor of: {'; '.join(parts)}."
    told = lecture[np.isfinite(lecture)]
    if len(told):
        vacuous = "all" if (told > worst).all() else f"{int((told > worst).sum())} of {len(told)}"
        said += (
            f" The lecture's bound for its n² = {int(rows.n.iloc[0]) ** 2:,} steps exceeds {worst:g}, what the worst "
            f"model of the ball can lose, at {vacuous} of these ε."
        )
    if len(told) < len(lecture):
        said += " Where it is missing, its accounting does not hold: it needs ε < 2√ln(1/δ)."
    return said


def work_caption(made: DescentCost, source: Source) -> str:
    """Two ways to the same risk, and what they cost."""
    excesses = (float(progress.risks[-1]) - made.best for progress in (made.full, made.single))
    full, single = (rounded(excess) if excess > _FLOOR else "less than 10⁻⁹" for excess in excesses)
    return (
        f"No privacy here: {made.n} {source.records}, n² = {made.n**2:,} steps of D/(G√t) by both. All records a step "
        f"take n³ = {int(made.full.gradients[-1]):,} gradients to an excess of {full}, one record a step "
        f"n² = {int(made.single.gradients[-1]):,} to {single}. Theorem 2 bounds both by "
        f"{rounded(made.bound[-1])}."
    )


def lam_at(table: pd.DataFrame) -> float | None:
    """The λ of all open doors, where they agree within a few percent; a rule may choose differently for each.

    table: the rows at the cursor.
    """
    lams = _lams(table)
    return float(lams.min()) if len(lams) and lams.max() <= 1.05 * lams.min() else None


def _lams(table: pd.DataFrame) -> pd.Series:
    """Of all doors that regularise: where a rule chooses, descent does not."""
    lams = table.lam.dropna().astype(float)
    return lams[lams > 0.0]


def valley_caption(valley: pd.DataFrame, here: pd.DataFrame) -> str:
    """Where the valley's floor is at each door, and where the doors stand now.

    valley: swept over λ. here: the rows at the cursor of the main chart.
    """
    rows = valley[(valley.status == "ok") & (valley.metric == "excess_empirical_risk")]
    several = len(noises_of(rows.mechanism)) > 1
    parts = []
    for key, mine in rows.groupby("mechanism", sort=False):
        best = mine.loc[mine["mean"].astype(float).idxmin()]
        parts.append(f"{_name(str(key), several)}: {rounded(best['mean'])} at λ = {best.x:g}")
    said = (
        f"Small λ: noise. Large λ: regularisation. In between, lowest on this grid, {'; '.join(parts)}. "
        "To look for that floor on the records would cost privacy too."
    )
    lams = _lams(here)
    if lam_at(here) is None and len(lams):
        said += f" Now λ is {rounded(lams.min(), 2)} to {rounded(lams.max(), 2)}, a rule's choice for each curve."
    return said
