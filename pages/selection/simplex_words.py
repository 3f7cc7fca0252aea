"""The words of the view Simplex sampling. Every number comes out of the valley, a release or a plan."""

from typing import Any

import numpy as np

from dpcore.core.facts import text_beside
from dpcore.data import load
from dpcore.data.synthetic import TEST_RECORDS
from dpcore.studies.selection.simplex.beside_others import ExcessByColumns
from dpcore.studies.selection.simplex.data import SOURCE
from dpcore.studies.selection.simplex.excess_by_draws import On, Valley
from dpcore.studies.selection.simplex.published_draws import draws_at, first_draw
from dpcore.studies.selection.simplex.single_release import Support
from pages.ui.html import readable
from pages.ui.numbers import amount, nearest, rounded, worded
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import verdict

LOSS = "huber"
ON = {"training": "training records", "fresh": "fresh records"}
_WHERE = {"training": "", "fresh": " on fresh records"}
FORMULA = text_beside(__file__, "simplex_formula.md")


def arguments(controls: Controls, *left_out: str) -> dict[str, Any]:
    """Arguments that the computations of this view take, but for those left out."""
    every = {name: getattr(controls, name) for name in ("n", "p", "epsilon", "delta")} | {
        "loss": LOSS,
        "seed": controls.seed,
    }
    return {name: value for name, value in every.items() if name not in left_out}


def cursor(release: Support | None, asked: int | str) -> int:
    """The m that the chart points at: 1 where the budget allows none and none was asked for."""
    if release:
        return release.plan.steps
    return asked if isinstance(asked, int) else 1


def takeaway(made: Valley, release: Support | None, reason: str, on: On) -> str:
    """The excess risk of the cursor's draws, and that of fewer or more."""
    if not release:
        return f"**Nothing is released**: {readable(reason)}."
    m, spent = release.plan.steps, release.plan.spent.epsilon
    excess = made.measured(on).mean[nearest(made.m, m)]
    draws = _draws(m)
    if spent > made.epsilon * (1 + 1e-9):
        return (
            f"**Nothing is released**: {draws} at λ = {release.plan.spec.lam:.3g} would spend **ε = "
            f"{rounded(spent)}**, more than the budget of {made.epsilon:g}. Choose fewer draws, or a larger λ."
        )
    return (
        f"At ε = {made.epsilon:g} the release is **{draws}** of columns instead of {made.p:,} weights, with an excess "
        f"risk of **{rounded(excess)}**{_WHERE[on]}; a model that learns nothing has {rounded(made.nothing[on])}."
    )


def _draws(m: float) -> str:
    return "1 random draw" if m == 1 else f"{m:,.0f} random draws"


def verdict_of(made: Valley, on: On, m: int) -> str:
    """The upper bound along m."""
    return verdict(made.m, [("", made.measured(on).mean, made.bound(on))], made.nothing[on], m, "m")


def caption(made: Valley, on: On) -> str:
    """The mechanism and the rule for λ."""
    sentences = [
        "Simplex sampling releases m draws from the entropy-regularised minimiser (for linear losses, the exponential "
        "mechanism). "
        + (
            "More draws need a larger λ, which blurs the mixture."
            if made.lam_is_free
            else "λ is fixed: more draws spend more privacy."
        )
    ]
    if made.stored < made.p:
        sentences.append(f"{made.stored:,} of {made.p:,} columns are filled, the others are zero in every record.")
    if on == "fresh":
        sentences.append(f"Fresh: {TEST_RECORDS:,} records outside the training set, against the true mixture.")
    return " ".join(sentences)


def support_caption(release: Support) -> str:
    """The columns that the draws hit and miss."""
    found, there = int(((release.drawn > 0) & (release.truth > 0)).sum()), int((release.truth > 0).sum())
    wasted = 100 * (1.0 - float(release.drawn[release.truth > 0].sum()))
    return f"The draws hit {found} of the {there} columns that matter; {wasted:.0f}% of them fall on others."


def columns_caption(by_p: ExcessByColumns) -> str:
    """The growth of both with p."""
    last = len(by_p.p) - 1
    sentences = []
    for key, name in (("sampling", "simplex sampling"), ("objective", "objective perturbation")):
        curve, reasons = getattr(by_p, key), getattr(by_p, f"{key}_reasons")
        seen = np.flatnonzero(np.isfinite(curve.mean) & (curve.mean > 0))
        if reasons[last] or not len(seen):
            sentences.append(f"{name}: {readable(reasons[last] or 'nothing measured')}")
            continue
        grown = float(f"{curve.mean[last] / curve.mean[seen[0]]:.2g}")
        sentences.append(f"{name}, {amount(grown)} times")
    return f"From p = {by_p.p[0]:,.0f} to {by_p.p[last]:,.0f} the excess risk grows: {'; '.join(sentences)}."


def assumptions(made: Valley, controls: Controls) -> str:
    """The assumptions of the view's statements, as a list."""
    domain = load(SOURCE, 2, 8, seed=0).domain
    public = arguments(controls, "n", "seed")
    (theirs, ours), first = draws_at(controls.n, **public), first_draw(**public)
    lines = [
        assumed(
            __file__,
            "simplex_assumptions.md",
            n=controls.n,
            R=domain.R,
            y_max=domain.y_max,
            epsilon=controls.epsilon,
            delta=delta_text(controls.delta),
            theirs=rounded(theirs, 2),
            ours=ours,
            first="beyond n = 10¹⁵" if first is None else f"at n = {worded(first, 3)}",
        )
    ]
    refused = sorted({reason for reason in made.reasons if reason})
    lines += [f"- **Refused**: {readable(reason)}." for reason in refused[:1]]
    return "\n".join(lines)
