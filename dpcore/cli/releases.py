"""list, info and solve: the registered mechanisms, and one private model from the records of a file."""

import csv
import dataclasses as dc
import inspect
import json
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..core.losses import Loss, get_loss
from ..core.privacy import told_up
from ..data import check_learnable, read_file
from ..mechanisms import api, list_mechanisms, mechanism_class
from ..mechanisms.plan import Release
from ..solvers.multiclass.objective import ellipsoid_of
from ..studies.decide.release_ledger import LedgerEntry, ReleaseLedger
from .options import JSON
from .plans import plan_facts, plan_of, plan_options
from .release_files import (
    REFUSALS,
    ReleaseFile,
    counted,
    first_free,
    kept_in,
    longest_release,
    show,
    total_told,
    unprinted_path,
)
from .signed import KEY_VARIABLE, Made, release_signed

_WITHOUT_PLAN = ("key", "epsilon", "R")  # required there
_WITH_PLAN = ("key_file", "again")
_ANYHOW = ("path", "plan_path", "as_json")


@click.command("list")
@JSON
def list_command(as_json: bool) -> None:
    """List the registered mechanisms."""
    classes = [mechanism_class(key) for key in list_mechanisms()]
    rows = [{"key": cls().key, "label": cls.label, "source": cls.source} for cls in classes]
    if as_json:
        click.echo(json.dumps(rows))
    else:
        for row in rows:
            click.echo(f"{row['key']:20s} {row['label']} ({row['source']})")


@click.command()
@click.argument("key")
@JSON
def info(key: str, as_json: bool) -> None:
    """Show what a mechanism does, guarantees and does not protect."""
    cls = mechanism_class(key)
    text = inspect.getdoc(cls) or ""
    knobs = [
        {"name": f.name, "default": f.default, "choices": f.metadata["choices"], "help": f.metadata["help"]}
        for f in dc.fields(cls)
        if f.init
    ]
    if as_json:
        protection = {"guarantee": _section(text, "Guarantee"), "not_protected": _section(text, "Not protected")}
        facts = {"key": key, "label": cls.label, "source": cls.source, "knobs": knobs, **protection, "text": text}
        click.echo(json.dumps(facts))
        return
    click.echo(f"{cls.label}\n\n{text}\n\nKnobs:")
    for k in knobs:
        choices = f"  one of {', '.join(k['choices'])}" if k["choices"] else ""
        click.echo(f"  {k['name']} = {k['default']}{choices}: {k['help']}")


def _section(text: str, name: str) -> str:
    """Paragraph "name: ..." of a docstring with its indented lines, on one line."""
    found = re.search(rf"^{name}: (.*(?:\n +.*)*)", text, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


@click.command()
@click.argument("key", required=False)
@click.option(
    "--plan",
    "plan_path",
    type=click.Path(path_type=Path),
    help="JSON of a signed briefing, in the place of KEY and all options that make a plan: its release, once.",
)
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    help=f"With --plan: file that holds the key of the signed digest; else ${KEY_VARIABLE}, or typed at the terminal.",
)
@click.option("--again", is_flag=True, help="With --plan: make one release more, which spends privacy again.")
@click.option(
    "--data",
    "path",
    required=True,
    type=click.Path(path_type=Path),
    help="CSV file (also .tsv, .tab, .data, .dat; separators, decimal commas, encoding are guessed), Parquet file, or "
    "LIBSVM file (.libsvm, .svm, .txt, or .gz).",
)
@click.option("--label", help="Name of the label column (-1 or +1 for classification); not for LIBSVM.")
@click.option(
    "--classes",
    "listed",
    metavar="NAME,NAME,...",
    help="Names of all classes that could occur, in order, as the label column has them, in quotes where they hold a "
    "comma; for gaussian_classifier only.",
)
@click.option(
    "--p",
    type=int,
    help="LIBSVM only: columns, a public number. Without it, the largest index in the file: a fact about the records.",
)
@click.option("--epsilon", type=float, help="Privacy budget, > 0; required without --plan.")
@click.option("--R", "R", type=float, help="Public bound on ||x||_q, required without --plan; rows beyond are refused.")
@click.option("--clip", is_flag=True, help="Scale rows beyond R down to norm R; prints their number, not private.")
@plan_options
@click.option("--seed", type=int, help="Seed that makes a run repeatable; a seeded run has no guarantee.")
@JSON
@click.pass_context
def solve(
    context: click.Context,
    path: Path,
    plan_path: Path | None,
    key_file: Path | None,
    again: bool,
    label: str | None,
    listed: str | None,
    p: int | None,
    lam: str,
    knobs: tuple[str, ...],
    as_json: bool,
    **arguments: Any,
) -> None:
    """Release one private model from the records of a file.

    A run without a seed is counted in the ledger beside the file (`ledger`) before it begins.

    A file with one class or with only constant columns is refused, to help its curator; the refusal depends on all
    records together and is not private.
    """
    _check_given(context, plan_path is not None)
    if plan_path is not None:
        made = release_signed(plan_path, path, key_file, again)
        with kept_in(made.path):
            _show_signed(made, as_json)
        return
    if arguments["loss"] is None:
        arguments["loss"] = mechanism_class(arguments["key"]).usual_loss
    loss = get_loss(arguments["loss"])
    names = _names(listed, arguments["key"], loss)
    records = read_file(path, label, names=names, p=p)
    check_learnable(records, loss.classification or names is not None)
    arguments["classes"] = None if names is None else len(names)
    data, draw = records.data, {name: arguments.pop(name) for name in ("clip", "seed")}
    plan, told = plan_of(arguments.pop("key"), lam, knobs, arguments | {"n": data.n, "p": data.p})
    columns = [*records.columns, *(str(number + 1) for number in range(data.stored, data.p))]
    more: dict[str, Any] = {"classes": records.names} if records.names else {}

    def as_told(release: Release, ledger: ReleaseLedger | None = None) -> str:
        if as_json:
            return _json(release, columns, warnings=told, **more, **_total(ledger))
        lines = _spent(release, ledger)
        if release.clipped:
            lines.append(f"{release.clipped} rows were scaled down to norm R; this count is not private")
        return "\n".join(lines + (_classes(more["classes"], columns, release) if more else _theta(columns, release)))

    if draw["seed"] is not None:
        show(as_told(api.release_once(plan, data, **draw)))
        return
    drawn = api.prepared_release(plan, data, clip=draw["clip"])  # what the records refuse is no release
    if sys.stdout is None:
        raise ValueError("the standard output must be open, got a closed one: the model is printed there")
    # The model is on the disk until it is printed: an output that fails loses no release.
    unprinted = first_free(
        partial(ReleaseFile, begun={}, longest=_json(longest_release(plan), columns, **more)), unprinted_path(path)
    )
    try:
        with counted(path, LedgerEntry.of(plan)) as ledger:
            release = drawn(None)
    except REFUSALS:
        unprinted.remove()
        raise
    unprinted.write(_json(release, columns, **more))
    with kept_in(unprinted.path):
        show(as_told(release, ledger))
    unprinted.remove()


def _check_given(context: click.Context, signed: bool) -> None:
    """Raise for what is missing, and for options that do not go with a plan, or without one."""
    for parameter in context.command.params:
        name = str(parameter.name)
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not signed and name in _WITHOUT_PLAN and not given:
            raise click.MissingParameter(ctx=context, param=parameter)
        if given and name not in _ANYHOW and (name in _WITH_PLAN) != signed:
            written = max(parameter.opts, key=len) if parameter.param_type_name == "option" else name.upper()
            told = "with --plan, which says everything of the release" if signed else "without --plan"
            raise click.UsageError(f"{written} must be left out {told}", context)


def _show_signed(made: Made, as_json: bool) -> None:
    model = made.model
    if as_json:
        facts = model.document() | {"written": str(made.path)} | _total(made.ledger)
        show(json.dumps(_facts(made.release) | facts))
        return
    lines = [
        f"plan {model.plan}: compare with the signed page; written to {made.path}",
        *_spent(made.release, made.ledger),
        model.declared.scaling,
        *_theta(model.declared.names, made.release),
    ]
    show("\n".join(lines))


def _json(release: Release, columns: Sequence[str], **more: Any) -> str:
    """A release as JSON, with further facts."""
    return json.dumps({"columns": columns, "theta": release.theta.tolist()} | _facts(release) | more)


def _total(ledger: ReleaseLedger | None) -> dict[str, Any]:
    """Total of a ledger as JSON; nothing of a run that it does not count."""
    if ledger is None:
        return {}
    total = ledger.total()
    return {"total": dc.asdict(total) if total else None}


def _facts(release: Release) -> dict[str, Any]:
    made = {"spent": dc.asdict(release.spent), "seeded": release.seeded, "clipped": release.clipped}
    return made | plan_facts(release.plan)


def _spent(release: Release, ledger: ReleaseLedger | None) -> list[str]:
    spent, plan = release.spent, release.plan
    guarantee = "a seeded run: no guarantee" if release.seeded else "replace-one"
    so_far = f"; {total_told(ledger)}" if ledger else ""
    return [
        f"spent epsilon = {told_up(spent.epsilon)}, delta = {told_up(spent.delta)} ({guarantee})",
        f"noise scale = {plan.scale:.6g}, lam = {plan.spec.lam:.6g}, n = {plan.spec.n}, p = {plan.spec.p}{so_far}",
    ]


def _theta(columns: Sequence[str], release: Release) -> list[str]:
    return [f"{column:30s} {value: .10g}" for column, value in zip(columns, release.theta, strict=True)]


def _classes(names: Sequence[str], columns: Sequence[str], release: Release) -> list[str]:
    """The ellipsoid of each class, a line for each column: its centre, then its row of the precision."""
    found = ellipsoid_of(release.theta, release.plan.spec.domain.R)
    lines = ["the class of a record x has the smallest (x - centre)' precision (x - centre) + offset"]
    for name, centres, precision, offset in zip(names, found.centre, found.precision, found.offset, strict=True):
        lines.append(f"\n{name}: offset = {offset:.10g}; centre and precision by columns")
        for column, centre, row in zip(columns, centres, precision, strict=True):
            lines.append(" ".join([f"{column:30s}", *(f"{value:17.10g}" for value in (centre, *row))]))
    return lines


def _names(listed: str | None, key: str, loss: Loss) -> list[str] | None:
    """Names of all classes if the loss is one of classes, else None."""
    if loss.task != "classes":
        if listed is not None:
            raise ValueError(f"--classes must be left out for {key} with {loss.label}, got {listed!r}")
        return None
    if listed is None:
        raise ValueError(f"--classes must name all classes, in order and separated by commas, for {key}, got none")
    names = [name.strip() for name in next(csv.reader([" ".join(listed.splitlines())], skipinitialspace=True))]
    if len(names) < 2 or not all(names):
        raise ValueError(f"--classes must be at least two names, separated by commas, got {listed!r}")
    return names
