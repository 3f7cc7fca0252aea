"""How many draws a theorem allows: the figure holds the counts, and says where nothing is released."""

from dpcore.studies.sparsity.simplex.published_draws import draws_at, published_draws

FACTS = dict(p=128, epsilon=1.0, delta=1e-6, loss="huber")


def test_the_counts_at_one_n_are_those_of_the_curve():
    made = published_draws(**FACTS)
    for k in (0, 5, 15):
        theirs, ours = draws_at(int(made.n[k]), **FACTS)
        assert (theirs, ours) == (made.published[k], made.ours[k])
    assert draws_at(made.first, **FACTS)[0] >= 1.0 > draws_at(made.first - 1, **FACTS)[0]
