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
from pages.ui.numbers import LEARNED, amount, nearest, rounded, share, worded
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import verdict

LOSS = "huber"
ON = {"training": "training records", "fresh": "fresh records"}
_WHERE = {"training": "", "fresh": " on fresh records"}
FORMULA = text_beside(__file__, "simplex_formula.md")
_CLEARLY = 0.8  # of what the fewest and the most draws cost: then those at the cursor are neither few nor many


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
    """The price of the cursor's draws, and that of the fewest and of the most that ε pays for."""
    if not release:
        return f"**Nothing is released**: {readable(reason)}."
    m, spent = release.plan.steps, release.plan.spent.epsilon
    draws = _draws(m, "random draw")
    if spent > made.epsilon * (1 + 1e-9):
        return (
            f"**Nothing is released**: {draws} at λ = {release.plan.spec.lam:.3g} would spend **ε = "
            f"{rounded(spent)}**, more than the budget of {made.epsilon:g}. Choose fewer draws, or a larger λ."
        )
    mean, nothing = made.measured(on).mean, made.nothing[on]
    k, paid = nearest(made.m, m), np.flatnonzero(made.affordable & np.isfinite(mean))
    # Where these draws leave nothing, others are worth a word only where they leave something.
    ends = [at for at in sorted({*paid[:1], *paid[-1:]} - {k}) if min(mean[k], mean[at]) < nothing]
    others = [
        f"{_draws(made.m[at], 'draw')}{_cost(made.m[at]) * (at in ends[:1])} {share(mean[at], nothing)}" for at in ends
    ]
    best = len(ends) == 2 and mean[k] < _CLEARLY * min(mean[ends])
    answer = "**Neither few nor many**: at" if best else "At"
    return (
        f"{answer} ε = {made.epsilon:g}, **{draws}** from {made.p:,} columns{_cost(m)} "
        f"**{share(mean[k], nothing, LEARNED)}**{_WHERE[on]}{'; ' * bool(ends)}{', '.join(others)}."
    )


def _draws(m: float, what: str) -> str:
    return f"a single {what}" if m == 1 else f"{m:,.0f} {what}s"


def _cost(m: float) -> str:
    return " costs" if m == 1 else " cost"


def verdict_of(made: Valley, on: On, m: int) -> str:
    """The upper bound along m."""
    return verdict(made.m, [("", made.measured(on).mean, made.bounds[on])], made.nothing[on], m, "m")


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
    sentences.append(f"Shaded: {'8 of 10 runs' if on == 'fresh' else 'proved for these records'}.")
    if made.stored < made.p:
        sentences.append(f"{made.stored:,} of {made.p:,} columns are filled, the others are zero in every record.")
    if on == "fresh":
        sentences.append(f"Fresh: {TEST_RECORDS:,} records outside the training set, against the true mixture.")
    return " ".join(sentences)


def support_caption(release: Support) -> str:
    """The columns that the draws hit and miss."""
    found, there = int(((release.drawn > 0) & (release.truth > 0)).sum()), int((release.truth > 0).sum())
    wasted = 100 * (1.0 - float(release.drawn[release.truth > 0].sum()))
    most = "nearly all" if found and wasted >= 99.5 else f"{wasted:.0f}%"
    return f"The draws hit {found} of the {there} columns that matter; {most} of them fall on others."


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
