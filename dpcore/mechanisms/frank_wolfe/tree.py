"""Private Frank-Wolfe on l_p balls, 1 < p <= 2, that reads each record once: noisy gradient estimates on trees."""

import dataclasses as dc
import functools
import math
from typing import cast

import numpy as np

from ...accounting.tradeoff import TradeoffCurve
from ...core.arrays import Array
from ...core.cancel import Cancelled
from ...core.privacy import Bound, Budget, Event, NoiseLaw, NotApplicable
from ...core.records import Data
from ...core.rng import Generators, two_of_each
from ...core.sets import LqBall, kappa_lq
from ...core.specification import Domain, Spec
from ...solvers import Minimum
from ...solvers.frank_wolfe.tree import Tree, nodes, tree_of
from ...theory import frank_wolfe as theory
from ...theory import high_probability
from ..base import Drawn, GaussianGuarantee, Link, Prepared, ReadingMechanism, knob, records_of, whole
from ..noise.generalized_gaussian import LpNoise, lp_noise
from ..plan import Plan, Plans
from ..worst_pairs import flipped_label
from .proof import OnePassLens, sampled
from .step_count import LpConstants, check_size, lp_constants_of
from .tree_runs import TreeRuns

_SOURCE = "Bassily, Guzmán and Nandi 2021, Algorithm 1"
_LEMMA = "Frank-Wolfe on gradient trees, for given records"
_MOST_PHASES = 14
_LOWEST_P, _HIGHEST_P = 1.001, 2.0


@dc.dataclass(frozen=True)
class TreeFrankWolfe(OnePassLens, GaussianGuarantee, ReadingMechanism):
    """Release the last iterate of Frank-Wolfe on the trees of `solvers.frank_wolfe.tree`, from theta = 0.

    Each node that reads m records adds noise to its mean: of the gradients at a root, m = b, or of the differences
    between the gradients at its iterate and its parent's at a right child. With L0 and L1 in the norms of the set and
    its dual (`lp_constants_of`), replacing one of the m records moves this mean by at most s = 2 L0 / b, or
    s = 2 min(L1_between ||theta - theta_parent||_p, turn) / m, in l_q. Noise is M times s, times `LpNoise.widening`,
    with the smallest M, `LpNoise.multiplier`.

    Privacy: the records that a node reads do not depend on the data, and each record is read by one node. Earlier
    releases do not depend on that record; given them, s is a known number, and the release of the node has sensitivity
    s and noise M s: mu-GDP with mu = 1/M for Gaussian noise, (epsilon, delta)-private for generalised Gaussian noise,
    for any past. Later nodes read other records, and delta of the run is at most the mean of delta over the past. For
    Gaussian noise the same holds for all epsilon together: a test with the level a(past) has a power of at most
    1 - G_mu(a(past)), and G_mu is convex, so the mean power over the past is at most 1 - G_mu(E a). The whole run
    therefore costs as much as one release, without composition, and s may follow from the released iterates.

    Records are read in the given order: statements on fresh records need a random order, privacy does not.

    Source: Bassily, Guzmán and Nandi 2021, Algorithm 1, Lemma 4.1, Theorems 5.1 and 5.2 (constants derived here,
        explicit; docs/formulas.md); trees by Asi, Feldman, Koren and Talwar 2021; accounting by Dong, Roth and Su 2022.
    Randomness: one draw of `LpNoise` a node, in the order of the walk: p normals, or p Gamma variables, p bits and one
        chi-square.
    Guarantee: (epsilon, delta)-differential privacy, delta > 0, for replacing one record, also if every noisy estimate
        is published, whatever the other records and their order are.
    Not protected: n, p, T, the set, the budget and the bounds R, L, y_max and radius are public; running time; the
        low-order bits of floating-point noise; a release whose seed is known.
    """

    noise: NoiseLaw = knob(
        "gaussian",
        choices=("gaussian", "generalized_gaussian"),
        help="distribution of the noise: Gaussian, or the paper's for the dual norm, shorter near p = 1 if d is small",
    )
    T: int | str = knob(
        "auto",
        check=whole(1, _MOST_PHASES),
        help='phases: "auto", one less than the proved bound asks for, or a whole number from 1 to 14',
    )

    key: str = dc.field(default="tree_frank_wolfe", init=False, repr=False)
    label = "Frank-Wolfe on gradient trees"
    source = _SOURCE
    family = "variance_reduced"
    place = "gradient"
    quantity = "excess_population_risk"
    set = LqBall(1.5)
    # A ball so small that the slope of the loss is 1 throughout.
    worst_spec = Spec("huber_hinge", n=20, p=3, lam=0.0, domain=Domain(3.0), radius=0.4, set=LqBall(1.5))
    audit_knob = ("T", 2)  # a first phase, in which every record is tested, and a second phase that depends on it
    first_attack = ("root", "the sensitivity of the first root and its noise")

    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        facts = lp_constants_of(self.key, spec, _LOWEST_P, _HIGHEST_P)
        check_size(self.key, spec, 1e50)  # squares of a bound on gradients
        spec, law = dc.replace(spec, lam=0.0, radius=spec.size), lp_noise(self.noise, facts.q_star, facts.d)
        M = law.multiplier(budget)
        tree = self._tree(facts, law, spec.n, M)
        sensitivity = law.widening * 2.0 * facts.L0 / tree.batch
        event = Event(self.noise, M * sensitivity, sensitivity)
        made = dc.replace(self, T=tree.phases[-1])  # so that an audit of the spent budget has the same trees
        return Plan(made, spec, budget, budget, (event,), tree.choices, self.noise, event.scale, tol=0.0)

    def _tree(self, facts: LpConstants, law: LpNoise, n: int, M: float) -> Tree:
        """Tree with the given T; under "auto" with a phase less than that of the smallest bound, if that has over two.

        Noise is bounded for the worst path and convergence for the worst curvature. On records half as many steps, with
        more records each, are better; one phase has two long steps only.
        """
        if self.T == "auto":
            trees = [tree for T in range(1, _MOST_PHASES + 1) if (tree := tree_of(n, T))]
            if not trees:
                raise NotApplicable(f"{self.key} needs at least 3 records, which one phase reads, got n = {n}")
            best = min(range(len(trees)), key=lambda k: _excess(facts, law, trees[k], M)[0])
            return trees[max(best - 1, min(best, 1))]
        T = cast(int, self.T)
        tree = tree_of(n, T)
        if tree is None:
            needed = Tree(range(1, T + 1), 2**T).used
            raise NotApplicable(f"{self.key} needs at least {needed:,} records for T = {T} phases, got n = {n:,}")
        return tree

    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds over the best model of the ball, on average and in most runs; and the published order."""
        runs, event = runs_of(plan), plan.ledger[0]
        facts = runs.facts
        M = event.scale / event.sensitivity
        kappa = kappa_lq(facts.q_star, facts.d).kappa
        rate = theory.published_tree_rate(facts.diameter, facts.L0, kappa, facts.d, plan.spec.n, plan.requested)
        says = f"independent records; comparator in the l_p ball with p = {facts.p_norm:g}"
        paper, ours = "Bassily, Guzmán and Nandi 2021", "with explicit constants"
        mean, tail = _excess(facts, runs.law, runs.tree, M)
        return (
            Bound(self.quantity, "upper", mean, "expectation", f"{_SOURCE}, {ours}", says),
            Bound(
                self.quantity,
                "upper",
                tail,
                "probability",
                f"{paper}, Lemma 4.1 and Theorem 5.2, {ours}",
                high_probability.MOST_RUNS + says,
            ),
            Bound(
                self.quantity,
                "rate",
                rate,
                "probability",
                f"{paper}, Theorem 5.2 (reconstructed), without its logarithms",
                says,
            ),
        )

    def gradients(self, plan: Plan) -> int:
        """Number of gradients: one for each record of a root, two for each record of another node."""
        return runs_of(plan).tree.gradients

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        return runs_of(plan).models([plan.scale], records_of(prepared), rngs)[0, :, : len(prepared.theta)]

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases for curves; the two releases of a generator are independent. Plans of one T run together."""
        data = records_of(prepared[0])
        seeds = [int(seed) for rng in rngs for seed in rng.integers(1 << 63, size=2)]
        thetas = np.empty((len(plans), len(seeds), data.stored))
        centres = np.empty((len(plans), data.stored))
        together: dict[TreeRuns, list[int]] = {}
        for k, plan in enumerate(plans):
            together.setdefault(runs_of(plan), []).append(k)
        for runs, group in together.items():
            streams = [np.random.default_rng(seed) for seed in seeds]
            models = functools.partial(runs.models, data=data, single=True, cancelled=cancelled)
            thetas[group] = models([plans[k].scale for k in group], rngs=streams)[:, :, : data.stored]
            centres[group] = models([0.0], rngs=streams[:1])[0, :, : data.stored]
        return Drawn(centres, thetas)

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        """The proof of `theory.tree_frank_wolfe_bound`."""
        runs, bound = runs_of(plan), self.bounds(plan)[0].value
        facts, T = runs.facts, len(runs.tree.phases)
        found, errors, noises = runs.followed(plan.scale, records_of(prepared), data, two_of_each(rngs), cancelled)
        proved = found.proved(best.risk)
        errors, noises = (facts.diameter * found.summed(lengths) for lengths in (errors, noises))
        met = proved + errors - found.summed(found.losses)
        curved = 2.0 * facts.L1 * facts.diameter**2 / (2.0 ** (T + 1) - 1.0)
        quiet = _excess(facts, runs.law, runs.tree, 0.0)[0]
        return (
            Link("convexity: the gap in place of the excess", f"{_LEMMA}: convexity", proved),
            Link("errors: in the worst direction", f"{_LEMMA}: errors", met),
            Link("curvature: of the set, not of the steps", f"{_LEMMA}: curvature", errors + curved, worst=True),
            Link("records: as steep as they can be", f"{_LEMMA}: records", noises + quiet, worst=True),
            Link("noise: of the longest path", f"{_LEMMA}: noise", np.array([bound]), worst=True),
        )

    def proved_run(
        self, plan: Plan, prepared: Prepared, data: Data, least: float, rng: np.random.Generator, cancelled: Cancelled
    ) -> float:
        runs = runs_of(plan)
        weights = sampled([node.step for node in nodes(runs.tree)], rng)
        found, *_ = runs.followed(plan.scale, records_of(prepared), data, [rng], cancelled, weights)
        return float(found.proved(least)[0])

    def claimed_curve(self, plan: Plan) -> TradeoffCurve:
        return runs_of(plan).law.curve(plan.spent)

    def transcripts(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Noisy mean of every node, [len(rngs), (2^(T + 1) - 2) p], from which iterates and release follow."""
        return runs_of(plan).transcripts(plan.scale, records_of(prepared), rngs)

    def resolution(self, plan: Plan) -> float:
        """Size of the set, since noise chooses points of it."""
        return plan.spec.size or 1.0

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Neighbours whose first record, R (1, ..., 1) / p^(1/q), has one label or the other; all others are 0.

        It is read by the first root, where it attains L0 in l_q and in the norm that the noise is made for.
        """
        q_star, spec = runs_of(plan).facts.q_star, plan.spec
        x = np.full(spec.p, spec.domain.in_norm(q_star, spec.p).R / spec.p ** (1.0 / q_star))
        return flipped_label(spec, x, 0)

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Largest distance of a node's means, over its share of a root's noise, in the norm that calibrates the noise.

        It is computed along the iterates that follow from the first data set without noise.
        """
        return runs_of(plan).separation(records_of(zero), records_of(one))

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """Sum over the nodes, each given the iterates that follow from the transcript."""
        runs = runs_of(plan)
        logs = [runs.log_densities(plan.scale, records_of(side), outputs) for side in (one, zero)]
        return logs[0] - logs[1]


def runs_of(plan: Plan) -> TreeRuns:
    """State shared by a plan's runs; computed once for each problem."""
    return _runs(cast(TreeFrankWolfe, plan.mechanism), plan.spec)


@functools.lru_cache(maxsize=256)
def _runs(made: TreeFrankWolfe, spec: Spec) -> TreeRuns:
    facts = lp_constants_of(made.key, spec, _LOWEST_P, _HIGHEST_P)
    tree = cast(Tree, tree_of(spec.n, cast(int, made.T)))  # a plan has one
    law = lp_noise(made.noise, facts.q_star, facts.d)
    return TreeRuns(facts, law, spec.loss, spec.unit_set, tree)


def _excess(facts: LpConstants, law: LpNoise, tree: Tree, M: float) -> tuple[float, float]:
    """Bounds on the mean excess, and on the excess that a share BETA of the runs may exceed.

    Noise N for sensitivity s has E ||N||_q^2 <= kappa d M^2 s^2 under both laws. Half of BETA is for the records, half
    for the noise. Noise of scale s has a length of at most s chi, chi^2 a chi-square of d degrees, if it is generalised
    Gaussian. If it is Gaussian, its length is a function of independent normals whose slope is at most s.
    """
    found, gaussian = kappa_lq(facts.q_star, facts.d), law.law == "gaussian"
    constants = facts.diameter, facts.L0, facts.L1, facts.L1_between
    length, shape = M * math.sqrt(found.kappa * facts.d), {"T": len(tree.phases), "b": tree.batch}
    mean = theory.tree_frank_wolfe_bound(
        *constants, **shape, kappa=found.kappa, noise=length, smooth=1.0 if gaussian else law.order - 1.0
    )
    tail = high_probability.tree_frank_wolfe_tail(
        *constants,
        **shape,
        kappa=found.kappa,
        order=found.order,
        length=length,
        slope=M * law.widening,
        gaussian=gaussian,
        t=math.log(2.0 / high_probability.BETA),
    )
    return mean, tail
