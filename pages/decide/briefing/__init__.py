"""A decision to take away: one record of numbers, and the page, slides, table and code that are made from it."""
