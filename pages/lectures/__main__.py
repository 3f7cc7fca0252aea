"""Warm a lecture on a running dashboard before class, or check the file of one.

    python -m pages.lectures warm perturbation --url http://localhost:8501
    python -m pages.lectures check pages/lectures/perturbation.yaml

What is computed stays in the server's process: with several processes, name the address of each (`--url` may be given
many times), not that of the proxy before them.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from pages.lectures.reader import PAGES, FaultyLecture, read, shipped
from pages.lectures.warming import warm
from pages.server.headless_client import Broken

# The first page is at the server's own address, the others at their names.
_ADDRESSES = {page.lower(): "" if page == PAGES[0] else page.lower() for page in PAGES}


def main(arguments: list[str]) -> int:
    """The exit status: 1 where the server does not answer, a step shows an error, or a file is no lecture."""
    parser = argparse.ArgumentParser(
        prog="python -m pages.lectures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    warming = commands.add_parser("warm", help="compute what a lecture shows before class")
    warming.add_argument("names", nargs="+", choices=[*_ADDRESSES, "all"], metavar="NAME", help=", ".join(_ADDRESSES))
    warming.add_argument("--url", action="append", help="of a server; http://localhost:8501 if none is given")
    checking = commands.add_parser("check", help="say what is wrong with a lecture's file, and in which lines")
    checking.add_argument("file", type=Path, metavar="FILE")
    asked = parser.parse_args(arguments)

    async def walk(names: list[str]) -> None:
        for url in asked.url or ["http://localhost:8501"]:
            print(url)
            for name in names:
                await warm(read(shipped(name)), _ADDRESSES[name], url)

    try:
        if asked.command == "warm":
            asyncio.run(walk(list(_ADDRESSES) if "all" in asked.names else asked.names))
        else:
            print(f"{asked.file}: nothing is wrong with its {len(read(asked.file).steps)} steps.")
    except (Broken, FaultyLecture, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
