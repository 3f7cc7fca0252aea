"""The papers' figures and experiments done again: what is printed, what comes out here, and whether they agree.

A file for each, which registers itself by its line below.
"""

from __future__ import annotations

import importlib

from .base import Claim, Outcome, Reproduction

__all__ = ["REPRODUCTIONS", "Claim", "Outcome", "Reproduction", "get_reproduction"]

# Name -> the module that holds it, and its name there.
REPRODUCTIONS: dict[str, tuple[str, str]] = {
    "jain-thakurta-1a": ("jain_thakurta_url", "PANEL_A"),
    "jain-thakurta-1b": ("jain_thakurta", "PANEL_B"),
    "jain-thakurta-1c": ("jain_thakurta", "PANEL_C"),
    "jain-thakurta-1d": ("jain_thakurta_simplex", "PANEL_D"),
    "talwar-rate": ("talwar_rate", "REPRODUCTION"),
    "kamath-three-ways": ("kamath_three_ways", "REPRODUCTION"),
    "pathak-raj-accuracy": ("pathak_raj_accuracy", "REPRODUCTION"),
    "bassily-transition": ("bassily_transition", "REPRODUCTION"),
    "iyengar": ("iyengar", "REPRODUCTION"),
}


def get_reproduction(name: str) -> Reproduction:
    """Raises ValueError for a name that is not there."""
    if name not in REPRODUCTIONS:
        raise ValueError(f"name must be one of {', '.join(REPRODUCTIONS)}, got {name!r}")
    module, attribute = REPRODUCTIONS[name]
    found: Reproduction = getattr(importlib.import_module(f".{module}", __name__), attribute)
    return found
