"""The words of the view "Attack". Every number comes out of runs. A pass is never called a proof."""

import dataclasses as dc
import math

import pandas as pd

from dpcore.audit.all_versions import AllVersions, Standing, TrialsQuestion
from dpcore.audit.betting import ALPHAS
from dpcore.audit.bugs import BUGS
from dpcore.audit.report import Verdict
from dpcore.core.facts import text_beside
from dpcore.figures.audit.attack import Row
from dpcore.mechanisms import mechanism_class
from pages.ui.html import readable
from pages.ui.numbers import rounded
from pages.ui.pickers import chips_beside
from pages.ui.sidebar import delta_text
from pages.ui.sources import assumed

HONEST = "honest"
FORMULA = text_beside(__file__, "attack_formula.md")
CHIPS = chips_beside(__file__, "attack_chips.json")
# What a certificate looks at, after "refuted by".
_REFUTED_BY = {
    "sensitivity": "how far one record moves the model",
    "attacker": "how often the attacker is right",
    "curve": "the errors it allows",
    "pure": "how sure the attacker can be",
    "point": "how sure the attacker can be",
}


@dc.dataclass(frozen=True)
class AttackState:
    """What the page shows: what is asked, how all versions stand, the version that was picked, and whether an error
    keeps the other runs away."""

    asked: TrialsQuestion
    trials: AllVersions
    picked: str | None
    failed: bool = False

    @property
    def played(self) -> str | None:
        """The picked version, or the honest one where the mistake cannot be made."""
        return self.picked if self.picked in self.trials.versions else None

    @property
    def standing(self) -> Standing | None:
        return self.trials.standings.get(self.played)

    @property
    def honest(self) -> Standing | None:
        """The honest code's, where another version is picked."""
        return None if self.played is None else self.trials.standings.get(None)

    @property
    def verdict(self) -> Verdict | None:
        return self.standing.verdict if self.standing else None

    @property
    def claim(self) -> float:
        """The epsilon that the honest code's plan spends."""
        return self.trials.plans[None].spent.epsilon


def name_of(mechanism: str) -> str:
    return mechanism_class(mechanism).label


def version_name(version: str) -> str:
    """
    >>> version_name(HONEST), version_name("halved_noise")
    ('the honest code', 'half the noise')
    """
    return "the honest code" if version == HONEST else BUGS[version].label


def takeaway(here: AttackState) -> str:
    """The verdict on the picked version, in one of three states, or how far its runs are."""
    return f"{_impossible(here)}{_verdict(here)}"


def _impossible(here: AttackState) -> str:
    if here.picked == here.played:
        return ""
    reason = readable(here.trials.refused[str(here.picked)])
    return f"This mistake cannot be made here ({reason}); so the honest code. "


def _verdict(here: AttackState) -> str:
    now, code = here.standing, _code(here)
    if now is None:
        return f"**Playing** the first runs of {code}."
    if now.report is None:
        return _so_far(here, now)
    attacked = _attacked(now)
    if now.verdict == "contradicted":
        return f"**Contradicted** with confidence 99.9%: {code} {_finding(now, 1, here.claim)}. {attacked}"
    if now.verdict == "suspicious":
        return (
            f"**Suspicious**: with confidence 95%, but not 99.9%, {code} {_finding(now, 0, here.claim)}; more runs "
            f"decide. {attacked}"
        )
    return (
        f"**No contradiction found** in {now.runs:,} runs of {code}: at least ε = "
        f"{rounded(now.report.certified_epsilon_95)} leaks (95%), and {rounded(here.claim)} is claimed. That is no "
        f"proof: another attack may see more. {attacked}"
    )


def _code(here: AttackState) -> str:
    return "the honest code" if here.played is None else f"“{version_name(here.played)}”"


def _finding(now: Standing, level: int, claim: float) -> str:
    """What is certified at 95% (level 0) or 99.9% (1); every verdict names what it rests on."""
    report = now.report
    assert report
    bound = (report.certified_epsilon_95, report.certified_epsilon_999)[level]
    if bound > claim:
        return f"leaks at least **ε = {rounded(bound)}**, not {rounded(claim)}"
    by = [c.name for c in report.certificates if (c.shown, c.flagged)[level] > c.limit]
    words = " and ".join(dict.fromkeys(_REFUTED_BY[name] for name in by)) or "a bet against it"
    return f"does not keep its claim of **ε = {rounded(claim)}**: refuted by {words}"


def _attacked(now: Standing) -> str:
    """How often the attacker was right, with how much of it may be luck, and how often he may be."""
    assert now.report
    attack = now.report.attack
    return (
        f"Who guesses which of two data sets a release came from is right **{_of_100(now.right)} times of 100** "
        f"(± {_of_100(now.right - attack.shown)}); the claim allows {_of_100(attack.limit)}."
    )


def _of_100(share: float) -> str:
    """
    >>> _of_100(0.5979), _of_100(1.0)
    ('59.8', '100.0')
    """
    return f"{100.0 * share:.1f}"


def _so_far(here: AttackState, now: Standing) -> str:
    """While runs are coming only the bet may speak."""
    played = f"{now.runs:,} of {here.asked.runs:,} runs played"
    suspicious, contradicted = now.reached
    if contradicted:
        return (
            f"**Contradicted** with confidence 99.9% after {contradicted:,} runs: a bet against the claim of "
            f"{_code(here)} has won {1 / ALPHAS[1]:,.0f} times its stake. {played}."
        )
    if suspicious:
        return (
            f"**Suspicious** after {suspicious:,} runs: a bet against the claim of {_code(here)} has won "
            f"{1 / ALPHAS[0]:,.0f} times its stake, which 1 of {1 / ALPHAS[0]:,.0f} wins by luck. {played}."
        )
    return f"**No contradiction found so far** in {_code(here)}, which proves nothing: {played}."


def rows(here: AttackState) -> list[Row]:
    """Of the ruler: the honest code, then each mistake."""
    return [_row(here, version) for version in here.trials.versions]


def _row(here: AttackState, version: str | None) -> Row:
    now = here.trials.standings.get(version)
    name = "the honest code" if version is None else BUGS[version].label
    if now is None:
        return Row(name, "waits", math.nan, math.nan, None)
    if now.report is None:
        told = now.verdict or f"{now.runs / here.asked.runs:.0%} played"
        return Row(name, told, math.nan, math.nan, now.verdict)
    found = now.report
    return Row(name, str(now.verdict), found.certified_epsilon_95, found.certified_epsilon_999, now.verdict)


def caption(here: AttackState) -> str:
    """What the rows share, and what the picked one is."""
    asked, count = here.asked, len(here.trials.versions)
    promise = f"δ = {delta_text(asked.budget.delta)}" if here.trials.plans[None].spent.delta else "δ = 0"
    picked = "" if here.played is None else f"**{version_name(here.played)}:** {BUGS[here.played].sentence} "
    failed = "An error, noted in the server's log, keeps the other runs away. " if here.failed else ""
    return (
        f"{failed}{picked}Same promise for all: ε = {rounded(here.claim)}, {promise}, one record replaced; "
        f"{asked.runs:,} runs each. Dark bars hold with confidence 99.9%, pale ones with 95%, for the {count} versions "
        "together."
    )


def corner(here: AttackState) -> tuple[float, float] | None:
    """What the largest bound that looks at both kinds of error certifies of them."""
    report = here.standing.report if here.standing else None
    if report is None:
        return None
    both = [(c.epsilon, c.corner) for c in report.certificates if c.corner and c.epsilon is not None]
    return max(both, key=lambda each: each[0])[1]


def beside_caption(side: str, here: AttackState) -> str:
    """What the picture beside the ruler says."""
    now = here.standing
    assert now
    if side == "Errors":
        return (
            "Each point is one way to guess: how often it cries wolf, and how often it misses. Code that keeps its "
            "claim stays above the forbidden region."
        )
    if side == "Bet":
        wealth = f"worth {_wealth(now.logs[-1])} after {now.runs:,} runs"
        return (
            f"A bet against this code, {wealth}; all {len(here.trials.versions)} versions share the error. If the "
            "claim is true, wealth grows only by luck, so one may watch and stop at any time."
        )
    return (
        f"The attacker's score in {now.runs:,} runs. Below 0 he says “first”, from 0 on “second”, and is right "
        f"{_of_100(now.right)} times of 100. What is further out is in the outermost bars."
    )


def _wealth(log: float) -> str:
    """
    >>> _wealth(0.0), _wealth(-9.0), _wealth(30.0)
    ('1', 'less than 0.001', 'over a million')
    """
    if log < math.log(1e-3):
        return "less than 0.001"
    return "over a million" if log > math.log(1e6) else f"{float(f'{math.exp(log):.2g}'):,g}"


def readouts(here: AttackState) -> list[tuple[str, str]]:
    """Three (value, label) pairs; those of certificates only when the last run is in."""
    now = here.standing
    if now is None:
        return []
    bet = (_wealth(now.logs[-1]), "what the bet against the claim is worth; 1,000 contradicts it")
    found = now.report
    if found is None:
        return [
            ("…", f"certified with the last run: {now.runs:,} of {here.asked.runs:,} are in"),
            (f"{_of_100(now.right)} of 100", "guesses are right so far; a coin gets 50"),
            bet,
        ]
    return [
        (
            f"ε ≥ {rounded(found.certified_epsilon_95)}",
            f"certified with confidence 95% (99.9%: {rounded(found.certified_epsilon_999)}); claimed: "
            f"{rounded(here.claim)}",
        ),
        (
            f"{_of_100(now.right)} of 100",
            f"guesses are right; the claim allows {_of_100(found.attack.limit)}, a coin gets 50",
        ),
        bet,
    ]


def file_name(here: AttackState) -> str:
    return f"audit_{here.asked.mechanism}_{here.played or HONEST}.json"


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
    trials = here.trials
    told = assumed(
        __file__,
        "attack_assumptions.md",
        pair=trials.pairs[here.played],
        mechanism=name_of(here.asked.mechanism),
        noise=trials.plans[here.played].noise.capitalize(),
        alphas=ALPHAS,
        versions=len(trials.versions),
    )
    if trials.refused:
        cannot = "; ".join(f"{version_name(key)}: {readable(reason)}" for key, reason in trials.refused.items())
        told += f"\n- **Cannot happen here:** {cannot}."
    return told


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
