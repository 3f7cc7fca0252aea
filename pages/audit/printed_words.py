"""The words of the view "as printed". Every number comes out of a finding."""

from __future__ import annotations

from collections.abc import Sequence

from dpcore.core.facts import text_beside
from dpcore.studies.papers.exhibits import EXHIBITS, Finding, rounded_down
from pages.ui.numbers import rounded

NAMES = {
    "objective_gamma": "Gamma noise<br>in the objective",
    "objective_gaussian": "Gaussian noise<br>in the objective",
    "quoted_kappa": "noise for the largest entry,<br>quoted constant",
    "printed_classifier": "Gaussian classifier<br>of many classes",
}
FORMULA = text_beside(__file__, "printed_formula.md")


def takeaway(found: Sequence[Finding]) -> str:
    """How many exhibits cost more than is printed, and the worst one."""
    broken = [each for each in found if each.verdict == "contradicted"]
    if not broken:
        return f"**None of {len(found)}** printed mechanisms is contradicted by these runs, which proves nothing."
    worst = max(broken, key=lambda each: each.certified_999 / each.claimed)
    times = rounded_down(worst.certified_999 / worst.claimed)
    return (
        f"**{len(broken)} of {len(found)}** mechanisms cost more than their papers print, with confidence 99.9% each: "
        f"the worst at least **{float(times):.3g} times** as much."
    )


def caption(found: Sequence[Finding]) -> str:
    """What is compared with what."""
    epsilons = " and ".join(_short(each) for each in found if each.unit == "epsilon")
    deltas = " and ".join(_short(each) for each in found if each.unit == "delta")
    return (
        f"The line at 1 is what is printed: the privacy budget of {epsilons}, the failure chance at the printed budget "
        f"of {deltas}. None of these mechanisms keeps what it says; the repaired ones are in this library and pass "
        "the same tests."
    )


def _short(finding: Finding) -> str:
    return NAMES[finding.key].replace("<br>", " ")


def readout(finding: Finding) -> tuple[str, str]:
    """What is certain, and what is printed."""
    symbol = "ε" if finding.unit == "epsilon" else "δ"
    return (
        f"{symbol} ≥ {rounded_down(finding.certified_999)}",
        f"{_short(finding)}; printed: {rounded(finding.claimed)}, {finding.runs:,} runs",
    )


def assumptions(found: Sequence[Finding]) -> str:
    """Sources, data sets and what is open."""
    lines = [
        f"**{EXHIBITS[each.key].title}** ({each.source}): {EXHIBITS[each.key].description} Data: {each.pair}. "
        f"{each.sentence}"
        for each in found
    ]
    lines.append(
        "**Each bound** holds with its confidence by itself, over our runs; all together err up to "
        f"{len(found)} times as often."
    )
    return "\n".join(f"- {line}" for line in lines)


def snippet(seed: int) -> str:
    """Python that repeats the exhibits from an empty file."""
    return f"""import dpcore
from dpcore.studies.papers.exhibits import EXHIBITS

for key in EXHIBITS:
    print(dpcore.run_exhibit(key, seed={seed}).sentence)
"""
