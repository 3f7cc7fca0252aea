"""What a class will look at, computed before it comes in: the server keeps it for everybody who asks the same."""

from collections.abc import Callable, Iterable
from urllib.parse import urlencode

from pages.lectures.reader import Story
from pages.server.headless_client import HeadlessClient


async def warm(story: Story, page: str, url: str, told: Callable[[str], None] = print) -> None:
    """Open every step of a lecture and go through all places of the sliders that stay there, one slider at a time.

    page: what follows the server's address `url`. told: hears of each step.

    Raises Broken where a step shows an error.
    """
    for number, step in enumerate(story.steps, 1):
        async with HeadlessClient(url) as client:
            seconds = await client.visit(page, urlencode({"lecture": story.name, "step": number}))
            await client.settle()
            moves = await explore(client, step.kept)
        told(f"{story.name}, step {number} of {len(story.steps)}: {seconds:.1f} s to open, {moves} places of sliders")


async def explore(client: HeadlessClient, keys: Iterable[str], farthest: int | None = None) -> int:
    """Put each slider on each of its places, at most so far from where it stands, and back; returns how many.

    A key that is no slider of the page is passed over: also buttons may stay in a lecture.
    """
    places = 0
    for key in keys:
        if key not in client.sliders:
            continue
        start, options = client.place(key), list(client.sliders[key].options)
        reach = len(options) if farthest is None else farthest
        for place, option in enumerate(options):
            if place != start and abs(place - start) <= reach:
                await client.move(key, option)
                await client.settle()
                places += 1
        if places:
            await client.move(key, options[start])
            await client.settle()
    return places
