"""Dimension: what do many columns cost, where they are useless and where a sparse model is learned?"""

from pages.dimension import idle, sparse
from pages.ui.page import Page
from pages.ui.pickers import switch

TOPICS = {"idle": "Useless columns", "sparse": "Sparse model"}
SHOW = {"idle": idle.show, "sparse": sparse.show}

page = Page("Do a million columns hurt?")
with page.pickers:
    topic = switch("What the columns are", TOPICS, "idle", key="topic")
SHOW[topic](page)
