"""The command line: python -m dpcore list | info | solve | run | warm | audit | exhibit | regret."""

from __future__ import annotations

import dataclasses as dc
import inspect
import io
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from . import api
from .data import ClassTable, Table, check_learnable, number_classes, read_classes, read_csv, read_libsvm
from .losses import LOSSES, Loss, get_loss
from .mechanisms import list_mechanisms, mechanism_class
from .solvers.ellipsoids import ellipsoid_of
from .threads import one_blas_thread
from .types import LAM_RULES, Release

_JSON = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON.")


@click.group(no_args_is_help=False)
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
        promise = {"guarantee": _section(text, "Guarantee"), "not_protected": _section(text, "Not protected")}
        facts = {"key": key, "label": cls.label, "source": cls.source, "knobs": knobs, **promise, "text": text}
        click.echo(json.dumps(facts))
        return
    click.echo(f"{cls.label}\n\n{text}\n\nKnobs:")
    for k in knobs:
        choices = f"  one of {', '.join(k['choices'])}" if k["choices"] else ""
        click.echo(f"  {k['name']} = {k['default']}{choices}: {k['help']}")


def _section(text: str, name: str) -> str:
    """A paragraph "name: ..." of a docstring with its indented lines, on one line."""
    found = re.search(rf"^{name}: (.*(?:\n +.*)*)", text, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


@cli.command()
@click.argument("key")
@click.option(
    "--data",
    "path",
    required=True,
    type=click.Path(path_type=Path),
    help="CSV file with a header line, or LIBSVM file (.libsvm, .svm, .txt, also as .gz).",
)
@click.option("--label", default=None, help="CSV only: name of the label column (-1 or +1 for classification).")
@click.option(
    "--classes",
    "listed",
    default=None,
    metavar="NAME,NAME,...",
    help="Names of all classes that could occur, in order, as the label column has them; for gaussian_classifier only.",
)
@click.option(
    "--p",
    default=None,
    type=int,
    help="LIBSVM only: columns, a public number. Without it, the largest index in the file: a fact about the records.",
)
@click.option("--epsilon", required=True, type=float, help="Privacy budget, > 0.")
@click.option("--delta", default=0.0, show_default=True, type=float, help="In [0, 1).")
@click.option("--loss", default=None, help=f"One of {', '.join(LOSSES)}; logistic unless the mechanism has its own.")
@click.option(
    "--lam",
    default="auto",
    show_default=True,
    help=f"Regularisation of the average loss, >= 0, or one of {', '.join(LAM_RULES)}.",
)
@click.option("--R", "R", required=True, type=float, help="Public bound on ||x||_q; rows beyond it are refused.")
@click.option("--q", default=None, type=float, help="Order of that norm, 1 to inf; the mechanism's own, mostly 2.")
@click.option("--clip", is_flag=True, help="Scale rows beyond R down to norm R; how many is printed, and not private.")
@click.option("--y-max", default=1.0, show_default=True, type=float, help="Public bound on |y|.")
@click.option("--radius", default=None, type=float, help="Seek the model in the L2 ball of this radius.")
@click.option("--theta-norm", default=10.0, show_default=True, type=float, help="Public guess of the model's norm.")
@click.option("--accounting", default="tight", show_default=True, help="Which proof sets the noise.")
@click.option("--knob", "knobs", multiple=True, metavar="NAME=VALUE", help="See `info`; may be given again.")
@click.option("--seed", default=None, type=int, help="Repeat a run; such a run carries no promise.")
@_JSON
def solve(
    path: Path,
    label: str | None,
    listed: str | None,
    p: int | None,
    lam: str,
    knobs: tuple[str, ...],
    as_json: bool,
    **arguments: Any,
) -> None:
    """Release one private model from the records of a file.

    A file of one class or of constant columns is refused here, for its curator's sake; the refusal depends on all
    records together and is not private.
    """
    if arguments["loss"] is None:
        arguments["loss"] = mechanism_class(arguments["key"]).usual_loss
    loss = get_loss(arguments["loss"])
    names = _names(listed, arguments["key"], loss)
    records = _read(path, label, p, names)
    check_learnable(records, loss.classification or names is not None)
    arguments["classes"] = None if names is None else len(names)
    arguments["lam"] = lam if lam in LAM_RULES else _number(lam)
    data, draw = records.data, {name: arguments.pop(name) for name in ("clip", "seed")}
    plan = api.calibrate(arguments.pop("key"), n=data.n, p=data.p, **arguments, **_knobs(knobs, arguments))
    release = api.release_once(plan, data, **draw)
    columns = [*records.columns, *(str(number + 1) for number in range(data.active, data.p))]
    facts = {
        "columns": columns,
        "theta": release.theta.tolist(),
        "spent": dc.asdict(release.spent),
        "seeded": release.seeded,
        "clipped": release.clipped,
        "mechanism": plan.mechanism.key,
        "loss": plan.spec.loss,
        "lam": plan.spec.lam,
        "scale": plan.scale,
        "steps": plan.steps,
        "n": plan.spec.n,
        "p": plan.spec.p,
        **({"classes": records.names} if isinstance(records, ClassTable) else {}),
    }
    if as_json:
        click.echo(json.dumps(facts))
        return
    promise = "a seeded run: no promise" if release.seeded else "replace-one"
    click.echo(f"spent epsilon = {release.spent.epsilon:g}, delta = {release.spent.delta:g} ({promise})")
    click.echo(f"noise scale = {plan.scale:.6g}, lam = {plan.spec.lam:.6g}, n = {plan.spec.n}, p = {plan.spec.p}")
    if release.clipped:
        click.echo(f"{release.clipped} rows were scaled down to norm R; this count is not private")
    if isinstance(records, ClassTable):
        _show_classes(records.names, columns, release)
        return
    for column, value in zip(columns, release.theta, strict=True):
        click.echo(f"{column:30s} {value: .10g}")


def _show_classes(names: Sequence[str], columns: Sequence[str], release: Release) -> None:
    """The ellipsoid of each class, a line for each column: its centre, then its row of the precision."""
    found = ellipsoid_of(release.theta, release.plan.spec.domain.R)
    click.echo("a record x goes to the class of the smallest (x - centre)' precision (x - centre) + offset")
    for name, centres, precision, offset in zip(names, found.centre, found.precision, found.offset, strict=True):
        click.echo(f"\n{name}: offset = {offset:.10g}; centre and precision by columns")
        for column, centre, row in zip(columns, centres, precision, strict=True):
            click.echo(" ".join([f"{column:30s}", *(f"{value:17.10g}" for value in (centre, *row))]))


def _names(listed: str | None, key: str, loss: Loss) -> list[str] | None:
    """The names of all classes where the loss is one of classes."""
    if loss.task != "classes":
        if listed is not None:
            raise ValueError(f"--classes must be left out for {key} with {loss.label}, got {listed!r}")
        return None
    if listed is None:
        raise ValueError(f"--classes must name all classes, in order and separated by commas, for {key}, got none")
    names = [name.strip() for name in listed.split(",")]
    if len(names) < 2 or not all(names):
        raise ValueError(f"--classes must be at least two names, separated by commas, got {listed!r}")
    return names


def _read(path: Path, label: str | None, p: int | None, names: list[str] | None) -> Table:
    """The records of a file, by its suffix; a `ClassTable` where classes are named."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix == ".csv":
        if label is None:
            raise ValueError("--label must name the column of y in a CSV file, got none")
        if p is not None:
            raise ValueError(f"--p must be left out for a CSV file, whose header line has the columns, got {p}")
        return read_csv(path, label) if names is None else read_classes(path, label, names)
    if suffix in (".libsvm", ".svm", ".txt"):
        if label is not None:
            raise ValueError(f"--label must be left out for a LIBSVM file, whose lines begin with y, got {label!r}")
        table = read_libsvm(path, p)
        return table if names is None else number_classes(table, names)
    raise ValueError(
        f"--data must be a .csv, .libsvm, .svm or .txt file (the last three also as .gz), got {path.name!r}"
    )


def _knobs(given: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """name=value: integers and other numbers where they read as such, text elsewhere."""
    knobs: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name in options:
            raise ValueError(f"--knob must be NAME=VALUE for a knob without an option of its own, got {text!r}")
        knobs[name] = value
        for kind in (float, int):
            with suppress(ValueError):
                knobs[name] = kind(value)
    return knobs


def _number(lam: str) -> float:
    try:
        return float(lam)
    except ValueError:
        raise ValueError(f"lam must be a finite number >= 0 or one of {', '.join(LAM_RULES)}, got {lam!r}") from None


@cli.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV file to write.")
@_JSON
def run(experiment: Path, output: Path, as_json: bool) -> None:
    """Run an experiment from a JSON file and write its table."""
    from . import experiment as experiments

    chosen = experiments.Experiment.from_json(_text(experiment))
    expected = sum(len(cell.epsilons) for cell in chosen.cells())
    done: set[tuple[object, ...]] = set()
    with _replacing(output) as unfinished, _progress(expected, "points") as bar:

        def on_row(row: dict[str, Any]) -> None:
            point = (row["mechanism"], row["accounting"], row["rule"], row["x"])
            if point not in done:
                done.add(point)
                bar.update(1)

        table = experiments.run(chosen, on_row=on_row)
        table.to_csv(unfinished, index=False)
    facts = {"rows": len(table), "output": str(output), "digest": chosen.digest()}
    click.echo(json.dumps(facts) if as_json else f"{len(table)} rows in {output}")


def _progress(length: int, label: str) -> Any:
    """A bar on stderr, where somebody watches; elsewhere stderr is for errors only."""
    return click.progressbar(length=length, label=label, file=sys.stderr if sys.stderr.isatty() else io.StringIO())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} must be a text file in UTF-8, got other bytes") from None


@contextmanager
def _replacing(output: Path) -> Iterator[Path]:
    """A file beside `output` that takes its place when all went well and leaves no trace otherwise.

    It is made before anything is computed, so that a place where nothing can be written is found out first.
    """
    target = output.resolve()
    if target.exists() and not target.is_file():
        raise ValueError(f"--output must be a file that can be replaced, got {str(output)!r}")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            unfinished.touch()
            yield unfinished
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        if str(error.filename) == str(unfinished):  # a name that nobody but us knows
            error.filename = str(output)
        raise


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


@cli.command()
@click.argument("key", required=False)
@click.option("--runs", default=None, type=int, help="How many runs; default: the exhibit's own number.")
@click.option("--seed", default=0, show_default=True, type=int, help="Of all coins and noise, >= 0.")
@_JSON
def exhibit(key: str | None, runs: int | None, seed: int, as_json: bool) -> None:
    """Show what a mechanism as printed really costs, by certified lower bounds; without KEY, a table of all.

    None of them is private as printed.
    """
    from .exhibits import EXHIBITS, rounded_down, run_exhibit

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


@cli.command()
@click.option("--source", "sources", multiple=True, help="A data set; may be given again. Default: all.")
@click.option("--mechanism", "mechanisms", multiple=True, help="A key; may be given again. Default: all.")
@click.option("--seeds", default=8, show_default=True, type=int, help="Splits or draws of the records, >= 2.")
@click.option("--rule", default="auto", show_default=True, help="The rule for lam: auto, published or population.")
@_JSON
def regret(sources: tuple[str, ...], mechanisms: tuple[str, ...], seeds: int, rule: str, as_json: bool) -> None:
    """Print what automatic settings lose against the best of a grid, in points, with standard errors.

    The grid is one of lam; for gradient perturbation, whose lam is 0, one of schedules set by hand.
    """
    from . import data
    from .regret import EPSILONS, cases, check_request, regret_table

    check_request(seeds, rule)
    chosen = tuple(dict.fromkeys(sources or data.SOURCES))
    keys = mechanisms or None
    with _progress(len(cases(chosen, keys)), "cases") as bar:
        table = regret_table(chosen, seeds, mechanisms=keys, rule=rule, on_step=lambda: bar.update(1))
    if as_json:
        click.echo(table.to_json(orient="records"))
        return
    table["shown"] = [f"{row.regret:.1f} ({row.se:.1f})" for row in table.itertuples()]
    wide = table.pivot(index=["source", "loss", "mechanism"], columns="epsilon", values="shown")
    click.echo(f"points lost by lam = {rule} to the best settings (standard error), by epsilon {EPSILONS}")
    click.echo(wide.reindex(table.set_index(wide.index.names).index.unique()).to_string())
    worst = table.loc[table.regret.idxmax()]
    where = f"{worst.source}, {worst.loss}, {worst.mechanism}, epsilon = {worst.epsilon:g}"
    click.echo(f"largest: {worst.regret:.1f} ({where})")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what the user can mend ends in one sentence and exit code 2."""
    one_blas_thread()
    try:
        cli.main(arguments, prog_name="python -m dpcore", standalone_mode=False)
    except click.Abort:
        sys.exit(130)
    except click.UsageError as error:
        help_at = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        _stop(error.format_message().removesuffix(".") + help_at)
    except click.ClickException as error:
        _stop(error.format_message())
    except OSError as error:
        _stop(f"{error.filename or 'a file'} cannot be used: {error.strerror or error}")
    except (ValueError, TypeError, ArithmeticError, RuntimeError, MemoryError) as error:
        _stop(str(error))


def _stop(sentence: str) -> NoReturn:
    click.echo(f"Error: {' '.join(sentence.split())}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
