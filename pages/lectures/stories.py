"""All lectures by their names: those that come with the dashboard, and a teacher's own."""

import re
from pathlib import Path

from pages.lectures.reader import PAGES, FaultyLecture, Story, read, shipped

_ENDINGS = (".yaml", ".yml")
_SHIPPED = [read(file) for file in sorted(Path(__file__).parent.glob("*.yaml"))]
# In the order of the navigation, each page's own lecture first.
_SHIPPED.sort(key=lambda story: (PAGES.index(story.page), story.name != story.page.lower()))
STORIES = {story.name: story for story in _SHIPPED}
OWN: list[Path] = []  # where a teacher of this server keeps lectures; none is written without
# Where those controls of a page stand that a teacher's file does not name; Papers has no lecture that says it.
_CONTROLS = {story.page: story.defaults for story in STORIES.values() if story.name == story.page.lower()} | {
    "Papers": {"about": "errata", "certified": None, "reproduced": "jain-thakurta-1b"}
}


def read_own(path: Path) -> list[tuple[Story, Path]]:
    """A teacher's lectures with their files: that of one file, or all of a folder.

    What a file says of no control stands there as at the beginning of the page's own lecture.

    Raises FaultyLecture with a line for each fault of all files.
    """
    if not path.exists():
        raise FaultyLecture(f"{path}: There is no such file or folder.")
    files = [path]
    if path.is_dir():
        files = _yaml_files(path)
        if not files:
            raise FaultyLecture(f"{path}: There is no lecture in this folder: no name of a file ends with .yaml.")
    stories, faults = dict[str, tuple[Story, Path]](), list[str]()
    for file in files:
        try:
            story = read(file, _CONTROLS)
        except FaultyLecture as problem:
            faults.append(str(problem))
            continue
        if not re.fullmatch(r"[a-z0-9_-]{1,40}", story.name):
            rule = "1 to 40 of a-z, 0-9, _ and -"
            faults.append(f"{file}: The file's name stands in the address and must be {rule}, got “{story.name}”.")
        elif story.name in stories or (story.name in STORIES and not file.samefile(shipped(story.name))):
            faults.append(f"{file}: There is another lecture “{story.name}”: rename the file.")
        stories[story.name] = story, file
    if faults:
        raise FaultyLecture("\n".join(faults))
    return list(stories.values())


def add(folder: Path) -> None:
    """Offer the lectures in a teacher's file or folder, too, and help to write more; a folder may be empty yet.

    Raises FaultyLecture.
    """
    if not folder.is_dir() or _yaml_files(folder):
        STORIES.update({story.name: story for story, _ in read_own(folder)})
    OWN.append(folder)


def _yaml_files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.iterdir()) if file.suffix in _ENDINGS]


def of_page(page: str) -> list[Story]:
    """The lectures of a page, its own first."""
    return [story for story in STORIES.values() if story.page == page]
