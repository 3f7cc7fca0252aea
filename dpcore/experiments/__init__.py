"""Sweeps of mechanisms over data, and what is measured in them."""
