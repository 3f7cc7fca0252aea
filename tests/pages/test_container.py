"""The Dockerfile and compose.yaml: what they hold, and by night a server that the Dockerfile's own lines build in a
folder and start as a user who can write nothing there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from pages.lectures.reader import PAGES
from pages.rooms.room import LETTERS
from pages.rooms.room import SETTING as SERVER
from pages.server.host_guard import HOSTS

from ..harness import ROOT, Server, free_port
from ..sessions import Session
from .test_security import ask

Line = tuple[str, str]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())


def dockerfile() -> list[Line]:
    """Each instruction with what follows it."""
    text = re.sub(r"\\\n", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def values(word: str) -> list[str]:
    return [rest for found, rest in dockerfile() if found == word]


def value(word: str) -> str:
    (found,) = values(word)
    return found


def is_ignored(path: str) -> bool:
    """Whether the last line of .dockerignore that names the path, or a folder above it, leaves it out."""
    ignored = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = re.escape(line.removeprefix("!")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
        if not line.startswith("#") and re.match(rf"{pattern}(?:/|$)", path):
            ignored = not line.startswith("!")
    return ignored


def copied(source: str) -> list[Path]:
    """The files below a path that reach the image, relative to the repository."""
    place = ROOT / source
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    return [path.relative_to(ROOT) for path in files if path.is_file() and not is_ignored(str(path.relative_to(ROOT)))]


def sources() -> list[str]:
    return [source for rest in values("COPY") for source in rest.split()[:-1]]


def health_check() -> list[str]:
    return json.loads(value("HEALTHCHECK").partition("CMD ")[2])


def test_the_image_holds_the_dashboard_and_nothing_else():
    inside = {path.as_posix() for source in sources() for path in copied(source)}
    folders = [path for name in ("dpcore", "pages") for path in (ROOT / name).rglob("*") if path.is_file()]
    parts = {path.relative_to(ROOT).as_posix() for path in folders if "__pycache__" not in path.parts}
    assert inside == parts | {"app.py", "requirements.lock", ".streamlit/config.toml"}
    assert {"dpcore/py.typed", "pages/main.py", "pages/server/policy.txt"} < inside
    for path in (".git/config", ".streamlit/secrets.toml", "tests/harness.py", "pages/__pycache__/a.pyc", ".venv/a"):
        assert is_ignored(path)


def test_the_image_is_slim_and_runs_as_a_user_who_owns_nothing_in_it():
    words = [word for word, _ in dockerfile()]
    version = re.fullmatch(r"python:(\d\.\d+)-slim", value("FROM"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert version and version[1] in SpecifierSet(project["requires-python"])
    assert words.index("USER") > max(k for k, word in enumerate(words) if word in ("RUN", "COPY"))
    user, group = map(int, value("USER").split(":"))
    assert user > 0 and group > 0
    assert "VOLUME" not in words and not [rest for rest in values("COPY") if rest.startswith("--")]
    assert json.loads(value("CMD"))[-2:] == ["run", "app.py"] and "/_stcore/health" in " ".join(health_check())
    assert [rest for rest in values("RUN") if rest.startswith("pip install")] == [
        "pip install --no-cache-dir --require-hashes -r requirements.lock"
    ]


def test_two_replicas_share_the_network_of_nginx_which_runs_the_documented_file():
    services = COMPOSE["services"]
    nginx, replicas = services["nginx"], [each for name, each in services.items() if name != "nginx"]
    conf = (ROOT / "docs" / "nginx.conf").read_text()
    assert COMPOSE["configs"]["site"] == {"file": "docs/nginx.conf"}
    (listens,) = re.findall(r"listen (\d+);", conf)
    assert nginx["ports"] == [f"{listens}:{listens}"]
    settings = [each["environment"] for each in replicas]
    places = [f"{each['STREAMLIT_SERVER_ADDRESS']}:{each['STREAMLIT_SERVER_PORT']}" for each in settings]
    assert places == re.findall(r"server (\S+) max_fails", conf) and len(places) == 2
    rooms = dict(re.findall(r'"~\*\^/join/([A-Z])" (\S+);', conf))
    assert {LETTERS[int(each[SERVER]) - 1]: place for each, place in zip(settings, places, strict=True)} == rooms
    assert {each[HOSTS] for each in settings} == {f"${{{HOSTS}:-}}"}
    for each in services.values():
        assert each["read_only"] is True and each["tmpfs"] == ["/tmp"] and "volumes" not in each
        assert each["cap_drop"] == ["ALL"]
    assert [each["network_mode"] for each in replicas] == ["service:nginx"] * 2
    # The place where the file is put is the one that nginx's own file includes.
    targets = {each["source"]: Path(each["target"]) for each in nginx["configs"]}
    assert targets["main"].parent == targets["site"].parent
    assert f"include {targets['site'].name};" in (ROOT / COMPOSE["configs"]["main"]["file"]).read_text()


# The same tree in a folder


@dataclass
class Image:
    """A folder in the place of an image's root, the environment there and the user."""

    root: Path
    environment: dict[str, str]
    place: Path = field(default=Path("/"))
    user: str = "0:0"

    @property
    def folder(self) -> Path:
        return self.root / self.place.relative_to("/")

    def start(self, command: list[str], log: Path, **environment: str) -> subprocess.Popen[bytes]:
        """A command in a container: as its user, whose home is the root, and with nothing else in the environment."""
        user, group = self.user.split(":")
        change = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs"]
        all_of_it = self.environment | {"HOME": str(self.root)} | environment
        with log.open("a") as output:
            return subprocess.Popen(
                [*change, *command], cwd=self.folder, env=all_of_it, stdout=output, stderr=subprocess.STDOUT
            )

    def listing(self) -> dict[str, int]:
        return {str(path): path.lstat().st_mtime_ns for path in self.root.rglob("*")}


# What the image begins with, if every user of this machine can run it.
PYTHON = shutil.which(value("FROM").replace(":", "").removesuffix("-slim"), path="/usr/local/bin:/usr/bin")


def build(root: Path) -> Image:
    """Follow the Dockerfile; Python is this machine's, without packages."""
    subprocess.run([str(PYTHON), "-m", "venv", root / "python"], check=True)
    image = Image(root, {"PATH": f"{root}/python/bin:/usr/bin:/bin"})
    for word, rest in dockerfile():
        match word:
            case "WORKDIR":
                image.place = Path(rest)
                image.folder.mkdir(parents=True)
            case "ENV":
                image.environment |= dict(each.split("=", 1) for each in shlex.split(rest))
            case "COPY":
                source, target = rest.split()
                for path in copied(source):
                    inside = path.relative_to(source) if (ROOT / source).is_dir() else Path(path.name)
                    place = image.folder / target / inside
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / path, place)
                    place.chmod(0o600)  # as they are where only their owner reads new files
            case "RUN":
                # With the caller's environment too: it says where packages come from.
                subprocess.run(rest, shell=True, cwd=image.folder, env=os.environ | image.environment, check=True)
            case "USER":
                image.user = rest
    return image


@contextlib.contextmanager
def running(image: Image, log: Path) -> Iterator[Server]:
    """The image's command, once its health check passes."""
    port = str(free_port())
    settings = {"STREAMLIT_SERVER_PORT": port, HOSTS: "class.example.org"}
    process = image.start(json.loads(value("CMD")), log, **settings)
    try:
        deadline = time.monotonic() + 60
        while image.start(health_check(), log.with_name("health"), **settings).wait(60) != 0:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield Server(f"http://localhost:{port}", log, process.pid)
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait(30)
    assert image.start(health_check(), log.with_name("health"), **settings).wait(60) != 0, "it has ended"


async def look(url: str) -> None:
    """Visit every page, as it opens and at another epsilon."""
    for page in ("", *(name.lower() for name in PAGES[1:])):
        for query in ("", "epsilon=0.1"):
            async with Session(url) as session:
                await session.see(page, query)


@pytest.mark.nightly
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or PYTHON is None or shutil.which("setpriv") is None,
    reason="needs root, setpriv and the image's Python in /usr, to start the server as somebody else",
)
def test_the_image_s_own_commands_make_a_server_that_writes_nothing(tmp_path):
    """Fetches all packages, as building the image does."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as everybody_s:
        root, temporary, log = Path(folder), Path(everybody_s), tmp_path / "log"
        root.chmod(0o755)
        temporary.chmod(0o1777)
        image = build(root)
        image.environment["TMPDIR"] = everybody_s
        before = image.listing()
        with running(image, log) as server:
            asyncio.run(look(server.url))
            assert ask(server, "/", Host="class.example.org")[0] == 200
            assert ask(server, "/", Host="example.org")[0] == 400
            status = Path(f"/proc/{server.process}/status").read_text()
            assert re.search(r"^Uid:\t1000\t1000\t1000\t1000$", status, re.MULTILINE)
            (most,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
            assert int(most) < 700_000, "docs/deployment.md says how much memory a process takes"
        assert image.listing() == before
        # What had not been compiled would be compiled into a folder here, or else be said not to be kept.
        assert list(temporary.iterdir()) == []
    said = log.read_text()
    assert "Traceback" not in said
    assert "cannot be kept" not in said
