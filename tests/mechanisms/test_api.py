"""The public faces: calibrate, solve, bounds_of, and the values they take."""

import math
import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import dpcore
from dpcore import Budget, Data, Domain
from dpcore.mechanisms import api
from dpcore.mechanisms.noise.exact_gaussian import exactly_rounded
from dpcore.mechanisms.noise.rounding import on_grid
from tests.problems import CLASSIFYING, POINTS, PROBLEMS, UNREGULARISED

DATA = PROBLEMS["full rank"]
GOOD = dict(epsilon=1.0, delta=1e-5, lam=0.1)


def good(key: str) -> dict[str, object]:
    """Settings under which the mechanism keeps the budget; a stream needs a lam for its own length, a set none."""
    if key in CLASSIFYING:
        return GOOD | {"classes": 2}
    return GOOD | ({"lam": "auto"} if key == "ftrl" or key in UNREGULARISED + POINTS else {})


def own_labels(key: str, y: np.ndarray) -> np.ndarray:
    return (y > 0).astype(float) if key in CLASSIFYING else y


def test_solve_releases_what_the_plan_says():
    release = dpcore.solve("output_gaussian", DATA.X, DATA.y, **GOOD, seed=1)
    plan = dpcore.calibrate("output_gaussian", n=DATA.n, p=DATA.p, **GOOD)
    assert release.plan == plan and release.spent == Budget(1.0, 1e-5)
    centre = plan.mechanism.prepare(plan, DATA).theta
    assert np.array_equal(release.theta, exactly_rounded(centre, plan.scale, np.random.default_rng(1).bytes))
    back = pickle.loads(pickle.dumps(release))
    assert back.plan == plan and np.array_equal(back.theta, release.theta)


def test_a_release_of_doubles_is_rounded():
    release = dpcore.solve("output_gamma", DATA.X, DATA.y, **GOOD, seed=1)
    plan = release.plan
    drawn = plan.mechanism.release(plan, plan.mechanism.prepare(plan, DATA), np.random.default_rng(1))
    assert np.array_equal(release.theta, on_grid(drawn, plan.scale)) and not np.array_equal(release.theta, drawn)


@pytest.mark.parametrize("key", ["output_gaussian", "output_gamma"])
def test_only_an_unseeded_release_carries_its_guarantee(key, monkeypatch):
    """Its noise is of the operating system's randomness, all of it or a generator's seed."""
    asked, fresh = [], np.random.default_rng
    with monkeypatch.context() as patch:
        patch.setattr(np.random, "default_rng", lambda seed=None: asked.append(seed) or fresh(seed))
        free = [dpcore.solve(key, DATA.X, DATA.y, **GOOD) for _ in range(2)]
        assert asked == ([] if key == "output_gaussian" else [None, None])
        if key == "output_gaussian":
            patch.setattr(os, "urandom", fresh(3).bytes)
            read = dpcore.solve(key, DATA.X, DATA.y, **GOOD)
            assert np.array_equal(read.theta, dpcore.solve(key, DATA.X, DATA.y, **GOOD, seed=3).theta)
    assert not np.array_equal(free[0].theta, free[1].theta) and not free[0].seeded
    tied = [dpcore.solve(key, DATA.X, DATA.y, **GOOD, seed=3) for _ in range(2)]
    assert np.array_equal(tied[0].theta, tied[1].theta) and tied[0].seeded


FORMS = {
    "lists": lambda X: X.tolist(),
    "Fortran order": np.asfortranarray,
    "negative strides": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float16": lambda X: X.astype(np.float16),
    "big endian": lambda X: X.astype(">f8"),
    "long double": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
    "data frame": lambda X: pd.DataFrame(X, columns=list("äbcdef")),
    "nullable data frame": lambda X: pd.DataFrame(X).convert_dtypes(),
    "CSR": sparse.csr_matrix,
    "CSC": sparse.csc_array,
    "COO with a value in two parts": lambda X: sparse.coo_array(
        (np.concatenate([X.ravel() / 2] * 2), np.tile(np.indices(X.shape).reshape(2, -1), 2)), X.shape
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_records_mean_the_same_in_every_form(form):
    """Values in steps of 1/64 are exact in float16; what is summed in another order agrees to rounding."""
    X = np.round(DATA.X * 64) / 64 * 0.9
    X = X.astype(np.float16).astype(float)
    before = X.copy()
    one = dpcore.solve("output_gaussian", X, DATA.y, **GOOD, seed=1)
    other = dpcore.solve("output_gaussian", FORMS[form](X), DATA.y, **GOOD, seed=1)
    assert other.plan == one.plan and np.allclose(other.theta, one.theta, rtol=0, atol=1e-8)
    assert np.array_equal(X, before)


def test_records_on_disk_are_records_too(tmp_path):
    on_disk = np.lib.format.open_memmap(tmp_path / "X ü.npy", mode="w+", shape=DATA.X.shape)
    on_disk[:] = DATA.X
    on_disk.flush()
    read = np.load(tmp_path / "X ü.npy", mmap_mode="r")
    release = dpcore.solve("output_gaussian", read, DATA.y, **GOOD, seed=1)
    assert np.array_equal(release.theta, dpcore.solve("output_gaussian", DATA.X, DATA.y, **GOOD, seed=1).theta)


@pytest.mark.parametrize("labels", [DATA.y.astype(np.int8), DATA.y.tolist(), pd.Series(DATA.y), DATA.y.astype(object)])
def test_labels_mean_the_same_in_every_form(labels):
    one = dpcore.solve("output_gaussian", DATA.X, DATA.y, **GOOD, seed=1)
    assert np.array_equal(dpcore.solve("output_gaussian", DATA.X, labels, **GOOD, seed=1).theta, one.theta)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_clipping_is_asked_for_and_counted(form):
    R = 0.6
    norms = np.linalg.norm(DATA.X, axis=1)
    shrunk = DATA.X * np.minimum(1.0, R / norms)[:, None]
    with pytest.raises(ValueError, match="rows beyond it"):
        dpcore.solve("output_gaussian", form(DATA.X), DATA.y, **GOOD, R=R)
    release = dpcore.solve("output_gaussian", form(DATA.X), DATA.y, **GOOD, R=R, clip=True, seed=2)
    by_hand = dpcore.solve("output_gaussian", form(shrunk), DATA.y, **GOOD, R=R, seed=2)
    assert release.clipped == np.count_nonzero(norms > R) > 10
    assert np.allclose(release.theta, by_hand.theta, atol=1e-7) and release.plan == by_hand.plan
    assert by_hand.clipped == 0
    assert dpcore.solve("output_gaussian", form(DATA.X), DATA.y, **GOOD, clip=True, seed=2).clipped == 0


@pytest.mark.parametrize("q", [1.0, 2.0, 3.0, math.inf])
def test_rows_are_clipped_in_the_norm_of_the_domain(q):
    """A row of equal entries on the sphere of that norm stays as it is; one twice as long is halved."""
    mechanism, p = "generalized_gaussian" if q >= 2.0 else "frank_wolfe_general", 6
    kept = np.full(p, 1.0 / p ** (1.0 / q))
    X = np.concatenate([np.tile(kept, (9, 1)), 2.0 * kept[None], np.zeros((10, p))])
    facts = {"epsilon": 1.0, "delta": 1e-4, "q": q, "seed": 1}
    release = dpcore.solve(mechanism, X, np.ones(20), clip=True, **facts)
    by_hand = dpcore.solve(mechanism, np.minimum(X, kept), np.ones(20), **facts)
    assert release.clipped == 1 and np.allclose(release.theta, by_hand.theta, atol=1e-7)


@pytest.mark.parametrize("key", dpcore.list_mechanisms())
@pytest.mark.parametrize(
    "X, y",
    [(DATA.X, np.ones(120)), (np.full((120, 6), 0.1), DATA.y), (np.zeros((120, 6)), -np.ones(120))],
    ids=["one class", "constant columns", "nothing at all"],
)
def test_data_that_are_legal_record_by_record_are_never_refused(key, X, y):
    """A refusal that depends on all records together would tell neighbours apart."""
    assert np.isfinite(dpcore.solve(key, X, own_labels(key, y), **good(key)).theta).all()


@pytest.mark.parametrize("key", [key for key in dpcore.list_mechanisms() if key != "ftrl"])
def test_columns_that_no_record_fills_are_released_like_the_others(key):
    """Two stored columns of five: all five hold noise of one size, and the same model as with columns of zeros.

    60 draws tell a standard deviation to 9%, so that the ratio of 0.45 has a false-alarm rate below 1e-6.
    """
    data = Data(DATA.X[:, :2], own_labels(key, DATA.y), p=5)
    plan = dpcore.calibrate(key, n=data.n, p=data.p, **good(key))
    thetas = np.stack([api.release_once(plan, data, seed=seed).theta for seed in range(60)])
    if key in CLASSIFYING:  # of matrices, the products of a column with the constant, in what tells the classes apart
        thetas = (thetas[:, 1] - thetas[:, 0])[:, :5, 5]
    assert thetas.shape == (60, 5)
    spread = thetas.std(axis=0)
    assert spread.min() > 0.45 * spread.max()
    wide = Data(np.pad(data.X, ((0, 0), (0, 3))), data.y)
    if key != "frank_wolfe_general":  # draws one number for all idle columns: equal in law only (its own tests)
        again = api.release_once(plan, wide, seed=3).theta
        assert np.allclose((again[1] - again[0])[:5, 5] if key in CLASSIFYING else again, thetas[3], atol=1e-6)


@pytest.mark.parametrize("excess, told", [(1.2e-7, "1.2e-07"), (0.25, "0.25"), (30.0, "30")])
def test_a_refusal_says_by_how_much_rows_are_too_long_and_what_to_do(excess, told):
    """Rounding to single precision, and rows that were never scaled."""
    rows = 2.0 * np.eye(3) * np.array([0.5, 1.0 + excess / 2, 1.0 + excess])
    with pytest.raises(ValueError, match=rf"2 of 3 rows .* {told} R; .*clip=True.*--clip"):
        Data(rows, np.ones(3)).check_rows(Domain(R=2.0))


@pytest.mark.parametrize("times, warned", [(0.999, 0), (1.0, 1), (30.0, 1)])
def test_a_delta_of_one_over_n_or_more_warns_at_the_line_that_asked(times, warned):
    facts = GOOD | {"delta": times / DATA.n}

    def told(ask):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ask()
        return [(warning.category, warning.filename) for warning in caught]

    told_here = [(dpcore.LargeDelta, __file__)] * warned
    assert told(lambda: dpcore.calibrate("output_gaussian", n=DATA.n, p=DATA.p, **facts)) == told_here
    assert told(lambda: dpcore.solve("output_gaussian", DATA.X, DATA.y, **facts)) == told_here
    assert told(lambda: dpcore.solve("output_gamma", DATA.X, DATA.y, **facts)) == [], "its guarantee is pure"
    curve = dpcore.Experiment(dpcore.Problem(n=DATA.n, delta=facts["delta"]), repetitions=2)
    assert told(lambda: dpcore.run(curve)) == [], "a curve is many calibrations"


def test_domains_are_checked_in_their_norm():
    data = Data(np.array([[0.9, 0.9], [0.1, 0.0]]), [1, -1])
    data.check_domain(Domain(q=np.inf, R=1.0))
    with pytest.raises(ValueError, match="1 of 2 rows"):
        data.check_domain(Domain(q=2.0, R=1.0))
    with pytest.raises(ValueError, match=r"q must be .* from 1 to inf, got 0\.5"):
        Domain(q=0.5)


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 3.0, np.inf])
def test_norms_of_records_are_those_of_numpy_dense_or_sparse(q):
    table = np.random.default_rng(0).standard_normal((6, 5)) * 10.0 ** np.arange(-3, 3)[:, None]
    table[np.abs(table) < np.median(np.abs(table))] = 0.0
    expected = np.linalg.norm(table, q, axis=1)
    for X in (table, sparse.csr_array(table)):
        assert np.allclose(Data(X, np.ones(6)).norms(q), expected, rtol=1e-12)


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 4.0, np.inf])
def test_what_a_bound_implies_in_another_norm_holds_and_is_attained(q):
    rng = np.random.default_rng(1)
    for other in (1.0, 1.5, 2.0, 3.0, np.inf):
        implied = Domain(q=q, R=2.0).in_norm(other, p=4)
        drawn = np.concatenate([rng.standard_normal((500, 4)), np.eye(4), np.ones((1, 4))])
        drawn *= 2.0 / np.linalg.norm(drawn, q, axis=1)[:, None]
        sizes = np.linalg.norm(drawn, other, axis=1)
        assert implied.q == other and sizes.max() == pytest.approx(implied.R, rel=1e-12)


def test_budgets_compare_componentwise():
    assert Budget(1.0, 1e-6) <= Budget(1.0, 1e-6)
    assert not Budget(0.5, 1e-5) <= Budget(1.0, 1e-6)
    assert Budget(2.0).pure and not Budget(2.0, 1e-9).pure


def test_arrays_that_fit_are_not_copied():
    X, y = np.ones((4, 2)), np.ones(4)
    assert Data(X, y).X is X and Data(X, y).y is y
    assert Data(np.asfortranarray(X), y).X.flags.c_contiguous


def test_every_public_name_resolves():
    assert all(getattr(dpcore, name) is not None for name in dpcore.__all__)
    assert set(dpcore.__all__) <= set(dir(dpcore))
    with pytest.raises(AttributeError, match="'nothing'"):
        dpcore.nothing  # noqa: B018


@pytest.mark.parametrize("key", dpcore.list_mechanisms())
def test_a_plan_without_the_noise_of_its_ledger_is_not_released(key):
    plan = dpcore.calibrate(key, n=DATA.n, p=DATA.p, **good(key))
    data = Data(DATA.X, own_labels(key, DATA.y))
    assert api.release_once(plan.weakened(1.0), data).spent == plan.spent
    for factor in (0.5, 0.999, 2.0):
        with pytest.raises(ValueError, match=r"^plan must have .* scale .*, got scale ") as caught:
            api.release_once(plan.weakened(factor), data)
        assert "audits and tests" in str(caught.value)
