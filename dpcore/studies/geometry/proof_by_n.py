"""Where the bound of `excess_by_n` loses: its proof as a chain at one n, along the runs of the curve."""

import dataclasses as dc
from collections.abc import Iterator

import numpy as np

from ...core.cancel import Cancelled, go_on, never
from ...core.losses import get_loss
from ...core.privacy import Budget
from ...core.records import Data
from ...core.rng import generator
from ...experiments.proof_chain import FEW, ProofChain, chained
from ...mechanisms import Mechanism, make_mechanism
from ...mechanisms.base import Link
from ...solvers import Minimum
from .excess_by_n import FRESH, ExcessQuestion, learner_key, spec_of
from .synthetic_data import LOSS, optimum, population_excess, synthetic_records


@dc.dataclass(frozen=True)
class ProofByN:
    """Question for the chain at `n`, one of the curve's; fresh records stand for their distribution."""

    curve: ExcessQuestion
    n: int

    @property
    def source(self) -> None:
        """No one's records."""

    @property
    def mechanism(self) -> Mechanism:
        return make_mechanism(learner_key(self.curve.p_norm), **dict(self.curve.knobs))

    @property
    def repetitions(self) -> int:
        return self.curve.runs

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[ProofChain]:
        """The chain after few runs, and after all; NotApplicable where the mechanism has no guarantee."""
        asked, mechanism = self.curve, self.mechanism
        plan = mechanism.calibrate(spec_of(asked.p_norm, asked.d, self.n), Budget(asked.epsilon, asked.delta))
        best = optimum(asked.p_norm, asked.d)
        fresh = synthetic_records(asked.p_norm, FRESH, asked.d, asked.seed + asked.runs)  # in no run
        least = Minimum(best.theta, float(get_loss(LOSS).risks(fresh, best.theta[None])[0]), 0.0, 1.0)
        place, models, found = asked.ns.index(self.n), [], list[tuple[Link, ...]]()
        for run in range(asked.runs):
            go_on(cancelled)
            data = synthetic_records(asked.p_norm, max(asked.ns), asked.d, asked.seed + run)
            prepared = mechanism.prepare(plan, Data(data.X[: self.n], data.y[: self.n]))

            def rngs(run: int = run) -> list[np.random.Generator]:
                return [generator(asked.seed + run, mechanism.key, place)]

            models.append(mechanism.draws([plan], [prepared], rngs(), cancelled).thetas[0, 0])
            found.append(mechanism.chain(plan, prepared, fresh, least, rngs(), cancelled))
            if run + 1 in (min(FEW, asked.runs), asked.runs):
                measured = population_excess(np.array(models), asked.p_norm, count=FRESH, seed=asked.seed)
                links = [
                    dc.replace(each[0], values=np.concatenate([link.values[:1] for link in each]))
                    for each in zip(*found, strict=True)
                ]
                yield ProofChain(chained(measured, links), best.nothing, run + 1, "excess risk on fresh records")

    def share_done(self, found: ProofChain) -> float:
        return found.repetitions / self.repetitions
