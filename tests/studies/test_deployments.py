"""The records of real deployments are complete, and converted numbers are those of the formula."""

import re

import pytest

from dpcore.accounting.zcdp import zcdp_epsilon
from dpcore.studies.decide.deployments import DEPLOYMENTS


@pytest.mark.parametrize("each", DEPLOYMENTS, ids=lambda each: each.what)
def test_every_fact_says_who_when_of_what_and_where_it_stands(each):
    assert all((each.who, each.what, each.unit, each.note, each.source))
    assert re.fullmatch(r"20[12]\d(-(0[1-9]|1[0-2]))?", each.date)
    assert 0.0 < each.epsilon < 100.0 and 0.0 <= each.delta <= 1e-5
    assert each.model in ("central", "local", "federated")
    assert each.address.startswith("https://")
    assert re.search(r"\(20[12]\d\)$", each.source) and each.source[-5:-1] <= "2024"
    # A number that comes again says so.
    assert not each.renews or re.search(r"again|rounds repeat", each.note)


def test_there_are_enough_and_of_every_kind():
    assert len(DEPLOYMENTS) >= 8 and len({each.what for each in DEPLOYMENTS}) == len(DEPLOYMENTS)
    assert {each.model for each in DEPLOYMENTS} == {"central", "local", "federated"}


def test_published_conversions_of_zcdp_are_near_the_formula():
    """Wikimedia rounds 0.85 up to 1, and there are several formulas."""
    for rho, what in ((2.56, "tables of persons"), (0.07, "tables of housing units"), (0.015, "page views")):
        found = next(each for each in DEPLOYMENTS if what in each.what)
        assert f"{rho}-zCDP" in found.note
        assert 0.8 * found.epsilon < zcdp_epsilon(rho, found.delta) < 1.01 * found.epsilon
