"""Options that subcommands share."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

JSON = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON; errors too, on stderr.")


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Context in which a file is written: an error of the disk names the file and leaves no part of it behind."""
    try:
        with named(path):
            yield
    except OSError:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Context in which an error of the disk names this file: libraries and a full disk name none."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def progress(length: int, label: str) -> Any:
    """Progress bar on stderr if that is a terminal; otherwise stderr is for errors only."""
    return click.progressbar(length=length, label=label, file=sys.stderr if sys.stderr.isatty() else io.StringIO())
