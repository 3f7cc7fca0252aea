"""A decision to take away: one record of numbers, and the page, slides, table and code that are made from it."""

from pages.decide.briefing.content import UNCOUNTED, Briefing, Interval, LossCurve, People, Promise
from pages.decide.briefing.page import html_page
from pages.decide.briefing.slides import powerpoint, slides_available
from pages.decide.briefing.snippets import experiment_snippet

__all__ = [
    "UNCOUNTED",
    "Briefing",
    "Interval",
    "LossCurve",
    "People",
    "Promise",
    "experiment_snippet",
    "html_page",
    "powerpoint",
    "slides_available",
]
