"""Excess risk is measured from the infimum over what is released: no mean that a page shows lies below 0."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.page_driver import SCRIPTS, finished, open_app

from .test_every_page import chips_of

# A page's view whose data hold mean excess risks -> the controls that show it.
VIEWS: dict[str, dict[str, Any]] = {
    "overview": {},
    "overview, breast cancer": {"source": "breast_cancer"},
    "overview, digits": {"source": "digits"},
    "overview, wine": {"source": "wine"},
    "overview, iris": {"source": "iris"},
    "perturbation": {},
    "dimension": {},
    "dimension, sparse": {"topic": "sparse"},
    "selection": {"tab": "simplex"},
    "geometry": {"view": "order"},
    "geometry, n": {"view": "n"},
    "multiclass, digits": {"price_against": "epsilon", "class_records": "digits"},
    "multiclass, iris": {"price_against": "epsilon", "class_records": "iris"},
}
LEAST_CERTIFIED = 1e-5  # a share of the range of the losses; `dpcore.run` certifies more


def chips_beside(view: str) -> dict[str, dict[str, Any]]:
    """label -> what it sets, of the chips of a view's page that leave the view as it is."""
    page = view.partition(",")[0]
    offered = {} if page == "overview" else chips_of(page)
    return {label: values for label, values in offered.items() if not values.keys() & VIEWS[view].keys()}


def lowest(table: pd.DataFrame) -> float:
    """The smallest mean excess with four standard errors and what is left to certify."""
    gap = 1e-9 if any("empirical" in column for column in table) else 10.0 * LEAST_CERTIFIED
    means = [column for column in table if column.endswith("mean") and not re.search("fresh|accuracy", column)]
    errors = [table[se].fillna(0.0) if (se := str(c)[:-4] + "se") in table else 0.0 for c in means]
    found = [table[c] + 4.0 * error + gap for c, error in zip(means, errors, strict=True)]
    assert found and not all(column.isna().all() for column in found)
    return float(np.nanmin(np.array(found, float)))


def shown(view: str, chip: dict[str, Any]) -> pd.DataFrame:
    page = finished(open_app(SCRIPTS[view.partition(",")[0]], behind="Data", **VIEWS[view] | chip))
    (table,) = (frame.value for frame in page.dataframe)
    return table


@pytest.mark.parametrize("view", [view for view in VIEWS if "digits" not in view])
def test_no_mean_of_a_default_view_lies_below_zero(view):
    assert lowest(shown(view, {})) >= 0.0


@pytest.mark.nightly
@pytest.mark.parametrize("view", VIEWS)
def test_no_mean_behind_a_chip_lies_below_zero(view):
    offered = {"": {}} | chips_beside(view)
    low = {label: lowest(shown(view, values)) for label, values in offered.items()}
    assert min(low.values()) >= 0.0, low
