"""What subcommands share."""

from __future__ import annotations

import io
import sys
from typing import Any

import click

JSON = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON.")


def progress(length: int, label: str) -> Any:
    """A bar on stderr, where somebody watches; elsewhere stderr is for errors only."""
    return click.progressbar(length=length, label=label, file=sys.stderr if sys.stderr.isatty() else io.StringIO())
