"""Effect of the number of columns."""
