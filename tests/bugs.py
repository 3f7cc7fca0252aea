"""Injected bugs, where they apply, and what docs/formulas.md, "What an audit sees", says that audits find."""

from __future__ import annotations

import pytest

import dpcore
from dpcore import Plan
from dpcore.audit.attacks import attacks_of
from dpcore.audit.bugs import BUGS, get_bug
from dpcore.audit.game import attack_for, claimed_plan, worst_plan
from dpcore.audit.target import Target, correct_target
from dpcore.mechanisms import mechanism_class
from tests.audits import DRAWING, KEYS, REPEATS
from tests.harness import ROOT

every_mechanism = pytest.mark.parametrize("key", KEYS)
GAMMA = [key for key in KEYS if mechanism_class(key)().noise == "gamma"]
# Mechanisms whose noise under the audited plan is a normal number below 1.
SMALL_NORMAL = ("output_gaussian", "objective_gaussian", "noisy_sgd", "phased_sgd")
DESCENDING = ("noisy_gd", "frank_wolfe_general")
PUBLISHED = ("objective_gaussian", "objective_gamma")
# Where each bug applies; anywhere unless it is listed.
POSSIBLE = {
    "variance_as_deviation": SMALL_NORMAL,
    "wrong_gamma_shape": GAMMA,
    "noise_reused": DESCENDING,
    "shared_class_noise": ("gaussian_classifier",),
    "quoted_kappa": ("generalized_gaussian",),
    "published_objective_noise": PUBLISHED,
    "unrounded": ("output_gamma",),
}
# Bugs in a term of a proof, and the terms in which they show; each mechanism that has the attack has the bug.
TERMS = {name: bug.term for name, bug in BUGS.items() if bug.term}
POSSIBLE |= {
    name: tuple(key for key in KEYS if term in [attack.term for attack in attacks_of(key)])
    for name, term in TERMS.items()
}
# One seed draws the same columns from both of two laws that are so near one another, and so tells nothing.
UNSEEN = {(key, "fixed_seed") for key in DRAWING}
# The curve of three classes leaves an attacker more room than a fifth of the noise hides.
UNSEEN |= {("gaussian_classifier", "noise_at_80_percent")}
RUNS = 20_000
# The columns of the document's table, in which a missing factor 2 is half the noise.
FAULTS = [bug for bug in BUGS if bug != "missing_factor_2" and bug not in TERMS]


def table_of_the_document(begins: str) -> list[str]:
    """Lines of the table whose head begins so."""
    section = (ROOT / "docs" / "formulas.md").read_text().split("## What an audit sees", 1)[1].split("\n## ", 1)[0]
    (table,) = (part for part in section.split("\n\n") if part.startswith(begins))
    return table.splitlines()


def cells_of_the_document() -> dict[tuple[str, str | None], str]:
    """By mechanism and fault, None where there is none."""
    head, _, *rows = table_of_the_document("| mechanism | none |")
    cells = {}
    names = [None, *FAULTS]
    assert head == "| mechanism | none | " + " | ".join(BUGS[key].label for key in FAULTS) + " |"
    for row in rows:
        key, *found = (part.strip() for part in row.strip("|").split("|"))
        assert len(found) == len(names)
        cells |= {(key, name): text for name, text in zip(names, found, strict=True)}
    return cells


def terms_of_the_document() -> dict[tuple[str, str], str]:
    """By mechanism and bug in a term: what the attack that reaches it finds."""
    _, _, *rows = table_of_the_document("| mechanism | bug |")
    labels, found = {BUGS[name].label: name for name in TERMS}, {}
    for row in rows:
        key, label, term, text, correct = (part.strip() for part in row.strip("|").split("|"))
        assert (term, correct) == (TERMS[labels[label]], "0")
        found[key, labels[label]] = text
    return found


CELLS, IN_TERMS = cells_of_the_document(), terms_of_the_document()
# Where 20,000 runs see a fault now and then or never, how many nearly always do.
MORE = {
    cell: int(text.split(" at ")[1].replace(",", "")) for cell, text in (CELLS | IN_TERMS).items() if " at " in text
}


def bugged(name: str, plan: Plan) -> Target:
    pair = attack_for(plan.mechanism.key, name, None).pair(plan)
    return get_bug(name).inject(plan, correct_target(plan, claimed_plan(plan), pair))


def correct_code(plan: Plan) -> Target:
    return correct_target(plan, plan, plan.mechanism.worst_pair(plan))


def caught(key: str, bug: str | None, *, runs: int = RUNS, seeds: int = REPEATS) -> int:
    """How many of the audits with seeds 0, 1, ... are "contradicted"."""
    plan = worst_plan(key, bug)
    audits = (dpcore.run_audit(plan, runs=runs, seed=seed, bug=bug) for seed in range(seeds))
    return sum(audit.verdict == "contradicted" for audit in audits)
