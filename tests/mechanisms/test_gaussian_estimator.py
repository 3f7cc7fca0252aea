"""The estimator of several classes: what it releases, whose matrix is whose, what it counts, and scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_predict, cross_val_score

import dpcore
from dpcore import Budget, Domain, PrivateGaussianClassifier
from dpcore.data import load_classes
from tests.classifiers import KEY, class_data

DATA = class_data(60, 3, 4)
# Declared in an order that is not sorted; sorted they are 0, ..., 3 for the mechanism.
NAMES = ("pear", "fig", "apple", "lime")
WORDS = np.array(sorted(NAMES))[DATA.y.astype(int)]
RICH = dict(epsilon=1e4, delta=1e-3, lam=0.01)


def classifier(**changes) -> PrivateGaussianClassifier:
    facts = dict(epsilon=1.0, delta=1e-5, lam=1.0, domain=Domain(R=1.0), classes=NAMES)
    return PrivateGaussianClassifier(**(facts | changes))


@pytest.mark.parametrize("noise, delta", [("gaussian", 1e-5), ("gamma", 0.0)])
@pytest.mark.parametrize("perturbed", ["objective", "output"])
@pytest.mark.parametrize("lam", [2.0, "auto"])
def test_a_fit_is_one_release_of_solve(noise, delta, perturbed, lam):
    facts = dict(epsilon=0.7, delta=delta, lam=lam, theta_norm=2.0, noise=noise, perturbed=perturbed)
    model = classifier(domain=Domain(R=1.5), random_state=4, **facts).fit(DATA.X, WORDS)
    release = dpcore.solve(KEY, DATA.X, DATA.y, R=1.5, classes=4, seed=4, **facts)
    assert np.array_equal(model.matrices_, release.theta) and model.plan_ == release.plan
    assert model.spent_ == Budget(0.7, delta) and model.n_features_in_ == 3
    clipped = classifier(domain=Domain(R=0.4), clip=True, random_state=4, **facts).fit(DATA.X, WORDS)
    release = dpcore.solve(KEY, DATA.X, DATA.y, R=0.4, classes=4, seed=4, clip=True, **facts)
    assert np.array_equal(clipped.matrices_, release.theta) and clipped.clipped_ == release.clipped > 0
    free = [classifier().fit(DATA.X, WORDS).matrices_ for _ in range(2)]
    assert not np.array_equal(*free), "only a seeded fit repeats itself"


@pytest.mark.parametrize("R", [1.0, 2.5])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, np.ndarray.tolist])
def test_predictions_are_the_smallest_of_plain_quadratic_forms(R, form):
    model = classifier(**RICH, domain=Domain(R=R), random_state=0).fit(form(R * DATA.X), WORDS)
    points = R * np.random.default_rng(1).uniform(-0.5, 0.5, (50, 3))
    augmented = np.column_stack([points / R, np.ones(50)]) / np.sqrt(2.0)
    scores = np.array([[x @ Phi @ x for Phi in model.matrices_] for x in augmented])
    # Sums of 16 products of numbers that are about as large as the scores.
    tolerance = 1e-12 * np.abs(model.matrices_).max()
    assert np.allclose(model.decision_function(form(points)), -scores, rtol=0, atol=tolerance)
    assert list(model.classes_) == sorted(NAMES)
    predicted = np.array(sorted(NAMES))[scores.argmin(axis=1)]
    assert len(set(predicted)) > 2 and np.array_equal(model.predict(form(points)), predicted)
    truth = np.roll(predicted, 7)
    assert model.score(form(points), truth) == np.mean(predicted == truth) < 1.0


def test_ellipsoids_are_the_matrices_in_the_units_of_x():
    R = 2.5
    model = classifier(**RICH, domain=Domain(R=R), random_state=0).fit(R * DATA.X, WORDS)
    points = R * np.random.default_rng(1).uniform(-0.5, 0.5, (50, 3))
    found = model.ellipsoids_
    assert (found.centre.shape, found.precision.shape, found.offset.shape) == ((4, 3), (4, 3, 3), (4,))
    away = points[:, None] - found.centre
    values = np.einsum("nci,cij,ncj->nc", away, found.precision, away) + found.offset
    # A precision is inverted for its centre; the least eigenvalue of one class is 0.
    condition = max(np.linalg.cond(P) for P in found.precision)
    assert condition < 1e8
    assert np.allclose(-values, model.decision_function(points), rtol=0, atol=1e-15 * condition * np.abs(values).max())
    model.set_params(domain=Domain(R=1.0))
    assert np.array_equal(model.ellipsoids_.precision, found.precision), "units are those of the fit"
    assert np.array_equal(model.decision_function(points).argmax(1), values.argmin(1))


def test_it_learns_the_flowers():
    split = load_classes("iris", 105, seed=0)
    names = np.array(split.names)
    model = PrivateGaussianClassifier(**RICH, domain=split.domain, classes=split.names, random_state=0)
    model.fit(split.train.X, names[split.train.y.astype(int)])
    assert model.score(split.test.X, names[split.test.y.astype(int)]) > 0.9


@pytest.mark.parametrize(
    "classes, labels",
    [
        (sorted(NAMES), WORDS),
        (NAMES[::-1], WORDS.astype(object)),
        ((3, 1, 0, 2), DATA.y),
        (np.array([10, -7, 4, 5]), np.array([-7, 4, 5, 10])[DATA.y.astype(int)]),
        ((0.5, 2.5, -1.0, 1e9), np.array([-1.0, 0.5, 2.5, 1e9])[DATA.y.astype(int)].tolist()),
        # As text 10 comes before 9.
        (("9", "10", "x", "11"), np.array(["10", "11", "9", "x"])[DATA.y.astype(int)]),
    ],
)
def test_any_declared_labels_stand_for_their_places_in_sorted_order(classes, labels):
    model = classifier(**RICH, classes=classes, random_state=3).fit(DATA.X, labels)
    assert np.array_equal(model.matrices_, classifier(**RICH, random_state=3).fit(DATA.X, WORDS).matrices_)
    assert model.classes_.tolist() == sorted(classes) and set(model.predict(DATA.X)) <= set(labels)
    assert model.score(DATA.X, labels) > 0.7  # by chance 0.25


def test_two_classes_and_classes_without_records_are_legal():
    side = np.where(DATA.X[:, 0] > 0, "a", "b")
    two = classifier(**RICH, classes=("b", "a"), random_state=0).fit(DATA.X, side)
    assert two.matrices_.shape == (2, 4, 4)
    assert np.mean(two.predict(DATA.X) == side) > 0.9
    for_second = two.decision_function(DATA.X)
    assert for_second.shape == (60,) and np.array_equal(two.predict(DATA.X) == "b", for_second > 0.0)
    areas = cross_val_score(clone(two), DATA.X, side, cv=3, scoring="roc_auc", error_score="raise")
    assert areas.min() > 0.9
    alone = classifier().fit(DATA.X, ["fig"] * 60)
    assert alone.matrices_.shape == (4, 4, 4) and list(alone.classes_) == sorted(NAMES)


def test_classes_and_domain_must_be_declared():
    with pytest.raises(ValueError, match=r"domain must be a dpcore.Domain"):
        PrivateGaussianClassifier(epsilon=1.0, delta=1e-5, classes=NAMES).fit(DATA.X, WORDS)
    with pytest.raises(TypeError, match="'classes'"):
        PrivateGaussianClassifier(epsilon=1.0, domain=Domain())


def test_scikit_learn_takes_it_for_a_classifier_of_several_classes():
    """Sorted labels, so that folds that were not stratified would miss a class."""
    assert is_classifier(classifier()) and classifier().__sklearn_tags__().classifier_tags.multi_class
    order = np.argsort(WORDS)
    X, y = DATA.X[order], WORDS[order]
    scores = cross_val_score(classifier(**RICH, random_state=0), X, y, cv=3, error_score="raise")
    assert scores.shape == (3,) and scores.min() > 0.6
    assert set(cross_val_predict(classifier(), X, y, cv=3)) <= set(NAMES)


def test_the_docstring_says_what_is_guaranteed_and_what_is_not():
    text = PrivateGaussianClassifier.__doc__
    for part in ("Guarantee:", "Not protected:", "its class included", "cross-validation", "never inferred"):
        assert part in text, part
