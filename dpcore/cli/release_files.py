"""Files of releases: claimed with room for the model before any noise is drawn, and the ledger beside the data.

What can fail (a full disk, a folder that may not be written, another run) fails before the release; the text of a
release is then written over its claim, which needs no further room.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..core.losses import get_loss
from ..core.privacy import told_up
from ..core.validation import shown
from ..mechanisms.plan import Plan, Release
from ..mechanisms.released import UNFINISHED
from ..studies.decide.release_ledger import LedgerEntry, ReleaseLedger
from .options import named, written

REFUSALS = (ValueError, OSError)  # raised before noise is drawn
_LONGEST = -sys.float_info.max  # no number has more digits
# Names of columns come from files, and a terminal would obey such characters.
_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def longest_release(plan: Plan) -> Release:
    """Release by a plan, without a look at records, whose text takes as much room as any."""
    spec = plan.spec
    classes = get_loss(spec.loss).task == "classes"
    shape = (spec.classes, spec.p + 1, spec.p + 1) if classes else (spec.p,)
    return Release(np.full(shape, _LONGEST), plan, seeded=False, clipped=spec.n)


class ReleaseFile:
    """File of one release, which says that a release was begun until its text is written over that.

    longest: text as long as that of any such release. Raises FileExistsError for a path that exists.
    """

    def __init__(self, path: Path, begun: dict[str, Any], longest: str) -> None:
        claim = json.dumps(begun | {"state": UNFINISHED}).encode()
        self.path, self._room = path, max(len(longest.encode()), len(claim))
        claim = claim.ljust(self._room) + b"\n"
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        with named(path), written(part):
            _write(part, claim, "wb")
        try:
            os.link(part, path)
        except FileExistsError:
            raise
        except OSError:  # a disk without links
            path.open("xb").close()
            with written(path):
                _write(path, claim, "r+b")
        finally:
            part.unlink()

    def write(self, text: str) -> None:
        """Write the text of the release over the claim; where even that fails, print it and raise OSError."""
        try:
            with named(self.path):
                _write(self.path, text.encode().ljust(self._room) + b"\n", "r+b")
        except OSError:
            click.echo(text)
            raise

    def remove(self) -> None:
        self.path.unlink()


def first_free(make: Callable[[Path], ReleaseFile], path: Path) -> ReleaseFile:
    """File at the first of people.json, people-2.json, ... that does not exist."""
    number = 1
    while True:
        with suppress(FileExistsError):
            return make(path if number == 1 else path.with_stem(f"{path.stem}-{number}"))
        number += 1


def _write(path: Path, content: bytes, mode: str) -> None:
    with path.open(mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def ledger_path(data: Path) -> Path:
    """Where the ledger of a file lies: beside it, also where the path is a link."""
    real = data.resolve()
    return real.with_name(f"{real.name}.ledger.json")


def unprinted_path(data: Path) -> Path:
    """Where a model lies, beside the data, until it is printed."""
    return data.with_name(f"{data.name}.unprinted.json")


def ledger_of(data: Path) -> ReleaseLedger:
    """Ledger beside a file, an empty one where none is; ValueError for a broken one, or that of another file."""
    path, name = ledger_path(data), data.resolve().name
    if not path.exists():
        return ReleaseLedger(name)
    found = ReleaseLedger.read(path.read_bytes(), path.name)
    if found.file != name:
        raise ValueError(f"{path.name} must be the ledger of {name}, got that of {shown(found.file)}")
    return found


@contextmanager
def counted(data: Path, entry: LedgerEntry) -> Iterator[ReleaseLedger]:
    """Context of a release, which the ledger beside the data counts from before it begins.

    A refusal takes it out again. What ends it otherwise may depend on the noise, and so it stays: a run that is
    repeated until it succeeds would be another mechanism.
    """
    ledger = _changed(data, lambda known: (*known, entry))
    try:
        yield ledger
    except REFUSALS:
        _changed(data, lambda known: tuple(each for each in known if each != entry))
        raise


def _changed(data: Path, change: Callable[[tuple[LedgerEntry, ...]], tuple[LedgerEntry, ...]]) -> ReleaseLedger:
    """Replace the ledger's releases; a file that exists meanwhile keeps other runs out."""
    path = ledger_path(data)
    part = path.with_name(f"{path.name}.part")
    try:
        part.open("x").close()
    except FileExistsError:
        raise ValueError(
            f"{part.name} must not exist, got one: another run counts a release from {data.name}; try again, and if "
            "there is none, delete this file"
        ) from None
    with written(part):
        try:
            known = ledger_of(data)
            changed = ReleaseLedger(known.file, change(known.releases))
            _write(part, changed.to_json().encode(), "wb")
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    return changed


def total_told(ledger: ReleaseLedger) -> str:
    """The total of a ledger in a sentence."""
    releases = len(ledger.releases)
    begun = f"{releases} release{'s' if releases != 1 else ''} from {ledger.file} begun so far"
    total = ledger.total()
    if total is None:
        return f"{begun}: no guarantee is left" if releases else f"no release from {ledger.file} was made here"
    return f"{begun}, in total epsilon = {told_up(total.epsilon)}, delta = {told_up(total.delta)} for one person"


@contextmanager
def kept_in(path: Path) -> Iterator[None]:
    """Context in which a release is printed: whatever fails there, RuntimeError names the file that has it."""
    try:
        yield
    except Exception as error:
        told = getattr(error, "strerror", None) or error
        raise RuntimeError(f"the output cannot be written ({told}); the release was made, and is in {path}") from error


def show(text: str) -> None:
    """Print all at once, control characters escaped; raises OSError for an output that cannot be written."""
    try:
        click.echo(text.translate(_CONTROL))
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        # At its end Python would write again what could not be written.
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
