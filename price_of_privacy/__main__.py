"""price-of-privacy: `run` starts the dashboard, and the other commands are those of python -m dpcore."""

import importlib.util
import sys
from pathlib import Path

import click

from dpcore import __main__ as library
from dpcore import __version__

_HERE = Path(__file__).resolve().parent


@click.group(no_args_is_help=False)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """The dashboard Price of Privacy, and the library under it."""


@cli.command()
@click.option("--lectures", metavar="FOLDER", help="Folder with lectures of your own.")
@click.option(
    "--mechanism", multiple=True, metavar="FILE", help="Python file with a mechanism of your own; repeatable."
)
@click.option("--warm", multiple=True, metavar="NAME", help="Lecture to compute before the server answers; repeatable.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- STREAMLIT ARGUMENTS]")
def run(lectures: str | None, mechanism: tuple[str, ...], warm: tuple[str, ...], arguments: tuple[str, ...]) -> None:
    """Start the dashboard, for example: price-of-privacy run -- --server.port 8600"""
    if importlib.util.find_spec("streamlit") is None:
        raise click.ClickException(
            "the dashboard needs packages that are not installed here; in the folder of its sources, "
            f'type: {sys.executable} -m pip install ".[dashboard]"'
        )
    from streamlit.web.cli import main as streamlit

    ours = [] if lectures is None else ["--lectures", lectures]
    ours += [word for file in mechanism for word in ("--mechanism", file)]
    ours += [word for name in warm for word in ("--warm", name)]
    streamlit(["run", str(app()), *arguments, "--", *ours], prog_name="streamlit")


def app() -> Path:
    """The dashboard's script: as installed, else that of the clone."""
    installed = _HERE / "dashboard" / "app.py"
    return installed if installed.exists() else _HERE.parent / "app.py"


for name, command in library.cli.commands.items():
    cli.add_command(command, name)


def main() -> None:
    library.main(commands=cli, name="price-of-privacy")


if __name__ == "__main__":
    main()
