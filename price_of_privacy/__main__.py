"""price-of-privacy: `run` starts the dashboard, `sweep` is `run` of python -m dpcore, and the others have its names."""

import importlib.util
import os
import sys
from pathlib import Path

import click

from dpcore import __main__ as library

_HERE = Path(__file__).resolve().parent


@click.group(no_args_is_help=False)
def cli() -> None:
    """The dashboard Price of Privacy, and the library under it."""


@cli.command()
@click.option("--lectures", metavar="FOLDER", help="Folder with lectures of your own.")
@click.option(
    "--mechanism", multiple=True, metavar="FILE", help="Python file with a mechanism of your own; repeatable."
)
@click.option("--servers", metavar="N", help="Number of server processes behind nginx, for a full classroom.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- STREAMLIT ARGUMENTS]")
def run(lectures: str | None, mechanism: tuple[str, ...], servers: str | None, arguments: tuple[str, ...]) -> None:
    """Start the dashboard, for example: price-of-privacy run -- --server.port 8600"""
    if importlib.util.find_spec("streamlit") is None:
        raise click.ClickException(
            "the dashboard needs packages that are not installed here; in the folder of its sources, "
            f'type: {sys.executable} -m pip install ".[dashboard]"'
        )
    from streamlit.web.cli import main as streamlit

    ours = [] if lectures is None else ["--lectures", lectures]
    ours += [word for file in mechanism for word in ("--mechanism", file)]
    if servers is not None:
        ours = [word if word.startswith("--") else os.path.abspath(word) for word in ours]
        os.chdir(app().parent)  # from where Python finds the module
        command = [sys.executable, "-m", "pages.server.several_servers", servers, *arguments, "--", *ours]
        os.execv(sys.executable, command)
    streamlit(["run", str(app()), *arguments, "--", *ours], prog_name="streamlit")


def app() -> Path:
    """The dashboard's script: as installed, else that of the clone."""
    installed = _HERE / "dashboard" / "app.py"
    return installed if installed.exists() else _HERE.parent / "app.py"


for name, command in library.cli.commands.items():
    cli.add_command(command, "sweep" if name == "run" else name)


def main() -> None:
    library.main(commands=cli, name="price-of-privacy")


if __name__ == "__main__":
    main()
