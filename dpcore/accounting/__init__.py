"""Privacy cost of noise, alone and composed."""
