"""The laws that noise is drawn from."""
