"""The words of the page Perturbation. Every number comes out of a table."""

import dataclasses as dc
import math
from functools import partial

import pandas as pd

from dpcore import Experiment, run
from dpcore.core.facts import facts_beside, text_beside
from dpcore.data import Source
from dpcore.figures.figure import Figure
from dpcore.figures.style import NOISES, PERTURBATIONS
from dpcore.mechanisms import mechanism_class
from dpcore.mechanisms.gradient.base import AUTO_CLASSES
from pages.ui.chips import chips_beside
from pages.ui.code import experiment_call, script, verbatim
from pages.ui.html import readable
from pages.ui.numbers import cost, rounded
from pages.ui.sidebar import delta_text
from pages.ui.sources import assumed, certified, comparison_of, infimum_of, neighbours_line, records_line
from pages.ui.verdict import NO_LOWER, verdict

HARDEST = "synthetic_hardest"
CHIPS = chips_beside(__file__, "chips.json")

FORMULA = text_beside(__file__, "formula.md")
_LAM_LINES = {row["lam"]: row["line"] for row in facts_beside(__file__, "lam_lines.csv")}


@dc.dataclass(frozen=True)
class Words:
    """What the page says of a table at the cursor; winner: the family of the smallest excess risk."""

    takeaway: str
    winner: str
    verdict: str
    lower: str
    caption: str
    readouts: list[tuple[str, str, str]]


def words_of(experiment: Experiment, table: pd.DataFrame, chosen: str, epsilon: float, source: Source) -> Words:
    """All that the page says of a table swept over epsilon. chosen: key of the mechanism whose bounds are drawn."""
    at_cursor = table[table.x == epsilon]
    return Words(
        takeaway(at_cursor),
        winner(at_cursor),
        verdict_of(table, chosen, epsilon),
        lower_line(at_cursor[at_cursor.metric == "excess_empirical_risk"], source.key),
        caption(experiment, table, epsilon),
        readouts(at_cursor, source),
    )


def takeaway(table: pd.DataFrame) -> str:
    """The perturbation with the smallest excess risk and by how much, and those that are refused and why.

    table: the rows at the cursor.
    """
    refused = [_refusal(row, table) for _, row in table[table.status != "ok"].iterrows()]
    return " ".join(refused) or f"At ε = {table.epsilon.iloc[0]:g}, {_duel(table)}."


def winner(table: pd.DataFrame) -> str:
    """The family of the smallest excess risk at the cursor; output where nothing is released."""
    rows = table[table.metric == "excess_empirical_risk"].sort_values("mean")
    return mechanism_class(rows.mechanism.iloc[0]).family if len(rows) else "output"


def _excess(table: pd.DataFrame, mechanism: str) -> pd.Series | None:
    found = table[(table.mechanism == mechanism) & (table.metric == "excess_empirical_risk")]
    return found.iloc[0] if len(found) else None


def _duel(table: pd.DataFrame) -> str:
    """The perturbation that costs least, unless it is too close to call; table: none is refused."""
    rows = table[table.metric == "excess_empirical_risk"].sort_values("mean")
    best, second = rows.iloc[0], rows.iloc[1]
    nothing = float(best.nothing_learned)
    places = [mechanism_class(key).place for key in rows.mechanism]
    if not best["mean"] < nothing:
        return f"**no model learns anything**: noise in the {places[0]} costs least, and more than there is to learn"
    digits = next(
        (d for d in (2, 3) if len({cost(mean, nothing, d) for mean in (best["mean"], second["mean"])}) > 1), 4
    )
    shares = [cost(mean, nothing, digits) if mean < nothing else "all" for mean in rows["mean"]]
    error = 2.0 * math.hypot(best.se, second.se)
    if abs(best["mean"] - second["mean"]) <= error:
        told = f"noise in the **{places[0]}** and in the {places[1]} costs the same within the error of the draws: "
        told += f"**{shares[0]}** and {shares[1]} of what can be learned, ± {cost(error / 2.0, nothing, 1)}"
        places, shares = places[1:], shares[1:]
    else:
        told = f"noise in the **{places[0]}** costs least: **{shares[0]}** of what can be learned"
    return told + "".join(f", in the {place} {share}" for place, share in zip(places[1:], shares[1:], strict=True))


def _refusal(row: pd.Series, table: pd.DataFrame) -> str:
    """The perturbation that is refused at the cursor, the rule, and what to do instead."""
    text = f"{PERTURBATIONS[mechanism_class(row.mechanism).place].capitalize()} gives **no guarantee** here: "
    text += f"it {readable(row.reason.removeprefix(row.mechanism).strip())}. "
    text += "Raise λ or ε" if "needs lam >" in row.reason else "Choose another λ"
    rows = table[(table.metric == "excess_empirical_risk") & (table["mean"] < table.nothing_learned)]
    for _, top in rows.sort_values("mean").head(1).iterrows():
        text += f", or use {PERTURBATIONS[mechanism_class(top.mechanism).place]} "
        text += f"(it costs **{cost(top['mean'], top.nothing_learned)}** of what can be learned)"
    return f"{text}."


def guarantee(table: pd.DataFrame) -> str:
    """Whether all curves have the same guarantee at the cursor, and which ones they have.

    table: the rows at the cursor.
    """
    released = table[table.status == "ok"].drop_duplicates("mechanism")
    texts = {row.mechanism: _budget(row) for _, row in released.iterrows()}
    if len(set(texts.values())) <= 1:
        return f"**Same guarantee:** {next(iter(texts.values()), 'none')}."
    parts = [f"{mechanism_class(key).place} {text}" for key, text in texts.items()]
    return f"**Not the same guarantee:** {', '.join(parts)}."


def _budget(row: pd.Series) -> str:
    """The budget that a mechanism spends: ε alone where it is pure.

    >>> _budget(pd.Series({"spent_epsilon": 1.0, "spent_delta": 0.0}))
    'ε = 1'
    """
    epsilon = f"{row.spent_epsilon:.3g}"
    return f"({epsilon}, {delta_text(row.spent_delta)})" if row.spent_delta else f"ε = {epsilon}"


def readouts(table: pd.DataFrame, source: Source) -> list[tuple[str, str, str]]:
    """(noun, value, rest) of cards: accuracy of each perturbation and of the best model; on the hardest data, where
    accuracy says nothing, the excess risk over the lower bound.

    table: the rows at the cursor.
    """
    accuracy = table[table.metric == "accuracy"].drop_duplicates("mechanism").set_index("mechanism")
    cards = []
    for key in table.mechanism.unique():
        mechanism, row = mechanism_class(key), _excess(table, key)
        name = f"{NOISES[mechanism.noise]} {PERTURBATIONS[mechanism.place]}"
        if row is None:
            cards.append((name, "refused", "no guarantee here"))
        elif source.key != HARDEST:
            cards.append((name, f"{100 * accuracy.loc[key]['mean']:.1f}%", f"of {source.things} {source.outcome}"))
        elif pd.notna(row.lower_bound):
            cards.append((name, f"{rounded(row['mean'] / row.lower_bound, 2)} times", "the lower bound"))
    if source.key == HARDEST:
        return cards
    best = f"{100 * accuracy.reference.iloc[0]:.1f}%" if len(accuracy) else "—"
    return [*cards, ("Best model without privacy", best, f"of {source.things} {source.outcome}")]


def caption(experiment: Experiment, table: pd.DataFrame, epsilon: float) -> str:
    """Small print below the chart: the guarantee, the quantity and its error."""
    sampled = table[(table.metric == "excess_empirical_risk") & (table.se > 0.0) & (table.x == epsilon)]
    text = f"{guarantee(table[table.x == epsilon])} Mean training loss above {infimum_of(experiment.problem)}"
    if len(sampled):
        draws = f"{sampled.repetitions.iloc[0]} draws (± {_errors(sampled)})"
        text += f": exact for output perturbation, from {draws} for the others"
    if not any(mechanism_class(key).family == "gradient" for key in table.mechanism.unique()):
        text += ". Gradient perturbation is missing: its noise is Gaussian, which gives no pure ε"
    return f"{text}."


def verdict_of(table: pd.DataFrame, chosen: str, epsilon: float) -> str:
    """What the upper bound of the chosen mechanism says; table: of several perturbations, swept over epsilon."""
    rows = table[table.metric == "excess_empirical_risk"]
    if rows.empty:
        return ""
    mine = rows[rows.mechanism == chosen]
    if mine.empty:
        return ""
    return verdict(mine.x, [("", mine["mean"], mine.bound)], rows.nothing_learned.iloc[0], epsilon, "ε")


def lower_line(rows: pd.DataFrame, source: str) -> str:
    """The lower bound at the cursor, and by which factor the means lie above it on the records where it is proved."""
    rows = rows[rows.lower_bound.notna()]
    if rows.empty:
        return NO_LOWER
    least = rounded(rows.lower_bound.max(), 2)
    if source != HARDEST:
        return f"Lower bound: no private mechanism has less than {least} on the hardest data."
    factors = rows["mean"].astype(float) / rows.lower_bound.astype(float)
    times = " to ".join(dict.fromkeys(rounded(factor, 2) for factor in (factors.min(), factors.max())))
    return f"Lower bound: no private mechanism has less than {least} on these records; measured: {times} times as much."


def _errors(rows: pd.DataFrame) -> str:
    return f"{rows.se.max() / rows['mean'].abs().max():.1%} at the cursor"


def assumptions(experiment: Experiment, source: Source, most: int) -> str:
    """The assumptions behind the curves, the bounds and the guarantees."""
    rule = experiment.problem.lam if isinstance(experiment.problem.lam, str) else "number"
    return assumed(
        __file__,
        "assumptions.md",
        records=records_line(source),
        neighbours=neighbours_line(source),
        infimum=infimum_of(experiment.problem),
        certified=certified(experiment.problem),
        comparison=comparison_of(experiment.problem),
        lam=_LAM_LINES[rule].format(classes=AUTO_CLASSES),
        most=most,
    )


def snippet(experiment: Experiment, chart: partial[Figure]) -> str:
    """Python that redraws the chart from an empty file."""
    return script({"experiment": experiment_call(experiment), "table": partial(run, verbatim("experiment"))}, chart)
