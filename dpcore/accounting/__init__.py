"""What noise costs in privacy, and what it costs composed."""
