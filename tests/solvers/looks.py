"""Frank-Wolfe on sparse records with choices that look at all columns, as it makes them where nearly all are heavy."""

from contextlib import contextmanager

import pytest

from dpcore.solvers.frank_wolfe import sparse


@contextmanager
def looks(lazily: bool):
    with pytest.MonkeyPatch.context() as patch:
        if not lazily:
            patch.setattr(sparse, "_MOST_HEAVY", -1.0)
        yield
