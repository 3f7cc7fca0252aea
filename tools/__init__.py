"""For work on the project; nothing here is imported by it."""
