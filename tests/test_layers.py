"""Imports point down from room to room, and `import dpcore` stays light."""

import re
import subprocess
import sys

from importlinter.cli import lint_imports

from .harness import ROOT


def test_imports_keep_the_contracts(monkeypatch, capsys):
    """Those of pyproject.toml."""
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True, no_logo=True) == 0, capsys.readouterr().out


def test_no_test_imports_from_the_benchmarks():
    """Which measure, and may change without a red test."""
    imports = re.compile(r"^\s*(from|import) benchmarks\b", re.MULTILINE)
    tests = (ROOT / "tests").rglob("*.py")
    assert [file.name for file in tests if imports.search(file.read_text(encoding="utf-8"))] == []


def test_import_loads_neither_streamlit_nor_plotly_nor_kernels():
    code = (
        "import sys, dpcore; dpcore.list_mechanisms; "
        "dpcore.calibrate('output_gaussian', n=100, p=2, epsilon=1.0, delta=1e-5); "
        "print(sorted({'streamlit', 'plotly', 'pandas', 'sklearn', 'numba'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
