"""Attacks: for each mechanism, plans and pairs of neighbours that together reach the terms of its proof.

An attack sees a fault only in the terms that its pair reaches: a record of the first phase says nothing about the noise
of the last.
"""

import dataclasses as dc
import functools
import math
from collections.abc import Callable
from typing import cast

import numpy as np

from ..core.facts import facts_beside
from ..core.losses import get_loss
from ..core.privacy import Budget
from ..core.records import Data
from ..core.sets import LqBall
from ..core.specification import Domain, Spec
from ..core.validation import shown
from ..mechanisms import Mechanism, make_mechanism, mechanism_class
from ..mechanisms.frank_wolfe.tree import runs_of
from ..mechanisms.gradient.phased_sgd import phases_of
from ..mechanisms.multiclass.calibration import lam_of_charge
from ..mechanisms.objective.base import ObjectivePerturbation
from ..mechanisms.plan import Plan
from ..mechanisms.worst_pairs import parts

Pair = tuple[Data, Data]

# Right child of the tree. Near order 1 the dual norm nearly is that of the largest entry, in which a record turns the
# difference of two gradients the farthest; so many records that the root's noise does not turn the first step away.
_ORDER, _COLUMNS, _RECORDS = 1.01, 10, 400
# Size of the set in units of the loss's bend: the record's slope changes on the way, and is 4 times as large before.
_SIZE = 0.2


# Determinant of objective perturbation: its share of epsilon, and the labels' distance from the kink in units of the
# move of the model by noise that does not pay for it. Models reach the kink, where noise and determinant tell together;
# farther out Gaussian noise tells more.
_DETERMINANT, _AWAY = 0.97, {"gamma": 0.25, "gaussian": 1.2}

# The same for the Gaussian classifier: as many other records as pull the models to the kink.
_PULLING = 2

# Later batches of one-pass Frank-Wolfe: records, minibatches and size of the set. So many steps that they are long
# together, and so small a set that a record keeps its steepest slope.
_READ, _BATCHES, _NARROW = 400, 20, 0.02

# Curvature of the simplex: columns in a half, and the smaller entry of the records that bend.
_FREQUENT, _NEARER = 40, 0.4


@dc.dataclass(frozen=True)
class Attack:
    """Plan and pair of neighbours of an audit.

    term: key among the attacks of a mechanism. reaches: the terms of the proof in which a fault shows, in words. plan:
    makes the plan, of a mechanism and a budget. pair: makes the two data sets, of a plan.
    """

    term: str
    reaches: str
    plan: Callable[[Mechanism, Budget], Plan]
    pair: Callable[[Plan], Pair]


@functools.cache
def attacks_of(key: str) -> tuple[Attack, ...]:
    """Attacks on a registered mechanism; an audit plays the first, by its worst pair, unless it is told otherwise.

    >>> [attack.term for attack in attacks_of("phased_sgd")]
    ['first_phase', 'last_phase']
    """
    first = Attack(*mechanism_class(key).first_attack, usual_plan, worst_pair)
    more = (row for row in facts_beside(__file__, "attacks.csv") if row["mechanism"] == key)
    return first, *(Attack(row["term"], row["reaches"], *_MADE[key, row["term"]]) for row in more)


def get_attack(key: str, term: str | None) -> Attack:
    """Attack on a mechanism that has this term, the first for None; ValueError names the known ones."""
    attacks = attacks_of(key)
    if term is None:
        return attacks[0]
    known = {attack.term: attack for attack in attacks}
    if not isinstance(term, str) or term not in known:
        raise ValueError(f"attack must be None or one of {', '.join(known)} for {key}, got {shown(term)}")
    return known[term]


def usual_plan(mechanism: Mechanism, budget: Budget) -> Plan:
    """Plan on records where a pair attains the sensitivity."""
    return mechanism.calibrate(mechanism.worst_spec, budget)


def worst_pair(plan: Plan) -> Pair:
    """The mechanism's own worst pair."""
    return plan.mechanism.worst_pair(plan)


def determinant_plan(mechanism: Mechanism, budget: Budget) -> Plan:
    """Plan of objective perturbation on one column with Huber loss, where the determinant costs most of epsilon."""
    loss, n = get_loss("huber"), 10
    lam = loss.curvature_bound / n / math.expm1(min(_DETERMINANT * budget.epsilon, 700.0))
    spec = Spec("huber", n, p=1, lam=lam)
    noise = cast(ObjectivePerturbation, mechanism).tight_scale(spec, parts(budget)[0], charge=0.0)
    away = _AWAY[mechanism.noise] * noise / lam
    return mechanism.calibrate(dc.replace(spec, domain=Domain(y_max=loss.shape + away)), budget)


def class_determinant_plan(mechanism: Mechanism, budget: Budget) -> Plan:
    """Plan of two classes on one column with Gamma noise in the objective, where the determinant costs most of epsilon.

    Of Gaussian noise 20,000 runs would not show it (docs/formulas.md, "What an audit sees").
    """
    pure = make_mechanism(mechanism.key, **(mechanism.knobs | {"noise": "gamma", "perturbed": "objective"}))
    spec = Spec("multiclass_hinge", n=_PULLING + 1, p=1, lam=1.0, classes=2)
    lam = lam_of_charge(spec, _DETERMINANT * parts(budget)[0].epsilon)
    return pure.calibrate(dc.replace(spec, lam=lam), budget)


def class_determinant_pair(plan: Plan) -> Pair:
    """Neighbours with all records at distance R in class 1 but the last, which is in class 0 or 1.

    The others pull against it with their whole slope where it bends, and so the models are often there.
    """
    spec = plan.spec
    X, y = np.full((spec.n, spec.p), spec.domain.R / math.sqrt(spec.p)), np.ones(spec.n)
    return Data(X, np.append(y[:-1], 0.0)), Data(X, y)


def later_batch_plan(mechanism: Mechanism, budget: Budget) -> Plan:
    """Plan of minibatches so small that a record of one of them sets the noise, not a record of the first batch."""
    spec = dc.replace(mechanism.worst_spec, n=_READ, p=1, radius=_NARROW)
    return make_mechanism(mechanism.key, **(mechanism.knobs | {"T": _BATCHES})).calibrate(spec, budget)


def last_phase_pair(plan: Plan) -> Pair:
    """The worst pair with its record first in the last phase."""
    first = phases_of(plan)[-1].first
    zero, one = (
        Data(np.roll(side.X, first, axis=0), np.roll(side.y, first)) for side in plan.mechanism.worst_pair(plan)
    )
    return zero, one


def curvature_plan(mechanism: Mechanism, budget: Budget) -> Plan:
    """Plan of one draw on the simplex with the smallest lam that the budget allows, for `curvature_pair`."""
    loss = get_loss("huber")
    domain = Domain(math.inf, y_max=1.0 + loss.shape)  # a slope of 1 at every prediction
    spec = Spec("huber", n=200, p=2 * _FREQUENT + 1, lam="population", domain=domain, set="simplex")
    return make_mechanism(mechanism.key, **(mechanism.knobs | {"m": 1})).calibrate(spec, budget)


def curvature_pair(plan: Plan) -> Pair:
    """Neighbours that differ in a record of full slope: R and -R in two halves of the columns and R in the last one.

    All others have R, `_NEARER` R and -R there, with the label that the uniform mixture predicts. They bend, and hold
    this mixture's prediction back: what little the halves' weights may move needs a large move of the last column's.
    """
    spec, blocks = plan.spec, [_FREQUENT, _FREQUENT, 1]
    shared = spec.domain.R * np.repeat([1.0, _NEARER, -1.0], blocks)
    X, y = np.tile(shared, (spec.n, 1)), np.full(spec.n, (spec.reach or 1.0) * float(shared.mean()))
    X[-1], y[-1] = spec.domain.R * np.repeat([1.0, -1.0, 1.0], blocks), spec.domain.y_max
    other = X.copy()
    other[-1] *= -1.0
    return Data(X, y), Data(other, y)


def right_child_plan(mechanism: Mechanism, budget: Budget) -> Plan:
    """Plan of one phase, a root and one right child, on a set within which the slope of Huber loss turns."""
    dual = _ORDER / (_ORDER - 1.0)
    spec = Spec(
        "huber",
        _RECORDS,
        _COLUMNS,
        lam=0.0,
        domain=Domain(dual),
        radius=_SIZE * get_loss("huber").shape,
        set=LqBall(_ORDER),
    )
    return make_mechanism(mechanism.key, **(mechanism.knobs | {"T": 1})).calibrate(spec, budget)


def right_child_pair(plan: Plan) -> Pair:
    """Neighbours that differ in the first record of the right child, (a, b, ..., b) or (a, -b, ..., -b), R = 1.

    All others are e_1 with label -1, of slope 1 throughout: the first step goes to nearly -size e_1. On the way the
    record's slope changes by -size a / h, and with a = b (p - 1)^(1/q) = 2^(-1/q) the differences of the two records'
    gradients are 2^(1 - 2/q) L1 size apart in l_q, which is the sensitivity. Its label is such that its slope is 1 at
    the end of the way.
    """
    spec, tree = plan.spec, runs_of(plan).tree
    n, p, q, size = spec.n, spec.p, spec.domain.q, spec.size or 1.0
    share = 2.0 ** (-1.0 / q)
    X, y = np.zeros((n, p)), np.full(n, -spec.domain.y_max)
    X[:, 0] = spec.domain.R
    X[tree.batch] = spec.domain.R * share / (p - 1.0) ** (1.0 / q)
    X[tree.batch, 0] = spec.domain.R * share
    y[tree.batch] = get_loss(spec.loss).shape - size * X[tree.batch, 0]
    other = X.copy()
    other[tree.batch, 1:] *= -1.0
    return Data(X, y), Data(other, y)


_MADE = {
    ("objective_gamma", "determinant"): (determinant_plan, worst_pair),
    ("objective_gaussian", "determinant"): (determinant_plan, worst_pair),
    ("gaussian_classifier", "determinant"): (class_determinant_plan, class_determinant_pair),
    ("polyhedral_frank_wolfe", "later_batch"): (later_batch_plan, worst_pair),
    ("simplex_sampling", "curvature"): (curvature_plan, curvature_pair),
    ("tree_frank_wolfe", "right_child"): (right_child_plan, right_child_pair),
    ("phased_sgd", "last_phase"): (usual_plan, last_phase_pair),
}
