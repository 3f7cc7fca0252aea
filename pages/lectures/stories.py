"""All lectures, by the title of their page."""

from pages.lectures.reader import PAGES, read, shipped

STORIES = {page: read(shipped(page)) for page in PAGES}
