"""The command price-of-privacy: the library's commands, and `run` for the dashboard."""

from __future__ import annotations

import importlib.util

import pytest
import streamlit.web.cli

import dpcore
from dpcore import __main__ as library
from price_of_privacy.__main__ import cli, main

from .harness import ROOT


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["price-of-privacy", *arguments])
    main()


def test_it_has_every_command_of_the_library():
    assert {name: command for name, command in cli.commands.items() if name != "run"} == library.cli.commands
    assert "run" not in library.cli.commands, "it starts the dashboard, and nothing else"


def test_both_commands_tell_their_version(monkeypatch, capsys):
    called(monkeypatch, "--version")
    library.main(["--version"])
    assert capsys.readouterr().out == f"price-of-privacy {dpcore.__version__}\npython -m dpcore {dpcore.__version__}\n"


def test_run_starts_the_clone_s_dashboard_with_arguments_for_streamlit_and_for_it(monkeypatch):
    seen: list[list[str]] = []
    monkeypatch.setattr(streamlit.web.cli, "main", lambda arguments, prog_name: seen.append(arguments))
    called(monkeypatch, "run")
    own = ("--lectures", "mine", "--mechanism", "a.py", "--mechanism", "b.py", "--warm", "all")
    called(monkeypatch, "run", *own, "--", "--server.port", "8600")
    script = str(ROOT / "app.py")
    assert seen == [["run", script, "--"], ["run", script, "--server.port", "8600", "--", *own]]


def test_without_the_dashboard_s_packages_run_says_how_to_install_them(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="2"):
        called(monkeypatch, "run")
    said = capsys.readouterr().err
    assert said.startswith("Error: the dashboard needs packages ") and said.count("\n") == 1
    assert said.endswith('-m pip install ".[dashboard]"\n')


def test_errors_name_the_command(monkeypatch, capsys):
    with pytest.raises(SystemExit, match="2"):
        called(monkeypatch, "sweep", "nothing.json")
    assert capsys.readouterr().err.endswith("(see price-of-privacy sweep --help)\n")
