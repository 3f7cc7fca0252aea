"""Gradient descent: noisy, stochastic and phased."""
