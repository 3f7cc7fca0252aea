"""Cache of compiled functions on disk. A function that cannot be read or kept there is simply compiled anew.

numba names a cache entry by the file that defines a function and does not notice an edit in *another* file that the
function calls, so a stale noise scale could survive an edit. The folder is therefore named by a hash of all kernel
sources.
"""

import atexit
import contextlib
import hashlib
import logging
import os
import pickle
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.core.dispatcher import Dispatcher

_HERE = Path(__file__).resolve().parent
_PREFIX = "dpcore-numba-"

# Names of functions that were compiled in this process, and reasons why some could not be read or written there; the
# first of each is logged. A command that only fills the cache raises the last.
compiled: list[str] = []
unread: list[str] = []
unkept: list[OSError] = []
_LOG = logging.getLogger(__name__)


def source_hash() -> str:
    """Twelve hex digits that change with any kernel source and with the versions of numba and Python."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag} {platform.machine()}".encode())
    for file in sorted(_HERE.glob("*.py")):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _user_cache() -> Path:
    home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "dpcore"


def _usable(folder: Path) -> bool:
    """True if functions can be kept in the folder, or have been: a warm installation may be read-only."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return any(folder.glob("*.nbi"))


def choose_cache_folder() -> Path:
    """First usable folder: $NUMBA_CACHE_DIR, the package, the user's cache or a temporary folder of this process."""
    name = f"{_PREFIX}{source_hash()}"
    parents = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    parents += [_HERE / "__pycache__", _user_cache()]
    for parent in parents:
        if _usable(parent / name):
            return parent / name
    temporary = tempfile.mkdtemp(prefix="dpcore-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary) / name


CACHE_FOLDER = choose_cache_folder()


def prune_old_caches() -> int:
    """Delete the caches of earlier kernel sources beside `CACHE_FOLDER`; return how many there were."""
    old = [folder for folder in CACHE_FOLDER.parent.glob(f"{_PREFIX}*") if folder != CACHE_FOLDER]
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)
    return len(old)


class _Locator(UserProvidedCacheLocator):
    """Locator of `CACHE_FOLDER` for every function, writable or not; the folder's name identifies the sources."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "_Locator":
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return str(CACHE_FOLDER)

    def get_source_stamp(self) -> str:
        return CACHE_FOLDER.name


class _Implementation(FunctionCache._impl_class):
    _locator_classes = (_Locator,)


class _Files(IndexDataCacheFile):
    """Files with a digest beside each compiled function: machine code that was truncated or changed must not run."""

    def _save_data(self, name: str, data: Any) -> None:
        code = self._dump(data)
        super()._save_data(name, (hashlib.sha256(code).digest(), code))

    def _load_data(self, name: str) -> Any:
        digest, code = super()._load_data(name)
        if hashlib.sha256(code).digest() != digest:
            raise ValueError("the file was changed")
        return pickle.loads(code)


class DiskCache(FunctionCache):
    """numba's cache of one function, in which an error counts as a miss; in numba itself it ends the call."""

    _impl_class = _Implementation

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._cache_file = _Files(self.cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        name = self._impl.filename_base
        try:
            found = super().load_overload(sig, target_context)
        except Exception as error:
            if not unread:
                _LOG.warning("%s in %s cannot be read (%r): compiled again", name, CACHE_FOLDER, error)
            unread.append(name)
            with contextlib.suppress(OSError):
                self.flush()  # otherwise the unreadable index would be read again when the function is kept
            return None
        if found is None:
            if not compiled:
                _LOG.warning("Compiling numerical kernels, which takes seconds once; kept in %s", CACHE_FOLDER)
            compiled.append(name)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            if not unkept:
                _LOG.warning(
                    "compiled functions cannot be kept in %s (%s): each process compiles them", CACHE_FOLDER, reason
                )
            unkept.append(OSError(getattr(error, "errno", None), reason, str(CACHE_FOLDER)))


def keep_on_disk(module: ModuleType) -> None:
    """Give the module's compiled functions their cache, before any of them is compiled."""
    functions: list[Any] = [each for each in vars(module).values() if isinstance(each, Dispatcher)]
    for each in functions:
        if not isinstance(each._cache, DiskCache):
            each._cache = DiskCache(each.py_func)
