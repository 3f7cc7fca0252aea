"""Warm a lecture on a running dashboard before class, or check the file of one.

    python -m pages.lectures warm perturbation --url http://localhost:8501
    python -m pages.lectures warm mine --lectures FOLDER
    python -m pages.lectures check FILE_OR_FOLDER

What is computed stays in the server's process: with several processes, name the address of each (`--url` may be given
many times), not that of the proxy before them. A check reads the file, then opens each step as a visitor would.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from pages.lectures import stories
from pages.lectures.reader import PAGES, FaultyLecture
from pages.lectures.rehearsal import rehearse
from pages.lectures.warming import warm
from pages.server.headless_client import Broken

# The first page is at the server's own address, the others at their names.
_ADDRESSES = {page: "" if page == PAGES[0] else page.lower() for page in PAGES}


def main(arguments: list[str]) -> int:
    """The exit status: 1 where the server does not answer, a step shows an error, or a file is no lecture."""
    parser = argparse.ArgumentParser(
        prog="python -m pages.lectures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    warming = commands.add_parser("warm", help="compute what a lecture shows before class")
    warming.add_argument("names", nargs="+", metavar="NAME", help=f"{', '.join(stories.STORIES)}, one of yours, or all")
    warming.add_argument("--url", action="append", help="of a server; http://localhost:8501 if none is given")
    warming.add_argument("--lectures", type=Path, metavar="FOLDER", help="your own, as the server was started with")
    checking = commands.add_parser("check", help="say what is wrong with a lecture's file, and in which lines")
    checking.add_argument("path", type=Path, metavar="FILE_OR_FOLDER")
    asked = parser.parse_args(arguments)
    try:
        if asked.command == "check":
            check(asked.path)
        else:
            if asked.lectures:
                stories.add(asked.lectures)
            if unknown := [name for name in asked.names if name not in (*stories.STORIES, "all")]:
                raise FaultyLecture(f"There is no lecture “{unknown[0]}”, only {', '.join(stories.STORIES)}, and all.")
            names = list(stories.STORIES) if "all" in asked.names else asked.names
            asyncio.run(walk(names, asked.url or ["http://localhost:8501"]))
    except (Broken, FaultyLecture, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


async def walk(names: list[str], urls: list[str]) -> None:
    """Warm lectures at each of these servers."""
    for url in urls:
        print(url)
        for name in names:
            story = stories.STORIES[name]
            await warm(story, _ADDRESSES[story.page], url)


def check(path: Path) -> None:
    """Say of each lecture that nothing is wrong with it; raises FaultyLecture with the faults of all others."""
    faults = []
    for story, file in stories.read_own(path):
        try:
            rehearse(story, file)
            print(f"{file}: nothing is wrong with its {len(story.steps)} steps.")
        except FaultyLecture as problem:
            faults.append(str(problem))
    if faults:
        raise FaultyLecture("\n".join(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
