"""The large-margin Gaussian classifier: its objective and its minimiser."""
