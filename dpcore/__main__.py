"""python -m dpcore list | info | calibrate | solve | predict | ledger | sweep | warm | audit | errata | reproduce."""

import io
import json
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from ._version import __version__
from .cli import afterwards, claims, experiments, plans, releases
from .core.blas import one_blas_thread


@click.group(no_args_is_help=False)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Differentially private mechanisms with explicit guarantees (a teaching and research library)."""


for command in (
    releases.list_command,
    releases.info,
    plans.calibrate,
    releases.solve,
    afterwards.predict,
    afterwards.ledger,
    experiments.sweep,
    experiments.warm,
    claims.audit,
    claims.errata,
    claims.reproduce,
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None, commands: click.Group = cli, name: str = "python -m dpcore") -> None:
    """Run a command line; what the user can mend ends in one sentence, with --json as JSON, and exit code 2."""
    as_json = "--json" in (sys.argv[1:] if arguments is None else arguments)
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # as on stderr: no text of a file fails to be printed
        one_blas_thread()
        commands.main(arguments, prog_name=name, standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.UsageError as error:
        help_at = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        _stop(error.format_message().removesuffix(".") + help_at, as_json)
    except click.ClickException as error:
        _stop(error.format_message(), as_json)
    except OSError as error:
        _stop(f"{error.filename or 'a file'} cannot be used: {error.strerror or error}", as_json)
    except (ValueError, TypeError, ArithmeticError, RuntimeError, MemoryError) as error:
        _stop(str(error), as_json)


def _stop(sentence: str, as_json: bool) -> NoReturn:
    told = " ".join(sentence.split())
    click.echo(json.dumps({"error": told}) if as_json else f"Error: {told}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
