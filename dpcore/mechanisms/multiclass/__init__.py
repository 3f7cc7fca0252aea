"""The large-margin Gaussian classifier, private."""
