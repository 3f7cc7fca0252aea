"""Excess risk of private Frank-Wolfe on the L1 ball: against its steps T, n and p; and one run.

All curves share their randomness: repetition r of a mechanism draws the same uniforms for every point.
"""

import dataclasses as dc
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....core.arrays import Array
from ....core.cache import SharedCache, shared
from ....core.cancel import Cancelled, go_on, never
from ....core.privacy import NotApplicable
from ....experiments.proof_chain import ProofChain, chained
from ....experiments.summary import Summary, measured_of
from ....mechanisms.frank_wolfe.convex_set import FrankWolfeGeneral, noisy_models
from ....mechanisms.frank_wolfe.polytope import FrankWolfePolytope
from ....mechanisms.frank_wolfe.vertex_runs import descend, polytope_models
from ....mechanisms.plan import Plan
from ....solvers.frank_wolfe import vertices as fw
from ....theory import lower_bounds
from .data import Instance, Setting, SpreadRisk, spreads, stored_columns

TS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
NS = (200, 300, 500, 700, 1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)
PS = (16, 64, 256, 1_024, 4_096, 16_384, 65_536)
_MOST_HARD_COLUMNS, SHARES = 256, 8
_PLAIN: SharedCache[Array] = SharedCache(256)


@dc.dataclass(frozen=True)
class ExcessCurve:
    """A mechanism's excess risk along K points; all arrays are [K].

    T: theta_T is released. bound: on the mean for all records. proved: for these, a mean over other runs with standard
    error proved_se; nan for other mechanisms than `FrankWolfePolytope`. spent: epsilon that is proved. reasons: why a
    point has no values (nan).
    """

    measured: Summary
    T: Array
    bound: Array
    proved: Array
    proved_se: Array
    spent: Array
    reasons: tuple[str, ...]


@dc.dataclass(frozen=True)
class Excesses:
    """Excess risk on the training records along `axis`, "T", "n" or "p", at the places x; arrays are [K].

    nothing: of theta = 0. packing: no private mechanism has less on the hardest data, nan where that says nothing.
    stored: filled columns, at most.
    """

    axis: str
    x: Array
    private: ExcessCurve
    nothing: Array
    packing: Array
    stored: int
    accounting: str
    repetitions: int


@dc.dataclass(frozen=True)
class AgainstT(Excesses):
    """plain: without privacy, at T = 1, ..., max T. auto, tuned: the T that the mechanism chooses with this accounting
    and the T of its smallest bound; 0 where it has no guarantee."""

    plain: Array
    auto: int
    tuned: int


@dc.dataclass(frozen=True)
class AgainstN(Excesses):
    """dense: the worst of several shares of `data.Spread`, nan where n is too small or the hardest records are in
    use."""

    dense: Array


@dc.dataclass(frozen=True)
class AgainstP(Excesses):
    """whole: the whole gradient under Gaussian noise, in the place of one vertex a step."""

    whole: ExcessCurve


@dc.dataclass(frozen=True)
class Path:
    """The vertices of one run, and the model that they make.

    columns, signs: [T - 1], vertex t is sign * e_column; columns from `stored` on are zero in every record. truth:
    [stored]. share: [T - 1], how much of theta_T each vertex makes up. excess: of theta_T.
    """

    plan: Plan
    columns: NDArray[np.int64]
    signs: Array
    share: Array
    truth: Array
    excess: float

    @property
    def right(self) -> NDArray[np.bool_]:
        """True for vertices that are relevant features with their sign, [T - 1]."""
        stored = self.columns < len(self.truth)
        there = np.where(stored, self.truth[np.minimum(self.columns, len(self.truth) - 1)], 0.0)
        return there * self.signs > 0

    @property
    def found(self) -> int:
        """Number of relevant features that were chosen at least once, with their sign."""
        return len(set(self.columns[self.right].tolist()))


@shared(64)
def against_T(setting: Setting, *, n: int, p: int, Ts: Sequence[int] = TS, cancelled: Cancelled = never) -> AgainstT:
    """Excess risk against T, a U-shape: few steps do not converge, many are dominated by noise.

    Ts: increasing, >= 2. cancelled: as for `against_n`. Arrays must not be changed.
    """
    here = setting.instance(n, p)
    private = _curve([(here, _plan(setting, T, here)) for T in Ts], setting, cancelled)
    auto, tuned = (_plan(setting, T, here) for T in ("auto", "bound"))
    common = _common("T", Ts, [here] * len(Ts), private, setting)
    return AgainstT(**common, plain=_plain(setting, here, Ts[-1]), auto=_T(auto), tuned=_T(tuned))


@shared(32)
def against_n(
    setting: Setting, *, p: int, T: int | str, ns: Sequence[int] = NS, cancelled: Cancelled = never
) -> AgainstN:
    """Excess risk against n: on records where few features matter, on hard ones, and by the bounds.

    cancelled: asked now and then; when it says yes, CancelledError is raised.
    """
    made = setting.instances(ns, p, stored_columns(ns[-1], p))
    points = [(here, _plan(setting, T, here)) for here in made]
    private = _curve(points, setting, cancelled)
    return AgainstN(**_common("n", ns, made, private, setting), dense=_dense(points, setting, cancelled))


@shared(32)
def against_p(
    setting: Setting, *, n: int, T: int | str, ps: Sequence[int] = PS, cancelled: Cancelled = never
) -> AgainstP:
    """Excess risk against the number of columns: one noisy vertex a step, or noise in the whole gradient.

    cancelled: as for `against_n`.
    """
    made = [setting.instance(n, p) for p in ps]
    vertices = [(here, _plan(setting, T, here)) for here in made]
    whole = [(here, _plan(setting, T, here, vertices=False)) for here in made]
    common = _common("p", ps, made, _curve(vertices, setting, cancelled), setting)
    return AgainstP(**common, whole=_curve(whole, setting, cancelled))


def _common(
    axis: str, x: Sequence[int], made: Sequence[Instance], private: ExcessCurve, setting: Setting
) -> dict[str, Any]:
    """Fields of `Excesses`; made: the instance of each place."""
    bounds = {id(here): lower_bounds.packing(here.spec, setting.budget) for here in made}
    return {
        "axis": axis,
        "x": np.array(x, float),
        "private": private,
        "nothing": np.array([here.nothing - here.best for here in made]),
        "packing": np.array([bounds[id(here)][0].value if bounds[id(here)] else math.nan for here in made]),
        "stored": max(here.stored for here in made),
        "accounting": setting.accounting,
        "repetitions": setting.repetitions,
    }


@shared(64)
def path(setting: Setting, *, n: int, p: int, T: int | str) -> Path:
    """The first run of `against_T` at this T. Raises NotApplicable where there is no plan.

    >>> setting = Setting(epsilon=1.0, delta=1e-6, radius=1.0, accounting="tight", seed=7)
    >>> walked = path(setting, n=5_000, p=64, T=12)
    >>> len(walked.columns), bool(walked.share.sum() < 1.0)
    (11, True)
    """
    here = setting.instance(n, p)
    plan = FrankWolfePolytope(setting.accounting, T).calibrate(here.spec, setting.budget)
    runs, chosen = descend([plan], here.risk, setting.generators(plan.mechanism.key)[:1])
    theta = fw.models(chosen, runs, setting.radius, np.zeros(here.stored), here.stored)[0]
    ends = runs[0].T * (runs[0].T + 1.0)
    return Path(
        plan,
        chosen.columns[0],
        chosen.signs[0],
        share=np.arange(4.0, 2.0 * runs[0].T + 2.0, 2.0) / ends,
        truth=here.truth,
        excess=float(here.risk.values(theta)) - here.best,
    )


@shared(32)
def proof(setting: Setting, *, n: int, p: int, T: int | str) -> ProofChain:
    """Proof of the bound at this T as a chain, along the runs of `against_T`; NotApplicable where there is no plan."""
    here, mechanism = setting.instance(n, p), FrankWolfePolytope(setting.accounting, T)
    plan = mechanism.calibrate(here.spec, setting.budget)
    thetas = polytope_models(here.risk, [plan], setting.generators(mechanism.key))[0]
    links = mechanism.chain_along(plan, here.risk, here.best, setting.generators(mechanism.key))
    measured = here.risk.values(thetas) - here.best
    return ProofChain(chained(measured, links), here.nothing - here.best, setting.repetitions)


def _plain(setting: Setting, here: Instance, T: int) -> Array:
    """Excess risk of the best vertex in each step, after 1, ..., T of them; most budgets share the records."""

    def walk() -> Array:
        run, start = fw.Run(T, noise=0.0), np.zeros(here.stored)
        return fw.descend(here.risk, [run], fw.Best(signed=True), size=here.radius, start=start, trace=True).risks[0]

    budget = setting.budget if setting.hardest else None  # which the hardest records are made for
    return _PLAIN.get((here.n, here.p, here.radius, setting.seed, budget, T), walk) - here.best


def _plan(setting: Setting, T: int | str, here: Instance, *, vertices: bool = True) -> Plan | str:
    """Plan, or the reason why there is none. vertices: one a step; else the whole gradient has noise."""
    mechanism = FrankWolfePolytope(setting.accounting, T) if vertices else FrankWolfeGeneral(T=T)
    try:
        return mechanism.calibrate(here.spec, setting.budget)
    except NotApplicable as error:
        return str(error)


def _T(plan: Plan | str) -> int:
    return plan.steps + 1 if isinstance(plan, Plan) else 0


def _curve(points: Sequence[tuple[Instance, Plan | str]], setting: Setting, cancelled: Cancelled) -> ExcessCurve:
    """Curve of the points; points on one instance advance together."""
    draws = np.full((len(points), setting.repetitions), np.nan)
    bound, proved, error, spent = np.full((4, len(points)), np.nan)
    groups: dict[int, list[int]] = {}
    for k, (here, plan) in enumerate(points):
        if isinstance(plan, Plan):
            bound[k] = min(b.value for b in plan.mechanism.bounds(plan) if b.form == "upper")
            spent[k] = plan.spent.epsilon
            groups.setdefault(id(here), []).append(k)
    for ks in groups.values():
        go_on(cancelled)  # few steps ask nobody
        here = points[ks[0]][0]
        plans = [plan for plan in (points[k][1] for k in ks) if isinstance(plan, Plan)]
        # They differ in T and noise only.
        models = noisy_models if isinstance(plans[0].mechanism, FrankWolfeGeneral) else polytope_models
        thetas = models(here.risk, plans, setting.generators(plans[0].mechanism.key), cancelled=cancelled)
        draws[ks] = here.risk.values(thetas) - here.best
        if isinstance(mechanism := plans[0].mechanism, FrankWolfePolytope):
            lens = mechanism.lens_along(plans, here.risk, here.best, setting.seed, cancelled)
            proved[ks], error[ks] = lens.high - here.best, lens.se
    T = np.array([_T(plan) or math.nan for _, plan in points], float)
    reasons = tuple("" if isinstance(plan, Plan) else plan for _, plan in points)
    measured = measured_of(draws, np.full(len(points), np.nan))
    return ExcessCurve(measured, T, bound, proved, error, spent, reasons)


def _dense(points: Sequence[tuple[Instance, Plan | str]], setting: Setting, cancelled: Cancelled) -> Array:
    """The largest mean excess over several shares of agreeing rows, for each n; nan where there is none."""
    columns = 1 << (min(points[0][0].p, _MOST_HARD_COLUMNS).bit_length() - 1)
    found = np.full(len(points), np.nan)
    made = [
        (k, plan, spread)
        for k, (here, plan) in enumerate(points)
        if isinstance(plan, Plan) and not setting.hardest
        for spread in spreads(here.n, columns, SHARES)
    ]
    if not made:
        return found
    made.sort(key=lambda one: -one[1].steps)
    shares = np.repeat([spread.agreeing / spread.n for _, _, spread in made], setting.repetitions)
    risk = SpreadRisk(shares, columns)
    plans, rngs = [plan for _, plan, _ in made], setting.generators(made[0][1].mechanism.key)
    thetas = polytope_models(risk, plans, rngs, cancelled=cancelled)
    risks = risk.values(thetas.reshape(-1, columns)).reshape(len(made), setting.repetitions).mean(axis=1)
    for (k, _, spread), mean in zip(made, risks, strict=True):
        found[k] = np.fmax(found[k], mean - spread.best(setting.radius))
    return found
