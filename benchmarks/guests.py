"""Peers whose packages clash with ours: each lives in a process with the Python of its own environment."""

from __future__ import annotations

import dataclasses as dc
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.core.arrays import Array


@dc.dataclass(frozen=True)
class Interpreters:
    """Paths of interpreters that have the package; None where nobody named one."""

    diffprivlib: str | None = None
    dp_accounting: str | None = None


class Guest:
    """A process that does its work once for each line it is sent, and says what that took and what came out.

    script: a file of this folder that does not import dpcore; it finds its arrays and its facts, as JSON, by its first
    argument, and answers a line of JSON, [CPU seconds, wall seconds, answer], to each line.
    """

    def __init__(self, python: str, script: str, facts: dict[str, Any], **arrays: Array) -> None:
        self.folder = tempfile.TemporaryDirectory()
        file = f"{self.folder.name}/task.npz"
        np.savez(file, facts=json.dumps(facts), **arrays)  # type: ignore[arg-type]
        self.process = subprocess.Popen(
            [python, str(Path(__file__).parent / script), file],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )

    def turn(self) -> tuple[float, float, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended with code {self.process.wait()}")  # type: ignore[str-bytes-safe]
        cpu, wall, answer = json.loads(line)
        return cpu, wall, answer

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()
