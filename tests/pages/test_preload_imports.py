"""Imports that begin with the server: once, and nobody goes on with half of them."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

from pages.server import preload_imports

from ..harness import ROOT


def test_who_waits_finds_everything_imported(monkeypatch):
    begun, go_on, imported, frozen = threading.Event(), threading.Event(), [], gc.get_freeze_count()

    def slow(name: str) -> None:
        begun.set()
        assert go_on.wait(120) and not gc.isenabled()
        imported.append(name)

    monkeypatch.setattr(preload_imports, "import_module", slow)
    monkeypatch.setattr(preload_imports, "_thread", None)
    preload_imports.start()
    first = preload_imports._thread
    preload_imports.start()
    assert preload_imports._thread is first and begun.wait(120) and imported == []
    threading.Timer(0.05, go_on.set).start()
    preload_imports.wait()
    assert imported == list(preload_imports.MODULES)
    assert gc.isenabled() and gc.get_freeze_count() > frozen


def test_a_first_page_waits_for_no_library_that_it_can_do_without():
    """scikit-learn, scipy.stats and plotly's figures take longer to import than all else together."""
    code = (
        "import sys, dpcore; from pages.server import preload_imports; "
        "preload_imports.start(); preload_imports.wait(); "
        "dpcore.run(dpcore.Experiment(dpcore.Problem(n=100), repetitions=2)); "
        "print(sorted({'sklearn', 'scipy.stats', 'plotly.graph_objs._figure'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
