"""The estimators: what they release, what they count, and how they live with scikit-learn."""

import copy
import itertools
import pickle
import re
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter

import dpcore
from dpcore import (
    Budget,
    BudgetExceeded,
    Domain,
    LargeDelta,
    PrivateClassifier,
    PrivateGaussianClassifier,
    PrivateRegressor,
)
from dpcore.mechanisms import estimators
from tests.harness import ROOT
from tests.nights import each
from tests.problems import LEARNING, PROBLEMS, UNREGULARISED

DATA = PROBLEMS["full rank"]
WORDS = np.where(DATA.y > 0, "well", "sick")
TARGET = np.clip(DATA.X @ np.linspace(-0.5, 0.5, DATA.p), -0.4, 0.4)
RICH = dict(epsilon=1e4, delta=1e-3, lam=0.01)


def classifier(**changes) -> PrivateClassifier:
    facts = dict(epsilon=1.0, delta=1e-5, lam=0.1, domain=Domain(R=1.0), classes=("well", "sick"))
    return PrivateClassifier(**(facts | {"mechanism": "output_gaussian"} | changes))


def regressor(**changes) -> PrivateRegressor:
    facts = dict(epsilon=1.0, delta=1e-5, lam=0.1, domain=Domain(R=1.0, y_max=0.4))
    return PrivateRegressor(**(facts | {"mechanism": "output_gaussian"} | changes))


def of_classes(**changes) -> PrivateGaussianClassifier:
    facts = dict(epsilon=1.0, delta=1e-5, lam=1.0, domain=Domain(R=1.0), classes=("well", "sick"))
    return PrivateGaussianClassifier(**(facts | changes))


@pytest.mark.parametrize(
    "key, form", each(2, itertools.product(LEARNING, (np.asarray, sparse.csr_matrix, np.ndarray.tolist)))
)
def test_a_fit_is_one_release_of_solve(key, form):
    output = key.startswith("output")
    tied = dict(radius=3.0) if output else {}
    tied |= dict(accounting="published") if key == "output_gaussian" else {}
    facts = dict(epsilon=0.7, delta=1e-5, lam=0.0 if key in UNREGULARISED else 0.2, theta_norm=2.0) | tied
    q = dpcore.make_mechanism(key).q
    declared = {"domain": Domain(q)}
    model = classifier(mechanism=key, random_state=4, loss="huber_hinge", **facts, **declared).fit(form(DATA.X), WORDS)
    # Sparse records are looked at in another order, which a choice of vertices tells.
    X = form(DATA.X) if key in UNREGULARISED and form is sparse.csr_matrix else DATA.X
    release = dpcore.solve(key, X, DATA.y, loss="huber_hinge", seed=4, **facts)
    assert np.allclose(model.coef_, release.theta, atol=1e-7) and model.plan_ == release.plan
    assert model.spent_ == release.spent and model.n_features_in_ == DATA.p
    assert model.spent_.epsilon <= 0.7
    facts["loss"] = "squared" if output else "huber"
    declared = {"domain": Domain(q, y_max=0.4)}
    fitted = regressor(mechanism=key, random_state=4, **facts, **declared).fit(form(DATA.X), TARGET)
    release = dpcore.solve(key, X, TARGET, y_max=0.4, seed=4, **facts)
    assert np.allclose(fitted.coef_, release.theta, atol=1e-6) and fitted.plan_ == release.plan


def test_predictions_follow_the_sign_and_the_order_of_declaration_is_no_matter():
    model = classifier(**RICH, random_state=0).fit(DATA.X, WORDS)
    scores = model.decision_function(DATA.X)
    assert model.coef_.shape == (1, DATA.p) and model.intercept_.tolist() == [0.0]
    assert np.allclose(scores, DATA.X @ model.coef_[0])
    assert list(model.classes_) == ["sick", "well"]
    assert np.array_equal(model.predict(DATA.X), np.where(scores > 0, "well", "sick"))
    assert model.score(DATA.X, WORDS) == np.mean(model.predict(DATA.X) == WORDS) > 0.7
    assert model.predict(DATA.X[:1]).shape == (1,) and model.predict(np.zeros((1, 6)))[0] == "sick"
    assert np.array_equal(model.predict(sparse.csr_array(DATA.X)), model.predict(DATA.X))
    turned = classifier(**RICH, random_state=0, classes=("sick", "well")).fit(DATA.X, WORDS)
    assert np.array_equal(turned.coef_, model.coef_) and np.array_equal(turned.classes_, model.classes_)


def test_regression_predicts_and_scores_like_r2():
    model = regressor(epsilon=1e6, delta=1e-3, lam=0.01, loss="squared", random_state=0).fit(DATA.X, TARGET)
    assert model.coef_.shape == (DATA.p,) and np.allclose(model.predict(DATA.X), DATA.X @ model.coef_)
    assert model.score(DATA.X, TARGET) == pytest.approx(r2_score(TARGET, model.predict(DATA.X)), rel=1e-12)
    assert model.score(DATA.X, TARGET) > 0.5


@pytest.mark.parametrize(
    "classes, labels",
    [
        ((-1, 1), DATA.y),
        ((0, 1), (DATA.y + 1) / 2),
        ((False, True), DATA.y > 0),
        (np.array([2, 5]), 3.5 + 1.5 * DATA.y),
        ((2, 1), np.where(DATA.y > 0, 2, 1)),
        (("très sûr", " pas  sûr "), np.where(DATA.y > 0, "très sûr", " pas  sûr ")),
        (pd.Index(["a", "b"]), pd.Series(np.where(DATA.y > 0, "b", "a"), dtype="category")),
    ],
)
def test_any_two_declared_labels_stand_for_minus_and_plus_one(classes, labels):
    model = classifier(classes=classes, random_state=3).fit(DATA.X, labels)
    assert np.array_equal(model.coef_, classifier(random_state=3).fit(DATA.X, WORDS).coef_)
    assert set(model.predict(DATA.X)) <= set(labels)


@pytest.mark.parametrize("make, y", [(classifier, WORDS), (regressor, TARGET)])
def test_a_column_of_y_is_taken_as_scikit_learn_takes_it(make, y):
    with pytest.warns(DataConversionWarning):
        model = make(random_state=0).fit(DATA.X, y[:, None])
    assert np.array_equal(model.coef_, make(random_state=0).fit(DATA.X, y).coef_)


def test_columns_have_names_and_an_order():
    frame = pd.DataFrame(DATA.X, columns=list("abcdef"))
    model = classifier(**RICH, random_state=0).fit(frame, WORDS)
    assert list(model.feature_names_in_) == list("abcdef")
    assert np.array_equal(model.coef_, classifier(**RICH, random_state=0).fit(DATA.X, WORDS).coef_)
    turned = frame[list("fbcdea")]
    for ask in (model.predict, model.decision_function, lambda X: model.score(X, WORDS)):
        with pytest.raises(ValueError, match="same order"):
            ask(turned)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="rows beyond it"):
        model.fit(9 * turned, WORDS, refit=True)
    assert vars(model) == before, "a refusal changes nothing"
    assert not hasattr(model.fit(DATA.X, WORDS, refit=True), "feature_names_in_")


ALL_KINDS = (
    PrivateClassifier(epsilon=1e4, delta=1e-3, random_state=1, domain=Domain(R=200.0), classes=(0, 1)),
    PrivateRegressor(epsilon=1e4, delta=1e-3, random_state=1, domain=Domain(R=200.0, y_max=1e6)),
    PrivateGaussianClassifier(epsilon=1e4, delta=1e-3, random_state=1, domain=Domain(R=200.0), classes=(0, 1, 2, 3)),
)


@pytest.mark.parametrize("model", ALL_KINDS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore")
def test_every_check_of_scikit_learn_that_is_not_passed_is_in_the_docs(model, monkeypatch):
    rows = re.findall(r"^\| (.*) \|$", (ROOT / "docs/sharp_edges.md").read_text(), re.MULTILINE)
    heading, *cells = ([cell.strip() for cell in row.split("|")] for row in rows)
    place = heading.index(type(model).__name__)
    reasons = {cell[0].strip("`"): cell[place].split(", ") for cell in cells if cell[place]}

    def failed(expected):
        found = check_estimator(model, expected_failed_checks=expected, on_skip=None)
        return {check["check_name"] for check in found if check["status"] == "xfail"}

    assert failed({name: ", ".join(why) for name, why in reasons.items()}) == set(reasons)
    fit = type(model).fit
    monkeypatch.setattr(type(model), "fit", lambda self, X, y: fit(self, X, y, refit=True))
    of_classes = {name: "classes" for name, why in reasons.items() if "classes" in why}
    assert failed(of_classes) == set(of_classes)


def test_one_class_is_legal_where_two_were_declared():
    assert classifier().fit(DATA.X, ["sick"] * DATA.n).score(DATA.X, WORDS) >= 0.0


def test_a_second_fit_must_be_asked_for_and_adds_up():
    model = classifier().fit(DATA.X, WORDS)
    coef = model.coef_
    with pytest.raises(BudgetExceeded, match="BudgetExceeded: this PrivateClassifier has spent epsilon = 1, delta = 1"):
        model.fit(DATA.X, WORDS)
    assert isinstance(BudgetExceeded("x"), ValueError)
    assert model.spent_ == Budget(1.0, 1e-5) and model.coef_ is coef
    model.set_params(epsilon=0.5, mechanism="output_gamma").fit(DATA.X, WORDS, refit=True)
    assert model.spent_ == Budget(1.5, 1e-5) and model.plan_.spent == Budget(0.5)
    assert model.coef_ is not coef
    assert regressor().fit(DATA.X, TARGET, refit=True).spent_ == Budget(1.0, 1e-5), "the first fit may say it too"


@pytest.mark.parametrize("bad", [dict(y=["ill"] * 120), dict(X=DATA.X[:, :0]), dict(X=5 * DATA.X)])
def test_a_fit_that_is_refused_spends_and_changes_nothing(bad):
    fresh = classifier()
    with pytest.raises(ValueError):
        fresh.fit(**(dict(X=DATA.X, y=WORDS) | bad))
    assert not hasattr(fresh, "spent_") and not hasattr(fresh, "coef_")
    model = classifier().fit(DATA.X, WORDS)
    before = dict(vars(model))
    with pytest.raises(ValueError):
        model.fit(**(dict(X=DATA.X, y=WORDS) | bad), refit=True)
    assert vars(model) == before


UNLIKE = "classes must be two different labels of one kind"
MASKED = "must have a value in every place, got a masked array"
REFUSED = [
    (classifier, {"domain": None}, "domain must be a dpcore.Domain, the public bounds on every record, .* got None"),
    (classifier, {"domain": Domain(q=np.inf)}, r"output_gaussian is proved for \|\|x\|\|_2 <= R, got q = inf"),
    (classifier, {"loss": "squared"}, "loss must be one of logistic, huber_hinge, hinge for PrivateClassifier"),
    (classifier, {"epsilon": 0}, "epsilon must be a finite number > 0, got 0.0"),
    (classifier, {"random_state": np.random.default_rng(0)}, "random_state must be an integer >= 0"),
    (classifier, {"clip": "yes"}, "clip must be .*True.*, got 'yes'"),
    (classifier, {"fit_intercept": "yes"}, "fit_intercept must be .*True.*, got 'yes'"),
    *(
        (classifier, {"classes": classes}, UNLIKE)
        for classes in (
            *(("sick",), ("sick", "sick"), ("sick", 1), "ab", None, (float("nan"), 1.0), (), np.eye(2)),
            *((None, 1), ([1, 2], [3]), ({}, {1: 2}), {"well", "sick"}),
        )
    ),
    (classifier, {"classes": ("well", "ill")}, "y must be one of the declared classes 'ill' and 'well', got 'sick'"),
    (classifier, {"y": DATA.y}, r"y must be one of the declared classes 'sick' and 'well', got -?1"),
    (classifier, {"y": np.array([None] * 120)}, "y must be one of the declared classes 'sick' and 'well', got None"),
    (classifier, {"y": np.ma.masked_array(WORDS, WORDS == "sick")}, f"y {MASKED}"),
    (classifier, {"X": np.ma.masked_array(DATA.X, DATA.X > 0.3)}, f"X {MASKED}"),
    (classifier, {"X": DATA.X.astype(str)}, "not compatible with arrays of bytes/strings"),
    *((classifier, {"refit": refit}, r"^refit must be .*True.*, got ") for refit in ("no", 0, np.array([True, False]))),
    (regressor, {"y": np.full(DATA.n, 0.9)}, r"y must lie in \[-0.4, 0.4\], got 0.9"),
    (regressor, {"loss": "hinge"}, "loss must be .*squared, huber, absolute.* PrivateRegressor, got 'hinge'"),
    (of_classes, {"classes": ("a", "b", 1)}, "classes must be at least two different labels of one kind"),
    (of_classes, {"classes": 3}, "classes must be at least two different labels of one kind, got 3"),
    (of_classes, {"classes": range(20)}, "declared classes 0, 1, 2, 3, 4, ... and 19, got '(sick|well)'"),
    (of_classes, {"noise": "laplace"}, "noise must be one of gaussian, gamma, got 'laplace'"),
    (of_classes, {"lam": 0}, "gaussian_classifier needs lam > 0"),
]


@pytest.mark.parametrize("make, changes, message", REFUSED)
def test_what_is_refused_at_fit_is_one_sentence_and_spends_nothing(make, changes, message):
    at_fit = {"X": DATA.X, "y": TARGET if make is regressor else WORDS}
    at_fit |= {name: changes[name] for name in ("X", "y", "refit") if name in changes}
    model = make(**{name: value for name, value in changes.items() if name not in at_fit})
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(**at_fit)
    assert "\n" not in str(caught.value) and not hasattr(model, "spent_")


def test_what_is_predicted_or_scored_must_be_what_was_declared():
    model = classifier().fit(DATA.X, WORDS)
    with pytest.raises(ValueError, match=r"X must .*, got a masked array"):
        model.predict(np.ma.masked_array(DATA.X, DATA.X > 0.3))
    with pytest.raises(ValueError, match=r"y must be .*'sick' and 'well', got 'ill'"):
        model.score(DATA.X, ["ill"] * DATA.n)


def test_a_clone_is_unspent_and_copies_spend_separately():
    model = classifier().fit(DATA.X, WORDS)
    fresh = clone(model)
    assert not hasattr(fresh, "spent_") and fresh.get_params() == model.get_params()
    assert fresh.fit(DATA.X, WORDS).spent_ == Budget(1.0, 1e-5)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.coef_, model.coef_) and other.spent_ == model.spent_
        with pytest.raises(BudgetExceeded):
            other.fit(DATA.X, WORDS)
        other.fit(DATA.X, WORDS, refit=True)
        assert other.spent_ == Budget(2.0, 2e-5) and model.spent_ == Budget(1.0, 1e-5)


def test_cross_validation_scores_stratified_folds():
    """Sorted labels, so that folds that were not stratified would miss a class; declared against that order."""
    order = np.argsort(WORDS)
    X, y = DATA.X[order], WORDS[order]
    scores = cross_val_score(classifier(**RICH, random_state=0), X, y, cv=3, error_score="raise")
    assert scores.shape == (3,) and scores.min() > 0.6
    ranked = cross_val_score(classifier(**RICH, random_state=0), X, y, cv=3, scoring="roc_auc", error_score="raise")
    assert ranked.min() > 0.6
    plain = cross_val_score(regressor(**RICH), DATA.X, TARGET, cv=3, error_score="raise")
    assert np.isfinite(plain).all()
    assert set(cross_val_predict(classifier(), X, y, cv=3)) <= {"well", "sick"}


def test_a_pipeline_ends_in_a_private_model():
    half = FunctionTransformer(lambda X: X / 2)
    pipe = Pipeline([("half", half), ("model", classifier(**RICH, random_state=0))]).fit(DATA.X, WORDS)
    alone = classifier(**RICH, random_state=0).fit(DATA.X / 2, WORDS)
    assert np.array_equal(pipe.predict(DATA.X), alone.predict(DATA.X / 2)) and is_classifier(pipe)
    assert pipe.score(DATA.X, WORDS) == alone.score(DATA.X / 2, WORDS)
    with pytest.raises(BudgetExceeded):
        pipe.fit(DATA.X, WORDS)
    pipe.fit(DATA.X, WORDS, model__refit=True)
    assert pipe["model"].spent_ == Budget(2e4, 2e-3)
    assert clone(pipe).set_params(model__lam=0.5)["model"].lam == 0.5


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_probabilities_are_those_of_the_logistic_model(fit_intercept):
    model = classifier(**RICH, fit_intercept=fit_intercept, random_state=0).fit(DATA.X, WORDS)
    second = 1.0 / (1.0 + np.exp(-(DATA.X @ model.coef_[0] + model.intercept_)))
    assert np.allclose(model.predict_proba(DATA.X), np.stack([1.0 - second, second], axis=1), rtol=1e-12)
    assert np.allclose(np.exp(model.predict_log_proba(DATA.X)), model.predict_proba(DATA.X), rtol=1e-12)
    assert np.isfinite(model.predict_log_proba(1e6 * DATA.X)).all()
    assert (np.array(["sick", "well"])[model.predict_proba(DATA.X).argmax(1)] == model.predict(DATA.X)).all()
    losses = cross_val_score(clone(model), DATA.X, WORDS, cv=3, scoring="neg_log_loss", error_score="raise")
    assert losses.min() > -np.log(2.0), "worse than a coin"


@pytest.mark.parametrize("loss", ["hinge", "huber_hinge"])
@pytest.mark.parametrize("ask", ["predict_proba", "predict_log_proba"])
def test_losses_without_probabilities_have_none(loss, ask):
    model = classifier(loss=loss)
    assert not hasattr(model, ask) and hasattr(classifier(), ask) and not hasattr(regressor(), ask)
    model.fit(DATA.X, WORDS).set_params(loss="logistic")
    assert not hasattr(model, ask), "it was fitted with another loss"


@pytest.mark.parametrize("key", ["output_gaussian", "noisy_gd", "frank_wolfe_polytope"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("clip", [False, True])
def test_an_intercept_is_a_column_of_size_R_within_a_wider_bound(key, form, clip):
    q, R = dpcore.make_mechanism(key).q, 0.4 if clip else 1.0
    short = DATA.X * np.minimum(1.0, R / np.linalg.norm(DATA.X, q, axis=1))[:, None]
    facts = dict(epsilon=0.7, delta=1e-5, lam=0.0 if key in UNREGULARISED else 0.2, loss="logistic")
    model = classifier(mechanism=key, fit_intercept=True, clip=clip, random_state=4, domain=Domain(q, R), **facts)
    model.fit(form(DATA.X), WORDS)
    wide = form(np.column_stack([short, np.full(DATA.n, R)]))
    release = dpcore.solve(key, wide, DATA.y, R=R * {2.0: 2.0**0.5, np.inf: 1.0}[q], q=q, seed=4, **facts)
    assert model.plan_ == release.plan and model.n_features_in_ == DATA.p
    found = [*model.coef_[0], model.intercept_[0] / R]
    assert np.allclose(found, release.theta, atol=1e-7) and model.intercept_.shape == (1,) and found[-1] != 0.0
    assert np.allclose(model.decision_function(form(DATA.X)), DATA.X @ model.coef_[0] + model.intercept_)
    assert model.clipped_ == np.count_nonzero(np.linalg.norm(DATA.X, q, axis=1) > R) and (model.clipped_ > 9) is clip


def test_an_intercept_finds_a_threshold_and_does_not_hide_long_rows():
    facts = dict(RICH, random_state=0, domain=Domain(R=1.0, y_max=1.0))
    high = DATA.X[:, 0] > np.quantile(DATA.X[:, 0], 0.8)
    scores = [
        classifier(**facts, classes=(False, True), fit_intercept=on).fit(DATA.X, high).score(DATA.X, high)
        for on in (False, True)
    ]
    assert scores[1] > scores[0] + 0.1
    assert regressor(**facts, fit_intercept=True).fit(DATA.X, TARGET + 0.5).intercept_ == pytest.approx(0.5, abs=0.1)
    assert classifier(**facts).fit(DATA.X, WORDS).intercept_ == 0.0
    long = np.vstack([1.01 * DATA.X[:1] / np.linalg.norm(DATA.X[0]), 0.1 * DATA.X[1:]])
    with pytest.raises(ValueError, match=r"<= R = 1 in every row, got 1 of 120 rows beyond it, the longest by 0.01 R"):
        classifier(fit_intercept=True).fit(long, WORDS)


def test_rows_that_rounding_made_too_long_are_clipped_where_that_is_asked_for():
    X = np.random.default_rng(0).normal(size=(500, 5)).astype(np.float32)
    y = np.where(X[:, 0] > 0, "well", "sick")
    pipe = Pipeline([("unit", Normalizer()), ("model", classifier(random_state=1))])
    with pytest.raises(ValueError, match=r"the longest by .*e-0[78] R; scale such rows down to R \(clip=True"):
        pipe.fit(X, y)
    model = pipe.set_params(model__clip=True).fit(X, y)["model"]
    Z = Normalizer().fit_transform(X)
    release = dpcore.solve(
        "output_gaussian", Z, 2.0 * (y == "well") - 1, epsilon=1.0, delta=1e-5, lam=0.1, clip=True, seed=1
    )
    assert np.array_equal(model.coef_[0], release.theta) and model.clipped_ == release.clipped > 100
    kept = pickle.loads(pickle.dumps(model))
    assert np.array_equal(kept.coef_, model.coef_) and not hasattr(kept, "clipped_"), "a pickle may be given away"


def test_weights_are_refused_where_noise_does_not_cover_them_and_counted_in_scores():
    weights = np.random.default_rng(0).uniform(0.0, 1.0, DATA.n)
    for model, y in ((classifier(**RICH, random_state=0), WORDS), (regressor(**RICH, random_state=0), TARGET)):
        with pytest.raises(ValueError, match=r"^sample_weight must be .*, got weights"):
            model.fit(DATA.X, y, sample_weight=weights)
        assert not hasattr(model, "spent_") and not has_fit_parameter(model, "sample_weight")
        model.fit(DATA.X, y, sample_weight=None)
        with pytest.raises(TypeError, match="'weights'"):
            model.fit(DATA.X, y, refit=True, weights=weights)
        measure = accuracy_score if y is WORDS else r2_score
        expected = measure(y, model.predict(DATA.X), sample_weight=weights)
        assert model.score(DATA.X, y, weights) == expected != model.score(DATA.X, y)
    # Bags are drawn as rows where an estimator takes no weights.
    assert (
        BaggingClassifier(classifier(**RICH, classes=(0, 1)), n_estimators=2).fit(DATA.X, WORDS).score(DATA.X, WORDS)
        > 0.6
    )


def test_fits_that_together_have_a_large_delta_warn():
    model = classifier(delta=0.6 / DATA.n)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LargeDelta)
        model.fit(DATA.X, WORDS)
    with pytest.warns(LargeDelta, match="delta = 0.01 is not below 1/n = 0.00833"):
        model.fit(DATA.X, WORDS, refit=True)


def test_only_their_own_module_imports_scikit_learn():
    """It takes longer than all else that a release needs."""
    code = "import sys, dpcore; dpcore.solve; print('sklearn' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_the_docstrings_say_what_is_guaranteed_and_what_is_not():
    text = " ".join(PrivateClassifier.__doc__.split())
    for part in ("Guarantee:", "Not protected:", "spend separately", "cross-validation", "basic composition"):
        assert part in text, part


def test_fits_at_once_on_one_object_wait_for_one_another(monkeypatch):
    """Four threads ask for a fit each; every release takes so long that all of them come while the first is made."""
    released, start = [], threading.Barrier(4)
    prepared_release = estimators.prepared_release

    def slow(*arguments, **options):
        released.append(1)
        time.sleep(0.03)
        return prepared_release(*arguments, **options)

    def fit_together(model, refit):
        start.wait()
        return model.fit(DATA.X, WORDS, refit=refit)

    monkeypatch.setattr(estimators, "prepared_release", slow)
    copies = (classifier(), clone(classifier()), copy.deepcopy(classifier()), pickle.loads(pickle.dumps(classifier())))
    for model, refit in (*((model, False) for model in copies), (classifier(), True)):
        released.clear()
        with ThreadPoolExecutor(4) as threads:
            fits = [threads.submit(fit_together, model, refit) for _ in range(4)]
        errors = [fit.exception() for fit in fits if fit.exception()]
        assert len(released) == (4 if refit else 1) and model.spent_.epsilon == len(released)
        assert [type(error) for error in errors] == [BudgetExceeded] * (4 - len(released))


@pytest.mark.parametrize("fits_before", [0, 1])
@pytest.mark.parametrize("name", ["spent_", "plan_", "n_features_in_", "classes_", "model"])
@pytest.mark.parametrize("make", [classifier, of_classes])
def test_an_interrupted_fit_never_shows_a_model_that_is_not_paid(make, name, fits_before):
    kind = type(make())

    class Interrupted(kind):
        at = None  # of one object: the clone that looks at X is not interrupted

        def __setattr__(self, attribute, value):
            super().__setattr__(attribute, value)
            if attribute == self.at:
                raise KeyboardInterrupt

    model = Interrupted(**make().get_params())
    for _ in range(fits_before):
        model.fit(DATA.X, WORDS)
    seen = {id(vars(model).get(kind._model)), id(None)}
    model.at = kind._model if name == "model" else name
    with pytest.raises(KeyboardInterrupt):
        model.fit(DATA.X, WORDS, refit=True)
    new = id(vars(model).get(kind._model)) not in seen
    assert new is (name == "model") and model.spent_.epsilon == fits_before + 1
    if new:
        assert set(model.predict(DATA.X)) <= {"well", "sick"}
    model.at = None
    assert model.fit(DATA.X, WORDS, refit=True).spent_.epsilon == fits_before + 2, "the lock was given back"
