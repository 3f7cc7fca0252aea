"""What columns cost."""
