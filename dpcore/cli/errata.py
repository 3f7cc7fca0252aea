"""errata: what is printed beside what is right."""

from __future__ import annotations

import dataclasses as dc
import json

import click

from .options import JSON


@click.command()
@click.argument("name", required=False)
@JSON
def errata(name: str | None, as_json: bool) -> None:
    """Compute what a paper prints and what is right; without NAME, for all errata that are quickly computed."""
    from ..studies.papers.errata import KINDS, recompute, recomputed, three_digits

    found = recomputed() if name is None else (recompute(name),)
    if as_json:
        facts = [
            {
                "name": each.name,
                **{k: v for k, v in dc.asdict(each.erratum).items() if k not in ("compute", "page")},
                **{"printed": each.printed, "right": each.right, "times": each.times},
            }
            for each in found
        ]
        click.echo(json.dumps(facts if name is None else facts[0]))
    elif name is not None:
        erratum = found[0].erratum
        click.echo(f"{found[0].sentence}.\nprinted: {erratum.says}\nright: {erratum.holds}")
    else:
        click.echo(f"{'erratum':22s} {'printed':>10s} {'right':>10s} {'times':>8s}  what")
        for each in found:
            numbers = f"{each.printed:10.4g} {each.right:10.4g} {three_digits(each.times):>8s}"
            click.echo(f"{each.name:22s} {numbers}  {each.erratum.unit}: {KINDS[each.erratum.kind]}")
