"""The theorem that a drawn bound names says what the mechanism's own bound says."""

import pytest

from dpcore.figures.theorems import THEOREMS
from dpcore.mechanisms import list_mechanisms
from dpcore.mechanisms.api import bounds_of, calibrate
from tests.page_driver import SCRIPTS, shown, texts


@pytest.mark.parametrize("key", list_mechanisms())
def test_a_theorem_names_the_source_of_the_mechanism_s_own_bound(key):
    plan = calibrate(key, n=2_000, p=50, epsilon=1.0, delta=1e-5, classes=3 if key == "gaussian_classifier" else None)
    proved = {bound.source for bound in bounds_of(plan) if bound.form == "upper"}
    named = {row["source"] for name, row in THEOREMS.items() if name.split(":")[0] == key}
    assert named and named <= proved
    lower = {bound.source for bound in bounds_of(plan) if bound.form == "lower"}
    assert lower <= {row["source"] for row in THEOREMS.values()}


def test_details_say_what_the_bounds_are_at_the_cursor():
    told = texts(shown(SCRIPTS["multiclass"], n=300, C=2, behind="Formula"))
    assert all(THEOREMS["gaussian_classifier"][part] in told for part in ("formula", "assumes", "source"))
