"""Output perturbation."""
