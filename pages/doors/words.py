"""The words of the doors page. Every number comes out of a table, a plan or a cloud."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpcore import Budget, Experiment, Mechanism, NotApplicable, Spec
from dpcore.clouds import Clouds
from dpcore.data import Source
from dpcore.door_zero import MARGIN_LAM, Fit, Leak
from dpcore.figures import door_of
from pages.ui.controls import LAMBDAS, delta_text

NOISES = {"gaussian": "Gaussian", "gamma": "Gamma", "both": "both"}
PROOFS = {"tight": "exact noise", "published": "as published"}

FORMULA = r"""
Both doors minimise $J(\theta)=\frac1n\sum_i \ell(\langle x_i,\theta\rangle;y_i)+\frac\lambda2\lVert\theta\rVert^2$.

- **The answer** (output perturbation): release $\hat\theta+b$. One replaced record moves $\hat\theta$ by at most
  $\frac{2LR}{n\lambda}$ (and twice the solver's distance), which sets the scale of $b$.
- **The question** (objective perturbation): release the minimiser of $J(\theta)+\langle b,\theta\rangle$. One replaced
  record moves the gradient by at most $\frac{2LR}n$, which sets the scale of $b$, and changes the volume element by a
  factor of at most $1+\frac{cR^2}{n\lambda}$: so $\ln(1+\frac{cR^2}{n\lambda})$ of $\varepsilon$ is spent before any
  noise is drawn. Where that is all of $\varepsilon$, this door is closed.
- **Gaussian** noise promises $(\varepsilon,\delta)$. **Gamma** noise, density $\propto e^{-\lVert b\rVert/s}$, promises
  $\varepsilon$ alone.
- In the first case the noise moves a prediction by $\langle b,x\rangle$, in the second by up to
  $\langle b,x\rangle/\lambda$, and by less where the records bend $J$.
"""


def at_cursor(table: pd.DataFrame, metric: str, epsilon: float) -> dict[str, pd.Series]:
    """The rows of a metric at epsilon, by mechanism key; without those that are not applicable."""
    here = table[(table.x == epsilon) & (table.status == "ok") & (table.metric == metric)]
    return {row.mechanism: row for _, row in here.iterrows()}


def takeaway(table: pd.DataFrame, experiment: Experiment, epsilon: float, source: Source) -> str:
    """Who wins at the cursor and by how much, or which door is closed there, in one or two sentences."""
    rows = at_cursor(table, "excess_empirical_risk", epsilon)
    noises = list(dict.fromkeys(m.noise for m in _mechanisms(experiment)))
    found = [_duel(rows, noise, len(noises) > 1) for noise in noises]
    open_doors = [text for text in found if text]
    said = ""
    if open_doors:
        where = f"At ε = {epsilon:g} with {experiment.n:,} {source.records}, "
        said = f"{where}{'; '.join(open_doors)}."
    closed = [m for m in _mechanisms(experiment) if m.key not in rows]
    return " ".join([said, *_refusals(closed, rows, experiment, epsilon, source)]).strip()


def _duel(rows: dict[str, pd.Series], noise: str, named: bool) -> str | None:
    """One law of noise through both doors: the smaller excess risk, and how clear that is."""
    answer, question = (rows.get(f"{family}_{noise}") for family in ("output", "objective"))
    if answer is None or question is None:
        return None
    of = f" {NOISES[noise]}" if named else ""
    a, q = answer["mean"], question["mean"]
    if abs(a - q) <= 2.0 * float(np.hypot(answer.se, question.se)):
        return f"both doors cost the **same** with{of} noise: {a:.3g} and {q:.3g}, closer than {question.repetitions} draws can tell"
    winner, loser = ("question", "answer") if q < a else ("answer", "question")
    small, large = sorted((a, q))
    return (
        f"{of.strip()}{' ' if named else ''}noise in the **{winner}** leaves **{_less(small, large)}** excess risk than "
        f"noise in the {loser}: {small:.3g} against {large:.3g}"
    )


def _less(small: float, large: float) -> str:
    """How much less `small` is than `large`; a difference where one is not positive.

    >>> _less(1.0, 1.9), _less(1.0, 35.2), _less(0.96, 1.0), _less(-0.1, 0.2)
    ('1.9 times less', '35 times less', '4% less', '0.3 less')
    """
    if small <= 0:
        return f"{large - small:.3g} less"
    if large < 1.1 * small:
        return f"{100 * (1 - small / large):.2g}% less"
    return f"{large / small:{'.1f' if large < 10 * small else ',.0f'}} times less"


def _refusals(
    closed: Sequence[Mechanism], rows: dict[str, pd.Series], experiment: Experiment, epsilon: float, source: Source
) -> list[str]:
    """What is refused at the cursor, why, and what opens it."""
    said = []
    for mechanism in closed:
        door, noise = door_of(mechanism.key), NOISES[mechanism.noise]
        lam = opens_at(mechanism, experiment, epsilon)
        twin = rows.get(f"output_{mechanism.noise}")
        opening = f"it opens at λ = {lam:g}" if lam else "no λ of the slider opens it"
        text = (
            f"The {door}'s door is **closed** for {noise} noise at ε = {epsilon:g}: with {experiment.n:,} "
            f"{source.records} and λ = {experiment.lam:g}, the curvature of one {source.record} alone would spend the "
            f"budget; {opening}."
        )
        if twin is not None:
            text += f" Through the answer the excess risk is **{twin['mean']:.3g}**."
        said.append(text)
    return said
