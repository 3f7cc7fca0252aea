"""The proof of the bound of phased descent, evaluated along its runs (docs/formulas.md, "Phased descent")."""

import dataclasses as dc
import math

import numpy as np

from ...core.arrays import Array
from ...core.cancel import Cancelled, go_on
from ...core.records import Data
from ...solvers import Minimum
from ...solvers.descent.phased_sgd import Descender, Phase

Found = list[tuple[str, str, Array | float]]  # claim, lemma, value


def links_met(
    run: Descender, phases: list[Phase], noise: Array, data: Data, best: Minimum, *, steep: float, cancelled: Cancelled
) -> Found:
    """The links before worst records enter, for runs with this noise, [k, R, p], and the rounded loss.

    data: on which risk is measured. steep: the steepest slope of the loss in a prediction.
    """
    loss, d = dc.replace(run.loss, shape=run.width), run.data.p
    w = np.pad(best.theta, (0, d - len(best.theta)))
    theta, target = np.zeros_like(noise[0]), np.broadcast_to(w, noise[0].shape)
    met, free, before = np.zeros(len(theta)), 0.0, float(w @ w)
    for phase, own in zip(phases, noise, strict=True):
        go_on(cancelled)
        path = 2.0 * phase.step * (phase.size + 1)
        lengths = run.data.row_norms[phase.first : phase.first + phase.size]
        squared = 0.5 * phase.step * steep**2 * float(np.mean(lengths**2))
        met += np.sum((theta - target) ** 2, axis=1) / path + squared
        free += before / path + squared
        target = run.average(phase, theta)
        theta, before = run.project(target + phase.scale * own), d * phase.scale**2

    def risks(thetas: Array) -> Array:
        return loss.row_means(np.zeros(data.n), loss.predictions(data, thetas), 1.0, data.y)

    least, moves = risks(w[None])[0], steep * float(np.mean(data.row_norms))
    last = moves * np.linalg.norm(theta - target, axis=1)
    return [
        ("loss: its kink rounded", "rounded loss", risks(theta) - least),
        ("last noise: the length of its move", "last noise", last + risks(target) - least),
        ("phases: their regret, not their loss", "regret of phases", last + met),
        ("noise: no projection takes it back", "noise in all directions", moves * math.sqrt(before) + free),
    ]
