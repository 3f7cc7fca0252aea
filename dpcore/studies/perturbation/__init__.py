"""Output perturbation, objective perturbation and gradient perturbation."""
