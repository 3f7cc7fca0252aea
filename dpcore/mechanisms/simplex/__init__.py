"""Simplex sampling, and private FTRL on streams of costs."""
