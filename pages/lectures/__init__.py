"""Lectures: each page as a story of a few steps, told from the keyboard."""
