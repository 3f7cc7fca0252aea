"""run, regret and warm: tables of many releases, and the compilation of their kernels."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from .options import JSON, progress, written


@click.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File to write: CSV, or .parquet.")
@click.option("--executor", default="here", show_default=True, help="here, threads:N, processes:N or dask:ADDRESS.")
@click.option("--resume", is_flag=True, help="Reuse the cells that an unfinished run to the same file has computed.")
@JSON
def run(experiment: Path, output: Path, executor: str, resume: bool, as_json: bool) -> None:
    """Run an experiment from a JSON file and write its table.

    Finished cells are kept in OUTPUT.unfinished until the table is written.
    """
    from ..experiments.checkpoint import Journal
    from ..experiments.executors import executor_of
    from ..experiments.experiment import Experiment
    from ..experiments.run import run as table_of
    from ..mechanisms.api import large_delta

    chosen = Experiment.from_json(_text(experiment))
    expected = sum(len(cell.epsilons) for cell in chosen.cells())
    done: set[tuple[object, ...]] = set()
    warned: dict[str, None] = {}

    def on_row(row: dict[str, Any]) -> None:
        point = (row["mechanism"], row["accounting"], row["rule"], row["x"])
        if point not in done:
            done.add(point)
            bar.update(1)
        sentence = large_delta(row["n"], row["spent_delta"] or 0.0)
        if sentence and sentence not in warned:
            warned[sentence] = None
            click.echo(f"Warning: {sentence}", err=True)

    with (
        _files_for(output) as (kept, whole),
        Journal(kept, chosen, resume=resume) as journal,
        executor_of(executor) as workers,
        progress(expected, "points") as bar,
    ):
        reused = len(journal.known)
        if journal.discarded:
            told = f"{kept.name} is damaged from line {reused + 2} on; the cells there are computed again."
            click.echo(told, err=True)
        try:
            table = table_of(chosen, workers, on_row, known=journal.known, on_cell=journal.keep)
        except KeyboardInterrupt:
            if journal.known:
                click.echo(f"Stopped; {len(journal.known)} cells are kept; --resume reuses them.", err=True)
            raise
        with written(whole):
            if output.suffix == ".parquet":
                table.to_parquet(whole, index=False)
            else:
                table.to_csv(whole, index=False)
        whole.replace(output.resolve())
        journal.close(delete=True)
    facts = {
        "rows": len(table),
        "output": str(output),
        "digest": chosen.digest(),
        "cells_reused": reused,
        "warnings": list(warned),
    }
    told = f"; {reused} cells were reused" if reused else ""
    click.echo(json.dumps(facts) if as_json else f"{len(table)} rows in {output}{told}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} must be a text file in UTF-8, got other bytes") from None


@contextmanager
def _files_for(output: Path) -> Iterator[tuple[Path, Path]]:
    """Two files beside `output`: the cells of an unfinished run, and the table until it is complete."""
    target = output.resolve()
    if target.exists() and not target.is_file():
        raise ValueError(f"--output must be a file that can be replaced, got {str(output)!r}")
    kept = target.with_name(f"{target.name}.unfinished")
    whole = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            yield kept, whole
        finally:
            with suppress(NotADirectoryError):  # a folder that is none was refused before
                whole.unlink(missing_ok=True)
    except OSError as error:
        if str(error.filename) in (str(kept), str(whole)):  # names that the caller has not given
            error.filename = str(output)
        raise


@click.command()
@JSON
def warm(as_json: bool) -> None:
    """Compile all kernels once; later processes load them from disk."""
    started = time.perf_counter()
    from .warm import helper, pieces, warm_up  # compiles the losses

    todo, done = pieces(), []
    with progress(len(todo), "Compiling") as bar, helper():
        for name in warm_up(todo):
            done.append(name)
            bar.update(1)
    seconds = round(time.perf_counter() - started, 1)
    said = json.dumps({"pieces": done, "seconds": seconds})
    click.echo(said if as_json else f"All kernels are compiled: {len(done)} pieces in {seconds} s.")


@click.command()
@click.option("--source", "sources", multiple=True, help="Data set; repeat for several. Default: all.")
@click.option("--mechanism", "mechanisms", multiple=True, help="Key of a mechanism; repeat for several. Default: all.")
@click.option("--seeds", default=8, show_default=True, type=int, help="Number of splits or draws of the records, >= 2.")
@click.option("--rule", default="auto", show_default=True, help="Rule for lam: auto, published or population.")
@JSON
def regret(sources: tuple[str, ...], mechanisms: tuple[str, ...], seeds: int, rule: str, as_json: bool) -> None:
    """Print the accuracy loss of automatic settings against the best of a grid, in points, with standard errors.

    The grid holds values of lam; for gradient perturbation, where lam is 0, schedules set by hand.
    """
    from .. import data
    from ..experiments.tuning_gap import EPSILONS, cases, check_request, regret_table

    check_request(seeds, rule)
    chosen = tuple(dict.fromkeys(sources or data.SOURCES))
    keys = mechanisms or None
    with progress(len(cases(chosen, keys)), "cases") as bar:
        table = regret_table(chosen, seeds, mechanisms=keys, rule=rule, on_step=lambda: bar.update(1))
    if as_json:
        click.echo(table.to_json(orient="records"))
        return
    table["shown"] = [f"{row.regret:.1f} ({row.se:.1f})" for row in table.itertuples()]
    wide = table.pivot(index=["source", "loss", "mechanism"], columns="epsilon", values="shown")
    click.echo(
        f"accuracy loss by lam = {rule} against the best settings, in points (standard error), by epsilon {EPSILONS}"
    )
    click.echo(wide.reindex(table.set_index(wide.index.names).index.unique()).to_string())
    worst = table.loc[table.regret.idxmax()]
    where = f"{worst.source}, {worst.loss}, {worst.mechanism}, epsilon = {worst.epsilon:g}"
    click.echo(f"largest: {worst.regret:.1f} ({where})")
