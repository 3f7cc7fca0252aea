"""What pages and papers ask, each computed by a module of its own."""
