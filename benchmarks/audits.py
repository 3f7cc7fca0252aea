"""Injected bugs that an audit detects: the table of docs/formulas.md, "What an audit sees".

    python -m benchmarks.audits [MECHANISM ...]

A row for each mechanism, a column for each bug: how many of 20 seeds end "contradicted" (99.9% confidence) with 20,000
runs each, at (1, 1e-5) on the plan of `worst_plan`; a dash if the bug does not apply. If that is not enough, more runs
are made as well: "3; 20 at 130,000". Then a row for each bug in a term of a proof that the first attack on a mechanism
does not reach, by the one that does. An hour on one core.
"""

import sys

import dpcore
from dpcore import NotApplicable
from dpcore.audit.attacks import attacks_of
from dpcore.audit.bugs import BUGS
from dpcore.audit.game import worst_plan
from dpcore.core.facts import facts_beside

SEEDS, RUNS = 20, 20_000
# A missing factor 2 is half the noise, whatever the reason.
FAULTS = [key for key, bug in BUGS.items() if key != "missing_factor_2" and bug.term is None]
# Where 20,000 runs see a fault now and then or never, and more of them nearly always do.
MORE = {(row["mechanism"], row["bug"]): int(row["runs"]) for row in facts_beside(__file__, "more_runs.csv")}


def caught(key: str, bug: str | None, *, runs: int = RUNS, attack: str | None = None) -> int:
    """Number of audits with seeds 0, 1, ... that are "contradicted"; NotApplicable where the fault cannot be."""
    plan = worst_plan(key, bug, attack=attack)
    audits = (dpcore.run_audit(plan, runs=runs, seed=seed, bug=bug, attack=attack) for seed in range(SEEDS))
    return sum(audit.verdict == "contradicted" for audit in audits)


def cell(key: str, bug: str | None) -> str:
    try:
        found = f"{caught(key, bug)}"
    except NotApplicable:
        return "-"
    more = MORE.get((key, bug or ""))
    return found if more is None else f"{found}; {caught(key, bug, runs=more)} at {more:,}"


def main(keys: list[str]) -> None:
    print("| mechanism | none |", " | ".join(BUGS[key].label for key in FAULTS), "|")
    print("|---" * (len(FAULTS) + 2) + "|")
    for key in keys or dpcore.list_mechanisms():
        print(f"| {key} | {' | '.join(cell(key, bug) for bug in (None, *FAULTS))} |", flush=True)
    print("\n| mechanism | bug | reached by the attack | this attack | correct code |")
    print("|---" * 5 + "|")
    for key in keys or dpcore.list_mechanisms():
        _, *others = (attack.term for attack in attacks_of(key))
        for name, bug in BUGS.items():
            if bug.term in others:
                correct = caught(key, None, attack=bug.term)
                print(f"| {key} | {bug.label} | {bug.term} | {cell(key, name)} | {correct} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
