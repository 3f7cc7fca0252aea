"""Reproductions of the papers' figures and experiments, compared with the published results.

Each has a module and a line in `reproductions.csv`, which names the module and its function.
"""

import importlib

from ....core.facts import facts_beside
from ....core.validation import one_of
from .base import Claim, Outcome, Reproduction

__all__ = ["REPRODUCTIONS", "Claim", "Outcome", "Reproduction", "get_reproduction"]

REPRODUCTIONS = {row["name"]: row for row in facts_beside(__file__, "reproductions.csv")}


def get_reproduction(name: str) -> Reproduction:
    """Reproduction with this name; ValueError for an unknown name."""
    facts = REPRODUCTIONS[one_of("name", name, REPRODUCTIONS)]
    module = importlib.import_module(f".{facts['module']}", __name__)
    return Reproduction(
        name=name,
        title=facts["title"],
        source=facts["source"],
        protocol=module.PROTOCOL,
        file=facts["file"],
        minutes=float(facts["minutes"]),
        runs=module.RUNS,
        few=int(facts["few"]),
        run=getattr(module, facts["run"]),
    )
