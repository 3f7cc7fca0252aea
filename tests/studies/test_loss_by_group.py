"""Who bears the loss: groups of a declared column."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore import NotApplicable, Problem
from dpcore.data import Category, Declared, UploadedRecords, read_table
from dpcore.studies.decide.loss_by_group import loss_by_group
from dpcore.studies.decide.loss_curve import LostCurve, Setting, lost_curve

WARDS = ("north", "south", "nowhere")


RNG = np.random.default_rng(3)
X, NORTH = RNG.uniform(0.0, 1.0, 600).round(3), RNG.random(600) < 0.5


@pytest.fixture(scope="module")
def records() -> UploadedRecords:
    """600 people: the answer follows from x in the north, and from nothing that is known in the south."""
    yes = np.where(NORTH, X > 0.5, RNG.random(600) < 0.5)
    lines = [f"{x},{WARDS[0] if north else WARDS[1]},{int(one)}" for x, north, one in zip(X, NORTH, yes, strict=True)]
    table = read_table("\n".join(["x,ward,sick", *lines]).encode(), "people.csv", "sick")
    return UploadedRecords(table, Declared(("x",), (0.0,), (1.0,), "1", "refuse", (Category("ward", WARDS),)), "people")


def curve_of(records: UploadedRecords, **more: str) -> LostCurve:
    problem = Problem(records.key, n=records.source.size, p=records.source.p)
    return lost_curve(Setting(problem, "output_gaussian", splits=6, epsilons=(0.1, 1.0, 10.0), **more))


def test_groups_share_the_loss_and_whoever_can_be_told_bears_it(records):
    curve = curve_of(records)
    north, south, nowhere = loss_by_group(curve, "ward", 1.0)
    assert (north.group, south.group) == WARDS[:2] and north.lost > 3.0 + max(south.lost, 0.0)
    assert nowhere.rows == 0 and np.isnan(nowhere.lost)
    _, places = records.groups("ward")
    weights = [curve.tested[places == place].sum() for place in (0, 1)]
    assert np.average([north.lost, south.lost], weights=weights) == pytest.approx(curve.mean[1])
    assert 0.0 < north.error < north.lost and north.rows + south.rows == (curve.tested > 0).sum()


def test_numbers_are_parted_at_the_middle_of_their_bounds(records):
    names, places = records.groups("x")
    assert names == ("below 0.5", "from 0.5 on") and (places == (X >= 0.5)).all()
    assert (records.groups("ward")[1] == ~NORTH).all()
    assert [each.group for each in loss_by_group(curve_of(records), "x", 0.3)] == [*names]


def test_what_has_no_groups_is_refused(records):
    with pytest.raises(ValueError, match="column must be one of"):
        loss_by_group(curve_of(records), "age", 1.0)
    with pytest.raises(NotApplicable, match="right or wrong"):
        loss_by_group(curve_of(records, metric="auc"), "ward", 1.0)
