"""The questions of pages and papers, each computed by its own module."""
