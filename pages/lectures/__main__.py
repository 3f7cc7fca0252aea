"""Say what is wrong with the file of a lecture, and in which lines.

    python -m pages.lectures check FILE_OR_FOLDER

It reads the file, then opens each step's page in the step's state.
"""

import argparse
import sys
from pathlib import Path

from pages.lectures import stories
from pages.lectures.reader import FaultyLecture
from pages.lectures.rehearsal import rehearse, without_warnings


def main(arguments: list[str]) -> int:
    """The exit status: 1 where a file is no lecture or a page cannot show a step."""
    parser = argparse.ArgumentParser(
        prog="python -m pages.lectures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    checking = parser.add_subparsers(required=True).add_parser("check", help="say what is wrong with a lecture's file")
    checking.add_argument("path", type=Path, metavar="FILE_OR_FOLDER")
    try:
        check(parser.parse_args(arguments).path)
    except (FaultyLecture, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def check(path: Path) -> None:
    """Say of each lecture that nothing is wrong with it; raises FaultyLecture with the faults of all others."""
    faults = []
    for story, file in stories.read_own(path):
        try:
            with without_warnings():
                rehearse(story, file)
            print(f"{file}: nothing is wrong with its {len(story.steps)} steps.")
        except FaultyLecture as problem:
            faults.append(str(problem))
    if faults:
        raise FaultyLecture("\n".join(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
