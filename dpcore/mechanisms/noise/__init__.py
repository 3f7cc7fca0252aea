"""Laws of noise."""
