"""Tests that drive a browser; each module carries the mark `browser`."""
