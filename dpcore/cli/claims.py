"""audit, errata and reproduce: claims of mechanisms and papers beside what is found here."""

import dataclasses as dc
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import click

from ..audit.report import Findings
from ..core.validation import shown
from .options import JSON, written


@click.command()
@click.argument("key", metavar="KEY|MODULE:FUNCTION")
@click.option("--runs", default=20_000, show_default=True, type=int, help="Number of runs, >= 100.")
@click.option("--seed", default=0, show_default=True, type=int, help="Seed of the coins and the noise, >= 0.")
@click.option("--bug", help="Bug to inject into the mechanism; an unknown name lists all.")
@JSON
def audit(key: str, as_json: bool, runs: int, seed: int, bug: str | None) -> None:
    """Try to refute the guarantee of a mechanism, or of a function of yours; exit code 1 if it is refuted with 99.9%
    confidence.

    MODULE:FUNCTION takes no arguments and returns a dictionary of those of dpcore.audit_function: train, pairs,
    epsilon, and what else is claimed; runs and seed are options here (docs/auditing.md).
    """
    from ..audit.function import FunctionReport, audit_function
    from ..audit.game import run_audit

    report: Findings
    if ":" in key:
        if bug is not None:
            raise ValueError(f"--bug must be left out for a function, which is audited as it is, got {bug!r}")
        report = audit_function(**_asked_by(key), runs=runs, seed=seed)
    else:
        report = run_audit(key, runs=runs, seed=seed, bug=bug)
    if as_json:
        click.echo(report.to_json())
    else:
        click.echo(f"{report.sentence}\n\n{'certificate':12s} {'95%':>10s} {'99.9%':>10s} {'claimed':>10s}")
        for c in report.certificates:
            click.echo(f"{c.name:12s} {c.shown:10.4f} {c.flagged:10.4f} {c.limit:10.4f}  {c.tests}")
        if isinstance(report, FunctionReport):
            click.echo("\nNo audit of a function can show more than this:")
            for sentence in report.cannot_show:
                click.echo(f"- {sentence}")
    if report.verdict == "contradicted":
        sys.exit(1)


def _asked_by(place: str) -> dict[str, Any]:
    """Arguments of `audit_function` that MODULE:FUNCTION returns, else ValueError."""
    module, _, name = place.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError, SystemExit) as error:
        raise ValueError(
            f"KEY must be a mechanism or MODULE:FUNCTION that can be imported from this folder, got {place!r} ({error})"
        ) from error
    asked = function()
    if not isinstance(asked, dict):
        raise ValueError(f"{place} must return a dictionary of arguments of dpcore.audit_function, got {shown(asked)}")
    if given := {"runs", "seed"} & asked.keys():
        raise ValueError(f"{place} must leave {' and '.join(sorted(given))} to the options, got {sorted(asked)}")
    return asked


@click.command()
@click.argument("name", required=False)
@JSON
def errata(name: str | None, as_json: bool) -> None:
    """Compute a number as published and its correction; without NAME, for all errata that are computed quickly."""
    from ..studies.papers.errata import KINDS, recompute, recomputed, three_digits

    found = recomputed() if name is None else (recompute(name),)
    if as_json:
        facts = [each.facts for each in found]
        click.echo(json.dumps(facts if name is None else facts[0]))
    elif name is not None:
        erratum = found[0].erratum
        click.echo(f"{found[0].sentence}.\nas published: {erratum.says}\ncorrect: {erratum.holds}")
    else:
        click.echo(f"{'erratum':22s} {'published':>10s} {'correct':>10s} {'times':>8s}  quantity")
        for each in found:
            numbers = f"{each.published:10.4g} {each.corrected:10.4g} {three_digits(each.times):>8s}"
            click.echo(f"{each.name:22s} {numbers}  {each.erratum.unit}: {KINDS[each.erratum.kind]}")


@click.command()
@click.argument("name", required=False)
@click.option("--data", type=click.Path(path_type=Path), help="The paper's records; default: labelled stand-in data.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for table.csv, claims.json, figure.json.")
@click.option("--runs", type=int, help="Repetitions, >= 1; default: the paper's number.")
@click.option("--seed", default=0, show_default=True, type=int, help="Seed of splits and noise, >= 0.")
@JSON
def reproduce(
    name: str | None, data: Path | None, output: Path | None, runs: int | None, seed: int, as_json: bool
) -> None:
    """Reproduce a figure of a paper and compare its claims; without NAME, list all figures."""
    from ..core.validation import integer
    from ..figures.papers.reproductions import reproduction_figure
    from ..studies.papers.reproductions import REPRODUCTIONS, get_reproduction

    if name is None:
        found = [get_reproduction(each) for each in REPRODUCTIONS]
        facts = [{"name": r.name, "title": r.title, "source": r.source, "minutes": r.minutes} for r in found]
        lines = [f"{r.name:<28} {r.title} ({r.source}), about {r.minutes:g} min" for r in found]
        click.echo(json.dumps(facts) if as_json else "\n".join(lines))
        return
    chosen = get_reproduction(name)
    if output is None:
        raise ValueError("--output must name a folder, got none")
    if data is not None and not chosen.file:
        raise ValueError(f"--data must be left out for {name}, which uses no file, got {str(data)!r}")
    if runs is not None:
        integer("--runs", runs, at_least=1)
    integer("--seed", seed, at_least=0)
    output.mkdir(parents=True, exist_ok=True)
    outcome = chosen.run(data, runs=runs, seed=seed, told=lambda words: click.echo(words, err=True))
    claims = [dc.asdict(claim) for claim in outcome.claims]
    facts_of = {"name": name, "source": chosen.source, "records": outcome.records, "claims": claims}
    texts = {
        "table.csv": outcome.table.to_csv(index=False, lineterminator="\n"),
        "claims.json": json.dumps(facts_of, indent=1) + "\n",
        "figure.json": reproduction_figure(outcome.chart, theme="light").to_json() + "\n",
    }
    for file, text in texts.items():
        with written(output / file):
            (output / file).write_text(text, encoding="utf-8", newline="\n")
    if as_json:
        click.echo(json.dumps({**facts_of, "output": str(output)}))
        return
    click.echo(f"{chosen.title} ({chosen.source}); records: {outcome.records}")
    for claim in outcome.claims:
        click.echo(f"  {claim.verdict:<11} {claim.words}\n{'':14}paper: {claim.published}\n{'':14}here: {claim.found}")
        if claim.why:
            click.echo(f"{'':14}why: {claim.why}")
