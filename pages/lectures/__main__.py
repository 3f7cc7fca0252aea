"""Warm a lecture on a running dashboard before class: `python -m pages.lectures warm doors --url http://localhost:8501`.

What is computed stays in the server's process: with several processes, name the address of each (`--url` may be given
many times), not that of the proxy before them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from pages.lectures.stories import STORIES
from pages.lectures.warming import warm
from pages.server.headless_client import Broken

# The first page is at the server's own address, the others at their names.
_STORIES = {story.name: ("" if page == next(iter(STORIES)) else story.name, story) for page, story in STORIES.items()}


def main(arguments: list[str]) -> int:
    """The exit status: 1 where the server does not answer or a step shows an error."""
    parser = argparse.ArgumentParser(prog="python -m pages.lectures", description=__doc__)
    commands = parser.add_subparsers(required=True)
    warming = commands.add_parser("warm", help="compute what a lecture shows before class")
    warming.add_argument("names", nargs="+", choices=[*_STORIES, "all"], metavar="NAME", help=", ".join(_STORIES))
    warming.add_argument("--url", action="append", help="of a server; http://localhost:8501 if none is given")
    asked = parser.parse_args(arguments)
    names = list(_STORIES) if "all" in asked.names else asked.names

    async def walk() -> None:
        for url in asked.url or ["http://localhost:8501"]:
            print(url)
            for name in names:
                page, story = _STORIES[name]
                await warm(story, page, url)

    try:
        asyncio.run(walk())
    except (Broken, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
