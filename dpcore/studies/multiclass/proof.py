"""Proof of the Gaussian classifier's bound on the mean excess risk, as a chain from the chart's number."""

import dataclasses as dc
from collections.abc import Iterator

from ...core.cancel import Cancelled, go_on, never
from ...core.privacy import Budget, NotApplicable
from ...core.specification import Spec
from ...experiments.proof_chain import ProofChain, chained
from ...mechanisms import Mechanism, make_mechanism
from .curves import Records, least_of, releases
from .one_vs_rest import LOSS, generators


@dc.dataclass(frozen=True)
class ClassProofQuestion:
    """Question for the chain of the bound on the mean excess on the training records.

    lam, repetitions: as in `runs_of`, whose releases are measured.
    """

    records: Records
    epsilon: float
    delta: float
    lam: float | str = "auto"
    repetitions: int = 6

    @property
    def source(self) -> str:
        return self.records.source

    @property
    def mechanism(self) -> Mechanism:
        return make_mechanism("gaussian_classifier")

    def snapshots(self, cancelled: Cancelled = never) -> Iterator[ProofChain]:
        """The chain; NotApplicable where there is no guarantee.

        >>> (found,) = ClassProofQuestion(Records("gaussian_classes", 200, 0), epsilon=1.0, delta=1e-5).snapshots()
        >>> found.steps[0].value < found.steps[1].value <= found.steps[-1].value
        True
        """
        budget, split, size = Budget(self.epsilon, self.delta), self.records.split(), self.repetitions
        runs = releases("ellipsoids", self.records, budget, self.lam, size, cancelled)
        if runs.reason:
            raise NotApplicable(str(runs.reason))
        least, best = least_of(self.records)
        go_on(cancelled)
        train = split.train
        spec = Spec(LOSS, train.n, train.p, runs.lam, split.domain, classes=split.classes)
        plan = self.mechanism.calibrate(spec, budget)
        rngs = generators("ellipsoids", size, self.records.seed)
        links = self.mechanism.chain(plan, self.mechanism.prepare(plan, train), train, best, rngs, cancelled)
        links = tuple(dc.replace(link, values=link.values + best.risk - least) for link in links)
        yield ProofChain(chained(runs.risk - least, links), split.classes - 1.0 - least, size)

    def share_done(self, found: ProofChain) -> float:
        return found.repetitions / self.repetitions
