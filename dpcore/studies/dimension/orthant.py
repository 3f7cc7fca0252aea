"""Models that must stay in the positive orthant, where the error grows with sqrt(p) again.

All n records are (x = u, y = 0) with u = (1, ..., 1) / sqrt(p), the loss is Huber's, and z = <u, theta> is the one
prediction that matters. The best model is 0, over R^p and over the orthant. Free noise b moves z by <u, b>, of one size
for every p, because its signs cancel; the orthant cuts the negative half away and the rest adds up to order sqrt(p).
"""

import dataclasses as dc
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ...core.arrays import Array
from ...core.cache import SharedCache, shared
from ...core.losses import Loss, get_loss
from ...core.privacy import Budget, NotApplicable, Unconverged
from ...core.specification import Spec
from ...core.validation import integer, positive
from ...mechanisms import make_mechanism
from ...mechanisms.noise.spherical import Noise

# Standard normals drawn for each p, one row of p at least: the mean of sum_j (b_j)_+ is then known within 1%.
NORMALS = 2**15
_MOST_KEPT = 32_000_000  # bytes of them; those of a million columns take 8 MB
_MOST_STEPS = 100  # half a dozen are usual
_PLAIN_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


@dc.dataclass(frozen=True)
class OrthantExample:
    """E|z| along p [K] under Gaussian noise: free models, and models held in the orthant.

    projected, free_output: output perturbation, exact. constrained, free_objective: objective perturbation, sampled and
    exact; nan where the mechanism does not apply, for the `reason`. bound: on `constrained`, proved: the loss pulls z
    back towards 0, so that E z <= E <u, (-b)_+> / lam. `constrained` carries no guarantee.
    """

    p: Array
    projected: Array
    free_output: Array
    constrained: Array
    bound: Array
    free_objective: Array
    reason: str = ""


def example(ps: Sequence[int], *, n: int, epsilon: float, delta: float, lam: float, seed: int) -> OrthantExample:
    """Example at each p, with the noise that the Gaussian mechanisms calibrate for Huber loss.

    Arguments as in `dpcore.solve`. Randomness: that of `constrained_objective`.

    >>> found = example((16, 64), n=2000, epsilon=1.0, delta=1e-6, lam=0.01, seed=0)
    >>> (found.projected / found.free_output).round(9).tolist()
    [2.0, 4.0]
    """
    loss, budget = get_loss("huber"), Budget(epsilon, delta)
    output, objective = make_mechanism("output_gaussian"), make_mechanism("objective_gaussian")
    names = [field.name for field in dc.fields(OrthantExample) if field.name not in ("p", "reason")]
    values = {name: np.full(len(ps), np.nan) for name in names}
    reason = ""
    for k, p in enumerate(ps):
        spec = Spec(loss.key, n, p, lam)
        scale = output.calibrate(spec, budget).scale
        values["projected"][k] = projected_output(output.law, scale, p)
        values["free_output"][k] = free_output(output.law, scale, p)
        try:
            scale = objective.calibrate(spec, budget).scale
        except NotApplicable as error:
            reason = str(error)
            continue
        values["constrained"][k] = constrained_objective(loss, scale, lam, p, seed).mean()
        values["bound"][k] = projected_output(objective.law, scale / lam, p)
        values["free_objective"][k] = free_objective(loss, scale, lam)
    return OrthantExample(np.array(ps, float), **values, reason=reason)


def projected_output(law: Noise, scale: float, p: int) -> float:
    """E z of output perturbation whose release is projected onto the orthant: z = <u, (b)_+>.

    law, scale: of the noise b on the output. E z = sqrt(p) E (b_1)_+ = scale sqrt(p) E|direction_1| / 2, exactly; for
    Gaussian noise scale sqrt(p / (2 pi)).

    Source: Jain and Thakurta 2014, section 7 names the orthant; the constants are ours (docs/formulas.md).

    >>> from dpcore.mechanisms.noise.spherical import NOISES
    >>> round(projected_output(NOISES["gaussian"], 0.05, 16), 4)
    0.0798
    """
    return 0.5 * math.sqrt(integer("p", p, at_least=1)) * free_output(law, scale, p)


def free_output(law: Noise, scale: float, p: int) -> float:
    """E|z| of the same release without the orthant: E|<u, b>|, for Gaussian noise scale sqrt(2 / pi) for every p."""
    return positive("scale", scale) * law.reach(p)[0]


def free_objective(loss: Loss, scale: float, lam: float) -> float:
    """E|z| of the minimiser of J(theta) + <b, theta> over R^p with b ~ N(0, scale^2 I), for every p.

    lam z + l'(z) + <u, b> = 0, so |z| = |<u, b>| / (lam + 1/h) while that is below h, and (|<u, b>| - 1) / lam beyond.
    loss: Huber loss, whose shape is h. scale, lam: in the normalisation of J.

    >>> import dataclasses
    >>> from dpcore.core.losses import get_loss
    >>> round(free_objective(dataclasses.replace(get_loss("huber"), shape=1.0), 0.1, 0.1), 4)
    0.0725
    """
    s, lam = positive("scale", scale), positive("lam", lam)
    h = loss.shape
    bend = (1.0 + lam * h) / s  # |<u, b>| / s where the loss turns linear
    density, beyond = _PLAIN_DENSITY * math.exp(-0.5 * bend**2), 2.0 * float(ndtr(-bend))
    inner = 2.0 * s * (_PLAIN_DENSITY - density) / (lam + 1.0 / h)
    return inner + (2.0 * s * density - beyond) / lam


@shared(1_000)
def constrained_objective(loss: Loss, scale: float, lam: float, p: int, seed: int) -> Array:
    """Draws of z for the minimiser of J(theta) + <b, theta> over the orthant, b ~ N(0, scale^2 I).

    theta_j = (-b_j - l'(z) / sqrt(p))_+ / lam leaves one equation in z.
    loss: Huber loss, whose shape is h. scale, lam: in the normalisation of J. Shape [max(1, 2^15 / p)]: the more
    columns, the less z varies, so that one draw with a million columns determines its mean. Results are cached and must
    not be changed.
    No guarantee is proved for this release: illustration only. Raises Unconverged if the equation is not solved.

    Source: Jain and Thakurta 2014, section 7 in words; the fixed point is ours (docs/formulas.md).
    Randomness: from (seed, p): p standard normals a draw, in order.

    >>> from dpcore.core.losses import get_loss
    >>> z = constrained_objective(get_loss("huber"), 0.1, 0.1, 1024, seed=0)
    >>> z.shape, bool((z > 0).all())
    ((32,), True)
    """
    s, lam, p = positive("scale", scale), positive("lam", lam), integer("p", p, at_least=1)
    integer("seed", seed, at_least=0)
    return _fixed_points(_ranked(seed, p), p, s, lam, loss.shape)


@dc.dataclass(frozen=True)
class _Ranked:
    """Rows of numbers by their largest: highest [k, m] falls along a row, sums [k, m + 1] are those of the first ones.

    All numbers above 0 are among them, and sums over them need not read the rest.
    """

    highest: Array
    sums: Array

    def above(self, rows: NDArray[np.intp], level: Array) -> tuple[Array, NDArray[np.int64]]:
        """sum_j (o_j - level)_+ over some rows o, each with its level >= 0, and how many terms are > 0."""
        m = self.highest.shape[1]
        count, step = np.zeros(len(level), np.int64), 1 << (m.bit_length() - 1)
        while step:
            on = count + step
            count = np.where((on <= m) & (self.highest[rows, np.minimum(on, m) - 1] > level), on, count)
            step //= 2
        return self.sums[rows, count] - level * count, count


_RANKED: SharedCache[_Ranked] = SharedCache(_MOST_KEPT, lambda kept: kept.highest.nbytes + kept.sums.nbytes)


def _ranked(seed: int, p: int) -> _Ranked:
    """Standard normals, [max(1, 2^15 / p), p] of them; they stand for -b / s, as the noise is symmetric."""

    def draw() -> _Ranked:
        rows = np.random.default_rng([seed, p]).standard_normal((max(1, NORMALS // p), p))
        rows.sort(axis=1)
        highest = np.ascontiguousarray(rows[:, ::-1][:, : max(1, int((rows > 0.0).sum(axis=1).max()))])
        return _Ranked(highest, np.pad(highest.cumsum(axis=1), ((0, 0), (1, 0))))

    return _RANKED.get((seed, p), draw)


def _fixed_points(opposite: _Ranked, p: int, s: float, lam: float, h: float) -> Array:
    """The root of lam sqrt(p) z = sum_j (s o_j - l'(z) / sqrt(p))_+ for each row o of `opposite`; shape [k]."""
    root_p, everywhere = math.sqrt(p), np.arange(len(opposite.sums))

    def uncut(rows: NDArray[np.intp], slope: Array) -> tuple[Array, Array]:
        total, count = opposite.above(rows, slope / (s * root_p))
        return s * total, np.asarray(count / p, float)

    z = uncut(everywhere, np.ones(len(everywhere)))[0] / (lam * root_p)
    inside = np.flatnonzero(z < h)
    found = np.zeros(len(inside))
    for _ in range(_MOST_STEPS):
        rest, share = uncut(inside, found / h)
        step = (rest / root_p - lam * found) / (lam + share / h)
        found += step
        if not (step > 1e-12 * found).any():
            z[inside] = found
            return z
    raise Unconverged(f"the equation of the orthant was not solved in {_MOST_STEPS} steps")
