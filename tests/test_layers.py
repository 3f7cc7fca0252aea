"""Imports point down from room to room, and `import dpcore` stays light."""

import subprocess
import sys

from importlinter.cli import lint_imports

from .harness import ROOT


def test_imports_keep_the_contracts(monkeypatch, capsys):
    """Those of pyproject.toml."""
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True, no_logo=True) == 0, capsys.readouterr().out


def test_import_loads_neither_streamlit_nor_plotly_nor_kernels():
    code = (
        "import sys, dpcore; dpcore.list_mechanisms; "
        "dpcore.calibrate('output_gaussian', n=100, p=2, epsilon=1.0, delta=1e-5); "
        "print(sorted({'streamlit', 'plotly', 'pandas', 'sklearn', 'numba'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
