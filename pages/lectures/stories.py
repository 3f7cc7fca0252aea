"""All lectures, by the title of their page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from pages.lectures.steps import Story

_MODULES = {page: page.lower() for page in ("Start", "Doors", "Dimension", "Sparse", "Geometry", "Classes", "Trust")}


class _Stories(Mapping[str, Story]):
    """Each is read when somebody asks for it: it knows its page's words, and these all that the page computes with."""

    def __getitem__(self, page: str) -> Story:
        story: Story = import_module(f"pages.lectures.{_MODULES[page]}").STORY
        return story

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


STORIES = _Stories()
