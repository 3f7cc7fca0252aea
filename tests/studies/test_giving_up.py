"""Long curves ask in the middle of their runs whether anybody still waits for them."""

from __future__ import annotations

import dataclasses as dc
from collections import Counter
from concurrent.futures import CancelledError

import pytest

from dpcore.solvers.frank_wolfe import noisy_gradient, vertices
from dpcore.studies.sparsity.l1 import curves
from dpcore.studies.sparsity.l1.data import Setting
from dpcore.studies.sparsity.streaming import regret

SETTING = Setting(epsilon=1.0, delta=1e-6, radius=1.0, accounting="tight", seed=0, repetitions=2)
RUNS = ("polytope_models", "noisy_models", "_dense")
PICTURES = {
    "against_T": ({"n": 200, "p": 16, "Ts": (2, 8)}, {("polytope_models",)}),
    "against_p": ({"n": 200, "T": 8, "ps": (8, 16)}, {("polytope_models",), ("noisy_models",)}),
    "against_n": ({"p": 16, "T": 8, "ns": (100, 200)}, {("polytope_models",), ("_dense", "polytope_models")}),
}


@pytest.fixture
def inside(monkeypatch) -> list[str]:
    """Which of RUNS are at work, the innermost last; each of their steps asks."""
    at_work: list[str] = []

    def watched(name):
        work = getattr(curves, name)

        def call(*arguments, **options):
            at_work.append(name)
            try:
                return work(*arguments, **options)
            finally:
                at_work.pop()

        return call

    for name in RUNS:
        monkeypatch.setattr(curves, name, watched(name))
    for solver in (vertices, noisy_gradient):
        monkeypatch.setattr(solver, "_ASK_EVERY", 1)
    return at_work


@pytest.mark.parametrize("picture", PICTURES)
def test_curves_of_frank_wolfe_end_in_the_middle_of_each_of_their_runs(picture, inside):
    own, wanted = PICTURES[picture]
    draw = getattr(curves, picture)
    asked: Counter[tuple[str, ...]] = Counter()
    draw(SETTING, cancelled=lambda: asked.update([tuple(inside)]) is not None, **own)
    assert wanted <= set(asked)
    for where in wanted:
        left: list[bool] = []  # who has left does not come back

        def cancelled(where=where, left=left) -> bool:
            if tuple(inside) == where:
                left.append(True)
            return bool(left)

        with pytest.raises(CancelledError):
            draw(dc.replace(SETTING, seed=1), cancelled=cancelled, **own)


def test_a_long_stream_is_not_played_once_its_reader_has_left(monkeypatch):
    done: list[str] = []
    for name in ("_costs", "play_costs"):
        work = getattr(regret, name)
        monkeypatch.setattr(regret, name, lambda *given, name=name, work=work: (done.append(name), work(*given))[1])
    with pytest.raises(CancelledError):
        regret.regret_curve("random", 4, [10], epsilon=1.0, delta=1e-6, repetitions=2, cancelled=lambda: done)
    assert done == ["_costs"]
