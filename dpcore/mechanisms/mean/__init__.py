"""Means of records."""
