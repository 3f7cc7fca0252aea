"""Base of every mechanism: calibrate without data, prepare once per data set, release privately."""

import abc
import dataclasses as dc
import inspect
import math
import re
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from ..accounting.attack_limits import gaussian_attack_limit, zcdp_attack_limit
from ..accounting.gaussian import gaussian_mu
from ..accounting.tradeoff import GaussianCurve, TradeoffCurve
from ..core.arrays import Array
from ..core.cancel import Cancelled, go_on
from ..core.losses import get_loss
from ..core.privacy import Bound, Budget, NoiseLaw, NotApplicable, Unconverged
from ..core.records import Data
from ..core.rng import Generators
from ..core.sets import ConvexSet, SetName, get_set
from ..core.specification import Spec
from ..core.validation import integer, one_of
from ..data import check_records
from ..solvers import Minimum
from .noise.rounding import on_grid
from .noise.spherical import NOISES, Noise
from .plan import Plan, Plans
from .worst_pairs import opposite_labels

Family = Literal["output", "objective", "gradient", "frank_wolfe", "sampling", "variance_reduced"]
Place = Literal["output", "objective", "gradient", "selection"]

BAND_MISS = 0.1  # bounds on one run are stated for nine runs out of ten


def knob(
    default: Any, *, choices: tuple[Any, ...] | None = None, check: Callable[[str, Any], Any] | None = None, help: str
) -> Any:
    """Tuning parameter of a mechanism: a dataclass field with the metadata for a slider or a picker.

    check: called with its name and a value, returns the value as the mechanism stores it; "auto" is not checked.
    """
    return dc.field(default=default, metadata={"choices": choices, "check": check, "help": help})


def whole(least: int, most: int) -> Callable[[str, Any], int]:
    """Check of a knob that is a whole number from `least` to `most`."""

    def check(name: str, value: Any) -> int:
        number = integer(name, value, at_least=least)
        if number > most:
            raise ValueError(f"{name} must be at most {most:,}, got {number:,}")
        return number

    return check


@dc.dataclass(frozen=True)
class Prepared:
    """Non-private part of a release, computed once per data set and never shown.

    theta: [r], to which the noise is added or from which a run starts, one entry for each stored column. distance:
    certified bound on its distance from the exact minimiser.
    """

    theta: Array
    distance: float

    @property
    def start(self) -> Array:
        """Start of the search for a nearby minimiser, [r]."""
        return self.theta


@dc.dataclass(frozen=True)
class PreparedRecords(Prepared):
    """Prepared records. data: for mechanisms that read the records again in every release."""

    data: Data


def gradients_apart(plan: Plan, zero: Prepared, one: Prepared, start: Array) -> float:
    """L2 distance between the gradients of F on two data sets at `start`, [1, p]."""
    loss = get_loss(plan.spec.loss)
    first, second = (loss.gradients(records_of(side), start)[0] for side in (zero, one))
    return float(np.linalg.norm(second - first))


def records_of(prepared: Prepared) -> Data:
    """Records of a `PreparedRecords`; TypeError for another kind."""
    if not isinstance(prepared, PreparedRecords):
        raise TypeError(f"prepared must come from the mechanism's own prepare, got {type(prepared).__name__}")
    return prepared.data


@dc.dataclass(frozen=True)
class Drawn:
    """Releases for a chart.

    centres: [K, r], the model of each plan without noise. thetas: [K, R, r]. risks: [K, R], their F on the training
    records, if known.
    """

    centres: Array
    thetas: Array
    risks: Array | None = None


@dc.dataclass(frozen=True)
class Lens:
    """Bounds on E F(release) that are proved for given records, F their average loss: [K], a plan each.

    They are computed from the records, and so are no release. se: [K], standard error of both ends, which are means
    over random paths; 0 where they are integrals. low: -inf where nothing is proved.
    """

    low: Array
    high: Array
    se: Array


@dc.dataclass(frozen=True)
class Link:
    """Inequality of the proof of a bound, evaluated on given records.

    claim: "thing: what is taken for it", in plain words. lemma: the step of the proof in docs/formulas.md. values:
    the excess that is proved with it and all links before it, [R], one for each independent run, or [1] where it is a
    mean already. worst: whether a number of these records gives way to that of the worst records.
    """

    claim: str
    lemma: str
    values: Array
    worst: bool = False


@dc.dataclass(frozen=True)
class Mechanism(abc.ABC):
    """Base of all mechanisms. A subclass is frozen; its fields are its knobs and it keeps no other state.

    key: registry key (a field, so that two mechanisms never have equal hashes). noise: the law of its noise. A subclass
    sets both, or makes noise a knob. accounting: the proof that `calibrate` follows; a subclass may offer more. label,
    source: for charts and docs. family: of the mechanisms drawn in one colour. place: where it adds its noise.
    quantity: the metric of its bounds. set: the set of its models. usual_loss: default of `dpcore.solve`. worst_spec: a
    problem in which `worst_pair` attains the sensitivity. audit_knob: a knob's name, if any, and the value that audits
    use for "auto" to save time without losing power. first_attack: key of the attack by `worst_pair`, and the terms of
    the proof in which a fault shows to it, in words.
    """

    key: str = dc.field(default="", init=False, repr=False)
    noise: NoiseLaw = dc.field(default="gaussian", init=False, repr=False)
    accounting: str = knob("tight", choices=("tight",), help="which proof sets the noise, or the number of draws")

    label: ClassVar[str]
    source: ClassVar[str]
    family: ClassVar[Family]
    place: ClassVar[Place]
    quantity: ClassVar[str] = "excess_empirical_risk"
    set: ClassVar[SetName | ConvexSet] = "ball"
    usual_loss: ClassVar[str] = "logistic"
    # lam is so large that the model stays near 0, where a record whose label flips has the largest effect.
    worst_spec: ClassVar[Spec] = Spec("huber_hinge", n=10, p=3, lam=1e4)
    audit_knob: ClassVar[tuple[str, Any]] = ("", None)
    first_attack: ClassVar[tuple[str, str]] = ("sensitivity", "the sensitivity to one record, and the noise")

    def __post_init__(self) -> None:
        for field in dc.fields(self):
            value = getattr(self, field.name)
            if choices := field.metadata.get("choices"):
                one_of(field.name, value, choices)
            if (check := field.metadata.get("check")) and not (isinstance(value, str) and value == "auto"):
                object.__setattr__(self, field.name, check(field.name, value))

    @classmethod
    def guarantee(cls) -> tuple[str, str]:
        """Guarantee that the docstring states after "Guarantee:", and its conditions after a comma.

        >>> from dpcore.mechanisms import mechanism_class
        >>> mechanism_class("phased_sgd").guarantee()[0]
        '(epsilon, delta)-differential privacy'
        """
        text = inspect.getdoc(cls) or ""
        found = re.search(r"^Guarantee: (.*?)\.$\n(?=\S)", text, re.DOTALL | re.MULTILINE)
        if not found:
            raise ValueError(f"the docstring of {cls.key} must say what it guarantees, got {text[:80]!r}")
        guaranteed, _, conditions = " ".join(found[1].split()).partition("privacy")
        return guaranteed + "privacy", conditions.strip(" ,").removesuffix(".")

    @property
    def q(self) -> float:
        """Default order of the norm that bounds the records: 2, or inf for the simplex and the L1 ball."""
        return get_set(self.set).q

    @property
    def knobs(self) -> dict[str, Any]:
        """Knobs as `make_mechanism` takes them."""
        return {field.name: getattr(self, field.name) for field in dc.fields(self) if field.init}

    @property
    def law(self) -> Noise:
        return NOISES[self.noise]

    @abc.abstractmethod
    def calibrate(self, spec: Spec, budget: Budget) -> Plan:
        """Public plan of a release; raises NotApplicable with the reason if no guarantee exists."""

    @abc.abstractmethod
    def bounds(self, plan: Plan) -> tuple[Bound, ...]:
        """Bounds that are known for this plan."""

    @abc.abstractmethod
    def attack_limit(self, plan: Plan) -> float:
        """Attack success at 50:50 of the best attacker: the mechanism's own limit, in [1/2, 1]."""

    @abc.abstractmethod
    def prepare(self, plan: Plan, data: Data, start: Array | None = None) -> Prepared:
        """Do the non-private work from a warm `start`; ValueError for records beyond their bounds, or Unconverged."""

    def prepare_many(self, plans: Plans, data: Data, cancelled: Cancelled) -> list[Prepared]:
        """`prepare` for plans that may differ in budget and lam: one solve for each distinct lam.

        lam falls from solve to solve, and each starts at the extrapolation of the last two in log lam. cancelled: asked
        before each solve; if it returns True, CancelledError is raised.
        """
        by_lam: dict[float, Prepared] = {}
        path: list[tuple[float, Array]] = []
        for lam in sorted({float(plan.spec.lam) for plan in plans}, reverse=True):
            go_on(cancelled)
            plan = next(plan for plan in plans if plan.spec.lam == lam)
            by_lam[lam] = self.prepare(plan, data, _extrapolated(path, math.log(lam)))
            path.append((math.log(lam), by_lam[lam].start))
        return [by_lam[float(plan.spec.lam)] for plan in plans]

    def padded(self, prepared: Prepared, idle: int) -> Prepared:
        """Prepared with zeros for `idle` columns that are 0 in every record."""
        return dc.replace(prepared, theta=np.pad(prepared.theta, (0, idle))) if idle else prepared

    def release(self, plan: Plan, prepared: Prepared, rng: np.random.Generator) -> Array:
        """Private draw of theta, shape [r]: the coordinates of the stored columns (all p of them in `solve`)."""
        return self.release_many(plan, prepared, [rng])[0]

    def release_many(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Independent releases, one per generator, shape [len(rngs), r]; as `release` one by one, up to rounding."""
        check_certificate(prepared.distance, plan)
        return self._releases(plan, prepared, rngs)

    @abc.abstractmethod
    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """`release_many` for a certified `prepared`."""

    def transcripts(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        """Everything that an observer of the run sees, a row for each generator: by default the releases."""
        return self.release_many(plan, prepared, rngs)

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases for curves, 2 len(rngs) of each plan, at display accuracy and never to be published.

        Releases 2i and 2i + 1 use the noise of rngs[i] with opposite signs, which are equally likely. plans: K, on the
        same records. An `AdditiveMechanism` needs them for points only: its other means are integrals.
        """
        raise NotApplicable(f"{self.key} has no draws for curves")

    def lens(
        self, plans: Plans, prepared: list[Prepared], data: Data, best: Minimum, seed: int, cancelled: Cancelled
    ) -> Lens | None:
        """Bounds on the mean risk of releases that are proved for these records; None where there are none.

        best: model and risk with which the measured excess compares. seed: of random paths, which share no noise with
        the releases that are measured.
        """
        return None

    def chain(
        self, plan: Plan, prepared: Prepared, data: Data, best: Minimum, rngs: Generators, cancelled: Cancelled
    ) -> tuple[Link, ...]:
        """Proof of the bound on the mean excess risk (of FTRL the regret), link by link: from the measurement to the
        bound.

        The measurement is no link itself; the last link is the smallest of `bounds` on the mean. data: records whose
        mean loss is F: those of the training, or many fresh ones where `quantity` is the risk on these, and where a
        mean is one over training records, too. best: model and risk with which the bound compares. rngs: of the
        releases that are measured, as `draws` takes them. Empty where there is no such bound.
        """
        return ()

    def resolution(self, plan: Plan) -> float:
        """Size of the noise in a released number, from which `rounding.grid_of` makes the grid of releases.

        0 if a release consists of choices only.
        """
        return 0.0 if plan.noise in ("gumbel", "laplace") else plan.scale

    def rounded(self, plan: Plan, releases: Array) -> Array:
        """Releases rounded to their grid, as published."""
        return on_grid(releases, self.resolution(plan))

    def release_on_grid(self, plan: Plan, prepared: Prepared, seed: int | None) -> Array:
        """Private draw of theta as published. seed: None for randomness of the operating system."""
        return self.rounded(plan, self.release(plan, prepared, np.random.default_rng(seed)))

    def seen_resolution(self, plan: Plan) -> float:
        """Size of the noise in the numbers of `transcripts`: that of the steps if these have the noise."""
        return plan.scale if self.place == "gradient" else self.resolution(plan)

    def audited(self) -> "Mechanism":
        """This mechanism with its `audit_knob`."""
        name, value = self.audit_knob
        return dc.replace(self, **{name: value}) if self.knobs.get(name) == "auto" else self

    def worst_pair(self, plan: Plan) -> tuple[Data, Data]:
        """Two neighbours that are as easy to distinguish as the plan allows, for audits; NotApplicable without one.

        By default one record with the largest effect, in one direction or the other, beside records of 0.
        """
        return opposite_labels(plan.spec)

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        """Distance of two data sets in the quantity to which noise is added, <= `plan.ledger[0].sensitivity`."""
        raise NotApplicable(f"{self.key} has no separation and cannot be audited")

    def log_ratio(self, plan: Plan, zero: Prepared, one: Prepared, outputs: Array) -> Array:
        """ln p(transcript | one) / p(transcript | zero) under the plan's noise, for each row; shape [k].

        By default the sum over all steps, each given the iterate that follows from the transcript.
        """
        away = [outputs - self.noiseless_steps(plan, side, outputs) for side in (one, zero)]
        return self.law.log_density(away[0] / plan.scale) - self.law.log_density(away[1] / plan.scale)

    def noiseless_steps(self, plan: Plan, prepared: Prepared, outputs: Array) -> Array:
        """Quantity to which every step added noise on these records, at the iterates of transcripts [k, T p].

        Shape [k, T p]; NotApplicable unless all steps add noise of one size.
        """
        raise NotApplicable(f"{self.key} does not add noise of one size to every step")

    def gradients(self, plan: Plan) -> int:
        """Number of single-record gradients that one release evaluates, for mechanisms that read each record once."""
        raise NotApplicable(f"{self.key} counts no gradients: it reads records more than once")

    @abc.abstractmethod
    def claimed_curve(self, plan: Plan) -> TradeoffCurve:
        """Trade-off curve of the claimed guarantee: of the noise that `plan.spent` requires, not of the plan's own."""


def _extrapolated(path: list[tuple[float, Array]], at: float) -> Array | None:
    if len(path) < 2:
        return path[-1][1] if path else None
    (x0, start0), (x1, start1) = path[-2:]
    return start1 + (start1 - start0) * ((at - x1) / (x1 - x0))


def check_certificate(distance: float, plan: Plan) -> None:
    """Raise Unconverged unless a minimiser is certified to lie within plan.tol of the exact one."""
    if not distance <= plan.tol:
        raise Unconverged(
            f"the minimiser is certified to {distance:.3g}, the privacy proof needs {plan.tol:.3g}; "
            "nothing was released"
        )


@dc.dataclass(frozen=True)
class AdditiveMechanism(Mechanism):
    """Mechanism that releases prepared.theta + plan.scale * (a direction independent of data and budget).

    Whole curves over epsilon then share one product of the data with the directions (see `dpcore.experiments.metrics`);
    their means over the noise are integrals, except those of distances.
    """

    def _releases(self, plan: Plan, prepared: Prepared, rngs: Generators) -> Array:
        # In place: with many columns a vector is large beside the records.
        releases = self.law.directions(plan.spec.p, len(prepared.theta), rngs)
        releases *= plan.scale
        releases += prepared.theta
        return releases

    def draws(self, plans: Plans, prepared: list[Prepared], rngs: Generators, cancelled: Cancelled) -> Drawn:
        """Releases of points, in all p columns: noise in any column moves a distance, and no integral is known."""
        p = plans[0].spec.p
        centres = np.stack([np.pad(each.theta, (0, p - len(each.theta))) for each in prepared])
        half = self.law.directions(p, p, rngs)
        directions = np.stack([half, -half], axis=1).reshape(2 * len(rngs), p)
        scales = np.array([plan.scale for plan in plans])
        return Drawn(centres, centres[:, None] + scales[:, None, None] * directions)

    def separation(self, plan: Plan, zero: Prepared, one: Prepared) -> float:
        return float(np.linalg.norm(one.theta - zero.theta))

    def noiseless_steps(self, plan: Plan, prepared: Prepared, outputs: Array) -> Array:
        return prepared.theta


@dc.dataclass(frozen=True)
class GaussianGuarantee(Mechanism):
    """Mechanism whose run, with any number of steps, is exactly as private as one release of Gaussian noise.

    For generalised Gaussian noise the claim is `LpNoise.curve`, and the limit on attacks that of zCDP.
    """

    def attack_limit(self, plan: Plan) -> float:
        """Phi(mu / 2) with mu = sqrt(times) sensitivity / scale; what rho = mu^2 / 2 allows by zCDP."""
        event = plan.ledger[0]
        mu = math.sqrt(event.times) * event.sensitivity / plan.scale
        return gaussian_attack_limit(mu) if self.noise == "gaussian" else zcdp_attack_limit(0.5 * mu**2)

    def claimed_curve(self, plan: Plan) -> TradeoffCurve:
        return GaussianCurve(gaussian_mu(plan.spent))


@dc.dataclass(frozen=True)
class ReadingMechanism(Mechanism):
    """Mechanism without a solve beforehand: it reads the records for every release, or for many releases together."""

    def prepare(self, plan: Plan, data: Data, start: Array | None = None) -> Prepared:
        """Check the records, and refuse those beyond their bounds; nothing is solved."""
        check_records(data, plan.spec)
        return PreparedRecords(np.zeros(data.stored), 0.0, self.read(plan.spec, data))

    def read(self, spec: Spec, data: Data) -> Data:
        """Records in the form in which releases read them."""
        return data

    def prepare_many(self, plans: Plans, data: Data, cancelled: Cancelled) -> list[Prepared]:
        return [self.prepare(plans[0], data)] * len(plans)
