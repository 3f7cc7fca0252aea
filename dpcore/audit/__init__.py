"""Attacks on what a mechanism claims, and what they prove."""
