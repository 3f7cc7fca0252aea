"""Plans that audits of the whole registry use, and what they are known not to cover."""

from __future__ import annotations

import dataclasses as dc

import dpcore
from dpcore import Audit, Budget, Domain, Plan, Spec
from dpcore.mechanisms import mechanism_class
from tests.problems import CHOOSING, CLASSIFYING, LOCATION, POINTS, UNREGULARISED

KEYS = dpcore.list_mechanisms()
REPEATS = 20
# What objective perturbation guarantees nothing for, with words of the reason.
OBJECTIVE = [key for key in KEYS if key.startswith("objective")]
REASONS = {
    "hinge": "needs a loss without kinks",
    "absolute": "needs a loss without kinks",
    "squared": "needs a loss with bounded slope",
}
# What no mechanism does or is audited on, except output perturbation and descent on all records.
OF_POINTS = dict.fromkeys(LOCATION, "linear prediction")
NO_POINTS = [
    key for key in KEYS if mechanism_class(key).family != "output" and key not in ("noisy_gd", "ftrl", *CLASSIFYING)
]
# Draws from weights, of columns or of vertices: their scores take few values.
DRAWING = [key for key in KEYS if mechanism_class(key)().noise == "gumbel"]


def plan_for(key: str, loss: str | None = None, *, p: int = 3, lam: float = 1e4, epsilon: float = 0.9, **knobs) -> Plan:
    """A plan under which most losses attain the sensitivity; classical accounting needs epsilon < 1."""
    mechanism = dpcore.make_mechanism(key, **knobs)
    loss = loss or (mechanism.usual_loss if key in (*POINTS, *CLASSIFYING) else "huber_hinge")
    bounded = key in UNREGULARISED
    facts = {"lam": 0.0, "radius": 0.4} if bounded else {"lam": 0.0 if key in POINTS else lam}
    spec = Spec(loss, 10, p, domain=Domain(mechanism.q), set=mechanism.set, **facts)
    return mechanism.calibrate(spec, Budget(epsilon, 1e-5))


def verdicts(plan: Plan, *, runs: int = 20_000, repeats: int = REPEATS, bug: str | None = None) -> list[str]:
    return [dpcore.run_audit(plan, runs=runs, seed=seed, bug=bug).verdict for seed in range(repeats)]


def refuted(plan: Plan | str, *looks: int, bug: str | None = None) -> bool:
    """Whether one game is refuted at any of its looks, as numbers of runs: it finds what the last of them finds."""
    game = Audit(plan, bug=bug)
    for runs in looks:
        game.play(runs - game.runs)
        if game.report().verdict == "contradicted":
            return True
    return False


# Few steps, for speed; batches that are smaller than these small data; Kamath's proof is for single records.
KNOBS = {
    ("noisy_gd", "tight"): {"steps": 10},
    ("noisy_sgd", "tight"): {"steps": 10, "batch": 2},
    ("noisy_sgd", "published"): {"batches": "single"},
} | {(key, accounting): {"T": 4} for key in CHOOSING for accounting in ("tight", "published", "published_safe")}


def accountings(key: str) -> tuple[str, ...]:
    (field,) = [f for f in dc.fields(mechanism_class(key)) if f.name == "accounting"]
    return field.metadata["choices"]
