"""The Dockerfile and compose.yaml: what an image holds, as whom it runs, and two of them behind nginx."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from pages.rooms.room import LETTERS
from pages.rooms.room import SETTING as SERVER
from pages.server.host_guard import HOSTS

from ..harness import ROOT

Line = tuple[str, str]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())


def dockerfile() -> list[Line]:
    """Each instruction with what follows it."""
    text = re.sub(r"\\\n", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def values(word: str) -> list[str]:
    return [rest for found, rest in dockerfile() if found == word]


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


def test_the_image_holds_the_dashboard_and_nothing_else():
    inside = {path.as_posix() for source in sources() for path in copied(source)}
    folders = [path for name in ("dpcore", "pages") for path in (ROOT / name).rglob("*") if path.is_file()]
    parts = {path.relative_to(ROOT).as_posix() for path in folders if "__pycache__" not in path.parts}
    assert inside == parts | {"app.py", "requirements.lock", ".streamlit/config.toml"}
    assert {"dpcore/py.typed", "pages/main.py", "pages/server/policy.txt"} < inside
    for path in (".git/config", ".streamlit/secrets.toml", "tests/harness.py", "pages/__pycache__/a.pyc", ".venv/a"):
        assert is_ignored(path)


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
