"""Which cases of a test run always, and which by night alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def each(nth: int, cases: Iterable[Any]) -> list[Any]:
    """Each nth of the cases in every run, beginning with the first; all others by night."""
    every = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=() if k % nth == 0 else pytest.mark.nightly) for k, case in enumerate(every)]
