"""audit: what can be refuted."""

import sys
from typing import Any

import click

from .options import JSON


@click.command()
@click.argument("key")
@click.option("--runs", default=20_000, show_default=True, type=int, help="How often the game is played, >= 100.")
@click.option("--seed", default=0, show_default=True, type=int, help="Of the audit's coins and noise, >= 0.")
@click.option("--bug", default=None, help="A fault to build in first; an unknown name lists them.")
@JSON
def audit(key: str, as_json: bool, **arguments: Any) -> None:
    """Try to refute a mechanism's promise; exit code 1 if that succeeds with 99.9% confidence."""
    from ..audit.game import run_audit

    report = run_audit(key, **arguments)
    if as_json:
        click.echo(report.to_json())
    else:
        click.echo(f"{report.sentence}\n\n{'certificate':12s} {'95%':>10s} {'99.9%':>10s} {'claimed':>10s}")
        for c in report.certificates:
            click.echo(f"{c.name:12s} {c.shown:10.4f} {c.flagged:10.4f} {c.limit:10.4f}  {c.tests}")
    if report.verdict == "contradicted":
        sys.exit(1)
