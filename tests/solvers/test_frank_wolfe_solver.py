"""Frank-Wolfe in lockstep against one run after the other that computes everything from theta. Seeds are fixed."""

from concurrent.futures import CancelledError

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit

from dpcore.core.losses import get_loss
from dpcore.core.records import Data
from dpcore.core.sets import L1Ball, Simplex
from dpcore.solvers.frank_wolfe import objectives
from dpcore.solvers.frank_wolfe import vertices as fw
from dpcore.theory import frank_wolfe as theory

N, R, IDLE, SIZE = 60, 9, 5, 1.7
RUNS = [fw.Run(2, 0.05, 1), fw.Run(90, 0.02, 0), fw.Run(41, 0.2, 1), fw.Run(90, 0.0005, 2), fw.Run(65, 5.0, 0)]
signed_or_not = pytest.mark.parametrize("signed", [True, False])
both_laws = pytest.mark.parametrize("law", [fw.Exponential, fw.NoisyBest])


def records(loss: str, sparse: bool = False, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (N, R)) * (rng.random((N, R)) < (0.4 if sparse else 1.0))
    y = rng.uniform(-1.0, 1.0, N) if loss == "squared" else rng.choice([-1.0, 1.0], N)
    return Data(csr_array(X) if sparse else X, y, p=R + IDLE)


def risk(kind: str) -> fw.Risk:
    loss = "squared" if kind in ("moments", "asked", "sparse squared", "records squared") else kind.split()[-1]
    data = records(loss, sparse="sparse" in kind)
    if kind == "asked":
        return fw.SquaredRecords(get_loss(loss), data)
    return fw.Records(get_loss(loss), data) if kind == "records squared" else fw.risk_of(get_loss(loss), data)


every_form = pytest.mark.parametrize(
    "kind", ["moments", "asked", "records squared", "sparse squared", "logistic", "huber_hinge", "sparse logistic"]
)


def start_of(signed: bool) -> np.ndarray:
    return np.zeros(R + IDLE) if signed else np.full(R + IDLE, SIZE / (R + IDLE))


def steepness(norms: np.ndarray) -> np.ndarray:
    return (norms + 1.0) / (SIZE + 1.0)


def drawn(scores, b, rng, signed):
    """One draw by a running sum over all columns, idle ones with the others."""
    first, second = rng.random(2)
    x = scores / b
    weights = np.exp(x - np.abs(x).max()) + np.exp(-x - np.abs(x).max()) if signed else np.exp(x.min() - x)
    column = int(np.searchsorted(np.cumsum(weights) / weights.sum(), first, side="right"))
    negative = signed and second >= expit(-2.0 * x[column])
    return column, -1.0 if negative else 1.0


def noisy(scores, b, rng, signed):
    """Noise for every stored vertex; the idle ones share one draw, their smallest."""
    sides = np.array([1.0, -1.0] if signed else [1.0])
    values = np.outer(sides, scores[:R]).ravel() + b * rng.laplace(size=len(sides) * R)
    u, which = rng.random(2)
    below = 1.0 - (1.0 - u) ** (1.0 / (len(sides) * IDLE))
    smallest = b * (np.log(2.0 * below) if below < 0.5 else -np.log(2.0 * (1.0 - below)))
    if smallest < values.min():
        return R + int(which * len(sides) * IDLE) % IDLE, sides[int(which * len(sides))]
    return int(values.argmin()) % R, sides[int(values.argmin()) // R]


def plain(form: fw.Risk, run: fw.Run, choose, rng, signed: bool):
    """theta_1, ..., theta_T [T, p], the columns and the signs; the gradient comes from theta in every step."""
    thetas, columns, signs = [start_of(signed)], [], []
    for t in range(1, run.T):
        scores = np.zeros(R + IDLE)
        scores[:R] = SIZE * form.gradients(thetas[-1][None, :R])[0]
        b = run.noise * (steepness(np.abs(thetas[-1]).sum()) if signed else 1.0)
        column, sign = choose(scores, b, rng, signed)
        mu = 2.0 / (t + 2.0)
        thetas.append((1.0 - mu) * thetas[-1])
        thetas[-1][column] += mu * SIZE * sign
        columns.append(column)
        signs.append(sign)
    return np.array(thetas), columns, signs


def in_lockstep(form, runs, law, signed, **options):
    choice = law([np.random.default_rng(seed) for seed in range(3)], IDLE, signed=signed)
    options = {"steepness": steepness if signed else None, **options}
    return fw.descend(form, runs, choice, size=SIZE, start=start_of(signed)[:R], **options)


def agree(form, chosen, law, signed):
    choose = drawn if law is fw.Exponential else noisy
    models = fw.models(chosen, RUNS, SIZE, start_of(signed), R + IDLE)
    for k, run in enumerate(RUNS):
        thetas, columns, signs = plain(form, run, choose, np.random.default_rng(run.stream), signed)
        assert chosen.columns[k].tolist() == columns + [-1] * (90 - run.T)
        assert chosen.signs[k].tolist() == signs + [0.0] * (90 - run.T)
        assert models[k] == pytest.approx(thetas[-1], abs=1e-12)
        assert chosen.risks[k, : run.T] == pytest.approx(form.values(thetas[:, :R]), abs=1e-12)
        assert np.isnan(chosen.risks[k, run.T :]).all()


@every_form
@signed_or_not
def test_runs_together_are_frank_wolfe_one_by_one_with_the_same_uniforms(kind, signed):
    form = risk(kind)
    agree(form, in_lockstep(form, RUNS, fw.Exponential, signed, trace=True), fw.Exponential, signed)


@signed_or_not
def test_laplace_noise_comes_vertex_by_vertex_and_then_once_for_all_idle_ones(signed):
    form = risk("logistic")
    agree(form, in_lockstep(form, RUNS, fw.NoisyBest, signed, trace=True), fw.NoisyBest, signed)


def test_columns_that_no_longer_fit_are_computed_again(monkeypatch):
    monkeypatch.setattr(objectives, "_MAX_KEPT", 1)
    form = risk("asked")
    agree(form, in_lockstep(form, RUNS, fw.Exponential, True, trace=True), fw.Exponential, True)


def test_norms_are_those_of_the_models_also_where_idle_columns_come_again():
    seen: list[np.ndarray] = []

    def listen(norms):
        seen.append(norms)
        return steepness(norms)

    form = risk("moments")
    chosen = in_lockstep(form, RUNS, fw.Exponential, True, steepness=listen)
    longest_first = sorted(range(len(RUNS)), key=lambda k: -RUNS[k].T)
    for place, k in enumerate(longest_first):
        thetas = plain(form, RUNS[k], drawn, np.random.default_rng(RUNS[k].stream), True)[0]
        norms = [at[place] for at in seen[: RUNS[k].T - 1]]
        assert norms == pytest.approx(np.abs(thetas[:-1]).sum(axis=1), abs=1e-13)
    assert ((chosen.columns >= R).sum(axis=1) > 2 * IDLE).any()


def test_tables_of_norms_have_room_for_a_new_column_in_every_step():
    # And for a free place, at which the search for a column ends.
    assert all(fw._Norms(1, T).keys.shape[1] >= T for T in (*range(2, 70), 1_000, 10_000))


@both_laws
def test_a_run_does_not_know_who_runs_beside_it(law):
    form = risk("logistic")
    together = in_lockstep(form, RUNS, law, True)
    for k, run in enumerate(RUNS):
        alone = in_lockstep(form, [run], law, True)
        assert np.array_equal(alone.columns[0], together.columns[k, : run.T - 1])
        assert np.array_equal(alone.signs[0], together.signs[k, : run.T - 1])


@both_laws
def test_runs_of_one_stream_share_its_randomness_and_others_do_not(law):
    # Beside noise of this scale the scores are nothing: where runs go is decided by their streams alone.
    runs = [fw.Run(60, 1e9, 0), fw.Run(60, 3e9, 0), fw.Run(60, 1e9, 1)]
    chosen = in_lockstep(risk("moments"), runs, law, True)
    assert np.array_equal(chosen.columns[0], chosen.columns[1]) and np.array_equal(chosen.signs[0], chosen.signs[1])
    assert np.count_nonzero(chosen.columns[0] != chosen.columns[2]) > 30


def test_models_are_the_recursion():
    rng = np.random.default_rng(5)
    runs, start, p = [fw.Run(T, 0.0) for T in (7, 2, 30)], rng.normal(size=8), 8
    columns, signs = rng.integers(0, p, (3, 29)), rng.choice([-1.0, 1.0], (3, 29))
    for k, run in enumerate(runs):
        columns[k, run.T - 1 :], signs[k, run.T - 1 :] = -1, 0.0
    chosen = fw.Chosen(columns, signs, np.empty((3, 0)))
    for k, run in enumerate(runs):
        theta = start.copy()
        for t in range(1, run.T):
            theta *= 1.0 - 2.0 / (t + 2.0)
            theta[columns[k, t - 1]] += 2.0 / (t + 2.0) * SIZE * signs[k, t - 1]
        assert fw.models(chosen, runs, SIZE, start, p)[k] == pytest.approx(theta, abs=1e-13)
        assert fw.models(chosen, runs, SIZE, start[:3], 3)[k] == pytest.approx(theta[:3], abs=1e-13)


def test_whoever_cancels_is_asked_now_and_then():
    answers = iter([False, True])
    with pytest.raises(CancelledError):
        in_lockstep(risk("moments"), RUNS, fw.Exponential, True, cancelled=lambda: next(answers))
    assert next(answers, None) is None


@pytest.mark.parametrize("idle", [1, 7])  # the smallest of 7 draws is hardly ever above 0, one is half of the time
@pytest.mark.parametrize(("signed", "vertices"), [(True, 2), (False, 1)])
def test_stored_and_idle_vertices_of_equal_scores_are_equally_likely(signed, vertices, idle):
    # Bands of 5 standard deviations: the false alarms of all cases together stay below 1e-4.
    streams, steps = 1_000, 10
    form = fw.Quadratic(np.zeros((1, 1)), np.zeros(1), 0.0)
    for law in (fw.Exponential, fw.NoisyBest):
        choice = law([np.random.default_rng(seed) for seed in range(streams)], idle, signed=signed)
        runs = [fw.Run(steps + 1, 1.0, stream) for stream in range(streams)]
        chosen = fw.descend(form, runs, choice, size=1.0, start=np.zeros(1))
        found = np.unique((chosen.columns * chosen.signs + 0.25 * chosen.signs).ravel(), return_counts=True)[1]
        cells, draws = vertices * (idle + 1), streams * steps
        assert len(found) == cells
        assert np.abs(found - draws / cells).max() < 5.0 * np.sqrt(draws / cells * (1.0 - 1.0 / cells))


@pytest.mark.parametrize("kind", ["moments", "asked", "logistic", "sparse logistic"])
def test_gradients_of_many_models_are_the_slopes_of_their_values(kind):
    form, thetas, step = risk(kind), np.random.default_rng(2).normal(size=(4, R)), 1e-5
    for j, bump in enumerate(step * np.eye(R)):
        slopes = (form.values(thetas + bump) - form.values(thetas - bump)) / (2.0 * step)
        assert form.gradients(thetas)[:, j] == pytest.approx(slopes, abs=1e-8)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber_hinge"])
def test_single_precision_stays_near_double_along_the_same_vertices(loss):
    data, rng = records(loss), np.random.default_rng(3)
    exact = fw.SquaredRecords(get_loss(loss), data) if loss == "squared" else fw.Records(get_loss(loss), data)
    pair = [exact.state(4, np.zeros(R)), type(exact)(get_loss(loss), data, single=True).state(4, np.zeros(R))]
    for t in range(1, 200):
        columns, lengths = rng.integers(0, R + 1, 4), rng.choice([-SIZE, SIZE], 4)
        for state in pair:
            state.move(2.0 / (t + 2.0), columns, lengths)
    double, single = (state.gradients(4) for state in pair)
    assert 0.0 < np.abs(double - single).max() < 1e-6
    assert pair[0].risks(3) == pytest.approx(pair[1].risks(3), abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_single_precision_is_what_was_asked_for(loss):
    for single in (True, False):
        form = fw.risk_of(get_loss(loss), records(loss), choices=3, single=single)
        state = form.state(1, np.zeros(R))
        kept = state.table if loss == "squared" else state.margins
        assert form.single == single and kept.dtype == (np.float32 if single else np.float64)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber_hinge"])
@signed_or_not
@pytest.mark.parametrize("seed", range(2))
def test_without_noise_the_risk_keeps_to_its_bound(loss, signed, seed):
    data, T, law, shape = records(loss, seed=10 + seed), 300, get_loss(loss), L1Ball() if signed else Simplex()
    form, theta = fw.risk_of(law, data), start_of(signed)
    best = fw.Best(idle=IDLE, signed=signed)
    risks = fw.descend(form, [fw.Run(T, 0.0)], best, size=SIZE, start=theta[:R], trace=True).risks[0]
    # Projected gradient; min F is at least what the linear minimiser at its last point says.
    step = 1.0 / (law.curvature_bound * float(np.linalg.eigvalsh(data.gram)[-1]))
    for _ in range(400):
        theta = SIZE * shape.project((theta - step * np.pad(form.gradients(theta[None, :R])[0], (0, IDLE))) / SIZE)
    slope = np.pad(form.gradients(theta[None, :R])[0], (0, IDLE))
    gap = float(slope @ (theta - SIZE * shape.extreme(slope)))
    lowest = float(form.values(theta[None, :R])[0]) - gap
    curvature = law.curvature_bound * (2.0 * SIZE) ** 2  # no entry of a record is beyond 1
    bound = theory.frank_wolfe_bound(risks[0] - lowest, curvature, 0.0, np.arange(1.0, T + 1.0))
    assert gap < 1e-5
    assert (risks >= lowest).all() and (risks - lowest <= bound + gap).all()
    assert risks[-1] - lowest < 0.1 * (risks[0] - lowest)
