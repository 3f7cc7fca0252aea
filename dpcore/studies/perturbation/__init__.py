"""Noise in the answer, in the question and in every step."""
