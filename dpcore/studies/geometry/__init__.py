"""Learning over l_p balls: records for every norm, the hardest ones, what changes between p = 1 and inf, Table 1."""
