"""The cost of columns."""
