"""`--servers`: what is refused, what nginx is given, and by night two processes at one address."""

from __future__ import annotations

import asyncio
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import dev
from pages.server import several_servers as several
from pages.server import shared_cells
from pages.server.headless_client import HeadlessClient
from price_of_privacy.__main__ import main

from ..harness import ROOT, free_port


@pytest.mark.parametrize("said", ["", "0", "1", "20", "2.0", "two", "-2"])
def test_a_wrong_number_is_refused(said, capsys):
    assert several.main([said]) == 1
    assert capsys.readouterr().err == (
        f"--servers must be a whole number from 2 to 19, got {said!r}: leave it out for one.\n"
    )


def test_without_nginx_the_command_that_installs_it_is_said(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert several.main(["2"]) == 1
    said = capsys.readouterr().err
    assert "not installed: type `sudo apt install nginx-light`" in said and said.count("\n") == 1


def test_nginx_is_given_the_documented_file_but_for_the_places():
    before, after = several.SITE.read_text(), several.site(several.SITE.read_text(), "127.0.0.1:8600", [81, 82, 83])
    changes = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "-+"]
    assert all(re.match(r"[-+] +(server 127|listen|\"~\*\^/join/[BCD]\" 127)", line) for line in changes)
    assert len(re.findall("^    server 127", after, re.M)) == 3


def test_both_commands_hand_on_what_is_for_servers_and_what_is_the_dashboard_s(monkeypatch, tmp_path):
    ran: list[list[str]] = []
    monkeypatch.setattr(dev, "install", lambda goal: {"run": ""})
    monkeypatch.setattr(dev, "warm", lambda mark: None)
    monkeypatch.setattr(dev, "call", lambda *command: ran.append(list(command[1:])))
    monkeypatch.setattr(os, "execv", lambda program, command: ran.append(command[1:]))
    monkeypatch.setattr(os, "chdir", lambda folder: ran.append([str(folder)]))
    dev.run(["--servers", "3", "--lectures", "/mine", "--server.port", "8765"])
    arguments = ["--server.address", "localhost", "--server.port", "8765"]
    start = ["-m", "pages.server.several_servers", "3"]
    assert ran == [[*start, *arguments, "--server.port", "8765", "--", "--lectures", "/mine"]]
    with pytest.raises(dev.Failure, match="--servers must be followed by a number"):
        dev.run(["--servers"])

    ran.clear()
    words = ["run", "--servers", "3", "--lectures", "/mine", "--", "--server.port", "8765"]
    monkeypatch.setattr("sys.argv", ["price-of-privacy", *words])
    monkeypatch.setattr("streamlit.web.cli.main", lambda *_, **__: None)  # where the real execv would not return
    main()
    assert ran == [[str(ROOT)], [*start, "--server.port", "8765", "--", "--lectures", "/mine"]]


def test_a_folder_of_cells_that_others_may_read_ends_the_start(monkeypatch, tmp_path):
    tmp_path.chmod(0o755)
    monkeypatch.setenv(shared_cells.SETTING, str(tmp_path))
    with pytest.raises(SystemExit, match=r"^PRICE_OF_PRIVACY_CELLS: the folder of shared cells must"):
        shared_cells.begin()


def test_a_process_that_has_ended_is_said(monkeypatch, capsys):
    monkeypatch.setattr(several, "_LOOK_SECONDS", 0.0)
    lives = iter([None, -9, -9, -9])
    first = SimpleNamespace(returncode=-9, poll=lambda: next(lives))
    second = SimpleNamespace(returncode=1, poll=lambda: 1 if next(lives) else None)
    assert several._watch(SimpleNamespace(poll=lambda: None), [first, second]) == 1
    said = capsys.readouterr().err.splitlines()
    assert [
        re.match(r"Server process (\d) has ended with status (-?\d+): .*\((\d) left\)", line).groups() for line in said
    ] == [
        ("2", "1", "1"),
        ("1", "-9", "0"),
    ]
    assert several._watch(SimpleNamespace(poll=lambda: 0), [first, second]) == 1
    assert capsys.readouterr().err.startswith("nginx has ended")


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed (apt install nginx-light)")
def test_two_processes_serve_one_address_and_end_together(tmp_path):
    port = free_port()
    log = tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pages.server.several_servers", "2", "--server.port", str(port)],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdout=output,
            stderr=output,
            start_new_session=True,  # so that Ctrl-C reaches all, as in a terminal
        )
    try:
        _wait(lambda: "The dashboard is at" in log.read_text() or process.poll() is not None)
        url = f"http://localhost:{port}"
        assert f"The dashboard is at {url}, in 2 processes" in log.read_text()
        asyncio.run(_visit(url))
        (folder,) = tmp_path.glob("price-of-privacy-*")
        assert folder.stat().st_mode & 0o77 == 0 and list((folder / "cells").glob("*.cell"))
        children = list(map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()))
        assert len(children) == 3
        os.kill(children[0], signal.SIGKILL)
        _wait(lambda: "Server process 1 has ended with status -9" in log.read_text())
        asyncio.run(_visit(url))
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 130
        assert not folder.exists() and not any(Path(f"/proc/{child}").exists() for child in children)
    finally:
        process.terminate()
        process.wait(60)


async def _visit(url: str) -> None:
    """Eight browsers, each with its seat: on both processes all but surely."""
    for k in range(8):
        async with HeadlessClient(url, cookie=f"seat={k:032x}") as client:
            await client.visit("", "n=300")
            await client.see()
            assert client.figures and not client.errors


def _wait(done) -> None:
    deadline = time.monotonic() + 120
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)
