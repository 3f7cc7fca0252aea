"""The regularised objective of each loss in plain numpy, and small records that tests of solvers share."""

import numpy as np
from scipy.sparse import csr_array

from dpcore import Data
from tests.problems import random_records

SMALL = random_records(40, 4, seed=6)

# (value, derivative) of each loss in plain numpy, h = 1/2.
PLAIN = {
    "logistic": lambda z, y: (np.logaddexp(0.0, -y * z), -y / (1.0 + np.exp(np.minimum(y * z, 700.0)))),
    "huber_hinge": lambda z, y: (
        np.where(y * z < 0.5, 1 - y * z, np.maximum(1.5 - y * z, 0.0) ** 2 / 2),
        -y * np.clip(1.5 - y * z, 0.0, 1.0),
    ),
    "hinge": lambda z, y: (np.maximum(1.0 - y * z, 0.0), np.where(y * z < 1.0, -y, 0.0)),
    "squared": lambda z, y: ((z - y) ** 2, 2.0 * (z - y)),
    "huber": lambda z, y: (
        np.where(np.abs(z - y) <= 0.5, (z - y) ** 2, np.abs(z - y) - 0.25),
        np.clip(2.0 * (z - y), -1.0, 1.0),
    ),
    "absolute": lambda z, y: (np.abs(z - y), np.sign(z - y)),
}


def plain_objective(loss, data, lam, theta):
    value, slope = PLAIN[loss.key](data.X @ theta, data.y)
    return value.mean() + lam / 2 * theta @ theta, data.X.T @ slope / data.n + lam * theta


def sparse(data):
    return Data(csr_array(data.X), data.y)
