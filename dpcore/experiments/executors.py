"""Executors for the cells of an experiment: here, in threads, in processes, or on a Dask cluster.

Dask is optional (`pip install distributed`). Its workers need the same version of this package and may be killed while
they compute: a lost cell is given to another worker.
"""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from .._version import __version__
from ..core.blas import one_blas_thread

KINDS = "here, threads:N, processes:N or dask:ADDRESS"
_MOST_WORKERS = 1024
# Longest time for a scheduler to answer, and for a cluster to have its first worker.
_PATIENCE_SECONDS = 10.0
# Number of times that a cell may lose its worker before it counts as the cause.
_RETRIES = 5


@contextmanager
def executor_of(name: str) -> Iterator[Executor | None]:
    """Executor for `dpcore.run` with this name; None computes in this thread.

    name: "here"; "threads:N" or "processes:N" with 1 <= N <= 1024; "dask:ADDRESS" with the address of a Dask scheduler,
    such as dask:tcp://10.0.0.1:8786.

    Raises ValueError for another name and for a cluster that does not answer, has no workers, or whose workers lack
    this version of the package; RuntimeError if a cell loses its worker repeatedly.

    >>> with executor_of("threads:2") as executor:
    ...     executor.submit(pow, 2, 5).result()
    32
    """
    kind, _, rest = name.partition(":")
    if name == "here":
        yield None
    elif kind == "dask" and rest:
        with _dask(rest) as executor:
            yield executor
    elif kind in ("threads", "processes") and rest.isdecimal() and 1 <= int(rest) <= _MOST_WORKERS:
        made = ThreadPoolExecutor if kind == "threads" else _processes
        with made(int(rest)) as executor:
            yield executor
    else:
        raise ValueError(f"executor must be {KINDS} with 1 <= N <= {_MOST_WORKERS:,}, got {name!r}")


class _Workers(SpawnContext):
    """Starts processes and records them. They are not forked: they would inherit locks that threads hold."""

    def __init__(self) -> None:
        self.begun: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]
        self.begun.append(SpawnProcess(*arguments, **options))
        return self.begun[-1]


@contextmanager
def _processes(workers: int) -> Iterator[Executor]:
    context = _Workers()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_work) as pool:
        try:
            yield pool
        except KeyboardInterrupt:  # the cells that are being computed are no longer needed
            for worker in context.begun:
                if worker.is_alive():
                    worker.kill()
            raise


def _begin_work() -> None:
    """Set up a worker that ends with its parent and leaves interrupts to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    one_blas_thread()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def version() -> str:
    """Version of this package, asked of each worker."""
    return __version__


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise ValueError("executor dask:ADDRESS needs Dask, which is not installed: pip install distributed") from None
    try:
        client = Client(address, timeout=_PATIENCE_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"executor must name a Dask scheduler that answers, got {address!r} ({error})") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE_SECONDS)
        except TimeoutError:
            raise ValueError(f"executor must name a cluster with workers, got {address!r}, which has none") from None
        found = {str(answer) for answer in client.run(version, on_error="return").values()}
        if found != {__version__}:
            raise ValueError(f"executor: its workers must have dpcore {__version__}, got {', '.join(sorted(found))}")
        try:
            # pure: Dask must not merge two cells; retries: of a cell whose worker died.
            yield client.get_executor(pure=False, retries=_RETRIES)
        except KilledWorker as error:
            raise RuntimeError(f"a cell lost its worker repeatedly; the other cells are kept ({error})") from None
