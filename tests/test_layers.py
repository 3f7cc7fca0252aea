"""Imports point strictly downwards, and `import dpcore` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYER = {
    "kernels": 0,
    "_version": 0,
    "core": 1,
    "accounting": 2,
    "theory": 2,
    "data": 2,
    "solvers": 2,
    "mechanisms": 3,
    "experiments": 4,
    "audit": 6,
    "studies": 7,
    "figures": 8,
    "cli": 9,
    "__main__": 10,
}

OUTSIDE = {
    "plotly": {"figures"},
    "pandas": {"studies", "experiments", "figures", "data"},
    "distributed": {"experiments"},
    "sklearn": {"studies", "mechanisms"},
    "streamlit": set(),
    "click": {"__main__", "cli"},
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "threadpoolctl": {"core"},
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
        elif package in OUTSIDE:
            assert me[0] in OUTSIDE[package], f"{'.'.join(me)} imports {package}"
        assert package != "dpcore", f"{'.'.join(me)} imports the package by its absolute name"


def test_the_walk_sees_relative_imports():
    """Without this the test above could pass by seeing nothing."""
    assert (None, ("mechanisms", "base")) in set(imports(ROOT / "dpcore/experiments/cell.py"))
    assert (None, ("core", "specification")) in set(imports(ROOT / "dpcore/mechanisms/base.py"))
    assert ("numba", ()) in set(imports(ROOT / "dpcore/kernels/apply.py"))


def test_import_loads_neither_streamlit_nor_plotly_nor_kernels():
    code = (
        "import sys, dpcore; dpcore.list_mechanisms; "
        "dpcore.calibrate('output_gaussian', n=100, p=2, epsilon=1.0, delta=1e-5); "
        "print(sorted({'streamlit', 'plotly', 'pandas', 'sklearn', 'numba'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
