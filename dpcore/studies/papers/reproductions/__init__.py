"""The papers' figures and experiments done again: what is printed, what comes out here, and whether they agree.

A file for each and its line in `reproductions.csv`: its module there, and that module's function.
"""

import importlib

from ....core.facts import facts_beside
from ....core.validation import one_of
from .base import Claim, Outcome, Reproduction

__all__ = ["REPRODUCTIONS", "Claim", "Outcome", "Reproduction", "get_reproduction"]

REPRODUCTIONS = {row["name"]: row for row in facts_beside(__file__, "reproductions.csv")}


def get_reproduction(name: str) -> Reproduction:
    """Raises ValueError for a name that is not there."""
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
