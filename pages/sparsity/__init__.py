"""What the tabs of the page Sparsity share."""

SOURCE = "synthetic"  # all records of the page are drawn
