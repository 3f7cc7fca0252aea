"""Import of the packages that every page needs, while the first browser still loads its files."""

import gc
import threading
from importlib import import_module

from dpcore.core.blas import one_blas_thread

MODULES = (
    *("streamlit.emojis", "pandas", "dpcore.kernels.compiled", "dpcore.experiments.experiment"),
    *("dpcore.figures.overview", "pages.lectures.lecture", "pages.overview.words", "pages.ui.sidebar"),
)
_thread: threading.Thread | None = None


def start() -> None:
    """Begin, once in a process."""
    global _thread
    if _thread is None:
        _thread = threading.Thread(target=_import_all, name="imports", daemon=True)
        _thread.start()


def is_under_way() -> bool:
    return _thread is not None and _thread.is_alive()


def wait() -> None:
    """Wait for the imports: two threads that import the same packages in different orders may see half of one."""
    if _thread is not None:
        _thread.join()


def _import_all() -> None:
    gc.disable()
    try:
        one_blas_thread()
        for name in MODULES:
            import_module(name)
    finally:
        gc.enable()
    # What is imported stays. To look through all of it again and again for garbage stops every session for .4 s.
    gc.freeze()
