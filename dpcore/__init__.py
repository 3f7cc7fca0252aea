"""dpcore: differentially private mechanisms and solvers with explicit, tested guarantees.

Neighbours differ by replacing one record. lam multiplies the *average* objective
J(theta) = (1/n) sum_i loss(<x_i, theta>; y_i) + (lam/2) ||theta||^2. A teaching and research library: of its noise only
that of output_gaussian is hardened against attacks on floating-point arithmetic (docs/sharp_edges.md).

Names load on first use, so that `import dpcore` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__ as __version__

_HOMES = {
    "mechanisms.api": ("bounds_of", "calibrate", "solve"),
    "audit.game": ("Audit", "run_audit"),
    "audit.function": ("FunctionReport", "audit_function"),
    "audit.canary": ("canary_pairs",),
    "mechanisms.accountant": ("Accountant",),
    "mechanisms.estimators": ("PrivateClassifier", "PrivateRegressor"),
    "mechanisms.gaussian_estimator": ("PrivateGaussianClassifier",),
    "studies.papers.exhibits": ("ExhibitResult", "run_exhibit"),
    "experiments.experiment": ("EPSILON_GRID", "Axis", "Experiment"),
    "experiments.run": ("run",),
    "audit.attack_success": ("AttackSuccess", "attack_success"),
    "mechanisms.plan": ("Plan", "Release"),
    "mechanisms.problem": ("Problem",),
    "mechanisms": ("list_mechanisms", "make_mechanism"),
    "audit.report": ("AuditReport",),
    "core.privacy": (
        *("Bound", "Budget", "BudgetExceeded", "LargeDelta", "NotApplicable", "UncountedFits", "Unconverged"),
    ),
    "core.records": ("Data",),
    "core.specification": ("Domain", "Spec"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)

if TYPE_CHECKING:
    from .audit.attack_success import AttackSuccess, attack_success
    from .audit.canary import canary_pairs
    from .audit.function import FunctionReport, audit_function
    from .audit.game import Audit, run_audit
    from .audit.report import AuditReport
    from .core.privacy import Bound, Budget, BudgetExceeded, LargeDelta, NotApplicable, Unconverged, UncountedFits
    from .core.records import Data
    from .core.specification import Domain, Spec
    from .experiments.experiment import EPSILON_GRID, Axis, Experiment
    from .experiments.run import run
    from .mechanisms import list_mechanisms, make_mechanism
    from .mechanisms.accountant import Accountant
    from .mechanisms.api import bounds_of, calibrate, solve
    from .mechanisms.estimators import PrivateClassifier, PrivateRegressor
    from .mechanisms.gaussian_estimator import PrivateGaussianClassifier
    from .mechanisms.plan import Plan, Release
    from .mechanisms.problem import Problem
    from .studies.papers.exhibits import ExhibitResult, run_exhibit


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpcore' has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
