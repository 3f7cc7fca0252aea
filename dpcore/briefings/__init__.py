"""A decision to take away: one record of numbers, and the page, slides, table and code that are made from it."""

from .content import UNCOUNTED, Briefing, Curve, Interval, People, Promise
from .page import html_page
from .slides import powerpoint, slides_available
from .snippets import experiment_snippet

__all__ = [
    "UNCOUNTED",
    "Briefing",
    "Curve",
    "Interval",
    "People",
    "Promise",
    "experiment_snippet",
    "html_page",
    "powerpoint",
    "slides_available",
]
