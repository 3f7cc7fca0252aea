"""What the tabs of the page Sparsity share."""

from collections.abc import Callable
from typing import TypeVar

from dpcore import NotApplicable, Unconverged

Made = TypeVar("Made")
SOURCE = "synthetic"  # all records of the page are drawn


def or_reason(make: Callable[[], Made]) -> tuple[Made | None, str]:
    """What is made, and ""; or None, and why there is none."""
    try:
        return make(), ""
    except (NotApplicable, Unconverged) as error:
        return None, str(error)
