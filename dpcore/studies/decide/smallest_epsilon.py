"""The smallest epsilon to sign: how much nine of ten single releases may lose, as a share of what learning gains."""

import dataclasses as dc
import math
from functools import cached_property

from ...core.losses import get_loss
from ...core.privacy import Budget
from ...core.validation import check_real, integer
from ...mechanisms.plan import Plan
from ...mechanisms.problem import Problem
from ...mechanisms.signed import released_spec
from .loss_curve import SPLITS, LostCurve, Metric, Setting, check_applicable, smaller_class, smallest_budget
from .repeated_releases import RepeatedReleases, repeated_releases
from .threshold_interval import MOST, Answer, unseen
from .usual_mechanism import usual_mechanism

RARE = 0.2  # share of the smaller class below which a threshold at 0 says too little
_TOO_GOOD = 0.995  # accuracy without privacy at which a column may be a copy of the answer


def usual_metric(problem: Problem) -> Metric:
    """ "auc" where the smaller class has under 20% of the records, else "accuracy", or "r_squared" for regression.

    Where a class is rare, a model of least loss may never predict it: then accuracy says the same of all models.
    """
    if not get_loss(problem.loss).classification:
        return "r_squared"
    return "auc" if smaller_class(problem) < RARE else "accuracy"


def usual_setting(problem: Problem, splits: int = SPLITS) -> Setting:
    """Setting of the mechanism and the metric that follow from public facts; ValueError as `Setting`.

    The metric follows from the share of the smaller class, which counts as public.
    """
    mechanism, _ = usual_mechanism(problem)
    return Setting(problem, mechanism, splits, metric=usual_metric(problem))


@dc.dataclass(frozen=True, eq=False)
class SmallestEpsilon:
    """The smallest epsilon at which nine of ten releases keep a share of what learning gains, by the splits of a curve.

    keep: share in (0, 1) of the points above `LostCurve.floor` that the model without privacy has; the rest may be
    lost. records: that one person has at most, from 1 to 100. releases: planned, from 1 to 1,000. Losses and gains are
    percentage points. Raises NotApplicable where the mechanism has no guarantee at any epsilon.

    >>> from dpcore.studies.decide.loss_curve import lost_curve
    >>> found = SmallestEpsilon(lost_curve(usual_setting(Problem("synthetic", n=2_000), splits=8)), keep=0.8)
    >>> found.useful, 0.1 < found.found.low < found.found.value < 0.5
    (True, True)
    """

    curve: LostCurve
    keep: float = 0.9
    records: int = 1
    releases: int = 1

    def __post_init__(self) -> None:
        check_real("keep", self.keep, "a share between 0 and 1", lambda v: 0.0 < v < 1.0)
        integer("records", self.records, at_least=1)
        integer("releases", self.releases, at_least=1)
        check_applicable(self.curve)

    @property
    def gain(self) -> float:
        """Points that learning without privacy gains over a model that learns nothing."""
        return self.curve.learnable

    @property
    def at_most(self) -> float:
        """Points that may be lost."""
        return (1.0 - self.keep) * self.gain

    @cached_property
    def one_record(self) -> float:
        """Points that one test record of a split is: of AUC one of the smaller class, at most."""
        setting = self.curve.setting
        test = setting.cell(0).problem.load().test
        positive = int((test.y > 0.0).sum())
        return 100.0 / (min(positive, test.n - positive) if setting.metric == "auc" else test.n)

    @property
    def something(self) -> bool:
        """True if learning without privacy gains more than one test record."""
        return self.gain > self.one_record

    @cached_property
    def found(self) -> Answer | None:
        """Smallest epsilon of two digits, with its 95% interval over splits; None where nothing is learned."""
        return smallest_budget(self.curve, self.at_most) if self.something else None

    @property
    def useful(self) -> bool:
        """True if there is an epsilon to sign: its mean release is better than a model that learns nothing, and an
        attacker is not right 100 times in 100 after all releases."""
        return self._learns and self.attacker < 100

    @property
    def _learns(self) -> bool:
        return self.found is not None and self.found.reachable and self.score > self.floor

    @property
    def epsilon(self) -> float:
        """The epsilon to sign, or the last that was tried where none is enough."""
        return self.found.value if self.found is not None and self.found.reachable else float(self.curve.epsilons[-1])

    @property
    def without(self) -> float:
        """`Setting.metric` without privacy, a mean over splits."""
        return float(self.curve.reference.mean())

    @property
    def floor(self) -> float:
        """The same of a model that learns nothing."""
        return float(self.curve.floor.mean())

    @property
    def score(self) -> float:
        """The same of releases at `epsilon`, a mean over splits and noise."""
        return self.without - 0.01 * self.mean_lost

    @property
    def mean_lost(self) -> float:
        """Mean loss at `epsilon`."""
        return self.curve.lost_at(self.epsilon)

    @property
    def mean_limits(self) -> tuple[float, float] | None:
        """95% interval of that mean for the population; None where none is given (`LostCurve.no_population`)."""
        if self.curve.no_population:
            return None
        low, high = self.curve.band("population", self.records)
        return self.curve.between(self.epsilon, low), self.curve.between(self.epsilon, high)

    @property
    def usual_lost(self) -> float:
        """What half of single releases lose less than at `epsilon`."""
        return self._quantile(0.5)

    @property
    def most_lost(self) -> float:
        """What nine of ten single releases lose less than at `epsilon`."""
        most = self._quantile(MOST)
        return min(most, self.at_most) if self.useful else most

    def _quantile(self, share: float) -> float:
        return self.curve.between(self.epsilon, self.curve.quantile(share))

    @cached_property
    def plan(self) -> Plan:
        """Plan of one release at `epsilon`, as it is signed (`released_spec`)."""
        cell = self.curve.setting.cell(0)
        spec = released_spec(cell.problem, cell.mechanism)
        return cell.mechanism.calibrate(spec, Budget(self.epsilon, cell.problem.delta))

    def spent(self, releases: int = 1) -> RepeatedReleases:
        """What so many releases at `epsilon` cost one person, with all their records."""
        return repeated_releases(self.plan, releases, self.records)

    @cached_property
    def attacker(self) -> int:
        """How many times in 100 an attacker at 50:50 is right about one person after all releases, at most."""
        return self.spent(self.releases).of_100

    @property
    def unseen(self) -> float:
        """Share of splits that may fail though none of these does: what the interval cannot see."""
        return unseen(self.curve.splits)

    def sentence(self) -> str:
        """The answer in one sentence of plain text."""
        if not self.useful:
            return f"No useful budget: {self.why} {self.change}"
        return (
            f"Sign ε = {self.epsilon:g}: {self._told(self.score)} instead of {self._number(self.without)}; nine of ten "
            f"releases lose less than {_tenths(self.most_lost)} points; an attacker is right at most {self.attacker} "
            f"times in 100{f' after {self.releases} releases' if self.releases > 1 else ''}."
        )

    @property
    def why(self) -> str:
        """Why there is no useful budget; "" where there is one."""
        if self.useful:
            return ""
        nothing = "the larger class alone" if self.curve.setting.metric == "accuracy" else "a model that learns nothing"
        if not self.something:
            return (
                f"without privacy {self._told(self.without)}, by {nothing} {self._told(self.floor)}: at most one test "
                "record apart."
            )
        if self._learns:
            planned = "one release" if self.releases == 1 else f"{self.releases:,} releases"
            right = "an attacker may be right 100 times in 100"
            return f"after {planned} at ε = {self.epsilon:g} nothing is protected, as {right}."
        if self.found is not None and self.found.reachable:
            return f"at ε = {self.epsilon:g} the model is no better than {nothing} ({self._told(self.floor)})."
        return (
            f"even at ε = {self.epsilon:g}, more than one release in ten loses over {_tenths(self.at_most)} points of "
            f"the {_tenths(self.gain)} that learning gains."
        )

    @property
    def change(self) -> str:
        """What would change that; "" where nothing has to."""
        if self.useful:
            return ""
        if not self.something:
            return "Other columns or more records could change that."
        if self._learns:
            return f"{'Fewer releases or more' if self.releases > 1 else 'More'} records could change that."
        kept = math.floor(100.0 * (1.0 - self.most_lost / self.gain))
        less = f" With that ε, nine of ten releases keep {kept}% of it instead of {100.0 * self.keep:.0f}%." * (
            kept > 0
        )
        return f"More records or fewer columns could change that.{less}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences that belong below the answer: what it cannot tell."""
        sure = f"{self.curve.no_population[:1].upper()}{self.curve.no_population[1:]}."
        if self.mean_limits is not None:
            sure = "95% interval for the population: {} to {}.".format(*map(_tenths, self.mean_limits))
        said = [
            f"The mean loss at ε = {self.epsilon:g} is {_tenths(self.mean_lost)} points. {sure}",
            f"What {self.curve.splits} splits cannot see: a failure that meets up to {100.0 * self.unseen:.0f}% of "
            "splits may meet none of them.",
        ]
        if self.useful and self.mean_lost > self.most_lost:
            worst = self._quantile(1.0)
            said.append(f"The mean is so large because a few releases lose far more, up to {worst:.1f} points.")
        if self.curve.setting.metric == "accuracy" and self.without > _TOO_GOOD:
            said.append(
                f"Without privacy {self._told(self.without)}: is a column a copy of the answer, and is it known when "
                "you ask?"
            )
        if self.one_record > 0.25 * self.at_most:
            said.append(f"Few test records: one record is {self.one_record:.1f} points.")
        return tuple(said)

    def _told(self, score: float) -> str:
        kind = {"auc": "AUC {}", "accuracy": "{} right", "r_squared": "{} of the variance explained"}
        return kind[self.curve.setting.metric].format(self._number(score))

    def _number(self, score: float) -> str:
        return f"{score:.3f}" if self.curve.setting.metric == "auc" else f"{100.0 * score:.1f}%"


def _tenths(value: float) -> str:
    return f"{value:.1f}".replace("-", "−")
