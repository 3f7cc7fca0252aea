"""Cells that the server processes of one dashboard share, so that a class computes each of them once."""

import os
import sys
from pathlib import Path

SETTING = "PRICE_OF_PRIVACY_CELLS"


def begin() -> None:
    """Share cells through the folder that the variable names, or end the program with what is wrong with it."""
    if folder := os.environ.get(SETTING):
        from dpcore.experiments.cell import share_cells  # takes a second

        try:
            share_cells(Path(folder))
        except ValueError as problem:
            sys.exit(f"{SETTING}: {problem}")
