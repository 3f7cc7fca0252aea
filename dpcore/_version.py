"""The version, for the modules that note it beside what they keep."""

__version__ = "0.1.0"
