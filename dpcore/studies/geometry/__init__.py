"""Learning over l_p balls: records for every norm, the hardest records, changes from p = 1 to inf, and Table 1."""
