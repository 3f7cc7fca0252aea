"""Briefing on a decision: one record of numbers, and the page, slides, table and code made from it."""
