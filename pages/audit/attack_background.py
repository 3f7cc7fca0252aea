"""What stands folded below the attack: assumptions, formula, code and data."""

from __future__ import annotations

import math

import pandas as pd

from dpcore.audit.betting import ALPHAS
from dpcore.core.facts import text_beside
from pages.audit.attack_words import HONEST, AttackState, name_of, version_name
from pages.ui.html import readable

FORMULA = text_beside(__file__, "attack_formula.md")


def table(here: AttackState) -> pd.DataFrame:
    """One row for each version: what the ruler shows, and the mistakes that cannot be made."""
    made = []
    for version in here.trials.versions:
        now = here.trials.standings.get(version)
        found = now.report if now else None
        made.append(
            {
                "version": version or HONEST,
                "runs": now.runs if now else 0,
                "verdict": now.verdict if now else None,
                "at_least_95": found.certified_epsilon_95 if found else math.nan,
                "at_least_999": found.certified_epsilon_999 if found else math.nan,
                "claimed": here.trials.plans[version].spent.epsilon,
                "right": now.right if now else math.nan,
                "right_at_most": found.attack.limit if found else math.nan,
                "ln_wealth": float(now.logs[-1]) if now else math.nan,
                "not_applicable": None,
            }
        )
    made += [{"version": key, "not_applicable": reason} for key, reason in here.trials.refused.items()]
    return pd.DataFrame(made)


def assumptions(here: AttackState) -> str:
    """What is attacked, what a verdict means, and what is not looked for."""
    trials, noise = here.trials, here.trials.plans[here.played].noise.capitalize()
    lines = [
        f"**The two data sets:** {trials.pairs[here.played]}. They are chosen to be as far apart as the sensitivity "
        "allows, with a loss that reaches it.",
        f"**The attacker** knows both, sees one release, or every step where a mechanism has many, of "
        f"{name_of(here.asked.mechanism)} with {noise} noise, and knows the claimed law of "
        "its noise. Records, loss and λ are the audit's own: the sliders for them do not enter.",
        f"**A false “contradicted”** comes in at most {ALPHAS[1]:.1%} of pages like this one, from certificates "
        f"and bets of all {len(trials.versions)} versions together; a false “suspicious” in at most {ALPHAS[0]:.0%}.",
        "**Certificates** hold for a number of runs that was fixed beforehand: the slider's. The bet may be watched.",
        "**No contradiction found is no proof.** The attack is the best one against the claimed law, not against every "
        "mistake: faults that leave the score alone, running time and known seeds are not seen.",
    ]
    if trials.refused:
        cannot = "; ".join(f"{version_name(key)}: {readable(reason)}" for key, reason in trials.refused.items())
        lines.append(f"**Cannot happen here:** {cannot}.")
    return "\n".join(f"- {line}" for line in lines)


def snippet(here: AttackState) -> str:
    """Python that repeats the audit from an empty file."""
    asked = here.asked
    return f"""from dpcore import Budget, run_audit
from dpcore.audit.game import worst_plan

bug = {here.played!r}
plan = worst_plan({asked.mechanism!r}, bug, Budget({asked.budget.epsilon!r}, {asked.budget.delta!r}))
tests = {here.trials.tests}  # that share the error: certificates and bets of all versions
report = run_audit(plan, runs={asked.runs}, seed={asked.seed}, bug=bug, comparisons=tests)
print(report.sentence)
print(report.to_json())
"""
