"""Records on a circle as a few weighted ones, with the same risk and gradient at every model of a picture."""

import numpy as np

from ...core.arrays import Array
from ...core.losses import Loss
from ...core.records import Data

# Weighted records. Along the circle a loss is a sum of waves; those with fewer periods than half of this have the mean
# that they have over the records. The other waves of logistic loss add less than rounding at ||theta|| R = 14, 1e-6 at
# 40, and at any model less than a thousandth of its length.
NODES = 256


def on_circle(loss: Loss, data: Data) -> Data | None:
    """NODES evenly spaced records with label 1 and weights that stand for `data` in a picture; None where they do not.

    They do for logistic loss and more than 2 NODES records with two columns, all of one norm. Weights can be negative,
    and no release may be made from them.

    >>> from dpcore.core.losses import get_loss
    >>> angles = np.random.default_rng(0).uniform(0.0, 6.28, 2_000)
    >>> data = Data(np.column_stack([np.cos(angles), np.sin(angles)]), np.repeat([1.0, -1.0], 1_000))
    >>> loss, thetas = get_loss("logistic"), np.array([[5.0, -3.0]])
    >>> few = on_circle(loss, data)
    >>> few.n, bool(np.abs(loss.gradients(few, thetas) - loss.gradients(data, thetas)).max() < 1e-13)
    (256, True)
    """
    X, norms = data.X, data.row_norms
    if loss.key != "logistic" or not isinstance(X, np.ndarray) or data.weights is not None:
        return None
    if data.n <= 2 * NODES or X.shape[1] != 2 or np.ptp(norms) > 1e-12 * norms[0]:
        return None
    turned = (data.y / norms) * (X[:, 0] - 1j * X[:, 1])  # the loss sees y <x, theta> only
    waves, power = np.ones(NODES // 2 + 1, complex), np.ones(data.n, complex)
    for k in range(1, len(waves)):
        power *= turned
        waves[k] = power.mean()
    angles = 2.0 * np.pi / NODES * np.arange(NODES)
    nodes: Array = norms[0] * np.column_stack([np.cos(angles), np.sin(angles)])
    return Data(nodes, np.ones(NODES), weights=NODES * np.fft.irfft(waves, NODES))
