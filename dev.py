"""Run the dashboard or its tests from a fresh clone; only Python 3.11 or newer is needed.

    python3 dev.py run [-- STREAMLIT ARGUMENTS]    for example: python3 dev.py run -- --server.port 8600
    python3 dev.py test [PYTEST ARGUMENTS]         ruff, mypy, kernels, pytest; stops at the first failure

`run --lectures FOLDER` adds lectures of your own, `run --warm NAME` computes a lecture before the server answers
(docs/teachers_guide.md), `run --mechanism FILE` adds a mechanism of your own (docs/tutorial.md).

Both keep their packages in .venv beside this file and install only when what is locked has changed.
"""

# Standard library only, and no syntax newer than Python 3.6: an old Python must get as far as the refusal.

import hashlib
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
VENV_PYTHON = str(VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
STAMPS = VENV / "dev-stamps"
OLDEST = (3, 11)
# A process a core; the tests of one file stay together, they share what is costly to make; tests/conftest.py puts the
# files that take longest first, so that no process waits for another in the end. "auto" would count two threads of
# a core as one where psutil is installed.
SPREAD = ("-n", "logical", "--dist", "loadfile", "--no-loadscope-reorder")
# What pytest's exit status means; 3 is ours (tests/conftest.py).
OUTCOMES = {
    0: "All tests passed.",
    1: "Something failed: the lines that begin with FAILED or ERROR say what.",
    2: "The tests were interrupted.",
    3: "What could run passed, but tests that need a browser did not run: the list above says how to get one.",
    5: "No test was found.",
}
# What a goal needs: every package, with its version and the hashes of the files that may be installed for it.
LOCKS = {"run": "requirements.lock", "test": "requirements-dev.lock"}
# What `run` hands on to app.py (pages/server/arguments.py), and what must follow each.
OURS = {"--lectures": "path", "--mechanism": "path", "--warm": "name"}


class Failure(Exception):
    """Something the user can mend; its text is one sentence."""


def refusal(version):
    """Why this Python version tuple will not do, or None."""
    if tuple(version[:2]) >= OLDEST:
        return None
    return "Python {}.{} or newer is needed, this is {}.{}.".format(*OLDEST, *version[:2])


def fingerprint(python, files):
    """A digest that changes with the Python version text or with any of the files."""
    digest = hashlib.sha256(python.encode())
    for file in files:
        digest.update(b"\0" + file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def is_done(step, mark):
    """Whether a step of the set-up finished with this fingerprint."""
    stamp = STAMPS / step
    return stamp.is_file() and stamp.read_text() == mark


def set_done(step, mark):
    STAMPS.mkdir(exist_ok=True)
    (STAMPS / step).write_text(mark)


def call(*command):
    """Run a command in the repository and return its exit code; it never outlives us."""
    with subprocess.Popen(command, cwd=str(ROOT)) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()  # The child got the same Ctrl-C and is closing down.
            raise
        finally:
            process.terminate()


def answer(*command):
    """Output of a command, or None when it fails."""
    try:
        result = subprocess.run(command, cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    return result.stdout.decode() if result.returncode == 0 else None


def make_venv():
    # Debian without python3-venv has no ensurepip; the system's pip then serves the environment from outside.
    options = [] if importlib.util.find_spec("ensurepip") else ["--without-pip"]
    if options:
        pip_from_outside()
    print("Making .venv ...", flush=True)
    try:
        if call(sys.executable, "-m", "venv", "--clear", *options, str(VENV)) != 0:
            raise Failure(f"Python's venv module could not make {VENV}.")
    except BaseException:
        shutil.rmtree(VENV, ignore_errors=True)  # A half-made one would look finished next time.
        raise


def pip_from_outside():
    """The system's pip, told to work in .venv: possible since pip 22.3, needed where ensurepip is missing."""
    found = re.match(r"pip (\d+)\.(\d+)", answer(sys.executable, "-m", "pip", "--version") or "")
    if not found or tuple(map(int, found.groups())) < (22, 3):
        raise Failure(
            "This Python has neither ensurepip nor pip 22.3 or newer: "
            "install python3-venv (on Debian and Ubuntu: apt install python3-venv), then try again."
        )
    return [sys.executable, "-m", "pip", "--python", VENV_PYTHON]


def install(goal):
    """Bring .venv up to date for a goal; returns the fingerprint of every goal."""
    if not Path(VENV_PYTHON).exists():
        make_venv()
    python = answer(VENV_PYTHON, "-c", "import sys; print(sys.version)")
    if python is None:
        raise Failure("The Python in .venv does not start: delete the folder .venv, then try again.")
    marks = {g: fingerprint(python, [ROOT / LOCKS[g]]) for g in LOCKS}
    if is_done(goal, marks[goal]):
        return marks
    shutil.rmtree(STAMPS, ignore_errors=True)  # First, so that an interrupted install leaves no stamp.
    print("Installing packages into .venv (the first time takes a minute) ...", flush=True)
    pip = [VENV_PYTHON, "-m", "pip"] if answer(VENV_PYTHON, "-m", "pip", "--version") else pip_from_outside()
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--require-hashes"]
    if call(*pip, "install", *options, "-r", LOCKS[goal]) != 0:
        raise Failure("pip could not install the packages; its message is above.")
    # What tests need includes what the dashboard needs.
    for covered in {goal, "run"}:
        set_done(covered, marks[covered])
    return marks


def free_port(first=8501):
    """First port that is free; Streamlit would look too, but only after we have printed the address."""
    for port in range(first, first + 100):
        with socket.socket() as probe:
            probe.settimeout(0.5)
            if probe.connect_ex(("localhost", port)) != 0:
                return port
    raise Failure(f"All ports from {first} to {first + 99} are taken.")


def warm(mark):
    """Compile the kernels, unless that was done with this fingerprint."""
    if is_done("warm", mark):
        return
    print("Compiling the numerical kernels (once) ...", flush=True)
    if call(VENV_PYTHON, "-m", "dpcore", "warm") != 0:
        raise Failure("The kernels did not compile; the message is above.")
    set_done("warm", mark)


def sort_arguments(arguments):
    """Streamlit's arguments, and those of app.py with absolute paths, since Streamlit is started in another folder."""
    ours, theirs = [], []
    waiting = iter(arguments)
    for each in waiting:
        name, _, value = each.partition("=")
        if name not in OURS:
            theirs.append(each)
            continue
        value = value or next(waiting, None)
        if value is None:
            raise Failure(f"{name} must be followed by a {OURS[name]}: say which.")
        ours += [name, os.path.abspath(value) if OURS[name] == "path" else value]
    return theirs, ours


def run(arguments):
    warm(install("run")["run"])
    arguments, ours = sort_arguments(arguments)
    given = re.search(r"--server\.port[= ](\d+)", " ".join(arguments))
    port = given.group(1) if given else str(free_port())
    options = ["--server.address", "localhost", "--server.port", port, *arguments, *(["--", *ours] if ours else [])]
    print(f"The dashboard is at http://localhost:{port} (stop it with Ctrl-C).", flush=True)
    return call(VENV_PYTHON, "-m", "streamlit", "run", "app.py", *options)


def test(arguments):
    mark = install("test")["run"]
    for tool in (
        ["ruff", "check", "."],
        ["mypy", "dpcore", "pages", "benchmarks", "tools", "price_of_privacy", "app.py"],
    ):
        code = call(VENV_PYTHON, "-m", *tool)
        if code != 0:
            return code
    warm(mark)  # Or every process that tests would compile them for itself.
    started = time.time()
    code = call(VENV_PYTHON, "-m", "pytest", *SPREAD, *arguments)
    print(f"{OUTCOMES.get(code, OUTCOMES[1])} The tests took {(time.time() - started) / 60:.1f} minutes.")
    return code


def main(arguments):
    problem = refusal(sys.version_info)
    if problem:
        print(problem, file=sys.stderr)
        return 2
    commands = {"run": run, "test": test}
    if not arguments or arguments[0] not in commands:
        print(__doc__.strip())
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that `call` takes its child along.
    try:
        return commands[arguments[0]]([each for each in arguments[1:] if each != "--"])
    except (Failure, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
