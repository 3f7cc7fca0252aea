"""Streams of costs."""
