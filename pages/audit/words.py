"""The words of the page Audit. Every number comes out of runs. A pass is never called a proof."""

import dataclasses as dc
import math

import pandas as pd

from dpcore.accounting.attack_limits import attack_cap
from dpcore.audit.all_versions import AllVersions, Standing, TrialsQuestion
from dpcore.audit.attacks import get_attack
from dpcore.audit.betting import ALPHAS
from dpcore.audit.bugs import BUGS
from dpcore.audit.report import Verdict
from dpcore.core.facts import text_beside
from dpcore.figures.audit.attack import Row
from dpcore.mechanisms import mechanism_class
from pages.ui.chips import chips_beside
from pages.ui.html import readable
from pages.ui.numbers import rounded, tenths
from pages.ui.sidebar import delta_text
from pages.ui.sources import assumed

CORRECT = "correct"
FORMULA = text_beside(__file__, "formula.md")
CHIPS = chips_beside(__file__, "chips.json")
# What a certificate measures, after "refuted by".
_REFUTED_BY = {
    "sensitivity": "the distance that one record moves the model",
    "attacker": "its attack success",
    "curve": "the attacker's errors",
    "pure": "the attacker's certainty",
    "point": "the attacker's certainty",
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
        """The picked version, or the correct code where the bug does not apply."""
        return self.picked if self.picked in self.trials.versions else None

    @property
    def standing(self) -> Standing | None:
        return self.trials.standings.get(self.played)

    @property
    def correct(self) -> Standing | None:
        """That of the correct code, where another version is picked."""
        return None if self.played is None else self.trials.standings.get(None)

    @property
    def verdict(self) -> Verdict | None:
        return self.standing.verdict if self.standing else None

    @property
    def claim(self) -> float:
        """The epsilon of the claimed guarantee."""
        return self.trials.plans[None].spent.epsilon


def name_of(mechanism: str) -> str:
    return mechanism_class(mechanism).label


def version_name(version: str) -> str:
    """
    >>> version_name(CORRECT), version_name("halved_noise")
    ('correct code', 'half the noise')
    """
    return "correct code" if version == CORRECT else BUGS[version].label


def attack_name(term: str) -> str:
    """
    >>> attack_name("last_phase")
    'last phase'
    """
    return term.replace("_", " ")


def takeaway(state: AttackState) -> str:
    """The verdict on the picked version, in one of three states, or how far its runs are."""
    return f"{_impossible(state)}{_verdict(state)}"


def _impossible(state: AttackState) -> str:
    if state.picked == state.played:
        return ""
    bug = str(state.picked)
    reason = readable(state.trials.refused[bug].replace(bug, "it", 1))  # it was picked by its name in words
    return f"This bug does not apply to this mechanism ({reason}); the correct code is shown. "


def _verdict(state: AttackState) -> str:
    now, code = state.standing, _code(state)
    if now is None:
        return f"**Running** {code} for the first time."
    if now.report is None:
        return _so_far(state, now)
    attacked = _attacked(now)
    if now.verdict == "contradicted":
        return f"**Contradicted** with 99.9% confidence: {code} {_finding(now, 1, state.claim)}. {attacked}"
    if now.verdict == "suspicious":
        return (
            f"**Suspicious**: with 95% but not 99.9% confidence, {code} {_finding(now, 0, state.claim)}; more runs "
            f"decide. {attacked}"
        )
    return (
        f"**No contradiction found** in {now.runs:,} runs of {code}: the guarantee claims **ε = "
        f"{rounded(state.claim)}**, and the runs certify {_certified(now.report.certified_epsilon_95)}. That is no "
        f"proof: another attack may find more. {attacked}"
    )


def _certified(epsilon: float) -> str:
    return f"at least ε = {rounded(epsilon)} (95% confidence)" if epsilon > 0.0 else "nothing"


def _code(state: AttackState) -> str:
    return "the correct code" if state.played is None else f"code with the bug “{version_name(state.played)}”"


def _finding(now: Standing, level: int, claim: float) -> str:
    """What is certified at 95% (level 0) or 99.9% (1); every verdict names what it rests on."""
    report = now.report
    assert report
    bound = (report.certified_epsilon_95, report.certified_epsilon_999)[level]
    if bound > claim:
        return f"leaks at least **ε = {rounded(bound)}**; its guarantee claims ε = {rounded(claim)}"
    by = [c.name for c in report.certificates if (c.shown, c.flagged)[level] > c.limit]
    words = " and ".join(dict.fromkeys(_REFUTED_BY[name] for name in by)) or "the betting test"
    return f"breaks its guarantee of **ε = {rounded(claim)}**, refuted by {words}"


def _attacked(now: Standing) -> str:
    """Attack success, and the most that the claimed noise allows."""
    assert now.report
    found = now.report.attack
    right = f"{tenths(100 * now.attack_success)} ± {tenths(100 * (now.attack_success - found.shown))}"
    return f"An attacker guesses right **{right} times in 100**; the claimed noise allows {tenths(100 * found.limit)}."


def _so_far(state: AttackState, now: Standing) -> str:
    """While runs are coming only the betting test may speak."""
    played = f"{now.runs:,} of {state.asked.runs:,} runs are done"
    suspicious, contradicted = now.reached
    if contradicted:
        return (
            f"**Contradicted** with 99.9% confidence after {contradicted:,} runs: the betting test against the "
            f"guarantee of {_code(state)} has passed {1 / ALPHAS[1]:,.0f}. {played}."
        )
    if suspicious:
        return (
            f"**Suspicious** after {suspicious:,} runs: the betting test against the guarantee of {_code(state)} has "
            f"passed {1 / ALPHAS[0]:,.0f}, which chance alone does in 1 of {1 / ALPHAS[0]:,.0f} cases. {played}."
        )
    return f"**No contradiction found so far** in {_code(state)}, which proves nothing: {played}."


def rows(state: AttackState) -> list[Row]:
    """Of the ruler: the correct code, then each injected bug."""
    return [_row(state, version) for version in state.trials.versions]


def _row(state: AttackState, version: str | None) -> Row:
    now = state.trials.standings.get(version)
    name = version_name(version or CORRECT)
    if now is None:
        return Row(name, "waiting", math.nan, math.nan, None)
    if now.report is None:
        told = now.verdict or f"{now.runs / state.asked.runs:.0%} of runs"
        return Row(name, told, math.nan, math.nan, now.verdict)
    found = now.report
    return Row(name, str(now.verdict), found.certified_epsilon_95, found.certified_epsilon_999, now.verdict)


def played(state: AttackState) -> str:
    """How many runs of all versions there are."""
    trials = state.trials
    done = sum(standing.runs for standing in trials.standings.values())
    return f"{done:,} of {state.asked.runs * len(trials.versions):,} runs of all versions"


def caption(state: AttackState) -> str:
    """What the rows share, and what the picked one is."""
    count = len(state.trials.versions)
    picked = "" if state.played is None else f"**{version_name(state.played)}:** {BUGS[state.played].sentence} "
    failed = "An error, noted in the server's log, stops the other runs. " if state.failed else ""
    return (
        f"{failed}{picked}{_unseen(state)}Bars: the code leaks at least this ε, with 99.9% confidence (dark) or 95% "
        f"(pale) for all {count} versions at once; a bar short of the line is no proof."
    )


def _unseen(state: AttackState) -> str:
    """Which attack sees the picked bug if this one does not."""
    attack = get_attack(state.asked.mechanism, state.asked.attack)
    term = None if state.played is None else BUGS[state.played].term
    if term in (None, attack.term):
        return ""
    return f"This attack tests {attack.reaches}; the bug shows to the attack “{attack_name(term)}”. "


def _delta(state: AttackState) -> str:
    return f"δ = {delta_text(state.asked.budget.delta) if state.trials.plans[None].spent.delta else 0}"


def errors(state: AttackState) -> tuple[float, float] | None:
    """What the largest bound that looks at both kinds of error certifies of them."""
    report = state.standing.report if state.standing else None
    if report is None:
        return None
    both = [(c.epsilon, c.errors) for c in report.certificates if c.errors and c.epsilon is not None]
    return max(both, key=lambda each: each[0])[1]


def beside_caption(side: str, state: AttackState) -> str:
    """What the picture beside the ruler says."""
    now = state.standing
    assert now
    if side == "Trade-off curve":
        certified = " The diamond's rule errs at most this often, with 95% confidence." if errors(state) else ""
        return (
            "Each point of a curve is one rule of guessing which of two data sets was used. Correct code stays above "
            f"the region that the claimed noise forbids.{certified}"
        )
    if side == "Betting test":
        return (
            f"A bet against the guarantee is worth {_e_value(now.logs[-1])} after {now.runs:,} runs. If the guarantee "
            f"is true, it grows only by luck: the test may be read and stopped at any time. It starts at 1/"
            f"{state.trials.tests}: the confidence then holds for all {len(state.trials.versions)} versions at once."
        )
    right = tenths(100 * now.attack_success)
    return (
        f"The attacker's score in {now.runs:,} runs: below 0 the guess is “first data set”, from 0 on “second”. The "
        f"guess is right {right} times in 100. The outermost bars hold everything beyond them."
    )


def _e_value(log: float) -> str:
    """
    >>> _e_value(0.0), _e_value(-9.0), _e_value(30.0)
    ('1', 'less than 0.001', 'over a million')
    """
    if log < math.log(1e-3):
        return "less than 0.001"
    return "over a million" if log > math.log(1e6) else f"{float(f'{math.exp(log):.2g}'):,g}"


def readouts(state: AttackState) -> list[tuple[str, str, str]]:
    """(noun, value, rest): claimed, certified, attack success, betting test; certificates come with the last run."""
    now = state.standing
    if now is None:
        return []
    found = now.report
    certified = "…", f"after the last run: {now.runs:,} of {state.asked.runs:,} are done"
    success = "so far; a random guess has 50"
    if found:
        bounds = [(found.certified_epsilon_95, "95%"), (found.certified_epsilon_999, "99.9%")]
        (text, sure), (other, at) = bounds[::-1] if now.verdict == "contradicted" else bounds  # as in the headline
        certified = f"ε ≥ {rounded(text)}", f"with {sure} confidence; with {at}: {rounded(other)}"
        success = (
            f"± {tenths(100 * (now.attack_success - found.attack.shown))}. The claimed noise allows "
            f"{tenths(100 * found.attack.limit)}, (ε, δ) alone "
            f"{tenths(100 * attack_cap(state.trials.plans[None].spent))}; a random guess has 50"
        )
    bet = f"a bet of 1/{state.trials.tests} became this; {1 / ALPHAS[1]:,.0f} contradicts the claim"
    return [
        ("Claimed guarantee", f"ε = {rounded(state.claim)}", f"{_delta(state)}, one record replaced"),
        ("Certified", *certified),
        ("Attack success", f"{tenths(100 * now.attack_success)} of 100", success),
        ("Betting test", _e_value(now.logs[-1]), bet),
    ]


def table(state: AttackState) -> pd.DataFrame:
    """One row for each version: what the ruler shows, and the bugs that do not apply."""
    made = []
    for version in state.trials.versions:
        now = state.trials.standings.get(version)
        found = now.report if now else None
        made.append(
            {
                "version": version or CORRECT,
                "runs": now.runs if now else 0,
                "verdict": now.verdict if now else None,
                "at_least_95": found.certified_epsilon_95 if found else math.nan,
                "at_least_999": found.certified_epsilon_999 if found else math.nan,
                "claimed": state.trials.plans[version].spent.epsilon,
                "attack_success": now.attack_success if now else math.nan,
                "right_at_most": found.attack.limit if found else math.nan,
                "ln_betting_test": float(now.logs[-1]) if now else math.nan,
                "not_applicable": None,
            }
        )
    made += [{"version": key, "not_applicable": reason} for key, reason in state.trials.refused.items()]
    return pd.DataFrame(made)


def assumptions(state: AttackState) -> str:
    """What is attacked, what a verdict means, and what an audit does not look for."""
    trials = state.trials
    told = assumed(
        __file__,
        "assumptions.md",
        pair=readable(trials.pairs[state.played]),
        mechanism=name_of(state.asked.mechanism),
        noise=trials.plans[state.played].noise.replace("_", " ").title(),
        alphas=ALPHAS,
        versions=len(trials.versions),
    )
    if trials.refused:
        cannot = "; ".join(f"{version_name(key)}: {readable(reason)}" for key, reason in trials.refused.items())
        told += f"\n- **Bugs that do not apply:** {cannot}."
    return told


def snippet(state: AttackState) -> str:
    """Python that repeats the audit from an empty file."""
    asked = state.asked
    return f"""from dpcore import Budget, run_audit
from dpcore.audit.game import worst_plan

bug = {state.played!r}
budget = Budget({asked.budget.epsilon!r}, {asked.budget.delta!r})
plan = worst_plan({asked.mechanism!r}, bug, budget, attack={asked.attack!r})
tests = {state.trials.tests}  # that share the error: certificates and bets of all versions
report = run_audit(plan, runs={asked.runs}, seed={asked.seed}, bug=bug, comparisons=tests, attack={asked.attack!r})
print(report.sentence)
print(report.to_json())
"""
