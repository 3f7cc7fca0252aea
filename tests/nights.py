"""Which cases of a test run always, and which by night alone."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import pytest


def each(nth: int, cases: Iterable[Any]) -> list[Any]:
    """Each nth of the cases in every run, beginning with the first; all others by night."""
    every = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=() if k % nth == 0 else pytest.mark.nightly) for k, case in enumerate(every)]


class Pairwise:
    """Of a test marked `pairwise`, every run has a few cases in which each two values meet; the others wait for night.

    Two values that never meet are not asked for, nor those that only cases of the night have.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        families: dict[str, list[pytest.Function]] = {}
        for item in items:
            marked = item.get_closest_marker("pairwise") and not item.get_closest_marker("nightly")
            if marked and isinstance(item, pytest.Function):
                families.setdefault(item.nodeid.partition("[")[0], []).append(item)
        for family in families.values():
            chosen = cover([{name: id(value) for name, value in item.callspec.params.items()} for item in family])
            for k, item in enumerate(family):
                if k not in chosen:
                    item.add_marker(pytest.mark.nightly)


def cover(rows: Sequence[Mapping[str, Hashable]]) -> set[int]:
    """The numbers of a few rows in which every two values meet that meet in any; the first of equally good ones."""
    pairs = [set(itertools.combinations(sorted(row.items()), min(2, len(row)))) for row in rows]
    missing, chosen = set().union(*pairs), set[int]()
    while missing:
        best = max(range(len(rows)), key=lambda k: len(pairs[k] & missing))
        chosen.add(best)
        missing -= pairs[best]
    return chosen
