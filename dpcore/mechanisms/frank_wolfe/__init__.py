"""Private Frank-Wolfe."""
