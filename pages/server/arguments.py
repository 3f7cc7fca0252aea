"""What the command that starts the server adds: lectures and mechanisms of one's own.

    streamlit run app.py -- --lectures FOLDER --mechanism FILE --warm NAME

Only the command can add them, never a visitor: a mechanism is code that runs as the server's own. Lectures to be warmed
are played here, before the server answers.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

from pages.rooms.room import server_letter


def accept(arguments: Sequence[str]) -> None:
    """Add the files that these arguments name; a fault in one, or in a setting, ends the start with its sentences."""
    parser = argparse.ArgumentParser(prog="streamlit run app.py --", description=__doc__, allow_abbrev=False)
    parser.add_argument("--lectures", type=Path, metavar="FOLDER", help="with lectures of your own, one file each")
    parser.add_argument(
        "--mechanism", type=Path, action="append", default=[], metavar="FILE", help="of Python, which will be run"
    )
    parser.add_argument(
        "--warm",
        action="append",
        default=[],
        metavar="NAME",
        help="a lecture to compute before the server answers, or all",
    )
    asked = parser.parse_args(arguments)
    try:
        server_letter()
    except ValueError as problem:
        sys.exit(str(problem))
    if asked.mechanism or entry_points(group="dpcore.mechanisms"):  # importing them takes a second
        from dpcore import mechanisms

        try:
            for file in asked.mechanism:
                mechanisms.add_mechanisms(file)
            mechanisms.list_mechanisms()
        except mechanisms.FaultyMechanism as problem:
            sys.exit(str(problem))
    if asked.lectures:
        from pages.lectures import reader, stories

        try:
            stories.add(asked.lectures)
        except (reader.FaultyLecture, OSError) as problem:
            sys.exit(str(problem))
    if asked.warm:
        from pages.lectures import reader, warming

        try:
            lectures = warming.named(asked.warm)
        except reader.FaultyLecture as problem:
            sys.exit(str(problem))
        warming.warm(lectures)
