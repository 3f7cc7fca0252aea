"""reproduce: the papers' figures done again."""

from __future__ import annotations

import dataclasses as dc
import json
from pathlib import Path

import click

from .options import JSON, written


@click.command()
@click.argument("name", required=False)
@click.option("--data", type=click.Path(path_type=Path), help="The paper's records; a labelled stand-in without it.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for table.csv, claims.json, figure.json.")
@click.option("--runs", type=int, help="Repetitions, >= 1; the paper's number without it.")
@click.option("--seed", default=0, show_default=True, type=int, help="Of splits and noise, >= 0.")
@JSON
def reproduce(
    name: str | None, data: Path | None, output: Path | None, runs: int | None, seed: int, as_json: bool
) -> None:
    """Do a paper's figure again and say what agrees; without NAME, list them all."""
    from ..core.validation import integer
    from ..figures.sources.reproductions import reproduction_figure
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
        raise ValueError(f"--data must not be given for {name}, which uses no file, got {str(data)!r}")
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
        click.echo(f"  {claim.verdict:<11} {claim.words}\n{'':14}printed: {claim.printed}\n{'':14}here: {claim.found}")
        if claim.why:
            click.echo(f"{'':14}why: {claim.why}")
