"""Sparsity: what if few features matter, the model is a mixture of them, or a choice is made again and again?"""

from pages.sparsity import l1_ball, simplex, streaming
from pages.ui.page import Page
from pages.ui.pickers import switch

TABS = {"l1": "LASSO", "simplex": "Simplex sampling", "streaming": "Online"}
SHOW = {"l1": l1_ball.show, "simplex": simplex.show, "streaming": streaming.show}

page = Page("What if the model is sparse or a mixture?")
with page.pickers:
    tab = switch("What is learned", TABS, "l1", key="tab")
SHOW[tab](page)
