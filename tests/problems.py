"""Small data sets that later tests share: full rank, more columns than rows, separable, and worst pairs."""

from __future__ import annotations

import numpy as np

from dpcore import Data, list_mechanisms
from dpcore.core.losses import LOSSES, get_loss
from dpcore.mechanisms import mechanism_class

# Losses of a linear prediction; the others, of a point, have tests of their own (test_location), and so have costs.
LINEAR = [key for key, loss in LOSSES.items() if loss.labelled and loss.linear]
KINKED = [key for key in LINEAR if LOSSES[key].curvature_bound == np.inf]
LOCATION = [key for key, loss in LOSSES.items() if loss.task == "location"]
CLASSES = [key for key, loss in LOSSES.items() if loss.task == "classes"]
# What mechanisms in the L2 geometry may be asked for.
BALL = [*LINEAR, *LOCATION]

# Mechanisms that release a point among points; a matrix for each class; a linear model of a table; the latter in the L2
# geometry.
POINTS = [key for key in list_mechanisms() if mechanism_class(key).usual_loss in LOCATION]
CLASSIFYING = [key for key in list_mechanisms() if mechanism_class(key).usual_loss in CLASSES]
OTHERS = POINTS + CLASSIFYING
LEARNING = [key for key in list_mechanisms() if mechanism_class(key).quantity != "regret" and key not in OTHERS]
ADDING = [key for key in LEARNING if mechanism_class(key).set == "ball"]
# Mechanisms that read each record once, for the risk on fresh records.
ONE_PASS = [key for key in LEARNING if mechanism_class(key).quantity == "excess_population_risk" and key not in ADDING]
# Mechanisms that go from vertex to vertex of a set, which takes the place of a regulariser: lam is 0.
CHOOSING = [key for key in LEARNING if mechanism_class(key).set == "l1_ball" and key not in ONE_PASS]
# Mechanisms whose models live in a set instead of being regularised: lam is 0.
UNREGULARISED = CHOOSING + ONE_PASS


def random_records(n: int, p: int, *, seed: int, separable: bool = False) -> Data:
    """Rows of norm at most 1 and noisy (or perfectly separable) labels."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p))
    X /= np.linalg.norm(X, axis=1)[:, None] * rng.uniform(1.0, 2.0, n)[:, None]
    scores = X @ rng.standard_normal(p)
    y = np.where(scores > 0, 1.0, -1.0)
    if not separable:
        y = np.where(rng.random(n) < 0.2, -y, y)
    return Data(X, y)


PROBLEMS = {
    "full rank": random_records(120, 6, seed=1),
    "more columns than rows": random_records(30, 90, seed=2),
    "separable": random_records(80, 4, seed=3, separable=True),
    "two records": random_records(2, 3, seed=4),
    "one column": random_records(50, 1, seed=5),
}


def for_loss(loss: str, data: Data) -> Data:
    """The same records, with labels spread over [-1, 1] where the loss is one for regression, 0 and 1 for classes."""
    if get_loss(loss).classification:
        return data
    if loss in CLASSES:
        return Data(data.X, (data.y > 0).astype(float))
    return Data(data.X, data.y * np.random.default_rng(data.n).uniform(0.0, 1.0, data.n))
