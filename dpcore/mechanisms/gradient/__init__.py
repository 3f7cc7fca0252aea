"""Gradient perturbation."""
