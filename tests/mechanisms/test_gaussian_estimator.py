"""The estimator of several classes: what it releases, whose matrix is whose, what it counts, and scikit-learn."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict, cross_val_score

import dpcore
from dpcore import Budget, BudgetExceeded, Domain, PrivateGaussianClassifier
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


def test_a_second_fit_must_be_asked_for_and_adds_up():
    model = classifier().fit(DATA.X, WORDS)
    before = model.matrices_
    with pytest.raises(BudgetExceeded, match="this PrivateGaussianClassifier has spent epsilon = 1, delta = 1e-05 al"):
        model.fit(DATA.X, WORDS)
    assert model.matrices_ is before and model.spent_ == Budget(1.0, 1e-5)
    model.set_params(epsilon=0.5, delta=0.0, noise="gamma").fit(DATA.X, WORDS, refit=True)
    assert model.spent_ == Budget(1.5, 1e-5) and model.plan_.spent == Budget(0.5) and model.matrices_ is not before


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"domain": None}, "domain must be a dpcore.Domain, .* for PrivateGaussianClassifier.fit, got None"),
        ({"domain": Domain(q=np.inf)}, r"gaussian_classifier is proved for \|\|x\|\|_2 <= R, got q = inf"),
        ({"domain": Domain(R=0.1)}, "rows beyond it"),
        ({"classes": ("fig",)}, r"classes must be at least two different labels of one kind, got \('fig',\)"),
        ({"classes": ("fig", "lime", "fig")}, "classes must be at least two different labels of one kind"),
        ({"classes": ("fig", "lime", 1)}, "classes must be at least two different labels of one kind"),
        ({"classes": "abc"}, "classes must be at least two different labels of one kind, got 'abc'"),
        ({"classes": None}, "classes must be at least two different labels of one kind, got None"),
        ({"classes": 3}, "classes must be at least two different labels of one kind, got 3"),
        ({"classes": ()}, r"classes must be at least two different labels of one kind, got \(\)"),
        ({"classes": np.eye(2)}, "classes must be at least two different labels of one kind"),
        ({"classes": NAMES[:3]}, "y must be one of the declared classes 'apple', 'fig' and 'pear', got 'lime'"),
        ({"y": DATA.y}, "y must be one of the declared classes 'apple', 'fig', 'lime' and 'pear', got 0.0"),
        ({"classes": range(20), "y": DATA.y + 20}, "declared classes 0, 1, 2, 3, 4, ... and 19, got 20.0"),
        ({"y": WORDS[:5]}, r"inconsistent numbers of samples: \[60, 5\]"),
        ({"noise": "laplace"}, "noise must be one of gaussian, gamma, got 'laplace'"),
        ({"perturbed": "gradient"}, "perturbed must be one of objective, output, got 'gradient'"),
        ({"delta": 0.0}, "Gaussian noise needs delta > 0"),
        ({"lam": 0}, "gaussian_classifier needs lam > 0"),
        ({"theta_norm": 0}, "theta_norm must be a finite number > 0, got 0"),
        ({"random_state": -1}, "random_state must be an integer >= 0, got -1"),
    ],
)
def test_a_fit_that_is_refused_says_why_and_spends_nothing(changes, message):
    records = {"X": DATA.X, "y": WORDS} | {name: changes.pop(name) for name in ("X", "y") if name in changes}
    model = classifier(**changes)
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(**records)
    assert "\n" not in str(caught.value) and not hasattr(model, "spent_") and not hasattr(model, "ellipsoids_")


def test_classes_and_domain_must_be_declared():
    with pytest.raises(ValueError, match=r"domain must be a dpcore.Domain"):
        PrivateGaussianClassifier(epsilon=1.0, delta=1e-5, classes=NAMES).fit(DATA.X, WORDS)
    with pytest.raises(TypeError, match="'classes'"):
        PrivateGaussianClassifier(epsilon=1.0, domain=Domain())


def test_wrong_shapes_at_predict_are_refused():
    for ask in ("predict", "decision_function"):
        with pytest.raises(NotFittedError, match=r"PrivateGaussianClassifier .* not fitted"):
            getattr(classifier(), ask)(DATA.X)
    model = classifier().fit(DATA.X, WORDS)
    with pytest.raises(ValueError, match=r"2 features.* PrivateGaussianClassifier .* 3 features"):
        model.predict(DATA.X[:, :2])
    with pytest.raises(ValueError, match=r"y must be .*, got 'plum'"):
        model.score(DATA.X, ["plum"] * 60)


def test_clones_are_unspent_and_copies_spend_separately():
    model = classifier(noise="gamma", delta=0.0).fit(DATA.X, WORDS)
    fresh = clone(model)
    assert not hasattr(fresh, "spent_") and fresh.get_params() == model.get_params()
    assert set(model.get_params()) == set(inspect.signature(PrivateGaussianClassifier).parameters)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict(DATA.X), model.predict(DATA.X)) and other.spent_ == model.spent_
        other.fit(DATA.X, WORDS, refit=True)
        assert other.spent_ == Budget(2.0) and model.spent_ == Budget(1.0)


def test_scikit_learn_takes_it_for_a_classifier_of_several_classes():
    """Sorted labels, so that folds that were not stratified would miss a class."""
    assert is_classifier(classifier()) and classifier().__sklearn_tags__().classifier_tags.multi_class
    order = np.argsort(WORDS)
    X, y = DATA.X[order], WORDS[order]
    scores = cross_val_score(classifier(**RICH, random_state=0), X, y, cv=3, error_score="raise")
    assert scores.shape == (3,) and scores.min() > 0.6
    assert set(cross_val_predict(classifier(), X, y, cv=3)) <= set(NAMES)


@pytest.mark.parametrize("name", ["spent_", "plan_", "n_features_in_", "classes_", "matrices_"])
def test_an_interrupted_fit_never_shows_a_model_that_is_not_paid(name):
    class Interrupted(PrivateGaussianClassifier):
        at = None  # of one object: the clone that looks at X is not interrupted

        def __setattr__(self, attribute, value):
            super().__setattr__(attribute, value)
            if attribute == self.at:
                raise KeyboardInterrupt

    model = Interrupted(epsilon=1.0, delta=1e-5, lam=1.0, domain=Domain(), classes=NAMES)
    model.at = name
    with pytest.raises(KeyboardInterrupt):
        model.fit(DATA.X, WORDS)
    assert hasattr(model, "matrices_") is (name == "matrices_") and model.spent_.epsilon == 1.0


def test_the_docstring_says_what_is_guaranteed_and_what_is_not():
    text = PrivateGaussianClassifier.__doc__
    for part in ("Guarantee:", "Not protected:", "its class included", "cross-validation", "never inferred"):
        assert part in text, part
