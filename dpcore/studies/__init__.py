"""Studies behind pages and papers, each in its own module."""
