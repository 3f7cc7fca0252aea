"""The words of the page Dimension. Every number comes out of the table, the plans and the orthant."""

import dataclasses as dc
from collections.abc import Mapping

import numpy as np
import pandas as pd

import dpcore
from dpcore import Experiment
from dpcore.core.facts import text_beside
from dpcore.data import Source
from dpcore.figures.dimension import curve_name
from dpcore.studies.dimension.noise_growth import NoiseGrowth
from dpcore.studies.dimension.orthant import OrthantExample
from pages.ui.chips import chips_beside
from pages.ui.html import readable
from pages.ui.numbers import amount, points
from pages.ui.sidebar import Controls, delta_text, lam_text
from pages.ui.sources import assumed, neighbours_line
from pages.ui.verdict import NO_LOWER, verdict

PLACES = {"output": "output", "objective": "objective"}
PANELS = {"damage": "excess risk and theory", "distance": "distance"}
MECHANISMS = {
    "output": ("output_gaussian", "output_gamma"),
    "objective": ("objective_gaussian", "objective_gamma"),
}
CHIPS = chips_beside(__file__, "chips.json")
FORMULA = text_beside(__file__, "formula.md")
# Accuracies closer than this, in points, are called equal.
_SAME = 0.05


def one_lam(here: Controls) -> float:
    """λ for every p and every noise: a rule is resolved as Gaussian output perturbation does, which ignores p."""
    spec = dpcore.Spec("logistic", here.n, 8, here.lam)  # type: ignore[arg-type]
    budget = dpcore.Budget(here.epsilon, here.delta)
    return float(dpcore.make_mechanism("output_gaussian").calibrate(spec, budget).spec.lam)


def _larger_class(table: pd.DataFrame) -> float:
    """Its share: the accuracy of always predicting it."""
    return float(table[table.metric == "accuracy"].nothing_learned.max())


def takeaway(table: pd.DataFrame, grown: Mapping[str, NoiseGrowth], p: int, source: Source) -> str:
    """Distance and accuracy at the cursor's p, in one or two sentences."""
    now, first = _accuracies(table, p), _accuracies(table, int(table.x.min()))
    gaussian, gamma = (next((key for key in now if key.endswith(law)), None) for law in ("gaussian", "gamma"))
    useful, larger, sentences = int(table.x.min()), _larger_class(table), []
    if p == useful and now:
        cheaper = gaussian and gamma and now[gamma] > now[gaussian]
        end = ": here the stronger guarantee even costs less." if cheaper else "."
        told = " and ".join(f"**{100 * right:.1f}%** with {curve_name(key)}" for key, right in now.items())
        sentences.append(f"With {useful} useful columns and no idle ones, accuracy on {source.things} is {told}{end}")
        gaussian = gamma = None
    if gaussian:
        g, right = grown[gaussian], now[gaussian]
        far, up_to = _at(g, p), "" if g.exact else "up to "
        sentences.append(
            f"With {p - useful:,} idle columns, Gaussian {gaussian.split('_')[0]} perturbation moves the model by "
            f"{up_to}**{amount(far)}** ({amount(far / g.length)} times its length), "
            f"{'and' if _near(right, larger) else 'yet'} **{100 * right:.1f}%** of {source.things} are "
            f"{source.outcome}, {_since(100 * (right - first[gaussian]), useful)}."
        )
    if gamma:
        right = now[gamma]
        more = "hardly more" if right > larger else "no more"
        near = f"{more} than always predicting the larger class ({100 * larger:.1f}%)"
        end = near if _near(right, larger) else _since(100 * (right - first[gamma]), useful)
        sentences.append(f"Gamma noise leaves **{100 * right:.1f}%**, {end}.")
    return " ".join([*sentences, *_refusals(table, now)])


def _refusals(table: pd.DataFrame, now: Mapping[str, float]) -> list[str]:
    """Where a mechanism gives no guarantee: what is refused, the first reason as the rule, and what to do."""
    for _, row in table[~table.mechanism.isin(list(now))].iterrows():
        place, reason = row.mechanism.split("_")[0], readable(row.reason.replace(row.mechanism, "it"))
        return [f"{place.capitalize()} perturbation gives **no guarantee** here: {reason}. Raise λ or ε."]
    return []


def _near(right: float, larger: float) -> bool:
    """Whether it is less than a point above the larger class."""
    return 100 * (right - larger) < 1


def _accuracies(table: pd.DataFrame, p: int) -> dict[str, float]:
    """Mean accuracy by mechanism at p, where something is released."""
    rows = table[(table.status == "ok") & (table.metric == "accuracy") & (table.x == p)]
    return dict(zip(rows.mechanism, rows["mean"].astype(float), strict=True))


def _since(change: float, useful: int) -> str:
    """A difference of accuracies, in points, from that without idle columns.

    >>> _since(0.0, 8), _since(-3.04, 8), _since(1.0, 8)
    ('as at p = 8', '3.0 points less than at p = 8', '1.0 point more than at p = 8')
    """
    if abs(change) < _SAME:
        return f"as at p = {useful}"
    return f"{points(abs(change))} {'more' if change > 0 else 'less'} than at p = {useful}"


def _at(g: NoiseGrowth, p: int) -> float:
    return float(g.distance[g.p == p][0])


def readouts(
    table: pd.DataFrame, grown: Mapping[str, NoiseGrowth], p: int, source: Source
) -> list[tuple[str, str, str]]:
    """(noun, value, rest) of the cards below the chart; none where nothing is released."""
    now = _accuracies(table, p)
    if not now:
        return []
    best = float(table[table.metric == "accuracy"].reference.dropna().iloc[0])
    names = " · ".join(curve_name(key).removesuffix(" noise") for key in now)
    at_most = "" if all(grown[key].exact for key in now) else " at most"
    right, far = (
        " · ".join(f"{100 * it:.1f}%" for it in now.values()),
        " · ".join(amount(_at(grown[k], p)) for k in now),
    )
    without = f"{100 * best:.1f}% without privacy, {100 * _larger_class(table):.1f}% by always predicting the larger"
    length = f"{names}{at_most}; that model has length {amount(next(iter(grown.values())).length)}"
    return [
        (f"Accuracy at p = {p:,}", right, f"{names}; {without} class"),
        ("Distance from the non-private model", far, length),
    ]


def caption(experiment: Experiment, lam: float | str) -> str:
    """Guarantees and λ of the curves; lam: as the sidebar says it."""
    rule = f" ({lam_text(lam)}, chosen for Gaussian output perturbation)" if isinstance(lam, str) else ""
    return (
        f"**Not the same guarantee:** Gamma noise guarantees ε = {experiment.epsilon:g}, Gaussian noise "
        f"({experiment.epsilon:g}, {delta_text(experiment.problem.delta)}). "
        f"One λ = {experiment.problem.lam:.3g}{rule} for every p and both noises."
    )


def verdict_of(table: pd.DataFrame, grown: Mapping[str, NoiseGrowth], p: int) -> str:
    """The verdict on the bounds on the excess risk by noise, along p."""
    ok = table[(table.status == "ok") & (table.metric == "excess_empirical_risk")]
    shown = [key for key in grown if key in set(ok.mechanism)]
    curves = []
    for key in shown:
        rows = ok[ok.mechanism == key]
        curves.append((curve_name(key), rows["mean"] - rows.noiseless, grown[key].damage_bound))
    if not curves:
        return ""
    nothing = rows.nothing_learned - rows.noiseless
    return f"{verdict(rows.x, curves, nothing, p, 'p', text='{:,.0f}'.format)} {NO_LOWER}"


ORTHANT_TITLE = "In the positive orthant, √p comes back"
ORTHANT_GUARANTEE = (
    "Cutting a released model at 0 is post-processing and keeps its guarantee. For objective perturbation over the "
    "orthant no guarantee is proved here; illustration only."
)


def orthant_takeaway(example: OrthantExample, p: int) -> str:
    """The factor by which the orthant makes noise move a prediction farther, at the cursor's p."""
    k = int(np.flatnonzero(example.p == p)[0])
    times = example.projected[k] / example.free_output[k]
    text = (
        f"If no coordinate of θ may be negative, Gaussian noise no longer cancels: at p = {p:,} it moves a prediction "
        f"{amount(times)} times as far as where θ is free."
    )
    if example.reason:
        return f"{text} Objective perturbation gives no guarantee at this λ and ε; raise one of them."
    return text


def assumptions(table: pd.DataFrame, experiment: Experiment, source: Source) -> str:
    """The assumptions behind the curves, the bounds and the guarantees."""
    accuracy, ok = "**No guarantee** here, so nothing is released.", table[table.status == "ok"]
    if len(ok):
        accuracy = f"**Accuracy:** on {int(ok.test_records.iloc[0]):,} {source.records} that no model was trained on."
    return assumed(
        __file__,
        "assumptions.md",
        records=f"{source.label}; {readable(source.scaling)}",
        neighbours=neighbours_line(source),
        accuracy=accuracy,
        repetitions=experiment.repetitions,
        own_lam=own_lam_line(experiment),
        n=experiment.problem.n,
    )


def own_lam_line(experiment: Experiment) -> str:
    """Accuracy with Gamma noise at the largest p and the λ of its own rule."""
    p = int(experiment.sweep.values[-1])
    problem = dc.replace(experiment.problem, lam="auto")
    alone = dc.replace(
        experiment, problem=problem, mechanisms=("output_gamma",), sweep=dpcore.Axis("p", (p,)), repetitions=2
    )
    run = dpcore.run(alone)
    row = run[run.metric == "accuracy"].iloc[0]
    return (
        f"With the λ of its own rule at p = {p:,}, {row.lam:.3g}, Gamma output perturbation has an accuracy of "
        f"{100 * row['mean']:.1f}%."
    )
