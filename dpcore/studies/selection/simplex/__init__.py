"""Simplex sampling: excess risk against the number of draws m and of columns, and one release column by column.

All of it learns the source "synthetic_mixture" over the simplex. Excess on the training records is F(theta) - F*, with
F* the least risk over the simplex; on fresh records it is F(theta) - F(truth), the truth being the mixture behind the
labels, which no other mixture beats in the population. Noise comes from (seed, mechanism key, repetition) alone, so
that curves are smooth in m, lam and epsilon.
"""
