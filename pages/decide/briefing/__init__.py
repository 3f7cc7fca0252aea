"""Briefing on a decision: one record of numbers, and the page, table and code made from it."""
