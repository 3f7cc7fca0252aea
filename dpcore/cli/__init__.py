"""Subcommands of the command line, by subject."""
