"""The release that a briefing's JSON describes, made once: its model, written beside that file."""

import dataclasses as dc
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..core.privacy import BudgetExceeded
from ..core.validation import shown
from ..mechanisms.plan import Release
from ..mechanisms.released import UNFINISHED, ReleasedModel
from ..mechanisms.signed import SignedPlan
from ..studies.decide.release_ledger import LedgerEntry, ReleaseLedger
from .release_files import REFUSALS, ReleaseFile, counted, first_free, ledger_of, ledger_path, longest_release

KEY_VARIABLE = "PRICE_OF_PRIVACY_KEY"
_ENDING = ".released.json"


@dc.dataclass(frozen=True)
class Made:
    """A release, its model, the file in which that is written, and the ledger of the data."""

    release: Release
    model: ReleasedModel
    path: Path
    ledger: ReleaseLedger


def release_signed(plan_path: Path, data_path: Path, key_path: Path | None, again: bool) -> Made:
    """Make the release of a briefing's JSON from the file whose digest was signed.

    Its file and the ledger's entry are written before any noise is drawn: a run that is killed counts as a release.
    Raises BudgetExceeded for a second release unless `again`, and ValueError for another plan, file, key or ledger.
    """
    signed = _signed(plan_path)
    path = plan_path.with_suffix(_ENDING)
    known = ledger_of(data_path)
    made = sum(each.plan == signed.fingerprint for each in known.releases)
    if not again:
        _check_first(path, ledger_path(data_path).name if made else "")
    key = _key(key_path)
    content = data_path.read_bytes()
    signed.check(content, key)
    plan = signed.plan()
    before, told = len(known.releases) - made, signed.earlier.number if signed.earlier else 0
    if before > told:
        name = ledger_path(data_path).name
        click.echo(f"Warning: the plan was signed with {told} earlier releases, {name} has {before}", err=True)
    if again and made >= signed.releases:
        click.echo(f"Warning: {signed.releases} planned releases were signed, this is number {made + 1}", err=True)
    entry = LedgerEntry.of(plan, signed.fingerprint, signed.records_per_person)
    begun = {"begun": entry.when, "plan": signed.fingerprint, "theta": None}
    claim = partial(ReleaseFile, begun=begun, longest=_text(ReleasedModel.of(longest_release(plan), signed)))
    try:
        file = first_free(claim, path) if again else claim(path)
    except FileExistsError:
        _check_first(path, "")
        raise
    try:
        with counted(data_path, entry) as ledger:
            release = signed.release(content, key)
    except REFUSALS:
        file.remove()
        raise
    model = ReleasedModel.of(release, signed)
    file.write(_text(model))
    return Made(release, model, file.path, ledger)


def _signed(path: Path) -> SignedPlan:
    """The plan in a briefing's JSON, as it was signed."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} must be JSON, got a file that is not ({error})") from None
    if not isinstance(document, dict) or not isinstance(document.get("signing"), dict):
        raise ValueError(f"--plan must be a briefing's JSON, got {path.name}, which is another file")
    signing = document["signing"]
    if document.get("release") is None:
        raise ValueError(f"--plan must have a release to make, got none: {signing.get('reason', '')}")
    signed = SignedPlan.read(document["release"])
    if signed.fingerprint != signing.get("fingerprint"):
        raise ValueError(
            f"--plan must be as it was signed, fingerprint {shown(signing.get('fingerprint'))}, got "
            f"{signed.fingerprint}: it was changed since"
        )
    return signed


def _text(model: ReleasedModel) -> str:
    return json.dumps(model.document(), indent=1)


def _check_first(path: Path, counted_in: str) -> None:
    """Raise BudgetExceeded if a release by this plan was made, or begun."""
    if path.exists():
        told = f"got {path.name}, which says that {_state_of(path)}"
    elif counted_in:
        told = f"got {counted_in}, which counts one by this plan"
    else:
        return
    raise BudgetExceeded(
        f"this release must be made once, {told}; with --again another one is made, which spends privacy again"
    )


def _state_of(path: Path) -> str:
    """Whether a release was made or begun: a file that is not whole was begun."""
    try:
        document: Any = json.loads(path.read_bytes())
    except ValueError:
        return UNFINISHED
    return "it was made" if isinstance(document, dict) and document.get("theta") else UNFINISHED


def _key(path: Path | None) -> str:
    """The holder's key: from a file, from the environment, or typed where there is a terminal."""
    if path is not None:
        return path.read_text(encoding="utf-8").strip()
    if key := os.environ.get(KEY_VARIABLE):
        return key.strip()
    if sys.stdin.isatty():
        return str(click.prompt("Key of the file's digest", hide_input=True, err=True)).strip()
    raise ValueError(f"the key of the file's digest must be in --key-file FILE or in {KEY_VARIABLE}, got neither")
