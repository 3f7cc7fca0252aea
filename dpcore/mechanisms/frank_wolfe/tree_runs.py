"""Runs of Frank-Wolfe on trees with noise in every estimate: the releases of the nodes and their densities."""

import dataclasses as dc
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.records import Data
from ...core.rng import Generators
from ...core.sets import ConvexSet, length
from ...solvers.frank_wolfe.tree import Node, Tree, walk
from ..noise.generalized_gaussian import LpNoise
from .proof import Evaluated, Follower
from .step_count import LpConstants

# Numbers of a generator's noise that are drawn at once.
_BLOCK_NUMBERS = 1 << 12
_LEAST_SHARE = 2.0**-30
# Function from a node, its mean and its iterate less the parent's to the run's estimate of the mean.
Release = Callable[[Node, Array, Array | None], Array]


@dc.dataclass(frozen=True)
class TreeRuns:
    """Runs on one problem from theta = 0.

    facts: its constants. law: of the noise. loss: key. shape: the set at size 1. tree: of the runs.
    """

    facts: LpConstants
    law: LpNoise
    loss: str
    shape: ConvexSet
    tree: Tree

    def share(self, node: Node, away: Array | None) -> Array | float:
        """Sensitivity of a node over that of a root, 2 L0 / b: min(L1_between moved, turn) / L0 2^depth.

        The share of L0 is at least 2^-30: below that, rounding of the two gradients is no longer small beside their
        difference. away: [K, p], the iterate less the parent's, None for a root; shape [K, 1], and 1 for a root.
        """
        if away is None:
            return 1.0
        facts = self.facts
        change = np.minimum(facts.L1_between * length(away, facts.p_norm), facts.turn)
        return np.maximum(change / facts.L0, _LEAST_SHARE) * 2.0**node.depth

    def _draws(self, rngs: Generators) -> Iterator[Array]:
        """Noise of each node in turn, [len(rngs), p]. Every generator draws for a block of nodes at once."""
        left, block = self.tree.choices, max(1, _BLOCK_NUMBERS // self.facts.d)
        while left:
            count = min(left, block)
            drawn = self.law.draw([rng for rng in rngs for _ in range(count)])
            yield from drawn.reshape(len(rngs), count, -1).swapaxes(0, 1)
            left -= count

    def walk(
        self, data: Data, count: int, release: Release, *, single: bool = False, cancelled: Cancelled = never
    ) -> Array:
        """Last iterates of `count` runs, [count, p]; noise is in all p columns. single: for charts."""
        return walk(
            get_loss(self.loss),
            data,
            np.zeros((count, self.facts.d)),
            self.tree,
            release=release,
            choose=lambda _, estimate: self.facts.size * self.shape.extreme(estimate),
            single=single,
            cancelled=cancelled,
        )

    def models(
        self,
        scales: Sequence[float],
        data: Data,
        rngs: Generators,
        *,
        single: bool = False,
        cancelled: Cancelled = never,
        watch: Callable[[Array], object] | None = None,
    ) -> Array:
        """Last iterates for every scale and generator, [len(scales), len(rngs), p]; all scales use the same noise.

        scales: the noise of a root; every other node's is in proportion to its sensitivity. single: for charts.
        watch: called with the release of every node, [len(scales) len(rngs), p].
        """
        scale, noise = np.repeat(scales, len(rngs))[:, None], self._draws(rngs)

        def release(node: Node, mean: Array, away: Array | None) -> Array:
            noisy = mean + scale * self.share(node, away) * np.tile(next(noise), (len(scales), 1))
            if watch is not None:
                watch(noisy)
            return noisy

        found = self.walk(data, len(scales) * len(rngs), release, single=single, cancelled=cancelled)
        return found.reshape(len(scales), len(rngs), -1)

    def followed(
        self,
        scale: float,
        data: Data,
        fresh: Data,
        rngs: Generators,
        cancelled: Cancelled,
        weights: Array | None = None,
    ) -> tuple[Evaluated, Array, Array]:
        """Numbers of the proof along the runs of `models` for charts, F being the mean loss of fresh records; and the
        dual norms of the errors of the estimates, and of their noise, [len(rngs), steps] each. weights: of
        `Follower`."""
        zero, count = np.zeros(self.facts.d), len(rngs)
        follower = Follower(get_loss(self.loss), fresh, self.shape, self.facts.size, zero, count, weights)
        draws, path, errors, noises = self._draws(rngs), list[Array](), list[Array](), list[Array]()

        def release(node: Node, mean: Array, away: Array | None) -> Array:
            noise = scale * self.share(node, away) * next(draws)
            path[node.depth :] = [noise + path[node.depth - 1] if node.depth else noise] * (node.phase + 1 - node.depth)
            return mean + noise

        def choose(node: Node, estimate: Array) -> Array:
            taken = self.facts.size * self.shape.extreme(estimate)
            gradients = follower.go(node.step, taken)
            errors.append(length(estimate - gradients, self.facts.q_star)[:, 0])
            noises.append(length(path[-1], self.facts.q_star)[:, 0])
            return taken

        start = np.zeros((len(rngs), self.facts.d))
        loss = get_loss(self.loss)
        walk(loss, data, start, self.tree, release=release, choose=choose, single=True, cancelled=cancelled)
        return follower.followed(), np.stack(errors, axis=1), np.stack(noises, axis=1)

    def transcripts(self, scale: float, data: Data, rngs: Generators) -> Array:
        """Noisy mean of every node, [len(rngs), nodes p]. scale: the noise of a root."""
        seen: list[Array] = []
        self.models([scale], data, rngs, watch=seen.append)
        return np.concatenate(seen, axis=1)

    def log_densities(self, scale: float, data: Data, outputs: Array) -> Array:
        """ln of the density of transcripts [k, nodes p] on these records, up to a term without records; shape [k]."""
        parts = iter(np.split(outputs, self.tree.choices, axis=1))
        total = np.zeros(len(outputs))

        def replay(node: Node, mean: Array, away: Array | None) -> Array:
            seen = next(parts)
            total[:] += self.law.log_density((seen - mean) / (scale * self.share(node, away)))
            return seen

        self.walk(data, len(outputs), replay)
        return total

    def separation(self, zero: Data, one: Data) -> float:
        """Largest distance of a node's means on two data sets over its `share`, at the iterates of `zero` without
        noise; a node whose iterate equals its parent's has the same mean on all records."""
        means, largest = list[Array](), 0.0

        def follow(node: Node, mean: Array, away: Array | None) -> Array:
            means.append(mean)
            return mean

        self.walk(zero, 1, follow)
        path = iter(means)

        def compare(node: Node, mean: Array, away: Array | None) -> Array:
            nonlocal largest
            before, share = next(path), float(np.max(self.share(node, away)))
            if share > 0.0:
                largest = max(largest, self.law.distance(mean[0] - before[0]) / share)
            return before

        self.walk(one, 1, compare)
        return largest
