"""sweep and warm: tables of many releases, and the compilation of their kernels."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

from ..core.blas import one_blas_thread
from .options import JSON, named, progress, written

EXECUTORS = "here, threads:N or processes:N"


@click.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File to write: CSV, or .parquet.")
@click.option("--executor", default="here", show_default=True, help=f"{EXECUTORS}.")
@click.option("--resume", is_flag=True, help="Reuse the cells that an unfinished run to the same file has computed.")
@JSON
def sweep(experiment: Path, output: Path, executor: str, resume: bool, as_json: bool) -> None:
    """Run an experiment from a JSON file and write its table.

    Finished cells are kept in OUTPUT.unfinished until the table is written.
    """
    from ..experiments.experiment import Experiment
    from ..experiments.run import run as table_of
    from ..experiments.unfinished import append_cell, finished_cells
    from ..mechanisms.api import large_delta

    chosen = Experiment.from_json(_text(experiment))
    target = output.resolve()
    if not target.parent.is_dir() or (target.exists() and not target.is_file()):
        raise ValueError(f"--output must be a file that can be written, in a folder that exists, got {str(output)!r}")
    _check_kind(output)
    kept = target.with_name(f"{target.name}.unfinished")
    if kept.exists() and not resume:
        raise ValueError(
            f"{kept.name} must not exist yet, got cells of an unfinished run: reuse them by --resume, or delete it"
        )
    known = finished_cells(kept, chosen) if kept.exists() else {}
    warned: dict[str, None] = {}

    def keep(place: int, rows: list[dict[str, Any]]) -> None:
        with named(output):
            append_cell(kept, chosen, place, rows)
        tell(rows)

    def tell(rows: list[dict[str, Any]]) -> None:
        bar.update(1)
        for row in rows:
            sentence = large_delta(row["n"], row["spent_delta"] or 0.0)
            if sentence and sentence not in warned:
                warned[sentence] = None
                click.echo(f"Warning: {sentence}", err=True)

    with executor_of(executor) as workers, progress(len(list(chosen.cells())), "cells") as bar:
        for rows in known.values():
            tell(rows)
        try:
            table = table_of(chosen, workers, known=known, on_cell=keep)
        except KeyboardInterrupt:
            if kept.exists():
                click.echo(f"Stopped; {kept.name} has what is computed, which --resume reuses.", err=True)
            raise
        except BrokenExecutor as error:
            reuse = f"; {kept.name} has what is computed, which --resume reuses" if kept.exists() else ""
            raise RuntimeError(
                f"--executor {executor} lost a process, which was killed, mostly for want of memory: take fewer{reuse}"
            ) from error
    part = target.with_name(f".{target.name}.part")  # an output of before is replaced by a whole one
    with named(output), written(part):
        if output.suffix == ".parquet":
            table.to_parquet(part, index=False)
        else:
            table.to_csv(part, index=False)
        part.replace(target)
    kept.unlink(missing_ok=True)
    facts = {
        "rows": len(table),
        "output": str(output),
        "digest": chosen.digest(),
        "cells_reused": len(known),
        "warnings": list(warned),
    }
    told = f"; {len(known)} cells were reused" if known else ""
    click.echo(json.dumps(facts) if as_json else f"{len(table)} rows in {output}{told}")


def _check_kind(output: Path) -> None:
    """Raise ValueError for a kind of file that cannot be written, before anything is computed."""
    if output.suffix not in (".csv", ".parquet"):
        raise ValueError(f"--output must end in .csv or .parquet, got {output.name}")
    if output.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise ValueError(f"--output must end in .csv without pyarrow, got {output.name}; install pyarrow, or write CSV")


@contextmanager
def executor_of(name: str) -> Iterator[Executor | None]:
    """Executor for `dpcore.run` with this name (`EXECUTORS`); None computes in this thread.

    Raises ValueError for another name.
    """
    kind, _, rest = name.partition(":")
    if name == "here":
        yield None
    elif kind in ("threads", "processes") and rest.isdecimal() and int(rest) > 0:
        made = ThreadPoolExecutor(int(rest)) if kind == "threads" else _processes(int(rest))
        with made as pool:
            yield pool
    else:
        raise ValueError(f"--executor must be {EXECUTORS} with N >= 1, got {name!r}")


def _processes(workers: int) -> Executor:
    """Processes that are not forked: those would inherit locks that threads hold."""
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=one_blas_thread)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} must be a text file in UTF-8, got other bytes") from None


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
