"""The words below the three side pictures of the tab L1 ball."""

from __future__ import annotations

from dpcore.studies.sparsity.l1.curves import Path
from dpcore.studies.sparsity.l1.membership import Tracing, literal_size
from dpcore.studies.sparsity.simplex.beside_others import BesideSampling
from pages.sparsity.l1_words import L1State
from pages.ui.numbers import people, rounded


def path_caption(walked: Path) -> str:
    """One run in words."""
    missed = int((~walked.right).sum())
    return (
        f"One run: {missed} of {walked.plan.steps} choices are not a feature that matters with its sign, and the model "
        f"leaves {rounded(walked.excess)}. Early choices fade: the last of T vertices weighs "
        f"{rounded(walked.share[-1] / walked.share[0], 2)} times the first."
    )


def remark_caption(found: BesideSampling, here: L1State) -> str:
    """Both mechanisms on the records of the tab Simplex."""
    last = len(found.n) - 1
    pair = found.frank_wolfe.mean[last], found.sampling.mean[last]
    said = (
        f"Over the simplex, with Huber loss and ε = {here.epsilon:g}: at n = {found.n[last]:,.0f} Frank-Wolfe leaves "
        f"{rounded(pair[0])} and m draws {rounded(pair[1])}. Remark 2 promises n⁻²⁄³ instead of n⁻¹⁄³."
    )
    if found.stored < here.p:
        said += f" {found.stored:,} of {here.p:,} columns are filled."
    return f"{said} Means of {found.repetitions} runs."


def tracing_caption(tracing: Tracing) -> str:
    """What the attack sees, and how far it is from the theorem."""
    size = literal_size()
    last = len(tracing.epsilon) - 1
    worse = tracing.epsilon[tracing.excess > tracing.nothing]
    said = (
        f"Who of {tracing.w} users was in the data? The exact minimiser tells members from strangers with AUC "
        f"{tracing.exact:.2f}; at ε = {tracing.epsilon[last]:,.0f} it is {tracing.auc[last]:.2f}, at ε = "
        f"{tracing.epsilon[0]:g} it is {tracing.auc[0]:.2f}, while the excess grows from "
        f"{rounded(tracing.excess[last])} to {rounded(tracing.excess[0])}: accurate means traceable."
    )
    if len(worse):
        said += f" Up to ε = {worse[-1]:g}, a model of zeros would do better."
    return (
        f"{said} A scaled illustration with {tracing.n} records; the theorem's own data need m ≥ {size.m:,}, "
        f"{people(size.p)} columns and {people(size.n)} records."
    )
