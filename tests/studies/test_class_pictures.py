"""Private classifiers of many classes: decisions as they are drawn."""

import numpy as np
import pytest

import dpcore
from dpcore import Budget, Spec
from dpcore.core.rng import generator
from dpcore.studies.multiclass import decision_regions
from dpcore.studies.multiclass.curves import Records

DRAWN = "gaussian_classes"


@pytest.mark.parametrize(
    "records, epsilon", [(Records(DRAWN, 500, 0, d=5, classes=4), 0.5), (Records("iris", 105, 0), 10.0)]
)
def test_each_point_goes_to_the_class_with_the_smallest_score_of_the_release(records, epsilon):
    found, split = decision_regions.picture(records, epsilon=epsilon, delta=1e-6), records.split()
    d = split.train.p
    spec = Spec("multiclass_hinge", split.train.n, d, "auto", split.domain, classes=split.classes)
    mechanism = dpcore.make_mechanism("gaussian_classifier")
    plan = mechanism.calibrate(spec, Budget(epsilon, 1e-6))
    prepared = mechanism.prepare(plan, split.train)
    matrices = mechanism.release(plan, prepared, generator(records.seed, "classes picture", 0))
    for i, j in ((0, 0), (50, 20), (100, 77)):
        point = np.zeros(d + 1)
        point[list(found.columns)] = found.axis[j], found.axis[i]
        point[-1] = split.domain.R
        scores = np.einsum("a,cab,b->c", point, matrices, point) / (2.0 * split.domain.R**2)
        leads = [np.delete(scores, c).min() - scores[c] for c in range(split.classes)]
        assert found.private[:, i, j] == pytest.approx(leads, rel=1e-6, abs=1e-12)


def test_names_stand_at_the_means_and_real_records_are_seen_where_classes_differ_most():
    found = decision_regions.picture(Records(DRAWN, 300, 4, d=3), epsilon=3.0, delta=1e-6)
    assert np.array_equal(found.centres, Records(DRAWN, 300, 4, d=3).split().truth.means[:, :2])
    real = decision_regions.picture(Records("iris", 105, 0), epsilon=3.0, delta=1e-6)
    train = Records("iris", 105, 0).split().train
    middle = np.array([np.mean([x for x, y in zip(train.X, train.y, strict=True) if y == c], axis=0) for c in range(3)])
    assert real.columns == (2, 3), "the petals tell the species apart"
    assert real.centres == pytest.approx(middle[:, 2:])
    telling = middle.var(axis=0) / train.X.var(axis=0)
    assert telling[2:].min() > telling[:2].max() and found.columns == (0, 1)
