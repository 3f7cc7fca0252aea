"""The dashboard in several server processes behind nginx, at one address, for a full classroom.

    python -m pages.server.several_servers NUMBER [STREAMLIT ARGUMENTS] [-- ARGUMENTS OF app.py]

Each process listens to this computer only; `--server.address` and `--server.port` say where nginx listens. nginx runs
docs/nginx.conf, so each browser stays with one process and phones find the process of their room. What the processes
compute from records that are not uploads they share through a temporary folder, which is deleted at the end.
"""

import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pages.rooms.room import LETTERS
from pages.rooms.room import SETTING as NUMBER
from pages.server.shared_cells import SETTING as CELLS

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "nginx.conf"
MAIN = ROOT / "docs" / "nginx_main.conf"
SECRET = "STREAMLIT_SERVER_COOKIE_SECRET"
_BY_NAME = ("", "localhost", "127.0.0.1", "0.0.0.0")  # addresses at which this computer answers to localhost
_PATIENCE_SECONDS, _LOOK_SECONDS, _END_SECONDS = 120.0, 0.5, 10.0


class Refused(Exception):
    """The dashboard cannot be started like that; its text says what to do."""


def number_in(text: str) -> int:
    """Number of processes, from 2 to as many as there are letters for rooms."""
    if text not in map(str, range(2, len(LETTERS) + 1)):
        raise Refused(f"--servers must be a whole number from 2 to {len(LETTERS)}, got {text!r}: leave it out for one.")
    return int(text)


def find_nginx() -> str:
    """nginx's program, from the folders of the environment and from where Debian has it, for which only root looks."""
    folders = (os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin")
    found = shutil.which("nginx", path=os.pathsep.join(folders))
    if found is None:
        raise Refused(
            "--servers needs nginx, which is not installed: type `sudo apt install nginx-light` on Debian and Ubuntu, "
            "`brew install nginx` on macOS, then try again."
        )
    return found


def site(conf: str, listen: str, ports: Sequence[int]) -> str:
    """docs/nginx.conf that listens elsewhere and has a process at each of these ports.

    >>> made = site(SITE.read_text(encoding="utf-8"), "127.0.0.1:8600", [81, 82, 83])
    >>> re.findall(r"127.0.0.1:8.", made)  # of the processes, of their rooms, and nginx's own
    ['127.0.0.1:81', '127.0.0.1:82', '127.0.0.1:83', '127.0.0.1:81', '127.0.0.1:82', '127.0.0.1:83', '127.0.0.1:86']
    """
    places = [f"127.0.0.1:{port}" for port in ports]
    servers = "".join(rf"    server {place}\1" for place in places)
    rooms = "".join(f'    "~*^/join/{letter}" {place};\n' for letter, place in zip(LETTERS, places, strict=False))
    for lines, ours in (
        (r"(?:    server 127\.0\.0\.1:\d+( .*\n))+", servers),
        (r'(?:    "~\*\^/join/\w" 127\.0\.0\.1:\d+;\n)+', rooms),
        (r"listen 8500", f"listen {listen}"),
    ):
        conf, found = re.subn(lines, ours, conf)
        assert found == 1, f"docs/nginx.conf must have one block of lines like {lines}"
    return conf


def free_ports(count: int) -> list[int]:
    """Different ports of this computer that are free."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(probe.getsockname()[1]) for probe in probes]


@contextlib.contextmanager
def started(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def proxy(nginx: str, folder: Path, conf: str) -> Iterator[subprocess.Popen[bytes]]:
    """nginx with this site, in a folder for its files."""
    (folder / "price_of_privacy.conf").write_text(conf, encoding="utf-8")
    # As root, it would run as a user who may not look into the folder.
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(user + MAIN.read_text(encoding="utf-8"), encoding="utf-8")
    with started([nginx, "-p", str(folder), "-e", "stderr", "-g", "daemon off;", "-c", "nginx.conf"]) as process:
        yield process


def wait_for(process: subprocess.Popen[bytes], url: str, name: str) -> None:
    """Wait until a process answers, whatever it says; Refused if it ends instead."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5):
                return
        except urllib.error.HTTPError:  # such as to a name that visitors do not use
            return
        except OSError:
            time.sleep(0.1)
    raise Refused(f"{name} did not start; what it said is above.")


def run(count: int, nginx: str, theirs: Sequence[str], ours: Sequence[str]) -> int:
    """Run the dashboard until nothing of it answers any more; returns the exit status."""
    said = dict(re.findall(r"--server\.(address|port)[= ](\S+)", " ".join(theirs)))
    address, port = said.get("address", "localhost"), said.get("port", "8501")
    listen = {"localhost": "127.0.0.1", "": "0.0.0.0"}.get(address, f"[{address}]" if ":" in address else address)
    name = "localhost" if address in _BY_NAME else listen
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", int(port))) == 0:
            raise Refused(f"--server.port must be free, got {port}, where something answers already: choose another.")
    ports = free_ports(count)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="price-of-privacy-")))
        for own in ("cells", "nginx"):
            (folder / own).mkdir(mode=0o700)
        environment = {**os.environ, CELLS: str(folder / "cells")}
        environment.setdefault(SECRET, secrets.token_hex(32))
        servers: list[subprocess.Popen[bytes]] = []

        def start(k: int) -> None:
            options = ["--server.address", "127.0.0.1", "--server.port", str(ports[k])]
            options += ["--logger.hideWelcomeMessage", "true"]
            command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), *theirs, *options, "--", *ours]
            servers.append(stack.enter_context(started(command, environment | {NUMBER: str(k + 1)})))

        def wait(k: int) -> None:
            wait_for(servers[k], f"http://127.0.0.1:{ports[k]}", f"Server process {k + 1}")

        start(0)
        wait(0)  # alone, so that a mistake in the arguments is said once
        for k in range(1, count):
            start(k)
        for k in range(1, count):
            wait(k)
        front = stack.enter_context(
            proxy(nginx, folder / "nginx", site(SITE.read_text(encoding="utf-8"), f"{listen}:{port}", ports))
        )
        wait_for(front, f"http://{name}:{port}", "nginx")
        print(f"The dashboard is at http://{name}:{port}, in {count} processes (stop it with Ctrl-C).", flush=True)
        urls = " ".join(f"--url http://localhost:{port}" for port in ports)
        print(f"To warm a lecture before class: python -m pages.lectures warm NAME {urls}", flush=True)
        return _watch(front, servers)


def _watch(front: subprocess.Popen[bytes], servers: Sequence[subprocess.Popen[bytes]]) -> int:
    """Say of each process that it has ended; returns once nobody can be served."""
    gone: set[int] = set()
    while len(gone) < len(servers):
        if front.poll() is not None:
            print("nginx has ended, so the dashboard ends; start it again.", file=sys.stderr, flush=True)
            return 1
        for k, server in enumerate(servers, 1):
            if server.poll() is not None and k not in gone:
                gone.add(k)
                left = len(servers) - len(gone)
                print(
                    f"Server process {k} has ended with status {server.returncode}: its visitors go on at the other "
                    f"processes ({left} left) in the state that their addresses name. To have all again, stop the "
                    "dashboard with Ctrl-C and start it again.",
                    file=sys.stderr,
                    flush=True,
                )
        time.sleep(_LOOK_SECONDS)
    return 1


def main(arguments: Sequence[str]) -> int:
    number, *rest = arguments or [""]
    own = rest.index("--") if "--" in rest else len(rest)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all others end, too
    try:
        return run(number_in(number), find_nginx(), rest[:own], rest[own + 1 :])
    except Refused as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
