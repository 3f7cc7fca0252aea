"""Registry of the mechanisms' classes."""

from __future__ import annotations

import dataclasses as dc
from importlib import import_module
from pathlib import Path
from typing import Any

from ..core.validation import one_of
from .base import Mechanism
from .own import FaultyMechanism, Own, add_file, own_mechanisms

_CLASSES = {
    "output_gaussian": "output.gaussian.OutputGaussian",
    "output_gamma": "output.gamma.OutputGamma",
    "objective_gaussian": "objective.gaussian.ObjectiveGaussian",
    "objective_gamma": "objective.gamma.ObjectiveGamma",
    "noisy_gd": "gradient.gd.NoisyGD",
    "noisy_sgd": "gradient.sgd.NoisySGD",
    "simplex_sampling": "simplex.sampling.SimplexSampling",
    "ftrl": "simplex.ftrl.FTRL",
    "frank_wolfe_polytope": "frank_wolfe.polytope.FrankWolfePolytope",
    "frank_wolfe_general": "frank_wolfe.convex_set.FrankWolfeGeneral",
    "generalized_gaussian": "mean.generalized_gaussian.GeneralizedGaussian",
    "tree_frank_wolfe": "frank_wolfe.tree.TreeFrankWolfe",
    "polyhedral_frank_wolfe": "frank_wolfe.one_pass.PolyhedralFrankWolfe",
    "phased_sgd": "gradient.phased_sgd.PhasedSGD",
    "gaussian_classifier": "multiclass.gaussian_classifier.GaussianClassifier",
}


def list_mechanisms() -> list[str]:
    """Keys of all registered mechanisms, in a fixed order: the library's, then those of installed packages and files.

    >>> list_mechanisms()[-3:]
    ['polyhedral_frank_wolfe', 'phased_sgd', 'gaussian_classifier']
    """
    return [*_CLASSES, *_own()]


def mechanism_class(key: str) -> type[Mechanism]:
    """Dataclass of the mechanism with this key; ValueError names the known keys."""
    if not isinstance(key, str) or key not in _CLASSES:
        return _own()[one_of("mechanism", key, list_mechanisms())].cls
    module, name = _CLASSES[key].rsplit(".", 1)
    found: type[Mechanism] = getattr(import_module(f"{__name__}.{module}"), name)
    return found


def origin_of(key: str) -> str:
    """The package or the file that a mechanism comes from, in words; "" for the library's own."""
    return (
        "" if key in _CLASSES else own_mechanisms(tuple(_CLASSES))[one_of("mechanism", key, list_mechanisms())].origin
    )


def add_mechanisms(path: Path) -> None:
    """Register the mechanisms that a file of Python defines, in this process; it is imported and so runs.

    Raises FaultyMechanism, a ValueError, with what is wrong.
    """
    add_file(path, tuple(_CLASSES))


def make_mechanism(key: str, **knobs: Any) -> Mechanism:
    """Mechanism with these knobs; ValueError names an unknown knob or a value outside its range.

    >>> make_mechanism("output_gaussian", accounting="published").accounting
    'published'
    """
    cls = mechanism_class(key)
    known = [field.name for field in dc.fields(cls) if field.init]
    for name in knobs:
        if name not in known:
            raise ValueError(f"{key} has no knob {name!r}; it has {', '.join(known)}")
    return cls(**knobs)


def _own() -> dict[str, Own]:
    return own_mechanisms(tuple(_CLASSES))
