"""Selection: draws of columns from a mixture, and of an arm in every step of a stream."""

from pages.selection import simplex, streaming
from pages.ui.page import Page
from pages.ui.pickers import switch

TABS = {"simplex": "Simplex sampling", "streaming": "Online"}
SHOW = {"simplex": simplex.show, "streaming": streaming.show}

page = Page("What does a private choice cost?")
with page.pickers:
    tab = switch("What is chosen", TABS, "simplex", key="tab")
SHOW[tab](page)
