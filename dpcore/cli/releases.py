"""list, info and solve: the registered mechanisms, and one private model from the records of a file."""

import csv
import dataclasses as dc
import inspect
import json
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..core.losses import LOSSES, Loss, get_loss
from ..core.privacy import LargeDelta
from ..core.specification import LAM_RULES
from ..data import check_learnable, read_file
from ..mechanisms import api, list_mechanisms, mechanism_class
from ..mechanisms.plan import Release
from ..solvers.multiclass.objective import ellipsoid_of
from .options import JSON
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
@click.option("--delta", default=0.0, show_default=True, type=float, help="In [0, 1).")
@click.option("--loss", help=f"One of {', '.join(LOSSES)}; logistic unless the mechanism has its own.")
@click.option(
    "--lam",
    default="auto",
    show_default=True,
    help=f"Regularisation of the average loss, >= 0, or one of {', '.join(LAM_RULES)}.",
)
@click.option("--R", "R", type=float, help="Public bound on ||x||_q, required without --plan; rows beyond are refused.")
@click.option("--q", type=float, help="Order of that norm, 1 to inf; default: the mechanism's own, mostly 2.")
@click.option("--clip", is_flag=True, help="Scale rows beyond R down to norm R; prints their number, not private.")
@click.option("--y-max", default=1.0, show_default=True, type=float, help="Public bound on |y|.")
@click.option("--radius", type=float, help="Restrict the model to the L2 ball of this radius.")
@click.option("--theta-norm", default=10.0, show_default=True, type=float, help="Public guess of the model's norm.")
@click.option("--accounting", default="tight", show_default=True, help="Which proof sets the noise.")
@click.option("--knob", "knobs", multiple=True, metavar="NAME=VALUE", help="Knob of `info`; repeat for several.")
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

    A file with one class or with only constant columns is refused, to help its curator; the refusal depends on all
    records together and is not private.
    """
    _check_given(context, plan_path is not None)
    if plan_path is not None:
        _show_signed(release_signed(plan_path, path, key_file, again), as_json)
        return
    if arguments["loss"] is None:
        arguments["loss"] = mechanism_class(arguments["key"]).usual_loss
    loss = get_loss(arguments["loss"])
    names = _names(listed, arguments["key"], loss)
    records = read_file(path, label, names=names, p=p)
    check_learnable(records, loss.classification or names is not None)
    arguments["classes"] = None if names is None else len(names)
    arguments["lam"] = lam if lam in LAM_RULES else _number(lam)
    data, draw = records.data, {name: arguments.pop(name) for name in ("clip", "seed")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LargeDelta)
        plan = api.calibrate(arguments.pop("key"), n=data.n, p=data.p, **arguments, **_knobs(knobs, arguments))
    told = [str(warning.message) for warning in caught]
    for sentence in told:
        click.echo(f"Warning: {sentence}", err=True)
    release = api.release_once(plan, data, **draw)
    columns = [*records.columns, *(str(number + 1) for number in range(data.stored, data.p))]
    if as_json:
        classes = {"classes": records.names} if records.names else {}
        click.echo(_json(release, columns, warnings=told, **classes))
        return
    _show_spent(release)
    if release.clipped:
        click.echo(f"{release.clipped} rows were scaled down to norm R; this count is not private")
    if records.names:
        _show_classes(records.names, columns, release)
        return
    _show_theta(columns, release)


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
    release, declared = made.release, made.signed.declared
    if as_json:
        facts = {"low": declared.low, "high": declared.high, "plan": made.signed.fingerprint}
        click.echo(_json(release, made.signed.columns, **facts, written=str(made.beside)))
        return
    click.echo(f"plan {made.signed.fingerprint}: compare with the signed page; written to {made.beside}")
    _show_spent(release)
    click.echo("columns are clipped to their bounds, mapped to [-1, 1], and divided by sqrt(p) with a constant 1")
    _show_theta(made.signed.columns, release)


def _json(release: Release, columns: Sequence[str], **more: Any) -> str:
    """A release as JSON, with further facts."""
    plan = release.plan
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
    }
    return json.dumps(facts | more)


def _show_spent(release: Release) -> None:
    spent, plan = release.spent, release.plan
    guarantee = "a seeded run: no guarantee" if release.seeded else "replace-one"
    click.echo(f"spent epsilon = {spent.epsilon:g}, delta = {spent.delta:g} ({guarantee})")
    click.echo(f"noise scale = {plan.scale:.6g}, lam = {plan.spec.lam:.6g}, n = {plan.spec.n}, p = {plan.spec.p}")


def _show_theta(columns: Sequence[str], release: Release) -> None:
    for column, value in zip(columns, release.theta, strict=True):
        click.echo(f"{column:30s} {value: .10g}")


def _show_classes(names: Sequence[str], columns: Sequence[str], release: Release) -> None:
    """Print the ellipsoid of each class, a line for each column: its centre, then its row of the precision."""
    found = ellipsoid_of(release.theta, release.plan.spec.domain.R)
    click.echo("the class of a record x has the smallest (x - centre)' precision (x - centre) + offset")
    for name, centres, precision, offset in zip(names, found.centre, found.precision, found.offset, strict=True):
        click.echo(f"\n{name}: offset = {offset:.10g}; centre and precision by columns")
        for column, centre, row in zip(columns, centres, precision, strict=True):
            click.echo(" ".join([f"{column:30s}", *(f"{value:17.10g}" for value in (centre, *row))]))


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


def _knobs(given: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Knobs from NAME=VALUE, and from options: numbers if the values read as such, else text."""
    knobs: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name in options:
            raise ValueError(f"--knob must be NAME=VALUE for a knob that has no option, got {text!r}; see `info`")
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
