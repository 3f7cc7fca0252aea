"""predict and ledger: answers of a released model, and what all releases from a file have cost."""

import csv
import dataclasses as dc
import io
import json
from pathlib import Path

import click

from ..core.privacy import told_up
from ..data import read_table
from ..data.tables import FILE
from ..mechanisms.released import Answers, ReleasedModel
from .options import JSON
from .release_files import ledger_of, show, total_told


@click.command()
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@JSON
def predict(model_path: Path, path: Path, as_json: bool) -> None:
    """Answers of a released MODEL (the JSON that `solve --plan` writes) to the rows of FILE, a line each: 1 for the
    positive label, 0 for another one, nothing for a row that lacks a value; and its probability if the loss has them.

    Answers cost no privacy of the people whose records were learned from. They tell about the people in FILE.
    """
    model = ReleasedModel.read(model_path.read_bytes(), model_path.name)
    found = model.predict(read_table(path.read_bytes(), path.name, limits=dc.replace(FILE, fewest=1)))
    name = f"{model.label} = {model.declared.positive}"
    lines, probabilities = _lines(found), None
    if found.probabilities is not None:
        probabilities = [None if value != value else value for value in found.probabilities.tolist()]
    if as_json:
        facts = {"answer": name, "answers": [None if line == "" else int(line) for line in lines]}
        show(json.dumps(facts | {"probabilities": probabilities, "clipped": found.clipped, "lacking": found.lacking}))
        return
    for column, count in found.clipped.items():
        if count:
            click.echo(f"Warning: {count} of the values of {column} are beyond its bounds and were clipped", err=True)
    for column, count in found.lacking.items():
        if count:
            click.echo(
                f"Warning: {count} of {len(lines)} rows have no declared value of {column}, and no answer", err=True
            )
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    if probabilities is None:
        table.writerow([name])
        table.writerows([line] for line in lines)
    else:
        table.writerow([name, "probability"])
        told = ("" if value is None else f"{value:.6g}" for value in probabilities)
        table.writerows(zip(lines, told, strict=True))
    show(text.getvalue().removesuffix("\n"))


def _lines(found: Answers) -> list[str]:
    return ["" if score != score else f"{int(score > 0.0)}" for score in found.scores.tolist()]


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@JSON
def ledger(data: Path, as_json: bool) -> None:
    """Releases that were begun from the file DATA, and their total for one person."""
    known = ledger_of(data)
    total = known.total()
    if as_json:
        releases = [dc.asdict(each) for each in known.releases]
        facts = {"file": known.file, "releases": releases, "total": dc.asdict(total) if total else None}
        show(json.dumps(facts))
        return
    lines = [
        f"{each.when}  {each.mechanism:22s} epsilon = {told_up(each.epsilon)}, delta = {told_up(each.delta)}, "
        f"{each.rows} rows{', plan ' + each.plan if each.plan else ''}"
        for each in known.releases
    ]
    show("\n".join([*lines, total_told(known)]))
