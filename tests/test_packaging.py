"""What is installed is what was tested, the version is written once, the library is a package that does without the
dashboard, and the command price-of-privacy starts the dashboard where its packages are.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import dpcore
import pages

from .harness import ROOT, free_port
from .sessions import Session

LOCKS = ("requirements.lock", "requirements-dev.lock")


def pins(name: str) -> dict[str, str]:
    """name -> version of every line `name==version` of a file."""
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(), re.MULTILINE)
    assert len({canonicalize_name(key) for key, _ in found}) == len(found)
    return {canonicalize_name(key): version for key, version in found}


def wanted(name: str) -> set[str]:
    """What a list of requirements names, with those that it includes."""
    found = set()
    for line in (ROOT / name).read_text().splitlines():
        if line.startswith("-r "):
            found |= wanted(line[3:])
        elif line and not line.startswith("#"):
            found.add(canonicalize_name(Requirement(line).name))
    return found


# Locks


def unlocked(text: str) -> list[str]:
    """The lines of a lock that are neither a comment, nor a version with its hashes."""
    entry = re.compile(r"^[\w.-]+==[^\s;]+(?: ; [^\\\n]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+$", re.MULTILINE)
    return [line for line in entry.sub("", text).splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("name", LOCKS)
def test_everything_that_is_installed_has_the_tested_version_and_hashes(name):
    assert unlocked((ROOT / name).read_text()) == []
    assert pins(name).items() <= pins("constraints.txt").items()
    assert wanted(name.replace("lock", "txt")) <= set(pins(name))


def test_what_the_dashboard_needs_is_either_in_the_library_or_in_the_extra():
    """setuptools reads no list that includes others."""
    listed = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    dynamic = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["dynamic"]
    library, extra = (each["file"] for each in (dynamic["dependencies"], dynamic["optional-dependencies"]["dashboard"]))
    assert listed == [f"-r {name}" for name in (*library, *extra)]
    assert {"streamlit", "plotly"} <= wanted(*extra) and not wanted(*extra) & wanted(*library)


def test_what_is_tested_is_locked_and_the_dashboard_is_a_part_of_it():
    assert pins("requirements-dev.lock") == pins("constraints.txt")
    text, whole = ((ROOT / name).read_text() for name in LOCKS)
    assert set(re.findall("sha256:.*", text)) < set(re.findall("sha256:.*", whole))


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_packages_and_no_place_to_fetch_them_from(name):
    """Where packages come from is the business of whoever installs; that they are the same, that of the hashes."""
    text = (ROOT / name).read_text()
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host", text)
    assert text.splitlines()[1].strip("# ").startswith("uv pip compile --universal"), "says how it was made"


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_what_requirements_name_is_locked_for_every_python_and_system(version, system):
    here = {"python_version": version, "python_full_version": f"{version}.0", "sys_platform": system}
    for name in LOCKS:
        lines = re.findall(r"^(\S+==[^\\\n]+)", (ROOT / name).read_text(), re.MULTILINE)
        found = [Requirement(line.strip()) for line in lines]
        kept = {canonicalize_name(r.name) for r in found if not r.marker or r.marker.evaluate(here)}
        assert wanted(name.replace("lock", "txt")) <= kept


# The version and the licence


def test_the_version_is_written_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"] and "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "dpcore._version.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", dpcore.__version__)
    cited = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    logged = re.findall(r"^## \[(\d.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited == [dpcore.__version__] and logged[0] == dpcore.__version__
    assert logged == sorted(set(logged), key=lambda v: tuple(map(int, v.split("."))), reverse=True)


def test_the_licence_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "MIT" and project["license-files"] == ["LICENSE"]
    assert (ROOT / "LICENSE").read_text().startswith("MIT License") and "license: MIT" in (
        ROOT / "CITATION.cff"
    ).read_text()
    assert "The Price of Privacy authors" in (ROOT / "LICENSE").read_text()


# The package

TRY_IT = """
import sys
import dpcore
assert sys.argv[1] in dpcore.__file__, dpcore.__file__
X = [[0.5, 0.1], [-0.5, 0.2]] * 50
release = dpcore.solve("output_gaussian", X, [1, -1] * 50, epsilon=1.0, delta=1e-6)
try:
    import pages
except ModuleNotFoundError:
    print(dpcore.__version__, release.theta.shape, release.spent)
"""


# Of a clone: what is there besides must not reach a package.
LEFT_OUT = ("__pycache__", ".git", ".venv", ".*_cache", ".hypothesis", "build", "*.egg-info")


def parts(source: Path, *folders: str) -> list[str]:
    files = [path for folder in folders for path in (source / folder).rglob("*") if path.is_file()]
    return [path.relative_to(source).as_posix() for path in files]


@pytest.mark.nightly
def test_the_library_installs_alone_into_an_empty_environment_and_the_dashboard_after_it(tmp_path):
    """Fetches all packages: `pip install .` with the tested versions, then a release and a page elsewhere."""
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*LEFT_OUT))
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python, ours = programs / "python", programs / "price-of-privacy"
    away = {"cwd": tmp_path, "check": True, "capture_output": True, "text": True}
    pip = [python, "-m", "pip"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", tmp_path / "wheels", source], **away)
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    assert wheel.name == f"dpcore-{dpcore.__version__}-py3-none-any.whl"
    inside = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    dashboard = [*parts(source, "pages"), "app.py", ".streamlit/config.toml"]
    packages = parts(source, "dpcore", "price_of_privacy")
    assert sorted(inside) == sorted([*packages, *(f"price_of_privacy/dashboard/{name}" for name in dashboard)])
    assert "dpcore/py.typed" in inside and not (Path(pages.__file__).parent / "py.typed").exists()
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(tmp_path)!r})"
    subprocess.run([*pip, "install", "-q", "setuptools>=77"], **away)
    subprocess.run([python, "-c", build], **away | {"cwd": source})
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as source_distribution:
        shipped = {name.partition("/")[2] for name in source_distribution.getnames()}
    needed = {"setup.py", "requirements-library.txt", "requirements-dashboard.txt", *packages, *dashboard}
    assert needed <= shipped and not [name for name in shipped if name.startswith("tests")]

    subprocess.run([*pip, "install", "-q", "-c", ROOT / "constraints.txt", wheel], **away)
    done = subprocess.run([python, "-I", "-c", TRY_IT, str(tmp_path)], **away)
    assert done.stdout == f"{dpcore.__version__} (2,) Budget(epsilon=1.0, delta=1e-06)\n"
    for command in ([python, "-I", "-m", "dpcore"], [ours]):
        listed = subprocess.run([*command, "list"], **away)
        assert len(listed.stdout.splitlines()) >= len(dpcore.list_mechanisms())
    refused = subprocess.run([ours, "run"], **away | {"check": False})
    assert refused.returncode == 2 and 'pip install ".[dashboard]"' in refused.stderr

    subprocess.run(
        [*pip, "install", "-q", "-c", ROOT / "constraints.txt", f"dpcore[dashboard] @ {wheel.as_uri()}"], **away
    )
    port = free_port()
    with subprocess.Popen([ours, "run", "--", "--server.port", str(port)], cwd=tmp_path) as server:
        try:
            wait_for(server, port)
            assert asyncio.run(figures(f"http://localhost:{port}/"))
        finally:
            server.terminate()


def wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 60
    while socket.socket().connect_ex(("localhost", port)):
        assert server.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)


async def figures(url: str) -> int:
    async with Session(url) as session:
        await session.see("perturbation")
        return session.figures
