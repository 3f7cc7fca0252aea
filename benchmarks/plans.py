"""Plans as those who time their releases need them."""

from __future__ import annotations

from typing import cast

from dpcore.core.privacy import Plan
from dpcore.mechanisms import Mechanism


def mechanism_of(plan: Plan) -> Mechanism:
    """The mechanism with what releases; a plan promises no more than its bounds."""
    return cast(Mechanism, plan.mechanism)
