"""The registry: one module name per mechanism; nothing else in the project names them."""

from __future__ import annotations

import dataclasses as dc
from importlib import import_module

from ..core.validation import one_of
from .base import Mechanism

_MODULES = {
    "output_gaussian": "output.gaussian",
    "output_gamma": "output.gamma",
    "objective_gaussian": "objective.gaussian",
    "objective_gamma": "objective.gamma",
    "noisy_gd": "gradient.gd",
    "noisy_sgd": "gradient.sgd",
    "simplex_sampling": "simplex.sampling",
    "ftrl": "simplex.ftrl",
    "frank_wolfe_polytope": "frank_wolfe.polytope",
    "frank_wolfe_general": "frank_wolfe.convex_set",
    "generalized_gaussian": "mean.generalized_gaussian",
    "tree_frank_wolfe": "frank_wolfe.tree",
    "polyhedral_frank_wolfe": "frank_wolfe.one_pass",
    "phased_sgd": "gradient.phased_sgd",
    "gaussian_classifier": "multiclass.gaussian_classifier",
}


def list_mechanisms() -> list[str]:
    """Keys of all registered mechanisms, in a fixed order.

    >>> list_mechanisms()[-3:]
    ['polyhedral_frank_wolfe', 'phased_sgd', 'gaussian_classifier']
    """
    return list(_MODULES)


def mechanism_class(key: str) -> type[Mechanism]:
    """The mechanism's dataclass; ValueError names the known keys."""
    return import_module(f"{__name__}.{_MODULES[one_of('mechanism', key, _MODULES)]}").MECHANISM


def make_mechanism(key: str, **knobs: object) -> Mechanism:
    """A mechanism with these knobs; ValueError names an unknown knob or a value outside its range.

    >>> make_mechanism("output_gaussian", accounting="published").accounting
    'published'
    """
    cls = mechanism_class(key)
    known = [field.name for field in dc.fields(cls) if field.init]
    for name in knobs:
        if name not in known:
            raise ValueError(f"{key} has no knob {name!r}; it has {', '.join(known)}")
    return cls(**knobs)
