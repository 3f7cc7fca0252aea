"""The words of the view Useless columns. Every number comes out of the table, the plans and the orthant."""

import dataclasses as dc
from collections.abc import Mapping

import numpy as np
import pandas as pd

import dpcore
from dpcore import Experiment
from dpcore.core.facts import text_beside
from dpcore.data import Source
from dpcore.figures.dimension import curve_name, guarantee
from dpcore.studies.dimension.noise_growth import NoiseGrowth
from dpcore.studies.dimension.orthant import OrthantExample
from pages.ui.html import readable
from pages.ui.numbers import amount, points
from pages.ui.sidebar import Controls, delta_text, lam_text
from pages.ui.sources import assumed, neighbours_line
from pages.ui.verdict import verdict

PLACES = {"output": "output", "objective": "objective"}
MECHANISMS = {
    "output": ("output_gaussian", "output_gamma"),
    "objective": ("objective_gaussian", "objective_gamma"),
}
FORMULA = text_beside(__file__, "idle_formula.md")
# Accuracies closer than this, in points, are called equal.
_SAME = 0.05
# Below this part of what can be learned, nothing is.
_LEARNED = 0.1
_KEPT = 0.01  # accuracy below that at the useful columns alone which is no damage


def one_lam(here: Controls) -> float:
    """λ for every p and every noise: a rule is resolved as Gaussian output perturbation does, which ignores p."""
    spec = dpcore.Spec("logistic", here.n, 8, here.lam)  # type: ignore[arg-type]
    budget = dpcore.Budget(here.epsilon, here.delta)
    return float(dpcore.make_mechanism("output_gaussian").calibrate(spec, budget).spec.lam)


def _larger_class(table: pd.DataFrame) -> float:
    """Its share: the accuracy of always predicting it."""
    return float(table[table.metric == "accuracy"].nothing_learned.max())


def takeaway(table: pd.DataFrame, p: int, source: Source) -> str:
    """Accuracy at the cursor's p with either noise, in one sentence."""
    useful = int(table.x.min())
    now, first = _accuracies(table, p), _accuracies(table, useful)
    learned = {key: _gained(table, right) >= _LEARNED for key, right in now.items()}
    names = {key: f"{curve_name(key)} {guarantee(key)}" for key in now}
    told = [f"**{100 * right:.1f}%** with {names[key]}" for key, right in now.items()]
    if now and not any(learned.values()):
        guess = f"a constant guess has {100 * _larger_class(table):.1f}%"
        text = f"**Next to nothing is learned:** {' and '.join(told)} of {source.things} are {source.outcome}; {guess}."
    elif now and p == useful:
        cheaper = ", so that the stronger guarantee even costs less" * (len(now) == 2 and _is_cheaper(now))
        text = f"Without columns of zeros {' and '.join(told)} of {source.things} are {source.outcome}{cheaper}."
    elif now:
        parts: list[str] = []
        for key, right in now.items():
            end = _since(100 * (right - first[key]), useful) if learned[key] else "where next to nothing is learned"
            of = "" if parts else f" of {source.things} are {source.outcome}"
            parts.append(f"with {names[key]} **{100 * right:.1f}%**{of}, {end}")
        kept = [curve_name(key) for key, right in now.items() if learned[key] and first[key] - right < _KEPT]
        answer = "No" if len(kept) == len(now) else f"Not with {kept[0]}" if kept else "Yes"
        text = f"**{answer}**: beside {p - useful:,} columns of zeros, {'; '.join(parts)}."
    else:
        text = ""
    return " ".join(filter(None, [text, *_refusals(table, now)]))


def _is_cheaper(now: Mapping[str, float]) -> bool:
    """Whether Gamma noise, the second one, costs less than Gaussian noise."""
    gaussian, gamma = now.values()
    return gamma > gaussian


def _best(table: pd.DataFrame) -> float:
    return float(table[table.metric == "accuracy"].reference.dropna().iloc[0])


def _gained(table: pd.DataFrame, right: float) -> float:
    """The part of what can be learned beyond the larger class."""
    larger = _larger_class(table)
    return (right - larger) / (_best(table) - larger)


def _refusals(table: pd.DataFrame, now: Mapping[str, float]) -> list[str]:
    """Where a mechanism gives no guarantee: what is refused, the first reason as the rule, and what to do."""
    for _, row in table[~table.mechanism.isin(list(now))].iterrows():
        place, reason = row.mechanism.split("_")[0], readable(row.reason.replace(row.mechanism, "it"))
        return [f"{place.capitalize()} perturbation gives **no guarantee** here: {reason}. Raise λ or ε."]
    return []


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


def caption(experiment: Experiment, lam: float | str) -> str:
    """Guarantees and λ of the curves; lam: as the sidebar says it."""
    rule = f" ({lam_text(lam)}, chosen for Gaussian output perturbation)" if isinstance(lam, str) else ""
    return (
        f"**Not the same guarantee:** Gamma noise ε = {experiment.epsilon:g}, Gaussian noise "
        f"({experiment.epsilon:g}, {delta_text(experiment.problem.delta)}). λ = {experiment.problem.lam:.3g}{rule} for "
        "both."
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
    return verdict(rows.x, curves, nothing, p, "p", text="{:,.0f}".format)


ORTHANT_TITLE = "Not with θ ≥ 0: √p comes back"


def orthant_takeaway(example: OrthantExample, p: int) -> str:
    """The factor by which the orthant makes noise move a prediction farther, at the cursor's p."""
    k = int(np.flatnonzero(example.p == p)[0])
    times = example.projected[k] / example.free_output[k]
    text = (
        f"Held at θ ≥ 0, Gaussian noise no longer cancels: at p = {p:,} output perturbation moves a prediction "
        f"{amount(times)} times as far when cut at 0."
    )
    if example.reason:
        return f"{text} Objective perturbation has no guarantee in this example; raise λ or ε."
    return text


def assumptions(table: pd.DataFrame, experiment: Experiment, source: Source) -> str:
    """The assumptions behind the curves, the bounds and the guarantees."""
    accuracy, ok = "**No guarantee** here, so nothing is released.", table[table.status == "ok"]
    if len(ok):
        accuracy = f"**Accuracy:** on {int(ok.test_records.iloc[0]):,} {source.records} that no model was trained on."
    return assumed(
        __file__,
        "idle_assumptions.md",
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
