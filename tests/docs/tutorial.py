"""The mechanism of docs/tutorial.md, registered: `pytest -p tests.docs.tutorial` tests it like all others.

$TUTORIAL names the file that holds it, so that the package itself stays as it is.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path

from dpcore import mechanisms

KEY = "output_by_hand"
CLASS = f"{KEY}.OutputByHand"
TEXT = (Path(__file__).resolve().parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    """The blocks of code of one kind, in their order."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def module_at(path: Path) -> None:
    """Import a file as if it were one of dpcore/mechanisms."""
    name = f"{mechanisms.__name__}.{KEY}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


if path := os.environ.get("TUTORIAL"):
    module_at(Path(path))
    mechanisms._CLASSES = {**mechanisms._CLASSES, KEY: CLASS}
