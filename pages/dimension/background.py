"""What stands behind the pictures of the dimension page: assumptions, formulas and code. Every number is computed."""

from __future__ import annotations

import dataclasses as dc
import math

import pandas as pd

import dpcore
from dpcore import Experiment
from dpcore.data import Source
from pages.dimension.words import MECHANISMS
from pages.ui.code import Code, call, experiment_call
from pages.ui.html import readable
from pages.ui.sidebar import delta_text
from pages.ui.sources import SEEDED, axis_title, neighbours_line

FORMULA = r"""
$J(\theta)=\frac1n\sum_i\ell(\langle x_i,\theta\rangle;y_i)+\frac\lambda2\lVert\theta\rVert^2$ has the minimiser
$\hat\theta$; $F$ is $J$ without its second term, $\lVert x\rVert\le R$.

- *Answer*: release $\hat\theta+b$. A prediction moves by $\langle b,x\rangle$, the model by $\lVert b\rVert$.
- Gaussian noise $b\sim\mathcal N(0,s^2I_p)$: $\mathbb E\langle b,x\rangle^2=s^2\lVert x\rVert^2$ for every $p$,
  $\mathbb E\lVert b\rVert^2=s^2p$.
- Gamma noise, density $\propto e^{-\lVert b\rVert/s}$: $\mathbb E\langle b,x\rangle^2=s^2(p+1)\lVert x\rVert^2$,
  $\mathbb E\lVert b\rVert^2=s^2p(p+1)$. Both have the same direction, uniform on the sphere; only the length differs.
- *Question*: release the minimiser of $J(\theta)+\langle b,\theta\rangle$. An idle column holds exactly
  $-b_j/\lambda$; all others together move by at most $\lVert b\rVert/\lambda$.
- Damage: $\mathbb E F(\theta)-F(\hat\theta)\le\min\{LR\,\mathbb E|b_1|,\ \tfrac c2R^2\,\mathbb E b_1^2\}$ for the
  answer.
- Earlier theory, as cited by Jain and Thakurta 2014: $\sqrt{p\ln\frac1\delta}$ for Gaussian, $p\ln p$ for Gamma noise.
- The orthant: $n$ records $x=(1,\dots,1)/\sqrt p$, $y=0$, Huber loss, $\theta\ge0$, so that $\hat\theta=0$. The answer
  cut at 0 predicts $\mathbb E\langle x,(b)_+\rangle=s\sqrt{p/2\pi}$, a free one
  $\mathbb E|\langle x,b\rangle|=s\sqrt{2/\pi}$.
  The question asked over the orthant gives $\theta_j=(-b_j-\ell'(z)/\sqrt p)_+/\lambda$ with
  $z=\langle x,\theta\rangle$: one equation in $z$.
"""


def assumptions(table: pd.DataFrame, experiment: Experiment, source: Source) -> str:
    """What must be true for the curves, the bounds and the promises."""
    ok = table[table.status == "ok"]
    lines = [
        f"**Records:** {source.label}; {readable(source.scaling)}. Idle columns are not stored; noise on them is "
        "drawn from, or averaged over, its exact law.",
        neighbours_line(source),
        f"**Accuracy:** on {int(ok.test_records.iloc[0]):,} {source.records} that no model was trained on."
        if len(ok)
        else "**Nothing is released** here.",
        "**Distance:** root mean square of ‖θ − θ̂‖₂ over the noise, all p coordinates. Exact for noise in the answer; "
        "for noise in the question exact on idle columns, a proved upper bound on the useful ones.",
        "**Damage:** average logistic loss on the training records above the model without noise. For noise in the "
        f"answer means are integrals; for noise in the question they come from {experiment.repetitions} releases.",
        "**Earlier theory** is published without constants: a shape, anchored at the damage at the smallest p.",
        f"**One λ for all:** so only the shape of the noise differs. {own_lam_line(experiment)}",
        f"**p = {int(table.x.min())}:** {small_p_line(experiment, int(table.n.iloc[0]))}",
        f"**The corner:** {experiment.problem.n:,} records x = (1, …, 1)/√p with y = 0, Huber loss, θ ≥ 0; noise as "
        "the Gaussian mechanisms calibrate it for this n, ε, δ and λ without the corner.",
        "**n** stops at a size for which the whole sweep over p is computed at once.",
        SEEDED,
    ]
    return "\n".join(f"- {line}" for line in lines)


def own_lam_line(experiment: Experiment) -> str:
    """What Gamma noise would reach at the largest p if its λ grew along, as its own rule has it."""
    p = int(experiment.sweep.values[-1])
    problem = dc.replace(experiment.problem, lam="auto")
    alone = dc.replace(
        experiment, problem=problem, mechanisms=("output_gamma",), sweep=dpcore.Axis("p", (p,)), repetitions=2
    )
    run = dpcore.run(alone)
    row = run[run.metric == "accuracy"].iloc[0]
    return (
        f"With a λ of its own at p = {p:,}, {row.lam:.3g}, Gamma noise in the answer would leave "
        f"{100 * row['mean']:.1f} of 100."
    )


def small_p_line(experiment: Experiment, n: int) -> str:
    """For how many ε of the slider Gamma noise in the answer is the smaller one at the smallest p."""
    p = int(experiment.sweep.values[0])

    def size(key: str, epsilon: float) -> float:
        """How far the noise moves a prediction, root mean square."""
        mechanism, budget = dpcore.make_mechanism(key), dpcore.Budget(epsilon, experiment.problem.delta)
        plan = mechanism.calibrate(dpcore.Spec("logistic", n, p, experiment.problem.lam), budget)  # type: ignore[arg-type]
        return plan.scale * math.sqrt(mechanism.law.reach(p)[1])

    smaller = [size("output_gamma", epsilon) < size("output_gaussian", epsilon) for epsilon in dpcore.EPSILON_GRID]
    count = "every" if all(smaller) else f"{sum(smaller)} of {len(smaller)}"
    return (
        "there Gamma noise in the answer, the stronger promise, moves predictions less than Gaussian noise for "
        f"{count} ε of the slider, at δ = {delta_text(experiment.problem.delta)}."
    )


def snippet(experiment: Experiment, noise_in: str, p: int, lower: str, source: Source) -> str:
    """Python that redraws both charts from an empty file."""
    sweep = Code('dpcore.Axis("p", ps)')
    corner = {name: getattr(experiment.problem, name) for name in ("n", "delta", "lam", "seed")}
    return f"""import dpcore
from dpcore.figures.dimension import dimension_figure, orthant_figure
from dpcore.studies.dimension import noise_growth, orthant

ps = {experiment.sweep.values!r}
experiment = {experiment_call(experiment, MECHANISMS[noise_in], epsilon=experiment.epsilon, sweep=sweep)}
dimension_figure(
    dpcore.run(experiment),
    noise_growth.growth_of(experiment.cells()),
    p={p},
    lower={lower!r},
    accuracy_title={axis_title(source)!r},
    theme="light",
    height=500,
).show()
corner = {call("orthant.corner", Code("ps"), epsilon=experiment.epsilon, **corner)}
orthant_figure(corner, p={p}, theme="light", height=400).show()
"""
