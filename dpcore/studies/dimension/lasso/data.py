"""Squared error over the L1 ball as moments: of synthetic records with few features that matter, and of hard ones."""

import dataclasses as dc
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from .... import data as records
from ....core.arrays import Array
from ....core.cache import SharedCache, shared
from ....core.privacy import Budget
from ....core.rng import generator
from ....core.specification import Domain, Spec
from ....core.validation import integer
from ....data.synthetic import draw_octets
from ....solvers import minimise_on_l1_ball
from ....solvers.frank_wolfe.vertices import Quadratic
from ....theory import lower_bounds

SOURCE = "synthetic_sparse"
LOSS = "squared"
# Columns that are filled at most, and values of the table that they are counted from.
MAX_COLUMNS, MAX_FILLED = 512, 25_600_000
_FEWEST = 8  # columns that are filled at least
_BLOCK = 4_096  # records that are unpacked at once

_BEST: SharedCache[float] = SharedCache(256)


@dc.dataclass(frozen=True)
class Setting:
    """Facts shared by all curves: the budget, the size of the ball, the noise of a choice, the seed, and the records.

    accounting: as of `FrankWolfePolytope`. repetitions: runs behind each mean. hardest: the records are those of
    `theory.lower_bounds.packing`, else a few columns matter.
    """

    epsilon: float
    delta: float
    radius: float
    accounting: str
    seed: int
    repetitions: int = 16
    hardest: bool = False

    @property
    def budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    def instance(self, n: int, p: int) -> "Instance":
        return self.instances((n,), p, stored_columns(n, p))[0]

    def instances(self, ns: Sequence[int], p: int, stored: int) -> list["Instance"]:
        """Instances, one for each n; `stored` columns are filled if only a few matter."""
        made = instances(ns, p, stored, self.radius, self.seed)
        return [packed(here.spec, self.budget) for here in made] if self.hardest else made

    def generators(self, key: str) -> list[np.random.Generator]:
        """Generators of the runs of a mechanism."""
        return [generator(self.seed, key, r) for r in range(self.repetitions)]


@dc.dataclass(frozen=True)
class Instance:
    """n records of p columns, of which the first len(risk.linear) are filled, by their moments.

    best: F*, the smallest risk over the L1 ball of `radius`, certified to 1e-9. nothing: F(0). truth: [stored], the
    weights behind the labels.
    """

    n: int
    p: int
    radius: float
    domain: Domain
    risk: Quadratic
    best: float
    truth: Array

    @property
    def stored(self) -> int:
        return self.risk.stored

    @property
    def nothing(self) -> float:
        return self.risk.constant

    @property
    def spec(self) -> Spec:
        return Spec(LOSS, self.n, self.p, 0.0, self.domain, self.radius, set="l1_ball")


def stored_columns(n: int, p: int) -> int:
    """Number of the p columns that are filled for n records: all, up to 512 and 25.6 million values.

    >>> stored_columns(10_000, 256), stored_columns(10_000, 65_536), stored_columns(100_000, 1_024)
    (256, 512, 256)
    """
    return min(p, MAX_COLUMNS, max(_FEWEST, MAX_FILLED // n))


def instances(ns: Sequence[int], p: int, stored: int, radius: float, seed: int) -> list[Instance]:
    """The first n records of the source for each n in `ns`, p columns, of which `stored` are filled.

    The records are those of `dpcore.data.load("synthetic_sparse", n, stored, seed)`; only their moments are kept.
    """
    found, domain = _moments(tuple(sorted(ns)), stored, seed), records.load(SOURCE, 2, 8, seed).domain

    def best(n: int) -> float:
        return _BEST.get((n, stored, radius, seed), lambda: minimise_on_l1_ball(found[n], radius).risk)

    return [Instance(n, p, radius, domain, found[n], best(n), truth(stored, seed)) for n in ns]


def packed(spec: Spec, budget: Budget) -> Instance:
    """Instance D_{1,+} of `theory.lower_bounds.packing`: all records are zero but for k on the first axis.

    The mechanisms treat all 2p data sets equally. k: the one with the largest bound.
    """
    radius, y, k = cast(float, spec.radius), spec.domain.y_max, lower_bounds.packing_signal(spec, budget)
    rho, gram, first = min(spec.domain.R, y / radius), np.zeros((_FEWEST, _FEWEST)), np.eye(_FEWEST)[0]
    gram[0, 0] = k / spec.n * rho**2
    risk = Quadratic(gram, k / spec.n * rho * y * first, k / spec.n * y**2)
    return Instance(spec.n, spec.p, radius, spec.domain, risk, k / spec.n * (y - rho * radius) ** 2, first)


def truth(stored: int, seed: int) -> Array:
    """The weights behind the labels, [stored]: all but the first few are 0, however many columns there are."""
    few = min(stored, _FEWEST)
    return np.pad(cast(Array, records.load(SOURCE, 2, few, seed).truth), (0, stored - few))


@shared(16)
def _moments(ns: tuple[int, ...], stored: int, seed: int) -> dict[int, Quadratic]:
    """Moments of the first n records for all n, from one draw of them that is not kept.

    Features are -1 and +1, as bits: two columns agree in the records in which both or neither have theirs set. Counts
    below 2^24 are exact in single precision. The labels of records that are alike in eight columns are added up before
    they meet these.
    """
    octets, y = draw_octets(SOURCE, ns[-1], stored, np.random.default_rng([seed, *SOURCE.encode()]))
    both, linear, square, found = np.zeros((stored, stored)), np.zeros(stored), 0.0, {}
    signs = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1.0
    for start, n in zip((0, *ns), ns, strict=False):
        new = slice(start, n)
        for block in (slice(first, min(first + _BLOCK, n)) for first in range(start, n, _BLOCK)):
            bits = np.unpackbits(np.stack([octet[block] for octet in octets], axis=1), axis=1, count=stored)
            bits = bits.astype(np.float32)
            both += bits.T @ bits
        one = both.diagonal()
        agreeing = n - one - one[:, None] + 2.0 * both
        sums = np.stack([np.bincount(octet[new], weights=y[new], minlength=256) for octet in octets])
        linear = linear + (sums @ signs).ravel()[:stored]
        square += float(y[new] @ y[new])
        found[n] = Quadratic((2.0 * agreeing - n) / n, linear / n, square / n)
    return found


@dc.dataclass(frozen=True)
class Spread:
    """Records on which the best model uses every column: copies of all rows of a Hadamard matrix with label 0, and
    `agreeing` rows of ones with label 1.

    The squared norm of theta costs as much as the rows with label 0, and the rows with label 1 ask for a sum of 1: the
    best model spreads its weight over all columns, which T vertices cannot.

    n: records. columns: a power of 2. copies: >= 1 of the matrix.
    """

    n: int
    columns: int
    copies: int

    @property
    def agreeing(self) -> int:
        return self.n - self.copies * self.columns

    def best(self, radius: float) -> float:
        """F* over the L1 ball: by convexity at theta = (m / r, ..., m / r), F = a (m - 1)^2 + (1 - a) m^2 / r."""
        a = self.agreeing / self.n
        b = (1.0 - a) / self.columns
        m = min(radius, a / (a + b))
        return a * (m - 1.0) ** 2 + b * m**2


@dc.dataclass(frozen=True)
class SpreadRisk:
    """F of one `Spread` for each run, a (sum theta - 1)^2 + (1 - a) ||theta||^2: rows of the matrix are orthogonal.

    shares: a of each run, [K], in the order in which `vertices.descend` keeps them, the longest first.
    """

    shares: Array
    columns: int

    @property
    def stored(self) -> int:
        return self.columns

    def state(self, count: int, start: Array) -> "_SpreadState":
        return _SpreadState(self.shares, np.tile(start, (count, 1)))

    def values(self, thetas: Array) -> Array:
        """F of the model of each run; [K, columns] -> [K]."""
        return self.shares * (thetas.sum(axis=-1) - 1.0) ** 2 + (1.0 - self.shares) * (thetas**2).sum(axis=-1)


@dc.dataclass
class _SpreadState:
    shares: Array
    thetas: Array

    def gradients(self, live: int) -> Array:
        thetas, a = self.thetas[:live], self.shares[:live, None]
        return 2.0 * (a * (thetas.sum(axis=1, keepdims=True) - 1.0) + (1.0 - a) * thetas)

    def move(self, mu: float, columns: NDArray[np.int64], lengths: Array) -> None:
        self.thetas[: len(columns)] *= 1.0 - mu
        stored = np.flatnonzero(columns < self.thetas.shape[1])
        self.thetas[stored, columns[stored]] += mu * lengths[stored]

    def risks(self, live: int) -> Array:
        return SpreadRisk(self.shares[:live], self.thetas.shape[1]).values(self.thetas[:live])


def spreads(n: int, columns: int, most: int) -> list[Spread]:
    """Data sets of n records, at most `most`, from many to few agreeing rows; [] if n is too small.

    >>> [spread.agreeing for spread in spreads(1_000, 256, most=8)]
    [744, 488, 232]
    """
    integer("columns", columns, at_least=1)
    if columns & (columns - 1):
        raise ValueError(f"columns must be a power of 2, got {columns}")
    copies = (n - 1) // columns
    # The hardest share of agreeing rows falls with n: many small ones are tried.
    if not copies:
        return []
    left = np.unique(np.geomspace(1, copies, most).round().astype(int))
    return [Spread(n, columns, copies + 1 - int(k)) for k in left][::-1]
