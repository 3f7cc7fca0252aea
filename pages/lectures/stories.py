"""All lectures, by the title of their page."""

from __future__ import annotations

from pages.lectures import classes, dimension, doors, geometry, sparse, start, trust

STORIES = {
    story.page: story
    for story in (start.STORY, doors.STORY, dimension.STORY, sparse.STORY, geometry.STORY, classes.STORY, trust.STORY)
}
