"""Data and prose kept in files beside the modules that read them."""

import csv
from pathlib import Path
from typing import Any


def facts_beside(module: str, name: str) -> list[dict[str, Any]]:
    """Rows of a CSV file in the folder of a module, as text by column. module: its `__file__`."""
    with Path(module).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def text_beside(module: str, name: str) -> str:
    """Text of a file in the folder of a module. module: its `__file__`."""
    return Path(module).with_name(name).read_text(encoding="utf-8")
