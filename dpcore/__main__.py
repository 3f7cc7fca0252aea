"""The command line: python -m dpcore list | info KEY | solve KEY | run EXPERIMENT.json | warm | audit KEY."""

from __future__ import annotations

import dataclasses as dc
import inspect
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from . import api
from .mechanisms import list_mechanisms, mechanism_class
from .threads import one_blas_thread

_JSON = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON.")


@click.group()
def cli() -> None:
    """Differentially private mechanisms with explicit guarantees (a teaching and research library)."""


@cli.command("list")
@_JSON
def list_command(as_json: bool) -> None:
    """List the registered mechanisms."""
    classes = [mechanism_class(key) for key in list_mechanisms()]
    rows = [{"key": cls().key, "label": cls.label, "source": cls.source} for cls in classes]
    if as_json:
        click.echo(json.dumps(rows))
    else:
        for row in rows:
            click.echo(f"{row['key']:20s} {row['label']} ({row['source']})")


@cli.command()
@click.argument("key")
@_JSON
def info(key: str, as_json: bool) -> None:
    """Show what a mechanism does, promises and does not protect."""
    cls = mechanism_class(key)
    text = inspect.getdoc(cls) or ""
    knobs = [
        {"name": f.name, "default": f.default, "choices": f.metadata["choices"], "help": f.metadata["help"]}
        for f in dc.fields(cls)
        if f.init
    ]
    if as_json:
        facts = {"key": key, "label": cls.label, "source": cls.source, "knobs": knobs, "text": text}
        click.echo(json.dumps(facts))
        return
    click.echo(f"{cls.label}\n\n{text}\n\nKnobs:")
    for k in knobs:
        click.echo(f"  {k['name']} = {k['default']}  one of {', '.join(k['choices'])}: {k['help']}")


@cli.command()
@click.argument("key")
@click.option("--data", "path", required=True, type=click.Path(path_type=Path), help="CSV file with a header line.")
@click.option("--label", required=True, help="Name of the label column (-1 or +1 for classification).")
@click.option("--epsilon", required=True, type=float, help="Privacy budget, > 0.")
@click.option("--delta", default=0.0, show_default=True, type=float, help="In [0, 1).")
@click.option("--loss", default="logistic", show_default=True, help="Key of a loss.")
@click.option("--lam", default="auto", show_default=True, help='Regularisation of the average loss, > 0, or "auto".')
@click.option("--R", "R", required=True, type=float, help="Public bound on ||x||_2; rows beyond it are refused.")
@click.option("--theta-norm", default=10.0, show_default=True, type=float, help="Public guess of the model's norm.")
@click.option("--accounting", default="tight", show_default=True, help="Which proof sets the noise.")
@click.option("--seed", default=None, type=int, help="Repeat a run; such a run carries no promise.")
@_JSON
def solve(path: Path, label: str, lam: str, as_json: bool, **arguments: Any) -> None:
    """Release one private model from a CSV file."""
    from .data import read_csv

    records = read_csv(path, label)
    if lam != "auto":
        try:
            arguments["lam"] = float(lam)
        except ValueError:
            raise ValueError(f'lam must be a finite number > 0 or "auto", got {lam!r}') from None
    release = api.solve(arguments.pop("key"), records.data.X, records.data.y, **arguments)
    plan = release.plan
    facts = {
        "columns": list(records.columns),
        "theta": release.theta.tolist(),
        "spent": dc.asdict(release.spent),
        "seeded": release.seeded,
        "mechanism": plan.mechanism.key,
        "lam": plan.spec.lam,
        "scale": plan.scale,
        "steps": plan.steps,
        "n": plan.spec.n,
        "p": plan.spec.p,
    }
    if as_json:
        click.echo(json.dumps(facts))
        return
    promise = "a seeded run: no promise" if release.seeded else "replace-one"
    click.echo(f"spent epsilon = {release.spent.epsilon:g}, delta = {release.spent.delta:g} ({promise})")
    click.echo(f"noise scale = {plan.scale:.6g}, lam = {plan.spec.lam:.6g}, n = {plan.spec.n}, p = {plan.spec.p}")
    for column, value in zip(records.columns, release.theta, strict=True):
        click.echo(f"{column:30s} {value: .10g}")


@cli.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV file to write.")
@_JSON
def run(experiment: Path, output: Path, as_json: bool) -> None:
    """Run an experiment from a JSON file and write its table."""
    from . import experiment as experiments

    chosen = experiments.Experiment.from_json(experiment.read_text())
    expected = sum(len(cell.epsilons) for cell in chosen.cells())
    done: set[tuple[object, ...]] = set()
    with click.progressbar(length=expected, label="points", file=sys.stderr) as bar:

        def on_row(row: dict[str, Any]) -> None:
            point = (row["mechanism"], row["accounting"], row["x"])
            if point not in done:
                done.add(point)
                bar.update(1)

        table = experiments.run(chosen, on_row=on_row)
    table.to_csv(output, index=False)
    facts = {"rows": len(table), "output": str(output), "digest": chosen.digest()}
    click.echo(json.dumps(facts) if as_json else f"{len(table)} rows in {output}")


@cli.command()
@_JSON
def warm(as_json: bool) -> None:
    """Compile all kernels once; later processes load them from disk."""
    started = time.perf_counter()
    from .warmup import warm_up  # compiles the losses

    pieces = []
    for piece in warm_up():
        pieces.append(piece)
        if not as_json:
            click.echo(f"warm: {piece}")
    seconds = round(time.perf_counter() - started, 1)
    click.echo(json.dumps({"pieces": pieces, "seconds": seconds}) if as_json else f"warm after {seconds} s")


@cli.command()
@click.argument("key")
@click.option("--runs", default=20_000, show_default=True, type=int, help="How often the game is played, >= 100.")
@click.option("--seed", default=0, show_default=True, type=int, help="Of the audit's coins and noise, >= 0.")
@click.option("--sabotage", default=None, help="A fault to build in first; an unknown name lists them.")
@_JSON
def audit(key: str, as_json: bool, **arguments: Any) -> None:
    """Try to refute a mechanism's promise; exit code 1 if that succeeds with 99.9% confidence."""
    from .auditing import run_audit

    report = run_audit(key, **arguments)
    if as_json:
        click.echo(report.to_json())
    else:
        click.echo(f"{report.sentence}\n\n{'certificate':12s} {'95%':>10s} {'99.9%':>10s} {'claimed':>10s}")
        for c in report.certificates:
            click.echo(f"{c.name:12s} {c.shown:10.4f} {c.flagged:10.4f} {c.limit:10.4f}  {c.tests}")
    if report.verdict == "contradicted":
        sys.exit(1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what the user can mend ends in one sentence and exit code 2."""
    one_blas_thread()
    try:
        cli.main(arguments, prog_name="python -m dpcore", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except (ValueError, TypeError, ArithmeticError, RuntimeError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
