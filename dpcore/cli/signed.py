"""The release that a briefing's JSON describes, made once, and what it spent, written beside that file."""

import dataclasses as dc
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import click

from .._version import __version__
from ..core.privacy import BudgetExceeded
from ..core.validation import integer, shown
from ..mechanisms.plan import Plan, Release
from ..mechanisms.signed import SignedPlan
from ..studies.decide.repeated_releases import repeated_releases

KEY_VARIABLE = "PRICE_OF_PRIVACY_KEY"
_ENDING = ".released.json"


@dc.dataclass(frozen=True)
class Made:
    """A release, what was signed, and the file beside the plan in which it is written."""

    release: Release
    signed: SignedPlan
    beside: Path


def release_signed(plan_path: Path, data_path: Path, key_path: Path | None, again: bool) -> Made:
    """Make the release of a briefing's JSON from the file whose digest was signed.

    The file beside the plan is claimed before any noise is drawn: a run that is killed counts as a release. Raises
    BudgetExceeded for a second release unless `again`, and ValueError for another plan, file or key.
    """
    document = _json(plan_path)
    if not isinstance(document, dict) or not isinstance(document.get("signing"), dict):
        raise ValueError(f"--plan must be a briefing's JSON, got {plan_path.name}, which is another file")
    signing = document["signing"]
    if document.get("release") is None:
        raise ValueError(f"--plan must have a release to make, got none: {signing.get('reason', '')}")
    signed = SignedPlan.read(document["release"])
    if signed.fingerprint != signing.get("fingerprint"):
        raise ValueError(
            f"--plan must be as it was signed, fingerprint {shown(signing.get('fingerprint'))}, got "
            f"{signed.fingerprint}: it was changed since"
        )
    records, planned = (integer(name, signing.get(name), at_least=1) for name in ("records", "releases"))
    beside = plan_path.with_suffix(_ENDING)
    made = _made(beside) if beside.exists() else []
    if made and not again:
        raise BudgetExceeded(
            f"this release must be made once, got {beside.name}, which says that it was made; with --again "
            "another one is made, which spends privacy again"
        )
    key = _key(key_path)
    content = data_path.read_bytes()
    signed.check(content, key)
    if again and len(made) >= planned:
        click.echo(f"Warning: {planned} planned releases were signed, this is number {len(made) + 1}", err=True)
    plan = signed.plan()
    entry: dict[str, Any] = {"version": __version__, "plan": signed.fingerprint}
    entry |= {"spent": dc.asdict(plan.spent), "theta": None}
    facts = {"records_per_person": records, "spent_on_a_person": _total(plan, len(made) + 1, records)}
    before = beside.read_bytes() if made else None
    _write(beside, {"releases": [*made, entry], **facts}, new=not made)
    try:
        release = signed.release(content, key)
    except BaseException:
        # Nothing was released.
        beside.unlink()
        if before is not None:
            beside.write_bytes(before)
        raise
    entry |= {"columns": signed.columns, "theta": release.theta.tolist()}
    _write(beside, {"releases": [*made, entry], **facts})
    return Made(release, signed, beside)


def _total(plan: Plan, releases: int, records: int) -> dict[str, float] | None:
    """Privacy spent on one person; None where no accounting has a number."""
    if releases == records == 1:
        return dc.asdict(plan.spent)
    after = repeated_releases(plan, releases, records)
    return {"epsilon": after.epsilon, "delta": after.delta} if math.isfinite(after.epsilon) else None


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name} must be JSON, got a file that is not ({error})") from None


def _made(beside: Path) -> list[dict[str, Any]]:
    document = _json(beside)
    made = document.get("releases") if isinstance(document, dict) else None
    if not isinstance(made, list) or not made or not all(isinstance(one, dict) for one in made):
        raise ValueError(f"{beside.name} must list the releases that were made, got a file that does not")
    return made


def _write(beside: Path, document: dict[str, Any], new: bool = False) -> None:
    """Write the releases made, whole or not at all; new: refuse a file that another run has begun meanwhile."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    if new:
        with beside.open("x", encoding="utf-8") as file:
            file.write(text)
        return
    part = beside.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(beside)


def _key(path: Path | None) -> str:
    """The holder's key: from a file, from the environment, or typed where there is a terminal."""
    if path is not None:
        return path.read_text(encoding="utf-8").strip()
    if key := os.environ.get(KEY_VARIABLE):
        return key.strip()
    if sys.stdin.isatty():
        return str(click.prompt("Key of the file's digest", hide_input=True, err=True)).strip()
    raise ValueError(f"the key of the file's digest must be in --key-file FILE or in {KEY_VARIABLE}, got neither")
