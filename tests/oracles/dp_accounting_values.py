"""Values of Google's dp-accounting for our own settings, as JSON on standard output.

    python -m venv OTHER && OTHER/bin/pip install dp-accounting==0.6.0
    OTHER/bin/python tests/oracles/dp_accounting_values.py > tests/oracles/dp_accounting.json

It needs an environment of its own: dp-accounting wants an attrs older than the one in constraints.txt.

Conventions: `z` is always ours, noise over ONE record's largest part. The privacy loss distributions under REPLACE_ONE
mean the same and double the sensitivity themselves. The Renyi accountant does not: its plain Gaussian event ignores
the relation, and its sampling without replacement takes noise over the sensitivity of the sum, which is 2 C, so both
get z / 2.
"""

from __future__ import annotations

import importlib.metadata
import json

import numpy as np
from dp_accounting import NeighboringRelation, dp_event, rdp
from dp_accounting.pld import privacy_loss_distribution

REPLACE = NeighboringRelation.REPLACE_ONE
ORDERS = list(1.0 + 0.05 * 1.02 ** np.arange(560))
# z, rate, times, delta, and the width of the cells in which the privacy loss is rounded up.
FULL_BATCH = [(10.0, 1.0, 16, 1e-6, 1e-4), (2.0, 1.0, 1, 1e-5, 1e-4), (50.0, 1.0, 400, 1e-8, 1e-4)]
POISSON = [
    (2.0, 0.1, 16, 1e-6, 1e-4),
    (1.0, 0.01, 400, 1e-6, 1e-4),
    (4.0, 0.5, 50, 1e-5, 1e-4),
    (0.7, 0.001, 1000, 1e-7, 1e-4),
    (8.488, 1 / 500, 500**2, 1 / 500**2, 1e-5),
    (1.986, 1 / 500, 500**2, 1 / 500**2, 1e-5),
]
# z, n, batch, times, delta
WITHOUT_REPLACEMENT = [
    (10.41, 2000, 1, 2000**2, 1 / 2000**2),
    (2.995, 2000, 1, 2000**2, 1 / 2000**2),
    (4.0, 1000, 50, 200, 1e-6),
    (2.0, 1000, 10, 100, 1e-6),
]
ZCDP = [(1e-4, 1e-6), (0.02, 1e-6), (0.5, 1e-6), (0.02, 1e-2), (5.0, 1e-9)]


def distribution(z: float, rate: float, times: int, delta: float, width: float) -> float:
    loss = privacy_loss_distribution.from_gaussian_mechanism(
        z, sensitivity=1.0, sampling_prob=rate, neighboring_relation=REPLACE, value_discretization_interval=width
    )
    return loss.self_compose(times).get_epsilon_for_delta(delta)


def renyi(event: dp_event.DpEvent, times: int, delta: float) -> float:
    accountant = rdp.RdpAccountant(ORDERS, REPLACE)
    accountant.compose(event, times)
    return float(accountant.get_epsilon(delta))


def without_replacement(z: float, n: int, batch: int) -> dp_event.DpEvent:
    return dp_event.SampledWithoutReplacementDpEvent(n, batch, dp_event.GaussianDpEvent(z / 2.0))


def values() -> dict:
    fields = ("z", "rate", "times", "delta", "width", "epsilon")
    drawn = ("z", "n", "batch", "times", "delta", "epsilon")
    return {
        "made_by": "tests/oracles/dp_accounting_values.py",
        "dp_accounting": importlib.metadata.version("dp-accounting"),
        "numpy": np.__version__,
        "full_batch_distribution": [dict(zip(fields, (*c, distribution(*c)), strict=True)) for c in FULL_BATCH],
        "full_batch_renyi": [
            dict(zip(fields, (*c, renyi(dp_event.GaussianDpEvent(c[0] / 2.0), *c[2:4])), strict=True))
            for c in FULL_BATCH
        ],
        "poisson_distribution": [dict(zip(fields, (*c, distribution(*c)), strict=True)) for c in POISSON],
        "without_replacement_renyi": [
            dict(zip(drawn, (*c, renyi(without_replacement(*c[:3]), *c[3:])), strict=True)) for c in WITHOUT_REPLACEMENT
        ],
        "zcdp": [{"rho": r, "delta": d, "epsilon": renyi(dp_event.ZCDpEvent(r), 1, d)} for r, d in ZCDP],
    }


if __name__ == "__main__":
    print(json.dumps(values(), indent=1))
