"""The papers' figures and experiments done again: what is printed, what comes out here, and whether they agree.

A file for each, which registers itself by its line below.
"""

from __future__ import annotations

import importlib

from .base import Claim, Outcome, Reproduction

__all__ = ["REPRODUCTIONS", "Claim", "Outcome", "Reproduction", "get_reproduction"]

# Name -> the module that holds it as REPRODUCTION.
REPRODUCTIONS: dict[str, str] = {}


def get_reproduction(name: str) -> Reproduction:
    """Raises ValueError for a name that is not there."""
    if name not in REPRODUCTIONS:
        raise ValueError(f"name must be one of {', '.join(REPRODUCTIONS)}, got {name!r}")
    found: Reproduction = importlib.import_module(f".{REPRODUCTIONS[name]}", __name__).REPRODUCTION
    return found
