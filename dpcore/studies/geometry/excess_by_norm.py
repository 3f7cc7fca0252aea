"""Linear losses over the l_p ball against p: ln d at p = 1, the root of d beyond it; from the Lasso to the box.

f(x, z) = -<x, z>, ||x||_p <= 1, ||z||_q* <= 1. Two private answers from zbar, the mean of the records: the exponential
mechanism among the 2 d points +-e_j of the L1 ball, which lies in every other one, with scores <zbar, v>; and the x
that is best for zbar plus Gaussian noise. docs/formulas.md, "Geometry experiments", proves their bounds.

Records, all others being zero, of ||z||_q* = 1, by name; all, l1 and l2 are the same columns for every p:
all: fingerprinting rows as in `hardest_data`, no record is zero;
l2: so few of them that no private answer learns the L2 ball (`fingerprinted`);
l1: e_1, so often that the exponential mechanism has its largest excess on the L1 ball (`one_column`);
packing: at each order k copies of e_1 or of one vector of signs, on which `theory.lower_bounds.linear_packing` is
largest;
each: for each norm order whichever of the last three is the hardest for the mechanism with the smaller bound.
Source: the comparison is of the bounds of Bassily, Guzmán and Nandi 2021, Table 1; constants derived here.
"""

import dataclasses as dc
import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ...accounting.gaussian import gaussian_mu
from ...core.arrays import Array
from ...core.cache import SharedCache, shared
from ...core.privacy import Budget
from ...core.rng import generator
from ...core.sets import dual_order, length, widening
from ...core.validation import check_real, integer, norm_order, one_of
from ...theory.lower_bounds import linear_packing, linear_packing_records

VERTICES, GAUSSIAN = "vertices", "gaussian"
RECORDS = ("each", "l1", "l2", "packing", "all")
_FIXED = (1.0, 1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 4.0, math.inf)
_APART = 0.005
_SHARE = 0.2  # of sqrt(d ln(1/delta)) / epsilon; the proof has some constant
_MOMENTS = 64
_MOST_KEPT = 32_000_000  # bytes of draws


@dc.dataclass(frozen=True)
class Side:
    """One mechanism along the norm orders, each [K].

    mean: excess F(x) - F*, over records and noise, and its standard error se. noiseless: what is left without noise.
    bound: on the expected excess, from public facts alone; at most 2.
    """

    mean: Array
    se: Array
    noiseless: Array
    bound: Array


@dc.dataclass(frozen=True)
class AgainstOrder:
    """Excess of linear losses against the norm order; arrays [K].

    p_norm: increasing. chosen: "vertices" or "gaussian", whose bound is smaller, a choice that sees no record; mean,
    se: of the chosen one. signal: mean of ||zbar||_q*, the excess of x = 0. least: on some records no private mechanism
    has less (`theory.lower_bounds.linear_packing`). rows: how many records are not zero at each order, by the name of
    the records. records: their name at each order. d, n, epsilon, delta, repetitions: the setting.
    """

    p_norm: Array
    vertices: Side
    gaussian: Side
    chosen: tuple[str, ...]
    mean: Array
    se: Array
    signal: Array
    least: Array
    rows: dict[str, NDArray[np.int64]]
    records: tuple[str, ...]
    d: int
    n: int
    epsilon: float
    delta: float
    repetitions: int


def order_text(p_norm: float) -> str:
    """
    >>> order_text(1.0), order_text(1.14476), order_text(math.inf)
    ('1', '1.145', '∞')
    """
    return "∞" if p_norm == math.inf else f"{p_norm:.4g}"


def orders(d: int) -> tuple[float, ...]:
    """1, 1 + 1/ln d, where the root of d sets in, and others from 1.02 to inf; increasing. d: >= 3.

    None of the others within 0.005 of 1 + 1/ln d.

    >>> [round(p, 3) for p in orders(1000)]
    [1.0, 1.02, 1.05, 1.1, 1.145, 1.25, 1.5, 2.0, 4.0, inf]
    """
    near = 1.0 + 1.0 / math.log(integer("d", d, at_least=3))
    return tuple(sorted([near, *(p for p in _FIXED if abs(p - near) > _APART)]))


@shared(256)
def against_order(
    d: int,
    n: int,
    epsilon: float,
    delta: float,
    seed: int,
    repetitions: int = 20,
    p_norms: Sequence[float] | None = None,
    records: str = "l2",
) -> AgainstOrder:
    """Both mechanisms at each norm order, on n >= 2 records with d >= 3 columns.

    epsilon > 0, 0 < delta < 1. repetitions: >= 2, each with new columns and new noise, which all norm orders share.
    p_norms: increasing, None for `orders`. records: one of `RECORDS`. The mean over the vertices is exact for the
    records of a repetition; of the Gaussian answer there is one a repetition, and its excess is exact, without a test
    set. About 0.2 s at d = 100,000; kept, so its arrays must not be changed.
    Raises ValueError for other values, NotApplicable where delta is too small for Gaussian noise.

    >>> found = against_order(1_000, 2_000, 1.0, 1e-6, seed=0, repetitions=4, p_norms=(1.0, 2.0))
    >>> found.chosen, bool(found.mean[1] > 8 * found.mean[0])
    (('vertices', 'gaussian'), True)
    """
    d, n = integer("d", d, at_least=3), integer("n", n, at_least=2)
    repetitions, budget = integer("repetitions", repetitions, at_least=2), Budget(epsilon, delta)
    grid = [norm_order("p_norms", p) for p in (orders(d) if p_norms is None else p_norms)]
    if not grid or any(low >= high for low, high in itertools.pairwise(grid)):
        raise ValueError(f"p_norms must be increasing and at least one, got {grid}")
    packed, signs = np.array([linear_packing_records(p, d, n, budget) for p in grid]).T
    rows = {
        "l1": np.full(len(grid), one_column(d, n, epsilon)),
        "l2": np.full(len(grid), fingerprinted(d, n, budget)),
        "packing": packed,
        "all": np.full(len(grid), n),
    }
    names = RECORDS[1:4] if one_of("records", records, RECORDS) == "each" else (records,)
    duals, temperature, mu = [dual_order(p) for p in grid], vertex_temperature(n, epsilon), gaussian_mu(budget)
    sigmas = [2.0 / n * widening(2.0, q, d) / mu for q in duals]
    vertex_bound = np.array([min(2.0, 1.0 - d ** (-1.0 / q) + temperature * math.log(2.0 * d)) for q in duals])
    gaussian_bound = np.array([min(2.0, s * gaussian_length(d, q)) for s, q in zip(sigmas, duals, strict=True)])
    by_vertex = vertex_bound <= gaussian_bound
    measured: list[tuple[Array, Array]] = []
    each = np.zeros((1, len(grid)))
    for name in names:
        setting = (rows[name], tuple(grid), d, n, mu, temperature, seed, repetitions)
        found = _excess_on_fingerprints(*setting) if name in ("l2", "all") else _excess_on_one_column(*setting)
        # No mean is above the signal, as both answers are better than x = 0: signs that cannot be harder are left out.
        for k in np.flatnonzero(signs & (packed / n > each.max(axis=0))) if name == "packing" else ():
            found[:, k] = _excess_on_signs(int(packed[k]), grid[k], d, n, mu, temperature, seed, repetitions)
        measured.append((found.mean(axis=2), found.std(axis=2, ddof=1) / math.sqrt(repetitions)))
        # Of the mechanism that is chosen.
        each = np.array([np.where(by_vertex, mean[1], mean[3]) for mean, _ in measured])
    harder = each.argmax(axis=0)
    (signal, vertices, best, gaussian), errors = (
        np.array(values)[harder, :, np.arange(len(grid))].T for values in zip(*measured, strict=True)
    )
    return AgainstOrder(
        p_norm=np.array(grid),
        vertices=Side(vertices, errors[1], best, vertex_bound),
        gaussian=Side(gaussian, errors[3], np.zeros(len(grid)), gaussian_bound),
        chosen=tuple(VERTICES if vertex else GAUSSIAN for vertex in by_vertex),
        mean=each.max(axis=0),
        se=np.where(by_vertex, errors[1], errors[3]),
        signal=signal,
        least=np.array([linear_packing(p, d, n, budget) for p in grid]),
        rows={name: rows[name] for name in names},
        records=tuple(names[k] for k in harder),
        d=d,
        n=n,
        epsilon=epsilon,
        delta=delta,
        repetitions=repetitions,
    )


def _excess_on_one_column(
    n0: NDArray[np.int64],
    grid: tuple[float, ...],
    d: int,
    n: int,
    mu: float,
    temperature: float,
    seed: int,
    repetitions: int,
) -> Array:
    """Like `_excess_on_fingerprints`, of n0 records e_1: only the length of the other columns' noise matters."""
    duals = np.array([dual_order(p) for p in grid])
    first, lengths = _noise_of_one_column(grid, d, seed, repetitions)
    signal = n0[:, None] / n
    kept = _vertex_means(np.append(0.0 * signal, signal, axis=1), np.array([d - 1.0, 1.0]), temperature)[:, None]
    ratios = 0.5 * mu * n0 / np.array([widening(2.0, q, d) for q in duals])  # of the signal to the noise
    noisy = ratios[:, None] + first
    with np.errstate(divide="ignore", over="ignore"):
        # |x_1|^p of the best x, as equality holds in Hoelder's inequality.
        share = 1.0 / (1.0 + (lengths / np.abs(noisy)) ** duals[:, None])
    x = np.sign(noisy) * share ** (1.0 / np.array(grid))[:, None]
    return np.stack([signal + 0.0 * x, signal - kept + 0.0 * x, np.zeros(x.shape), signal * (1.0 - x)])


def _excess_on_signs(
    k: int, p_norm: float, d: int, n: int, mu: float, temperature: float, seed: int, repetitions: int
) -> Array:
    """Like `_excess_on_fingerprints`, of k records d^(-1/q*) (1, ..., 1) at one order, [4, repetitions]."""
    q = dual_order(p_norm)
    signal, size = k / n, k / n * d ** (-1.0 / q)
    kept = _vertex_means(np.array([[size]]), np.array([float(d)]), temperature)[0]
    ratio, sums = 0.5 * mu * k / d ** max(0.5, 1.0 / q), np.full(d, size)
    reached = [_reached(ratio + noise, sums, np.array([q]))[0] for _, noise in _draws(d, seed, repetitions)]
    alike = np.ones(repetitions)
    return np.stack([signal * alike, (signal - kept) * alike, (signal - size) * alike, signal - np.array(reached)])


@shared(256)
def _noise_of_one_column(grid: tuple[float, ...], d: int, seed: int, repetitions: int) -> tuple[Array, Array]:
    """Standard normal noise of one column [repetitions], and the dual lengths of that of all others, [orders, ...]."""
    draws = [generator(seed, "geometry transition", repetition).standard_normal(d) for repetition in range(repetitions)]
    lengths = [[float(length(noise[:-1], dual_order(p))[0]) for noise in draws] for p in grid]
    return np.array([noise[-1] for noise in draws]), np.array(lengths)


def _excess_on_fingerprints(
    rows: NDArray[np.int64],
    grid: tuple[float, ...],
    d: int,
    n: int,
    mu: float,
    temperature: float,
    seed: int,
    repetitions: int,
) -> Array:
    """Signal, and excess of vertices, of the best vertex, and of the Gaussian answer, [4, orders, repetitions]."""
    n0 = int(rows[0])
    duals = np.array([dual_order(p) for p in grid])
    units = d ** (-1.0 / duals) / n
    # Entries of the records over the noise: the same for all orders up to 2.
    ratios = mu / 2.0 / d ** np.maximum(0.5, 1.0 / duals)
    values, half = 2.0 * np.arange(n0 + 1.0) - n0, (n0 + 1) // 2
    found = np.empty((4, len(grid), repetitions))
    for repetition, (uniforms, noise) in enumerate(_draws(d, seed, repetitions)):
        counts = column_counts(n0, uniforms)
        sums = np.repeat(values, counts)
        times = (counts + counts[::-1])[half:] / np.where(values[half:] > 0.0, 1.0, 2.0)  # so many have each size
        sizes, times = values[half:][times > 0.0], times[times > 0.0]
        most = float(sizes[-1])
        signal = units * most * ((sizes / max(most, 1.0)) ** duals[:, None] @ times) ** (1.0 / duals)
        kept = _vertex_means(units[:, None] * sizes, times, temperature)
        reached = np.empty(len(grid))
        for ratio in np.unique(ratios):
            same = np.flatnonzero(ratios == ratio)
            reached[same] = _reached(ratio * sums + noise, sums, duals[same])
        found[:, :, repetition] = signal, signal - kept, signal - units * most, signal - units * reached
    return found


def _reached(noisy: Array, sums: Array, duals: Array) -> Array:
    """<x, sums> of the x in the ball with the largest <x, noisy>, for the ball of each dual order q.

    x_j = sign(v_j) |v_j|^(q - 1) / ||v||_q^(q - 1), v the noisy sums: equality in Hoelder's inequality.
    """
    sizes = np.abs(noisy)
    first = int(sizes.argmax())
    sizes /= sizes[first]
    along = np.copysign(sums, sums * noisy)  # sign(v_j) times the sum
    found = np.empty(len(duals))
    logs, powers = None, np.empty_like(sizes)
    for k, q in enumerate(duals):
        if q == math.inf:
            found[k] = along[first]
            continue
        if logs is None:
            with np.errstate(divide="ignore"):
                logs = np.log(sizes)
        np.exp(np.multiply(q - 1.0, logs, out=powers), out=powers)
        found[k] = _sum(along, powers) / _sum(sizes, powers) ** (1.0 - 1.0 / q)
    return found


_DRAWS: SharedCache[list[tuple[Array, Array]]] = SharedCache(
    _MOST_KEPT, lambda drawn: sum(part.nbytes for one in drawn for part in one)
)


def _draws(d: int, seed: int, repetitions: int) -> list[tuple[Array, Array]]:
    """The uniforms of the records in increasing order, and standard normal noise, [d] each, of each repetition."""

    def draw() -> list[tuple[Array, Array]]:
        rngs = [generator(seed, "geometry transition", repetition) for repetition in range(repetitions)]
        return [(np.sort(rng.random(d)), rng.standard_normal(d)) for rng in rngs]

    return _DRAWS.get((d, seed, repetitions), draw)


def vertex_temperature(n: int, epsilon: float) -> float:
    """b = 2 s / epsilon, s = 2/n: the weights exp(<zbar, v> / b) of the vertices are epsilon-private.

    >>> vertex_temperature(2_000, 1.0)
    0.002
    """
    return 4.0 / (n * epsilon)


def fingerprinted(d: int, n: int, budget: Budget) -> int:
    """n0 = 0.2 sqrt(d ln(1/delta)) / epsilon, rounded, from 1 to n: how many records are not zero.

    >>> fingerprinted(10_000, 2_000, Budget(1.0, 1e-6))
    74
    """
    check_real("delta", budget.delta, "in (0, 1)", lambda v: 0 < v < 1)
    wanted = _SHARE * math.sqrt(d * math.log(1.0 / budget.delta)) / budget.epsilon
    return n if wanted >= n else max(1, round(wanted))


def one_column(d: int, n: int, epsilon: float) -> int:
    """How many of n records are e_1 where the exponential mechanism has its largest excess on the L1 ball.

    Of the 2 d vertices e_1 has the weight w = e^(k / (n b)), -e_1 has 1 / w and each other one has 1: the excess is
    (k/n) (2/w + 2 d - 2) / (w + 1/w + 2 d - 2).

    >>> one_column(1_000, 2_000, 1.0)
    24
    """
    shares = np.arange(1.0, n + 1.0) / n
    up = np.exp(np.minimum(shares / vertex_temperature(n, epsilon), 700.0))
    return 1 + int(np.argmax(shares * (2.0 / up + 2.0 * d - 2.0) / (up + 1.0 / up + 2.0 * d - 2.0)))


def column_counts(n0: int, uniforms: Array) -> NDArray[np.int64]:
    """How many columns of n0 fingerprinting rows have 0, 1, ..., n0 entries +1, without the rows.

    The number follows the discrete arcsine law (docs/formulas.md, "Geometry experiments"). uniforms: of the columns, in
    increasing order, so that only n0 places among them have to be found.
    """
    k = np.arange(1.0, n0 + 1.0)
    u = np.append(1.0, np.cumprod((2.0 * k - 1.0) / (2.0 * k)))
    below = np.cumsum(u * u[::-1])
    ends = np.searchsorted(uniforms, below[:-1] / below[-1], side="left")
    return np.diff(ends, prepend=0, append=len(uniforms))


def gaussian_length(d: int, q: float) -> float:
    """Upper bound on E||g||_q for g ~ N(0, I_d): the smallest (d E|g|^r)^(1/r) found among 1 <= r <= q.

    ||g||_q <= ||g||_r, Jensen's inequality, and E|g|^r = 2^(r/2) Gamma((r + 1)/2) / sqrt(pi).

    >>> round(gaussian_length(100, 2.0), 9), round(gaussian_length(1, 1.0) * math.sqrt(math.pi / 2), 9)
    (10.0, 1.0)
    """
    high = min(q, 4.0 * math.log(2.0 * d) + 2.0)  # the best r for q = inf is near 2 ln d
    r = np.geomspace(1.0, high, _MOMENTS) if high > 1.0 else np.ones(1)
    logs = math.log(d) + 0.5 * r * math.log(2.0) + gammaln(0.5 * (r + 1.0)) - 0.5 * math.log(math.pi)
    return float(np.exp((logs / r).min()))


def _vertex_means(sizes: Array, counts: Array, temperature: float) -> Array:
    """E <zbar, v> over v = +-e_j with weights exp(<zbar, v> / temperature), of each row, [K].

    counts: how many columns have |zbar_j| = sizes [K, m], which increase along a row; [m].
    """
    most = sizes[:, -1:]
    up = counts * np.exp((sizes - most) / temperature)
    down = counts * np.exp(-(sizes + most) / temperature)
    return np.asarray((sizes * (up - down)).sum(axis=1) / (up + down).sum(axis=1))


def _sum(a: Array, b: Array) -> float:
    """<a, b> in one thread: a dot product of this length takes longer to share out than to compute."""
    return float(np.einsum("j,j->", a, b))
