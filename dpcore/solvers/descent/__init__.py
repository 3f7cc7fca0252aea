"""Gradient descent: noisy, stochastic, phased, and without noise."""
