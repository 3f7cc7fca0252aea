"""Peers whose packages clash with ours: each lives in a process with the Python of its own environment."""

from __future__ import annotations

import dataclasses as dc
import json
import os
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = ("diffprivlib", "dp-accounting")


@dc.dataclass(frozen=True)
class Invitation:
    """Work for a package of `PACKAGES`: the arguments of its function in `peers.py`, as JSON holds them."""

    package: str
    arguments: dict[str, Any]


class Guest:
    """A process that does its work once for each line it is sent, and says what that took and what came out."""

    def __init__(self, python: str, invitation: Invitation) -> None:
        self.process = subprocess.Popen(
            [python, str(Path(__file__).with_name("peers.py")), invitation.package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )
        self._say(json.dumps(invitation.arguments))

    def turn(self) -> tuple[float, float, Any]:
        """CPU seconds, wall seconds and the answer."""
        self._say("go")
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args!r} ended with code {self.process.wait()}")
        cpu, wall, answer = json.loads(line)
        return cpu, wall, answer

    def _say(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()
