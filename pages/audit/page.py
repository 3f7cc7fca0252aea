"""Audit: can I believe a privacy guarantee? Attack the code, account for its steps, or see published mechanisms."""

from pages.audit import attack, ledger, published
from pages.ui.page import Page
from pages.ui.pickers import switch

VIEWS = {"attack": "Attack", "ledger": "Accounting", "published": "Published guarantees"}
SHOW = {"attack": attack.show, "ledger": ledger.show, "published": published.show}

page = Page("Can I believe a privacy guarantee?")
with page.pickers:
    view = switch("How to find out", VIEWS, "attack", key="check", wrap=True)
SHOW[view](page)
