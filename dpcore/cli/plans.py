"""calibrate: the public facts of a release without records, and the options that it shares with solve."""

import dataclasses as dc
import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

from ..core.losses import LOSSES
from ..core.privacy import LargeDelta, told_up
from ..core.specification import LAM_RULES
from ..mechanisms import api
from ..mechanisms.plan import Plan
from .options import JSON

_OPTIONS = (
    click.option("--delta", default=0.0, show_default=True, type=float, help="In [0, 1)."),
    click.option("--loss", help=f"One of {', '.join(LOSSES)}; logistic unless the mechanism has its own."),
    click.option(
        "--lam",
        default="auto",
        show_default=True,
        help=f"Regularisation of the average loss, >= 0, or one of {', '.join(LAM_RULES)}.",
    ),
    click.option("--q", type=float, help="Order of the norm that R bounds, 1 to inf; default: the mechanism's own."),
    click.option("--y-max", default=1.0, show_default=True, type=float, help="Public bound on |y|."),
    click.option("--radius", type=float, help="Size of the set of models; default: 1, and no bound for the L2 ball."),
    click.option("--theta-norm", default=10.0, show_default=True, type=float, help="Public guess of the model's norm."),
    click.option("--accounting", default="tight", show_default=True, help="Which proof sets the noise."),
    click.option("--knob", "knobs", multiple=True, metavar="NAME=VALUE", help="Knob of `info`; repeat for several."),
)


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the options that every command with a plan has, which `plan_of` reads."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def plan_of(key: str, lam: str, knobs: tuple[str, ...], arguments: dict[str, Any]) -> tuple[Plan, list[str]]:
    """Plan of these options, and the sentences of its warnings, which are printed too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LargeDelta)
        number = lam if lam in LAM_RULES else _number(lam)
        plan = api.calibrate(key, lam=number, **arguments, **_knobs(knobs, arguments))
    told = [str(warning.message) for warning in caught]
    for sentence in told:
        click.echo(f"Warning: {sentence}", err=True)
    return plan, told


def plan_facts(plan: Plan) -> dict[str, Any]:
    """A plan as JSON."""
    return {
        "mechanism": plan.mechanism.key,
        "loss": plan.spec.loss,
        "lam": plan.spec.lam,
        "scale": plan.scale,
        "steps": plan.steps,
        "n": plan.spec.n,
        "p": plan.spec.p,
    }


@click.command()
@click.argument("key")
@click.option("--n", required=True, type=int, help="Number of records, >= 2.")
@click.option("--p", required=True, type=int, help="Number of columns, >= 1.")
@click.option("--epsilon", required=True, type=float, help="Privacy budget, > 0.")
@click.option("--R", "R", default=1.0, show_default=True, type=float, help="Public bound on ||x||_q.")
@click.option("--classes", type=int, help="Number of classes that could occur, >= 2; for losses of classes only.")
@plan_options
@JSON
def calibrate(key: str, lam: str, knobs: tuple[str, ...], as_json: bool, **arguments: Any) -> None:
    """Show the noise, the privacy cost and the bounds of a release, from public facts alone.

    No records are read and no privacy is spent.
    """
    plan, told = plan_of(key, lam, knobs, arguments)
    bounds, spent = [dc.asdict(bound) for bound in api.bounds_of(plan)], plan.spent
    if as_json:
        click.echo(json.dumps({"spent": dc.asdict(spent)} | plan_facts(plan) | {"bounds": bounds, "warnings": told}))
        return
    click.echo(
        f"{plan.mechanism.label}: a release spends epsilon = {told_up(spent.epsilon)}, delta = {told_up(spent.delta)}"
    )
    click.echo(f"noise scale = {plan.scale:.6g}, lam = {plan.spec.lam:.6g}, steps = {plan.steps}")
    for each in api.bounds_of(plan):
        click.echo(f"{each.quantity}, {each.form}: {each.value:.4g} ({each.holds}; {each.source}; {each.assumes})")


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
