"""The words of the page Perturbation. Every number comes out of a table."""

import dataclasses as dc
import math
from collections.abc import Iterable
from functools import partial

import numpy as np
import pandas as pd

from dpcore import Experiment, make_mechanism, run
from dpcore.core.facts import facts_beside, text_beside
from dpcore.data import Source
from dpcore.experiments.summary import LEAST_BANDED
from dpcore.figures.figure import Figure
from dpcore.figures.style import NOISES, PERTURBATIONS
from dpcore.mechanisms import mechanism_class
from dpcore.mechanisms.gradient.schedules import AUTO_CLASSES
from dpcore.studies.perturbation.published_rates import rate_shape
from pages.ui.code import experiment_call, script, verbatim
from pages.ui.html import readable
from pages.ui.numbers import rounded
from pages.ui.pickers import chips_beside
from pages.ui.sidebar import delta_text
from pages.ui.sources import assumed, neighbours_line, records_line
from pages.ui.verdict import verdict

RATE = "published rate,<br>shape only"
LEMMA = "output: n times the noise<br>(lecture's Lemma 1)"
PICKED_NOISES = NOISES | {"both": "both"}
CHIPS = chips_beside(__file__, "chips.json")

FORMULA = text_beside(__file__, "formula.md")
_LAM_LINES = {row["lam"]: row["line"] for row in facts_beside(__file__, "lam_lines.csv")}


def lemma(experiment: Experiment) -> Experiment:
    """Output perturbation with the noise that the lecture's Lemma 1 asks for."""
    wasteful = make_mechanism("output_gaussian", accounting="lecture")
    return dc.replace(experiment, mechanisms=(wasteful,))


def takeaway(table: pd.DataFrame, source: Source) -> str:
    """Which perturbation wins and by how much, or which is refused and why.

    table: the rows at the cursor, of several perturbations with the same one or two laws of noise.
    """
    noises = noises_of(table.mechanism)
    first = table.iloc[0]
    duels = [_duel(table, noise, named=len(noises) > 1) for noise in noises]
    said = []
    if any(duels):
        said.append(f"At ε = {first.epsilon:g} with {first.n:,} {source.records}, {'; '.join(d for d in duels if d)}.")
    return " ".join([*said, *(_closed(row, table) for _, row in table[table.status != "ok"].iterrows())])


def winner(table: pd.DataFrame) -> str:
    """The family of the smallest excess risk at the cursor; output where nothing is released."""
    excess = table[table.metric == "excess_empirical_risk"].set_index("mechanism")["mean"].astype(float)
    return mechanism_class(str(excess.idxmin())).family if len(excess) else "output"


def noises_of(mechanisms: Iterable[str]) -> list[str]:
    """Their laws of noise, each once.

    >>> noises_of(["noisy_gd", "output_gamma", "output_gaussian"])
    ['gaussian', 'gamma']
    """
    return list(dict.fromkeys(mechanism_class(key).noise for key in mechanisms))


def _excess(table: pd.DataFrame, mechanism: str) -> pd.Series | None:
    found = table[(table.mechanism == mechanism) & (table.metric == "excess_empirical_risk")]
    return found.iloc[0] if len(found) else None


def _duel(table: pd.DataFrame, noise: str, *, named: bool) -> str | None:
    """The perturbations with one law of noise: the smallest excess risk, unless it is too close to call."""
    found = [_excess(table, key) for key in table.mechanism.unique() if mechanism_class(key).noise == noise]
    rows = sorted((row for row in found if row is not None), key=lambda row: float(row["mean"]))
    if len(rows) < 2:
        return None
    kind = f"with {NOISES[noise]} noise " if named else ""
    best, second = rows[:2]
    names = [PERTURBATIONS[mechanism_class(row.mechanism).place] for row in rows]
    values = [rounded(row["mean"]) for row in rows]
    error = 2.0 * math.hypot(best.se, second.se)
    if abs(best["mean"] - second["mean"]) <= error:
        said = (
            f"{kind}**{names[0]}** and {names[1]} leave excess risks too close to call: {values[0]} and "
            f"{values[1]}, ± {rounded(error / 2.0, 1)} from {max(best.repetitions, second.repetitions)} draws"
        )
        return said + "".join(f"; {name} leaves {value}" for name, value in zip(names[2:], values[2:], strict=True))
    shares = [f"{less(best['mean'], row['mean'])} than {name}" for row, name in zip(rows, names, strict=True)]
    first = f"**{less(best['mean'], second['mean'])}** excess risk than {names[1]}"
    return (
        f"{kind}**{names[0]}** leaves {' and '.join([first, *shares[2:]])}: {values[0]} against "
        f"{' and '.join(values[1:])}"
    )


def less(small: float, large: float) -> str:
    """How much less `small` is than `large`; a difference where one is not positive.

    >>> less(1.0, 1.9), less(1.0, 35.2), less(0.96, 1.0), less(-0.1, 0.2)
    ('1.9 times less', '35 times less', '4% less', '0.3 less')
    """
    if small <= 0.0:
        return f"{rounded(large - small)} less"
    if large < 1.1 * small:
        return f"{100 * (1 - small / large):.2g}% less"
    return f"{large / small:{'.1f' if large < 10 * small else ',.0f'}} times less"


def _closed(row: pd.Series, table: pd.DataFrame) -> str:
    """Why a perturbation is refused at the cursor, and what output perturbation costs."""
    mechanism, several = mechanism_class(row.mechanism), len(noises_of(table.mechanism)) > 1
    noise = mechanism.noise
    name = PERTURBATIONS[mechanism.place]
    said = f"{name.capitalize()}{f' with {NOISES[noise]} noise' if several else ''} gives **no guarantee** here: "
    said += f"it {readable(row.reason.removeprefix(row.mechanism).strip())}."
    twin = _excess(table, f"output_{noise}")
    return said if twin is None else f"{said} Output perturbation leaves **{rounded(twin['mean'])}**."


def promise(table: pd.DataFrame) -> tuple[bool, str]:
    """Whether all curves have the same guarantee at the cursor, and which ones they have.

    table: the rows at the cursor.
    """
    open_doors = table[table.status == "ok"].drop_duplicates("mechanism")
    texts = {row.mechanism: _budget(row) for _, row in open_doors.iterrows()}
    if len(set(texts.values())) <= 1:
        return True, f"Same guarantee: {next(iter(texts.values()), 'none')}"
    by_noise: dict[str, set[str]] = {}
    for key, text in texts.items():
        by_noise.setdefault(NOISES[mechanism_class(key).noise], set()).add(text)
    if all(len(found) == 1 for found in by_noise.values()):
        parts = [f"{noise} {found.pop()}" for noise, found in by_noise.items()]
    else:
        parts = [f"{mechanism_class(key).place} {text}" for key, text in texts.items()]
    return False, f"Not the same guarantee: {', '.join(parts)}"


def _budget(row: pd.Series) -> str:
    """The budget that a mechanism really spends: ε alone where it is pure.

    >>> _budget(pd.Series({"spent_epsilon": 1.0, "spent_delta": 0.0}))
    'ε = 1'
    """
    epsilon = f"{row.spent_epsilon:.3g}"
    return f"({epsilon}, {delta_text(row.spent_delta)})" if row.spent_delta else f"ε = {epsilon}"


def readouts(table: pd.DataFrame, source: Source) -> list[tuple[str, str]]:
    """(value, label) pairs: how often the models of each perturbation are right, and the best model.

    table: the rows at the cursor; the first law of noise counts.
    """
    accuracy = table[table.metric == "accuracy"].drop_duplicates("mechanism").set_index("mechanism")
    noise = mechanism_class(table.mechanism.iloc[0]).noise
    cards = []
    for key in table.mechanism.unique():
        if (mechanism := mechanism_class(key)).noise == noise:
            value = f"{100 * accuracy.loc[key]['mean']:.1f} of 100" if key in accuracy.index else "refused"
            cards.append((value, f"{source.outcome}, {NOISES[noise]} {PERTURBATIONS[mechanism.place]}"))
    best = f"{100 * accuracy.reference.iloc[0]:.1f} of 100" if len(accuracy) else "—"
    return [*cards, (best, f"{source.outcome} by the best model, without privacy")]


def caption(experiment: Experiment, table: pd.DataFrame, epsilon: float) -> str:
    """What the curves are, in small print below the chart."""
    sampled = table[(table.metric == "excess_empirical_risk") & (table.se > 0.0) & (table.x == epsilon)]
    B = experiment.problem.theta_norm
    said = f"Excess over the smallest training loss with ‖θ‖ ≤ {B:g}, on average over the noise"
    if len(sampled):
        draws = f"{sampled.repetitions.iloc[0]} draws (± {_errors(sampled)})"
        said += f": exact for output perturbation, else from {draws}"
    if not any(mechanism_class(key).family == "gradient" for key in table.mechanism.unique()):
        said += ". Gradient perturbation has no pure form here: its noise is Gaussian"
    several = len(noises_of(table.mechanism)) > 1
    banded = not several and table.repetitions.max() >= LEAST_BANDED
    return f"{said}. Bands: 8 of 10 releases." if banded else f"{said}."


def verdict_of(table: pd.DataFrame, epsilon: float) -> str:
    """What the upper bounds say; table: of several perturbations, swept over epsilon."""
    rows = table[table.metric == "excess_empirical_risk"]
    if rows.empty:
        return ""
    several = len(noises_of(rows.mechanism)) > 1
    curves, x = [], np.unique(rows.x.to_numpy(float))
    for key, mine in rows.groupby("mechanism", sort=False):
        cls, found = mechanism_class(str(key)), mine.set_index("x").reindex(x)
        name = f"{cls.place}, {NOISES[cls.noise]}" if several else cls.place
        curves.append((name, found["mean"], found.bound))
    return verdict(x, curves, rows.nothing_learned.iloc[0], epsilon, "ε")


def _errors(rows: pd.DataFrame) -> str:
    return f"{rows.se.max() / rows['mean'].abs().max():.1%} at the cursor"


def lemma_caption(table: pd.DataFrame) -> str:
    """What n times the noise costs and what it really promises; table: its rows at the cursor."""
    row = table[table.metric == "excess_empirical_risk"].iloc[0]
    return (
        f"Lemma 1 of the lecture states a sensitivity of 2n/λ; the correct bound is 2L/λ. Its noise is {row.n:,} times "
        f"larger, leaves {rounded(row['mean'])} and guarantees ε = {rounded(row.spent_epsilon, 2)}."
    )


def assumptions(table: pd.DataFrame, experiment: Experiment, source: Source, most: int) -> str:
    """What must be true for the curves, the bounds and the guarantees."""
    ok = table[table.status == "ok"]
    rule = experiment.problem.lam if isinstance(experiment.problem.lam, str) else "number"
    return assumed(
        __file__,
        "assumptions.md",
        records=records_line(source),
        neighbours=neighbours_line(source),
        theta_norm=experiment.problem.theta_norm,
        certified=f" (certified within {max(float(ok.reference_gap.iloc[0]), 1e-15):.0e})" if len(ok) else "",
        lam=_LAM_LINES[rule].format(classes=AUTO_CLASSES),
        most=most,
    )


def snippet(experiment: Experiment, layers: list[str], chart: partial[Figure]) -> str:
    """Python that redraws the chart from an empty file. chart: without the layers that are computed for it."""
    if "rates" in layers:
        chart = partial(chart, rates={RATE: partial(rate_shape, verbatim("next(experiment.cells())"))})
    if "lemma" in layers:
        chart = partial(chart, exhibits={LEMMA: partial(run, experiment_call(lemma(experiment)))})
    return script({"experiment": experiment_call(experiment), "table": partial(run, verbatim("experiment"))}, chart)
