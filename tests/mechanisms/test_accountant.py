"""One budget for many fits: what they cost together, and who is told where nobody counts."""

import copy
import math
import pickle
import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.semi_supervised import SelfTrainingClassifier

from dpcore import Accountant, BudgetExceeded, Domain, PrivateClassifier, PrivateRegressor, UncountedFits, calibrate
from dpcore.mechanisms import accountant as module
from dpcore.mechanisms import estimators

DELTA = 1e-5


def records(seed: int, n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).uniform(-0.5, 0.5, (n, 3))
    return X, np.where(X[:, 0] > 0, 1, -1)


def gaussian(accountant: Accountant | None = None, **changes) -> PrivateClassifier:
    facts = dict(epsilon=1.0, delta=DELTA, domain=Domain(R=1.0), mechanism="output_gaussian", accountant=accountant)
    return PrivateClassifier(**(facts | changes))


def epsilon_of_fits(k: int, each: float = 1.0) -> float:
    """Of k Gaussian releases that cost (each, DELTA) alone, at DELTA, by the textbook formula."""

    def delta(epsilon, mu):
        return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)

    mu = math.sqrt(k) * brentq(lambda mu: delta(each, mu) - DELTA, 1e-3, 10.0, xtol=1e-14)
    return brentq(lambda epsilon: delta(epsilon, mu) - DELTA, 1e-6, 60.0, xtol=1e-14)


def test_gaussian_fits_cost_what_the_formula_says_and_no_more_fit_in():
    X, y = records(0)
    right = epsilon_of_fits(7)
    shared = Accountant(right * (1 + 1e-7), DELTA)
    assert shared.spent is None and shared.fits == 0
    for k in range(1, 8):
        model = gaussian(shared).fit(X, y)
        assert shared.fits == k and shared.spent.delta == DELTA and model.spent_.epsilon == 1.0
        assert shared.spent.epsilon == pytest.approx(epsilon_of_fits(k), rel=1e-7) and shared.spent.epsilon >= 1.0
    late, before = gaussian(shared, epsilon=1e-3), vars(model).copy()
    said = r"BudgetExceeded: accountant must keep to epsilon = 2.95309 at delta = 1e-05, but 7 fits and this one "
    with pytest.raises(BudgetExceeded, match=said + r"\(epsilon = 0.001, delta = 1e-05\) spend epsilon = 2.95"):
        late.fit(X, y)
    with pytest.raises(BudgetExceeded, match="fewer fits"):
        model.fit(X, y, refit=True)
    assert not hasattr(late, "coef_") and vars(model) == before and shared.fits == 7
    shared = Accountant(epsilon_of_fits(7) * (1 - 1e-7), DELTA)
    with pytest.raises(BudgetExceeded):
        cross_val_score(gaussian(shared), X, y, cv=7, error_score="raise")
    assert shared.fits == 6


def test_pure_fits_share_a_budget_as_it_is_typed():
    X, y = records(1)
    shared = Accountant(1.0)
    model = gaussian(shared, epsilon=0.1, delta=0.0, mechanism="output_gamma")
    for _ in range(10):
        model.fit(X, y, refit=True)
    assert shared.spent.delta == 0.0 and 1.0 <= shared.spent.epsilon <= 1.0 + 1e-15
    with pytest.raises(BudgetExceeded, match=r"spend epsilon = 1\.1"):
        model.fit(X, y, refit=True)
    with pytest.raises(BudgetExceeded, match="spend more than that delta"):
        gaussian(Accountant(np.float32(9.0))).fit(X, y)
    # Ten deltas of 1e-6 are a little more than 1e-5, which is told.
    shared = Accountant(10.0, 1e-5)
    for _ in range(10):
        shared.charge(calibrate("objective_gaussian", n=90, p=3, epsilon=1.0, delta=1e-6))
    assert shared.spent.delta in (1e-5, math.nextafter(1e-5, 1.0)) and shared.spent.epsilon < 10.0


def test_a_request_that_is_no_budget_or_no_accountant_is_refused():
    for bad, said in (((0.0, 0.1), "epsilon must be"), ((1.0, 1.0), "delta must be in")):
        with pytest.raises(ValueError, match=said):
            Accountant(*bad)
    with pytest.raises(ValueError, match=r"accountant must be a dpcore\.Accountant or None, got 3"):
        gaussian(3).fit(*records(0))


def tools():
    model = gaussian
    return {
        5: lambda a, X, y: cross_val_score(model(a), X, y, cv=5, error_score="raise"),
        4: lambda a, X, y: cross_val_predict(make_pipeline(Normalizer(), model(a)), X, y, cv=4),
        7: lambda a, X, y: GridSearchCV(model(a), {"lam": [0.1, 0.5]}, cv=3, error_score="raise").fit(X, y),
        3: lambda a, X, y: CalibratedClassifierCV(model(a), cv=3, ensemble=True).fit(X, y),
        6: lambda a, X, y: BaggingClassifier(model(a), n_estimators=6, bootstrap=False, max_samples=0.9).fit(X, y),
    }


@pytest.mark.parametrize("fits", tools())
def test_tools_tell_the_accountant_of_every_fit(fits):
    shared = Accountant(100.0, DELTA)
    tools()[fits](shared, *records(2))
    assert shared.fits == fits and shared.spent.epsilon == pytest.approx(epsilon_of_fits(fits), rel=1e-7)


def test_copies_have_the_same_accountant_and_no_other_process_has_it(monkeypatch):
    shared, (X, y) = Accountant(2.0, DELTA), records(3)
    model = gaussian(shared)
    for other in (clone(model), copy.copy(model), copy.deepcopy(model), clone(make_pipeline(model))[0]):
        assert other.accountant is shared
    assert clone(shared) is copy.copy(shared) is copy.deepcopy(shared) is shared
    for thing in (shared, model):
        with pytest.raises(TypeError, match=r"n_jobs=1, or threads .*accountant=None"):
            pickle.dumps(thing)
    for backend in ("loky", "multiprocessing"):
        with joblib.parallel_config(backend), pytest.raises((pickle.PicklingError, TypeError)) as caught:
            cross_val_score(model, X, y, cv=2, n_jobs=2, error_score="raise")
        assert "n_jobs=1, or threads" in f"{caught.value} {caught.value.__cause__}"
    monkeypatch.setattr(module.os, "getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="must stay in the process that made it"):
        model.fit(X, y)
    monkeypatch.undo()
    assert shared.fits == 0
    kept = pickle.loads(pickle.dumps(model.fit(X, y).set_params(accountant=None)))
    assert np.array_equal(kept.coef_, model.coef_)


def test_threads_never_spend_more_than_there_is():
    X, y = records(4)
    shared, start = Accountant(epsilon_of_fits(4) * 1.001, DELTA), threading.Barrier(12)

    def fit():
        start.wait()
        return gaussian(shared).fit(X, y)

    with ThreadPoolExecutor(12) as threads:
        errors = [each.exception() for each in [threads.submit(fit) for _ in range(12)]]
    assert sum(error is None for error in errors) == shared.fits == 4
    shared = Accountant(100.0, DELTA)
    with joblib.parallel_config("threading"):
        cross_val_score(gaussian(shared), X, y, cv=6, n_jobs=3, error_score="raise")
    assert shared.fits == 6


def test_a_fit_is_charged_when_its_noise_is_drawn(monkeypatch):
    X, y = records(5)
    shared = Accountant(10.0, DELTA)
    for bad in ((9 * X, y), (X, y + 5), (X, y[:-1])):
        with pytest.raises(ValueError):
            gaussian(shared).fit(*bad)
    assert shared.fits == 0

    def broken(seed):
        raise KeyboardInterrupt

    monkeypatch.setattr(estimators, "prepared_release", lambda plan, data: broken)
    with pytest.raises(KeyboardInterrupt):
        gaussian(shared).fit(X, y)
    assert shared.fits == 1


def told(act) -> int:
    """Number of warnings about uncounted fits."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        act()
    assert all(warning.filename != module.__file__ for warning in found)
    return sum(issubclass(warning.category, UncountedFits) for warning in found)


OTHERS = {
    "clone": clone,
    "deep copy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "another": lambda model: PrivateRegressor(epsilon=2.0, domain=Domain(R=1.0)),
}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", OTHERS)
def test_the_first_other_fit_of_the_same_records_warns_once(kind, form):
    X, y = records(np.random.SeedSequence().entropy)
    X, model = form(X), gaussian(fit_intercept=True)
    assert told(lambda: model.fit(X, y)) == 0
    assert told(lambda: model.fit(X, y, refit=True)) == 0, "spent_ tells it"
    other = OTHERS[kind](gaussian())
    assert told(lambda: clone(other).set_params(accountant=Accountant(10.0, DELTA)).fit(X, y)) == 0
    assert told(lambda: other.fit(X, y)) == 1
    assert told(lambda: clone(other).fit(X, y)) == told(lambda: gaussian().fit(sparse.csr_array(X), y)) == 0
    strangers = records(np.random.SeedSequence().entropy)
    assert told(lambda: clone(model).fit(form(strangers[0]), strangers[1])) == 0


@pytest.mark.parametrize("fits", tools())
def test_tools_that_fit_copies_warn_once(fits):
    entropy = np.random.SeedSequence().entropy
    assert told(lambda: tools()[fits](None, *records(entropy))) == 1
    assert told(lambda: tools()[fits](Accountant(100.0, DELTA), *records(entropy + 1))) == 0


def test_halves_that_share_nobody_do_not_warn_and_only_digests_are_kept():
    X, y = records(np.random.SeedSequence().entropy, 200)
    assert told(lambda: cross_val_score(gaussian(), X, y, cv=2, error_score="raise")) == 0
    before = len(module._MARKS)
    assert told(lambda: gaussian().fit(X[:120], y[:120])) == 1
    assert len(module._MARKS) <= before + 16
    assert {len(mark) for mark in module._MARKS} == {16} and set(map(type, module._MARKS)) == {bytes}


def test_tools_that_cannot_be_private_are_refused_with_the_reason():
    X, y = records(6)
    with pytest.raises(BudgetExceeded, match="fit one object again and again, as self-training does, cannot"):
        SelfTrainingClassifier(gaussian(epsilon=1e4, delta=1e-3, classes=(0, 1))).fit(
            X, np.where(np.arange(90) < 60, y > 0, -1)
        )
    with pytest.raises(ValueError, match="PrivateClassifier doesn't support sample_weight"):
        AdaBoostClassifier(gaussian()).fit(X, y)
    text = " ".join(Accountant.__doc__.split())
    assert re.search("bags drawn with replacement", text)
