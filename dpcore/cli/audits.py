"""audit and exhibit: what can be refuted, and what printed mechanisms cost."""

from __future__ import annotations

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


@click.command()
@click.argument("key", required=False)
@click.option("--runs", default=None, type=int, help="How many runs; default: the exhibit's own number.")
@click.option("--seed", default=0, show_default=True, type=int, help="Of all coins and noise, >= 0.")
@JSON
def exhibit(key: str | None, runs: int | None, seed: int, as_json: bool) -> None:
    """Show what a mechanism as printed really costs, by certified lower bounds; without KEY, a table of all.

    None of them is private as printed.
    """
    from ..studies.papers.exhibits import EXHIBITS, rounded_down, run_exhibit

    if key is not None:
        found = run_exhibit(key, runs=runs, seed=seed)
        click.echo(found.to_json() if as_json else f"{found.title} ({found.source})\n{found.sentence}\n{found.pair}")
        return
    if runs is not None:
        raise ValueError(f"--runs must be left out for the table of all exhibits, got {runs}")
    findings = [run_exhibit(each, seed=seed) for each in EXHIBITS]
    if as_json:
        click.echo(f"[{', '.join(found.to_json() for found in findings)}]")
        return
    click.echo(
        f"{'exhibit':20s} {'bounded':8s} {'printed':>10s} {'exact':>10s} {'95%':>10s} {'99.9%':>10s} {'runs':>12s}"
    )
    for f in findings:
        bounds = ("" if v is None else rounded_down(v) for v in (f.exact, f.certified_95, f.certified_999))
        numbers = " ".join(f"{text:>10s}" for text in (f"{f.claimed:.4g}", *bounds))
        click.echo(f"{f.key:20s} {f.unit:8s} {numbers} {f.runs:12,d}  {f.verdict}")
