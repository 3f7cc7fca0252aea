"""Write docs/bounds.md: how far the bounds are from what is measured, at the settings with which pages open.

python -m tools.bounds
"""

import dataclasses as dc
import math
from pathlib import Path

import pandas as pd

from dpcore import Axis, Budget, Experiment, Problem, data, make_mechanism, run
from dpcore.mechanisms import Mechanism
from dpcore.studies.hardest.excess import Hardest, HardestQuestion, hardest
from dpcore.studies.hardest.growth import enough_records, powers_of_n
from pages.dimension import sparse, sparse_words
from pages.selection import simplex
from pages.ui.pickers import defaults_of, norm_of
from pages.ui.sidebar import DEFAULTS

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "bounds.md"
_TEXT = """# How close the bounds are

Written by `python -m tools.bounds`, seed {seed}, means of {repetitions} releases. Excess empirical risk at ε = 1, at
the settings with which the pages open, the sparse model with 128 columns. A **theorem** holds for all records, **these
records** are the page's own, and the **hardest records known** are those of `dpcore/studies/hardest/` on which a
mechanism has its largest mean ([formulas.md](formulas.md)). *Lens*: the upper end of what is proved for these records.
*Best hardest / lower*: the smallest mean, among the mechanisms of the view with its λ or "auto", on the hardest records
of each, over the lower bound for every private mechanism. *Powers of n*: by which the theorem and that lower bound fall
from n to 4n. *Says something*: from which n on the theorem is below the excess of a model that has learned nothing from
these records.

"""
_COLUMNS = (
    "view",
    "mechanism",
    "theorem / these records",
    "lens / these records",
    "theorem / hardest",
    "hardest / these records",
    "best hardest / lower",
    "powers of n",
    "says something",
)
_REPETITIONS = 200
_FIRST = {"delta": DEFAULTS["delta"], "seed": DEFAULTS["seed"]}
_PEOPLE = data.get_source("synthetic")
_PERTURBATIONS = ("output_gaussian", "output_gamma", "objective_gaussian", "objective_gamma", "noisy_gd", "noisy_sgd")
VIEWS = {
    "Overview, Perturbation": (
        Problem(_PEOPLE.key, n=2_000, theta_norm=norm_of(_PEOPLE), **_FIRST | defaults_of(_PEOPLE)),
        tuple(map(make_mechanism, _PERTURBATIONS)),
    ),
    "Dimension, sparse model": (
        Problem(
            "synthetic_sparse",
            n=sparse.FIRST_N,
            loss="squared",
            lam=0.0,
            radius=sparse_words.RADIUS,
            **_FIRST | sparse.OWN | {"p": 128},
        ),
        tuple(make_mechanism(key, T=sparse.STEPS[0]) for key in ("frank_wolfe_polytope", "frank_wolfe_general")),
    ),
    "Selection, simplex sampling": (
        Problem("synthetic_mixture", n=simplex.FIRST_N, loss="huber", **_FIRST | simplex.OWN),
        (make_mechanism("simplex_sampling"),),
    ),
}


def page() -> str:
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|"]
    for view, (problem, mechanisms) in VIEWS.items():
        found = [hardest_of(problem, each) for each in mechanisms]
        by_rule = [hardest_of(dc.replace(problem, lam="auto"), each) for each in mechanisms]
        best = min(float(each.mean[0]) for each in (*found, *by_rule))
        lower = max(float(each.lower[0]) for each in found)
        factor = f"{best / lower:,.0f}" if lower > 0.0 else "no lower bound"
        for mechanism, each in zip(mechanisms, found, strict=True):
            lines.append(f"| {' | '.join([view, mechanism.key, *numbers(problem, mechanism, each, factor)])} |")
    return _TEXT.format(seed=_FIRST["seed"], repetitions=_REPETITIONS) + "\n".join(lines) + "\n"


def hardest_of(problem: Problem, mechanism: Mechanism) -> Hardest:
    """The hardest records known of a mechanism at epsilon = 1."""
    spec = problem.spec(mechanism)
    return hardest(HardestQuestion(mechanism, spec, (1.0,), problem.delta, problem.seed, _REPETITIONS))


def numbers(problem: Problem, mechanism: Mechanism, found: Hardest, factor: str) -> list[str]:
    """Cells of a row after the mechanism. factor: that of the lower bound."""
    sweep = Axis("epsilon", (1.0,))
    table = run(Experiment(problem, (mechanism,), sweep=sweep, repetitions=_REPETITIONS, proved=mechanism.key))
    row = table[table.metric == "excess_empirical_risk"].iloc[0]
    (worst,), (bound,) = found.mean, found.bound
    budget = Budget(1.0, problem.delta)
    spec = problem.spec(mechanism)
    powers = powers_of_n(mechanism, spec, budget)
    enough = enough_records(mechanism, dc.replace(spec, n=2), budget, row.nothing_learned)
    proved = math.nan if pd.isna(row.proved_high) else row.proved_high
    ratios = bound / row["mean"], proved / row["mean"], bound / worst, worst / row["mean"]
    return [
        *("—" if math.isnan(ratio) else f"{float(f'{ratio:.2g}'):,g}" for ratio in ratios),
        factor,
        "—" if powers is None else " and ".join(f"{power:.2f}" for power in powers),
        "never" if enough is None else f"n = {enough:,}",
    ]


if __name__ == "__main__":
    DOCUMENT.write_text(page(), encoding="utf-8")
