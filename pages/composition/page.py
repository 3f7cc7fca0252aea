"""Composition: what do many releases, or many steps, cost together?"""

from pages.composition import descent, releases
from pages.ui.page import Page
from pages.ui.pickers import switch

REPEATED = {"gaussian": "Gaussian mechanism", "laplace": "Laplace mechanism", "sgd": "noisy SGD"}

page = Page("What do many releases cost together?")
with page.pickers:
    repeated = switch("What is repeated", REPEATED, "gaussian", key="repeated", wrap=True)
if repeated == "sgd":
    descent.show(page)
else:
    releases.show(page, "laplace" if repeated == "laplace" else "gaussian")
