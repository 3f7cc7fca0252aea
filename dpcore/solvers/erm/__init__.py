"""Minimisers of a regularised average loss."""
