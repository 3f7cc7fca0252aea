"""The words of the tab Simplex sampling. Every number comes out of the valley, a release or a plan."""

from typing import Any

import numpy as np

from dpcore.core.facts import text_beside
from dpcore.data import load
from dpcore.data.synthetic import TEST_RECORDS
from dpcore.studies.sparsity.simplex.beside_others import ExcessByColumns
from dpcore.studies.sparsity.simplex.data import SOURCE
from dpcore.studies.sparsity.simplex.excess_by_draws import On, Valley
from dpcore.studies.sparsity.simplex.published_draws import draws_at, first_draw
from dpcore.studies.sparsity.simplex.single_release import Support
from pages.ui.chips import chips_beside
from pages.ui.html import readable
from pages.ui.numbers import amount, nearest, rounded, worded
from pages.ui.sidebar import Controls, delta_text
from pages.ui.sources import assumed
from pages.ui.verdict import NO_LOWER, proved_words, verdict

LOSS = "huber"
ON = {"training": "training records", "fresh": "fresh records"}
_WHERE = {"training": "", "fresh": " on fresh records"}
CHIPS = chips_beside(__file__, "simplex_chips.json")
# How many times fewer and how many times more draws the headline compares with.
_FEWER, _MORE = 8, 32

FORMULA = text_beside(__file__, "simplex_formula.md")


def arguments(controls: Controls, *left_out: str) -> dict[str, Any]:
    """Arguments that the computations of this tab take, but for those left out."""
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
            f"**Nothing is released**: {draws} at λ = {release.plan.spec.lam:.3g} spend **ε = {rounded(spent)}**, more "
            f"than the budget of {made.epsilon:g}. Their excess risk would be {rounded(excess)}."
        )
    text = (
        f"At ε = {made.epsilon:g} the release is **{draws}** instead of {made.p:,} weights, with an excess risk of "
        f"**{rounded(excess)}**{_WHERE[on]}."
    )
    return f"{text} {_others(made, m, excess, on)}"


def _others(made: Valley, m: int, excess: float, on: On) -> str:
    """Fewer draws and more of them, as far as the grid has them."""
    mean, sentences = made.measured(on).mean, []
    few, many = nearest(made.m, m / _FEWER), nearest(made.m, m * _MORE)
    if made.m[few] < m and np.isfinite(mean[few]):
        sentences.append(f"{_draws(made.m[few])} would leave {_against(mean[few], excess)}")
    if made.m[many] > m and np.isfinite(mean[many]):
        if made.lam_is_free:
            sentences.append(f"{_draws(made.m[many])} need a larger λ and leave {_against(mean[many], excess)}")
        else:
            cost = rounded(made.spent_epsilon[many])
            sentences.append(f"{_draws(made.m[many])} would leave {rounded(mean[many])} and spend ε = {cost}")
    return f"{'; '.join(sentences)}." if sentences else ""


def _draws(m: float) -> str:
    return "1 random draw" if m == 1 else f"{m:,.0f} random draws"


def _against(other: float, excess: float) -> str:
    """
    >>> _against(0.5, 0.1), _against(0.102, 0.1), _against(-0.1, 0.2)
    ('0.5, 5 times as much', '0.102', '−0.1')
    """
    if excess <= 0.0 or not other >= 1.5 * excess:
        return rounded(other)
    return f"{rounded(other)}, {rounded(other / excess, 2)} times as much"


def readouts(made: Valley, release: Support, on: On) -> list[tuple[str, str, str]]:
    """(noun, value, rest) of the cards below the chart."""
    k, plan, draws = nearest(made.m, release.plan.steps), release.plan, _draws(release.plan.steps)
    bound, measured = made.best_by_bound(on), made.best_measured(on)
    size = f"{draws} instead of {made.p:,} weights; they name {release.distinct:,} columns"
    spent = f"ε = {rounded(plan.spent.epsilon)} of {made.epsilon:g}"
    cards = [
        ("Size of the release", f"{release.bits:,.0f} bits", size),
        ("Privacy spent", spent, f"{draws} at λ = {plan.spec.lam:.3g}; one alone costs {rounded(made.eta[k])}"),
    ]
    if bound is not None and measured is not None:
        rest = f"the measured minimum is at m = {measured:,}, but choosing m from the data would cost extra privacy"
        cards.append(("Smallest upper bound", f"m = {bound:,}", rest))
    return cards


def verdict_of(made: Valley, on: On, m: int) -> str:
    """The upper bound along m, what is proved for these records, and that there is no lower bound."""
    curve, k = ("", made.measured(on).mean, made.bound(on)), nearest(made.m, m)
    training, proved = made.training, ""
    if on == "training" and np.isfinite(made.proved[k]):
        proved = proved_words(training.noiseless[k], made.proved[k], 0.0)
    return " ".join(filter(None, (verdict(made.m, [curve], made.nothing[on], m, "m"), proved, NO_LOWER)))


def caption(made: Valley, on: On) -> str:
    """The mechanism and the rule for λ."""
    sentences = [
        "Simplex sampling releases the mean of m columns, drawn at random with the weights of a regularised mixture. "
        + (
            "Each m has the smallest λ that keeps the budget: more draws need a larger λ, which blurs the mixture."
            if made.lam_is_free
            else "λ is fixed: more draws have less sampling error and spend more privacy."
        ),
        f"Means of {made.repetitions} releases with common random numbers{'; band: 8 of 10' * (on == 'fresh')}.",
    ]
    if made.stored < made.p:
        sentences.append(
            f"{made.stored:,} of {made.p:,} columns are filled, the others are zero in every record: larger tables are "
            "too slow to update live."
        )
    if on == "fresh":
        sentences.append(f"Fresh: {TEST_RECORDS:,} records outside the training set, against the true mixture.")
    return " ".join(sentences)


def support_caption(release: Support) -> str:
    """The columns that the draws hit and miss."""
    found = int(((release.drawn > 0) & (release.truth > 0)).sum())
    there = int((release.truth > 0).sum())
    wasted, idle = (1.0 - float(share[release.truth > 0].sum()) for share in (release.drawn, release.weights))
    return (
        f"The draws hit {found} of the {there} columns that matter; {100 * wasted:.0f}% of them fall on other columns, "
        f"which have {100 * idle:.0f}% of the weight before sampling."
    )


def columns_caption(by_p: ExcessByColumns, controls: Controls) -> str:
    """The growth of both with p, and their values at the cursor."""
    k, last = int(np.flatnonzero(by_p.p == controls.p)[0]), len(by_p.p) - 1
    sentences = []
    for key, name in (("sampling", "simplex sampling"), ("objective", "objective perturbation")):
        curve, reasons = getattr(by_p, key), getattr(by_p, f"{key}_reasons")
        seen = np.flatnonzero(np.isfinite(curve.mean) & (curve.mean > 0))
        if reasons[last] or not len(seen):
            sentences.append(f"{name}: {readable(reasons[last] or 'nothing measured')}")
            continue
        grown = float(f"{curve.mean[last] / curve.mean[seen[0]]:.2g}")
        sentences.append(f"{name}, {amount(grown)} times")
    means = {key: getattr(by_p, key).mean[k] for key in ("sampling", "objective", "projected")}
    left = ", ".join(f"{key} {rounded(mean)}" for key, mean in means.items() if np.isfinite(mean))
    return (
        f"Growth of the excess risk from p = {by_p.p[0]:,.0f} to {by_p.p[last]:,.0f}: {'; '.join(sentences)}. At "
        f"p = {controls.p:,}: {left}. Same records and F*. Records with entries up to 1 have an L2 norm of √p, which "
        "is the scale of the noise in objective perturbation. Projecting its model onto the simplex costs no privacy. "
        f"Means of {by_p.repetitions} releases."
    )


def assumptions(made: Valley, controls: Controls) -> str:
    """The assumptions of the tab's statements, as a list."""
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
