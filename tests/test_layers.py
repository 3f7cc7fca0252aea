"""Imports point strictly downwards, and `import dpcore` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYER = {
    "_version": 0,
    "arrays": 0,
    "checks": 0,
    "sets": 1,
    "types": 2,
    "kernels": 2,
    "caching": 2,
    "slopes": 2,
    "threads": 2,
    "chunks": 2,
    "losses": 3,
    "accounting": 3,
    "bounds": 3,
    "measured": 3,
    "composition": 3,
    "adaptive_choices": 3,
    "loss_distributions": 3,
    "subsampling": 3,
    "bounded_range": 4,
    "solvers": 4,
    "data": 4,
    "lower_bounds": 4,
    "lp_noise": 4,
    "noises": 4,
    "tradeoffs": 4,
    "door_zero": 5,
    "evaluate": 5,
    "mechanisms": 5,
    "streams": 5,
    "api": 6,
    "targets": 6,
    "wealth": 5,
    "certificates": 6,
    "huber_pairs": 6,
    "orthant": 6,
    "cells": 7,
    "ledgers": 7,
    "auditing": 8,
    "classes": 8,
    "clouds": 8,
    "experiment": 8,
    "fingerprints": 8,
    "growth": 8,
    "geometry": 8,
    "lasso": 8,
    "mixtures": 8,
    "rates": 8,
    "sabotages": 7,
    "reports": 7,
    "streaming": 8,
    "traces": 8,
    "work": 8,
    "errata": 9,
    "estimators": 9,
    "odds": 9,
    "executors": 9,
    "exhibits": 9,
    "journals": 9,
    "regret": 9,
    "warmup": 9,
    "trials": 10,
    "decisions": 10,
    "reproductions": 11,
    "figures": 12,
    "briefings": 13,
    "commands": 13,
    "__main__": 14,
}
# The registry and the base classes are what a mechanism's own folder shares.
WITHIN = {
    "briefings": {"content", "page", "slides", "snippets", "words"},
    "commands": {"options"},
    "reproductions": {"accuracies", "base", "charts", "cod_rna", "jain_thakurta", "jain_thakurta_printed"},
    "decisions": {
        "attack",
        "budget",
        "crossings",
        "curves",
        "people",
        "price",
        "posterior",
        "several",
        "compare",
        "deployments",
    },
    "tradeoffs": {"curves", "composed", "several"},
    "mechanisms": {
        "base",
        "shared",
        "output_perturbation",
        "objective_perturbation",
        "objective_lam",
        "gradient_perturbation",
        "descent_rules",
        "simplex_rules",
        "frank_wolfe_rules",
        "vertex_runs",
        "lp_rules",
        "tree_runs",
        "polyhedral_rules",
        "classifier_rules",
        "classifier_models",
    },
    "kernels": {
        "keeping",
        "elementary",
        "entries",
        "apply",
        "batch",
        "descent",
        "losses",
        "rows",
        "sampling",
        "single",
        "stream",
        "touched",
        "vertices",
        "phased",
        "norm_balls",
        "margins",
        "threefry",
        "coupled",
        "secants",
        "sweeps",
    },
    "solvers": {
        "problem",
        "smooth",
        "quasi_newton",
        "sampled",
        "kinked",
        "ball",
        "lockstep",
        "batched",
        "many",
        "location",
        "stochastic",
        "descent",
        "projected",
        "ellipsoids",
        "ellipsoid_minima",
        "entropic",
        "simplex_problem",
        "constrained",
        "frank_wolfe",
        "noisy_frank_wolfe",
        "sparse_frank_wolfe",
        "vertex_choices",
        "walked_risks",
        "gradient_tree",
        "phased",
        "one_sample",
    },
    "figures": {
        "figure",
        "style",
        "exhibits",
        "corrections",
        "cost",
        "clouds",
        "descent",
        "dimension",
        "doors",
        "door_zero",
        "ledger",
        "mixtures",
        "published",
        "reproduced",
        "release",
        "streaming",
        "large",
        "lasso",
        "measured",
        "tracing",
        "geometry",
        "classes",
        "as_printed",
        "attack",
        "decisions",
        "briefing",
        "budgets",
        "icons",
    },
    "bounds": {"regularised", "descent", "draws", "frank_wolfe", "lp", "phased", "polyhedral"},
    "geometry": {"people", "hardest", "transition", "curves", "rates", "ball", "lengths"},
    "lasso": {"problem", "curves", "path"},
    "classes": {"published", "betrayal", "problem", "learners", "curves", "pictures"},
    "sets": {"base", "common", "curved", "lengths", "polytope", "regularity", "widths"},
    "sabotages": {"faults"},
    "mixtures": {"problem", "draws", "release", "columns", "people", "published"},
    "data": {
        *("population", "sources", "records", "bundled", "recipes", "lines", "files", "sheets", "private"),
        *("mixture", "classes", "packaged"),
    },
}
OUTSIDE = {
    "plotly": {"figures"},
    "pandas": {"decisions", "reproductions", "experiment", "figures", "data", "regret"},
    "pptx": {"briefings"},
    "distributed": {"executors"},
    "sklearn": {"classes", "estimators"},
    "streamlit": set(),
    "click": {"__main__", "commands"},
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "threadpoolctl": {"threads"},
}
FILES = [f for f in (ROOT / "dpcore").rglob("*.py") if f != ROOT / "dpcore/__init__.py"]


def imports(path: Path):
    """(package or None, dotted name) of every import statement: None marks our own, resolved from dpcore."""
    folder = path.relative_to(ROOT / "dpcore").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = folder[: len(folder) + 1 - node.level]
            for name in [node.module] if node.module else [alias.name for alias in node.names]:
                yield None, (*base, *name.split("."))
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0], ()
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.split(".")[0], ()


@pytest.mark.parametrize("path", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_point_down(path):
    me = path.relative_to(ROOT / "dpcore").with_suffix("").parts
    for package, target in imports(path):
        if package is None and target[0] != me[0]:
            assert LAYER[target[0]] < LAYER[me[0]], f"{'.'.join(me)} imports {'.'.join(target)}"
        elif package is None:
            assert target[1] in WITHIN[me[0]], f"{'.'.join(me)} imports {'.'.join(target)}"
        elif package in OUTSIDE:
            assert me[0] in OUTSIDE[package], f"{'.'.join(me)} imports {package}"
        assert package != "dpcore", f"{'.'.join(me)} imports the package by its absolute name"


def test_the_walk_sees_relative_imports():
    """Without this the test above could pass by seeing nothing."""
    assert (None, ("accounting",)) in set(imports(ROOT / "dpcore/cells.py"))
    assert (None, ("types",)) in set(imports(ROOT / "dpcore/mechanisms/base.py"))
    assert ("numba", ()) in set(imports(ROOT / "dpcore/kernels/apply.py"))


def test_import_loads_neither_streamlit_nor_plotly_nor_kernels():
    code = (
        "import sys, dpcore; dpcore.list_mechanisms; "
        "dpcore.calibrate('output_gaussian', n=100, p=2, epsilon=1.0, delta=1e-5); "
        "print(sorted({'streamlit', 'plotly', 'pandas', 'sklearn', 'numba'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
