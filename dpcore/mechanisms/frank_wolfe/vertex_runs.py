"""Steps of Frank-Wolfe on a polytope under a plan: runs, their start, scores and local noise."""

import dataclasses as dc
from collections.abc import Callable, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.cancel import Cancelled, never
from ...core.losses import get_loss
from ...core.privacy import NoiseLaw, NotApplicable
from ...core.records import Data
from ...core.rng import Generators
from ...core.sets import L1Ball, Polytope, Simplex, norm_ball
from ...core.specification import Spec
from ...solvers.frank_wolfe import vertices as fw
from ...solvers.frank_wolfe.sparse import descend_sparse
from ..base import Prepared, ReadingMechanism, records_of
from ..plan import Plan, Plans
from .step_count import check_problem, constants_of


@dc.dataclass(frozen=True)
class VertexMechanism(ReadingMechanism):
    """Mechanism that takes a private vertex in every step, and adds no other noise."""

    noise: NoiseLaw = dc.field(default="gumbel", init=False, repr=False)
    family = "frank_wolfe"
    place = "selection"
    set = "l1_ball"

    def read(self, spec: Spec, data: Data) -> Data:
        """Records; for a list of vertices, their products with the vertices are the columns."""
        shape = spec.unit_set
        return Data(data.X @ shape.table[:, : data.stored].T, data.y) if isinstance(shape, Polytope) else data


def descend(
    plans: Plans, risk: fw.Walkable, rngs: Generators, cancelled: Cancelled = never
) -> tuple[list[fw.Run], fw.Chosen]:
    """Runs for each plan and generator, plan after plan; plans differ only in T and noise, which all have or none has.

    risk: of the plans' problem in any form; for a list of vertices, of the records' products with them.
    """
    spec, law = plans[0].spec, plans[0].noise if plans[0].scale else "none"
    signed, size = is_signed(spec), spec.size or 1.0
    runs = [fw.Run(plan.steps + 1, plan.scale, stream) for plan in plans for stream in range(len(rngs))]
    if law == "gumbel" and isinstance(risk, fw.Records) and risk.data.sparse:
        ends = (spec.domain.R, spec.domain.y_max) if signed else None
        loss = get_loss(spec.loss)
        return runs, descend_sparse(
            loss, risk.data, runs, rngs, size=size, signed=signed, local=ends, cancelled=cancelled
        )
    rules = {"gumbel": fw.Exponential, "laplace": fw.NoisyBest, "none": fw.Best}
    return runs, fw.descend(
        risk,
        runs,
        rules[law](rngs, idle_columns(spec, risk), signed=signed),
        size=size,
        start=start_of(spec, risk.stored),
        steepness=local_share(spec) if signed and law == "gumbel" else None,
        cancelled=cancelled,
    )


def polytope_models(risk: fw.Walkable, plans: Plans, rngs: Generators, *, cancelled: Cancelled = never) -> Array:
    """Releases for charts, as in `descend`: [len(plans), len(rngs), r]."""
    runs, chosen = descend(plans, risk, rngs, cancelled)
    return models_of(plans[0].spec, chosen, runs, risk.stored).reshape(len(plans), len(rngs), risk.stored)


def risk_behind(plan: Plan, prepared: Prepared, runs: int, *, single: bool = False) -> fw.Risk:
    return fw.risk_of(get_loss(plan.spec.loss), records_of(prepared), choices=runs * plan.steps, single=single)


def check_polytope(key: str, spec: Spec) -> None:
    """Raise NotApplicable with the reason unless the set has listed vertices and Frank-Wolfe applies."""
    check_problem(key, spec)
    shape = spec.unit_set
    if not isinstance(shape, L1Ball | Simplex | Polytope):
        raise NotApplicable(
            f"{key} needs the L1 ball, the simplex or a list of vertices, got the {shape.label}; "
            "dpcore.core.sets.Polytope takes such a list"
        )


def idle_columns(spec: Spec, stored: fw.Walkable | Data) -> int:
    """Number of columns that the risk or the records do not store; a list of vertices has none."""
    return 0 if isinstance(spec.unit_set, Polytope) else spec.p - stored.stored


def is_signed(spec: Spec) -> bool:
    """True if the vertices are e_j and -e_j; else they are e_j, of the columns or of a list's products."""
    return isinstance(spec.unit_set, L1Ball)


def start_of(spec: Spec, width: int) -> Array:
    """theta_1: 0 on the L1 ball, else the mean of the vertices; its first `width` coordinates, or weights of a list."""
    if is_signed(spec):
        return np.zeros(width)
    return np.full(width, (spec.size or 1.0) / (spec.unit_set.n_vertices(spec.p) or 1))


def models_of(spec: Spec, chosen: fw.Chosen, runs: Sequence[fw.Run], width: int) -> Array:
    """theta_T of each run, [K, width]: its first coordinates."""
    shape, size = spec.unit_set, spec.size or 1.0
    if not isinstance(shape, Polytope):
        return fw.models(chosen, runs, size, start_of(spec, width), width)
    count = len(shape.vertices)
    return fw.models(chosen, runs, size, start_of(spec, count), count) @ shape.table[:, :width]


def local_share(spec: Spec) -> Callable[[Array], Array]:
    """L_t / L as a function of the L1 norms of models."""
    loss, R, y_max, steepest = get_loss(spec.loss), spec.domain.R, spec.domain.y_max, constants_of(spec).steepness
    return lambda norms: loss.steepness(R * norms, y_max) / steepest


def share_at(plan: Plan, thetas: Array) -> Array:
    """b_t / b of a choice at thetas [K, p], [K]."""
    if plan.noise != "gumbel" or not is_signed(plan.spec):
        return np.ones(len(thetas))
    return local_share(plan.spec)(np.abs(thetas).sum(axis=1))


def vertex_scores(spec: Spec, data: Data, thetas: Array) -> Array:
    """<v, grad F> of all vertices v, first e_1, ..., e_p and then their opposites, at thetas [K, p]; all p columns."""
    scores = (spec.size or 1.0) * get_loss(spec.loss).gradients(data, thetas)
    return np.concatenate([scores, -scores], axis=1) if is_signed(spec) else scores


def telling_record(spec: Spec) -> Array:
    """Record on the boundary of its domain along which the set is widest, [p]."""
    shape = spec.unit_set
    if isinstance(shape, Polytope):
        norms = np.linalg.norm(shape.table[:, None, :] - shape.table[None, :, :], spec.domain.dual_order, axis=2)
        first, second = np.unravel_index(norms.argmax(), norms.shape)
        across = shape.table[first] - shape.table[second]
    else:
        across = np.zeros(spec.p)
        across[0] = 1.0
        across[1:2] = 0.0 if is_signed(spec) else -1.0
    if shape.diameter(spec.domain.dual_order, spec.p) == 0.0:
        raise NotApplicable(f"a set of one point has no worst pair, got the {shape.label} with p = {spec.p}")
    return spec.domain.R * norm_ball(spec.domain.q).extreme(-across)
