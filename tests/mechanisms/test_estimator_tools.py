"""scikit-learn's tools that number the classes before they fit: labels come back as they were."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier

from dpcore import Domain, PrivateClassifier, PrivateGaussianClassifier
from tests.classifiers import class_data

DATA = class_data(240, 3, 3)
RICH = dict(epsilon=1e4, delta=1e-3, domain=Domain(R=1.0), random_state=0)
NAMES = np.array(["fig", "lime", "pear"])
TOOLS = {
    "bagging": lambda model: BaggingClassifier(model, n_estimators=3, random_state=0),
    "hard votes": lambda model: VotingClassifier([("a", model), ("b", LogisticRegression())]),
    "soft votes": lambda model: VotingClassifier([("a", model), ("b", LogisticRegression())], voting="soft"),
    "stacking": lambda model: StackingClassifier([("a", model)], cv=3),
    "calibration of one": lambda model: CalibratedClassifierCV(model, ensemble=False, cv=3),
    "calibration of each": lambda model: CalibratedClassifierCV(model, ensemble=True, cv=3),
}


def two_and_three():
    keep = DATA.y < 2
    for labels in (NAMES[:2], np.array([-1, 1]), np.array([0, 1])):
        y = labels[DATA.y[keep].astype(int)]
        yield pytest.param(PrivateClassifier(**RICH, classes=labels), DATA.X[keep], y, id=f"two, {labels.tolist()}")
    for labels in (NAMES, np.array([10, 20, 30])):
        y = labels[DATA.y.astype(int)]
        yield pytest.param(PrivateGaussianClassifier(**RICH, classes=labels), DATA.X, y, id=f"three, {labels.tolist()}")


@pytest.mark.parametrize("model, X, y", two_and_three())
@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_that_numbers_the_classes_learns_and_answers_in_labels(tool, model, X, y):
    fitted = TOOLS[tool](model).fit(X, y)
    answers = fitted.predict(X)
    assert set(answers) <= set(y) and np.mean(answers == y) > 0.75


def test_one_against_the_rest_is_three_models_of_two_classes():
    y = NAMES[DATA.y.astype(int)]
    fitted = OneVsRestClassifier(PrivateClassifier(**RICH)).fit(DATA.X, y)
    assert len(fitted.estimators_) == 3 and fitted.score(DATA.X, y) > 0.7


@pytest.mark.parametrize("model, X, y", two_and_three())
@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba", "decision_function"])
def test_scores_of_folds_have_the_columns_of_the_sorted_labels(method, model, X, y):
    found = cross_val_predict(model, X, y, cv=3, method=method)
    labels = np.unique(y)
    if found.ndim == 1:
        found = np.stack([-found, found], axis=1)
    assert found.shape == (len(y), len(labels)) and np.mean(labels[found.argmax(axis=1)] == y) > 0.75


def test_probabilities_of_ellipsoids_are_those_of_their_scores():
    y = NAMES[DATA.y.astype(int)]
    model = PrivateGaussianClassifier(**RICH, classes=NAMES).fit(DATA.X, y)
    found, scores = model.predict_proba(DATA.X), model.decision_function(DATA.X)
    assert np.allclose(found, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), rtol=1e-12)
    assert np.array_equal(NAMES[found.argmax(axis=1)], model.predict(DATA.X))
    assert np.isfinite(model.predict_log_proba(1e3 * DATA.X)).all()
