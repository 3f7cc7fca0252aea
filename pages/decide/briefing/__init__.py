"""A decision to take away: one record of numbers, and the page, slides, table and code that are made from it."""

from pages.decide.briefing.content import UNCOUNTED, Briefing, Interval, LossCurve, People, Promise
from pages.decide.briefing.page import html_page
from pages.decide.briefing.slides import powerpoint, slides_available

__all__ = [
    "UNCOUNTED",
    "Briefing",
    "Interval",
    "LossCurve",
    "People",
    "Promise",
    "html_page",
    "powerpoint",
    "slides_available",
]
