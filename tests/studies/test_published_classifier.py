"""The large-margin Gaussian classifier as published: its noise, its missing minimisers, its leak, its theorems."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import cumulative_trapezoid
from scipy.special import k1

from dpcore.core.rng import generator
from dpcore.solvers.multiclass.objective import MulticlassObjective, smat, svec
from dpcore.solvers.multiclass.solver import minimise_ellipsoids
from dpcore.studies.papers import pathak_raj, pathak_raj_leak, pathak_raj_lemmas
from dpcore.studies.papers.exhibits import pure_bounds
from tests.class_records import over_the_cone, plain_psi, records


def symmetric_density(rho, epsilon):
    """Of sym(b), d = 1, in svec form: exp(-a ||b||) a^4 / 12 pi^2 over the skew part, a = epsilon / 2.

    The integral of exp(-a sqrt(rho^2 + w^2)) over w is 2 rho K_1(a rho).
    """
    a = epsilon / 2.0
    return a**4 / (6.0 * math.pi**2) * rho * k1(a * rho)


def exact_share(epsilon, lam):
    """P(A > 0), d = 1: A = [[r c, t / sqrt2], [t / sqrt2, r (1 - c)]] with t^2 < 2 r^2 c (1 - c), c = sin^2 phi."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    unit, half = 0.5 * (nodes + 1.0), 0.5 * weights
    reach = 100.0 / epsilon + 2.0 * lam
    r, phi, u = np.meshgrid(reach * unit, 0.5 * math.pi * unit, nodes, indexing="ij")
    c = np.sin(phi) ** 2
    t = r * np.sqrt(2.0 * c * (1.0 - c)) * u
    rho = np.sqrt((r * c - lam) ** 2 + (r * (1.0 - c)) ** 2 + t**2)
    jacobian = r * r * np.sqrt(2.0 * c * (1.0 - c)) * 2.0 * np.sqrt(c * (1.0 - c))
    return np.einsum(
        "ijk,i,j,k", symmetric_density(rho, epsilon) * jacobian, reach * half, 0.5 * math.pi * half, weights
    )


def published_value(r, A, Phi):
    """L + <A, sum Phi_c> of matrices [C, p, p] by loops."""
    x = np.column_stack([r.X / r.R, np.ones(r.n)]) / 2**0.5
    loss = 0.0
    for i in range(r.n):
        for c in set(range(r.classes)) - {int(r.labels[i])}:
            loss += plain_psi(x[i] @ (Phi[c] - Phi[r.labels[i]]) @ x[i], r.half_width)
    return loss + (A * Phi.sum(0)).sum()


def positive_terms(draws, seed, epsilon=1.0, d=1):
    A = 0.5 * pathak_raj.linear_terms(pathak_raj.published_noise(d, epsilon, draws, np.random.default_rng(seed)), 1.0)
    return A[np.linalg.eigvalsh(A)[:, 0] > 0.0]


# The law and when there is a minimiser


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_noise_has_the_published_law(epsilon):
    """Kolmogorov and Smirnov for the norm of sym(b) at d = 1, moments of entries at d = 3; false alarms: 0.001 each."""
    b = pathak_raj.published_noise(1, epsilon, 20_000, np.random.default_rng(0))
    assert np.array_equal(b, b.swapaxes(1, 2))
    rho = np.linspace(1e-9, 120.0 / epsilon, 200_001)
    cdf = cumulative_trapezoid(4.0 * math.pi * rho**2 * symmetric_density(rho, epsilon), rho, initial=0.0)
    assert cdf[-1] == pytest.approx(1.0, abs=1e-6)
    assert stats.kstest(np.linalg.norm(b, axis=(1, 2)), lambda v: np.interp(v, rho, cdf)).pvalue > 0.001
    # E b_ij^2 = E ||b||^2 / N for N = 16 entries, half of that where two independent ones are averaged.
    b = pathak_raj.published_noise(3, epsilon, 20_000, np.random.default_rng(1))
    square = 17.0 * (2.0 / epsilon) ** 2
    for entries, expected in ((b[:, range(4), range(4)], square), (b[:, [0, 0, 1], [1, 3, 2]], 0.5 * square)):
        means = (entries**2).mean(1)
        assert abs(means.mean() - expected) < 3.3 * means.std() / math.sqrt(len(means))


@pytest.mark.parametrize(("epsilon", "lam"), [(1.0, 1.0), (4.0, 0.5), (10.0, 10.0)])
def test_the_share_with_a_minimiser_is_the_integral_at_d_1(epsilon, lam):
    """False alarm: 1e-4."""
    truth, found = exact_share(epsilon, lam), pathak_raj.existence(1, epsilon, lam)
    assert abs(found.share - truth) < 3.9 * math.sqrt(truth * (1.0 - truth) / found.draws)
    assert found.low < found.share < found.high


@pytest.mark.parametrize(
    ("d", "epsilon", "lam", "share"), [(2, 1.0, 1.0, 0.035), (4, 1.0, 1.0, 0.0003), (4, 10.0, 10.0, 0.42)]
)
def test_how_often_there_is_a_minimiser(d, epsilon, lam, share):
    found = pathak_raj.existence(d, epsilon, lam)
    assert found.low <= share * 1.03 and found.high >= share * 0.97


def test_a_minimiser_exists_with_probability_at_most_a_half():
    """The last diagonal entry must be > 0, whatever lam is; false alarm of the last line: 0.025."""
    b = pathak_raj.published_noise(2, 100.0, 4_000, np.random.default_rng(2))
    A = pathak_raj.linear_terms(b, 50.0)
    exists = np.linalg.eigvalsh(A)[:, 0] > 0.0
    assert exists.sum() > 1_500 and (b[exists, 2, 2] > 0.0).all()
    assert np.array_equal(A[:, 2, 2], b[:, 2, 2]) and np.allclose((A - b)[:, :2, :2], 50.0 * np.eye(2))
    assert pathak_raj.existence(4, 100.0, 100.0).low < 0.5


def test_a_negative_eigenvalue_lets_the_objective_fall_without_end_and_a_positive_matrix_does_not():
    r, rng = records(n=12, d=2, classes=3), np.random.default_rng(3)
    Phi = rng.standard_normal((3, 3, 3))
    Phi = Phi @ Phi.swapaxes(1, 2)
    for b in pathak_raj.published_noise(2, 1.0, 5, rng):
        A = pathak_raj.linear_terms(b, 1.0)
        values, vectors = np.linalg.eigh(A)
        assert values[0] < 0.0
        v = vectors[:, 0]
        start, moved = (published_value(r, A, Phi + t * np.outer(v, v)) for t in (0.0, 1e3))
        assert moved - start == pytest.approx(1e3 * 3 * values[0], rel=1e-9)
        up = vectors @ np.diag(np.abs(values)) @ vectors.T
        assert published_value(r, up, Phi) >= np.abs(values).min() * np.trace(Phi.sum(0))


# The minimisers and their certificate


def test_a_certified_gap_is_a_bound_on_what_is_left():
    """At models with and without error, of two classes and with zeros; the minimum by `minimise_published`."""
    r, _ = pathak_raj_leak.neighbours()
    A = positive_terms(200, 5)
    weights, gaps = pathak_raj_leak.minimise_published(r, A, np.random.default_rng(0))
    best = np.array([published_value(r, a, smat(w)) for a, w in zip(A, weights, strict=True)])
    rng = np.random.default_rng(2)
    for size in (1e-3, 0.1, 1.0):
        half = rng.standard_normal((len(A), 2, 2, 2)) * size**0.5
        other = weights + svec(half @ half.swapaxes(-1, -2))
        left = np.array([published_value(r, a, smat(w)) for a, w in zip(A, other, strict=True)]) - best
        bound = pathak_raj_leak.certified_gaps(r, A, other)
        assert (left > 0.0).all() and (left <= bound + gaps).all()
        assert np.median(bound / left) < 100.0  # and says something
    # Feasibility alone, or slackness alone, would accept these.
    shrunk = np.zeros_like(weights)
    left = 20.0 - best
    assert (left <= pathak_raj_leak.certified_gaps(r, A, shrunk)).all() and (left > 1e-3).any()


# The equation


def test_the_published_mechanism_reveals_which_of_two_neighbours_it_was_trained_on():
    """Every guess is right; a blind one would get there with probability 2^-guesses."""
    for seed in (0, 1):
        found = pathak_raj_leak.membership_leak(seed=seed)
        assert found.draws == 3_000 and abs(found.exist / 3_000 - exact_share(1.0, 1.0)) < 0.028  # 1e-4
        assert found.exist >= found.guesses > 0.85 * found.exist
        assert found.right == found.guesses and 480 < found.guesses < 560
        assert found.own.max() < 1e-12 and np.median(found.own) < 1e-14
        assert 0.4 < np.median(found.other) < 0.7 and found.other.min() > 1e-5
    assert pathak_raj_leak.membership_leak(seed=1) is found


def test_the_repaired_twin_has_no_such_equation():
    """Noise of its own for each class and a ridge, on the same records and the same cone.

    The exhibit's bound flags it with probability at most 0.001, and would flag guesses that are all right.
    """
    pair = pathak_raj_leak.neighbours()
    noise = 0.5 * pathak_raj.published_noise(1, 1.0, 500, np.random.default_rng(7)).reshape(250, 2, 2, 2)
    guessed = right = 0
    for mine, theirs, drawn in ((*pair, noise[:125]), (*pair[::-1], noise[125:])):
        weights = over_the_cone(MulticlassObjective(mine, mu=0.5, tau=0.5, noise=svec(drawn)))
        own, other = pathak_raj_leak.residuals(mine, weights), pathak_raj_leak.residuals(theirs, weights)
        told = ~np.isnan(own)
        guessed, right = guessed + told.sum(), right + (own < other)[told].sum()
        assert np.quantile(own[told], 0.05) > 0.01 and np.median(own[told]) > 0.5
    assert guessed > 150 and 0.3 < right / guessed < 0.7
    assert pure_bounds(right, guessed)[0] < 1.0 < pure_bounds(guessed, guessed)[1]


def test_a_ridge_alone_leaves_decisions_without_noise():
    """Noise for all classes moves their mean alone; noise of its own for each class moves their differences, too."""
    r, _ = pathak_raj_leak.neighbours()
    drawn = 0.5 * svec(pathak_raj.published_noise(1, 1.0, 20, np.random.default_rng(8)))
    for noise, decides in ((np.repeat(drawn[:, None], 2, axis=1), False), (drawn.reshape(10, 2, -1), True)):
        noise = np.concatenate([np.zeros_like(noise[:1]), noise])
        weights = minimise_ellipsoids(MulticlassObjective(r, 1.0, tau=0.5, noise=noise), distance=1e-10).weights
        mean = weights.mean(1, keepdims=True)
        moved = np.linalg.norm((weights - mean) - (weights - mean)[:1], axis=(1, 2))[1:]
        assert moved.min() > 0.1 if decides else moved.max() < 1e-12
        assert (
            np.linalg.norm(weights[0] - mean[0]) > 1.0 and np.linalg.norm(mean - mean[:1], axis=(1, 2))[1:].min() > 0.05
        )


# The theorems


def test_lemma_4_is_false_at_d_1_for_large_delta_and_the_union_bound_holds():
    """Gamma(4)'s tail at d = 1 by its closed form, elsewhere scipy's."""
    delta = np.linspace(1e-4, 1.0 - 1e-4, 20_001)
    for d in range(1, 7):
        N = (d + 1) ** 2
        published = stats.gamma.sf(N * np.log(d / delta), N)
        if d == 1:
            x = 4.0 * np.log(1.0 / delta)
            assert np.allclose(published, np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6), rtol=1e-9)
            assert delta[published > delta].min() == pytest.approx(0.308, abs=5e-4)
            assert (published[delta > 0.309] > delta[delta > 0.309]).all()
        else:
            assert (published <= delta).all()
        assert (stats.gamma.sf(N * np.log(N / delta), N) <= delta).all()


def test_the_theorems_as_published():
    assert pathak_raj.theorem_2_bound(2, 3, 1.0, 1.0, 0.1) == pytest.approx(8 * 81 * 3 * math.log(20) ** 2)
    assert pathak_raj.theorem_2_bound(3, 4, 0.5, 2.0, 0.05) == pytest.approx(
        8 * 256 * 4 * math.log(60) ** 2 / (0.25 * 2)
    )


def test_lemma_1_misses_what_two_records_attain():
    """Gradients by differences of the loss of one record at 0, two labels, x~ = (x, 1), ||x|| = 1."""
    C, x = 3, np.array([0.6, 0.8])
    X = np.outer(np.append(x, 1.0), np.append(x, 1.0))

    def loss(Phi, label):
        return sum(plain_psi(float(((Phi[c] - Phi[label]) * X).sum()), 0.5) for c in range(C) if c != label)

    def gradient(label):
        found, step = np.zeros((C, 3, 3)), 1e-6
        for where in np.ndindex(C, 3, 3):
            moved = np.zeros((C, 3, 3))
            moved[where] = step
            found[where] = (loss(moved, label) - loss(-moved, label)) / (2.0 * step)
        return found

    first, second = gradient(0), gradient(1)
    assert pathak_raj_lemmas.record_gradient(x, 0, C) == pytest.approx(first, abs=1e-8)
    lemma = pathak_raj_lemmas.lemma_1(C)
    changes = np.linalg.norm(first - second, axis=(1, 2))
    assert lemma.square == pytest.approx(np.linalg.norm(X)) and np.linalg.norm(X) == pytest.approx(2.0)
    assert lemma.own == pytest.approx(np.linalg.norm(first[0]), abs=1e-7) and lemma.own == pytest.approx(4.0)
    assert lemma.block == pytest.approx(changes.max(), abs=1e-7) and lemma.block == pytest.approx(6.0)
    assert lemma.joint == pytest.approx(np.linalg.norm(first - second), abs=1e-7)
    assert lemma.joint == pytest.approx(math.sqrt(2.0) * C * 2.0) and lemma.joint > 4.0 * lemma.published


def test_the_length_of_the_noise_is_that_of_all_entries():
    """Means of 20,000 squares; a length of the proof's d + 1 entries in the place of (d + 1)^2 would be far off."""
    rng = np.random.default_rng(11)
    for d in (1, 2, 4):
        matrix = (d + 1) ** 2 * 2.0 / 0.5
        squares = (pathak_raj.published_noise(d, 0.5, 20_000, rng) ** 2).sum(axis=(1, 2)).mean()
        share = (d + 2) / (2.0 * (d + 1))  # of ||b||^2 that the symmetric part keeps
        assert squares == pytest.approx(share * (matrix**2 + 2.0 / 0.5 * matrix), rel=0.05)


def test_alpha_would_have_to_grow_with_n():
    """The charge by the determinant of the Hessian of one record's loss at its largest curvature, with a ridge lam."""
    lam = 1.0
    star = np.diag([2.0, 1.0, 1.0]) - np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    X = np.outer([1.0, 1.0], [1.0, 1.0]).ravel()
    hessian = np.kron(star, np.outer(X, X)) / (2.0 * 0.5)
    charge = np.linalg.slogdet(np.eye(len(hessian)) + hessian / lam)[1]
    assert charge == pytest.approx(4.174, abs=1e-3)
    assert [round(n * lam * math.expm1(0.5 * charge)) for n in (20, 40)] == [141, 282]


def test_lemma_3_holds_and_is_attained():
    drawn = np.random.default_rng(12).standard_normal((200, 4, 3, 3))
    attained = np.tile(np.diag([2.0, 2.0, 0.0]), (1, 4, 1, 1))
    for D, most in ((drawn + drawn.swapaxes(2, 3), 1.0 - 1e-3), (attained, 1.0)):
        trace = D[..., 0, 0].sum(1) + D[..., 1, 1].sum(1)
        shares = trace**2 / (2 * 4 * (D**2).sum(axis=(1, 2, 3)))
        assert 0.0 < shares.max() <= most
    assert shares.tolist() == [1.0]


def test_the_objective_is_not_strongly_convex():
    """Lemma 2 at the midpoint of Phi and Phi + S in every class: lam / 8 times the squared distance is asked for."""
    r, rng = records(n=10), np.random.default_rng(10)
    half = rng.standard_normal((3, 3, 3))
    Phi, S = half @ half.swapaxes(1, 2), np.eye(3)
    traced = np.diag([1.0, 1.0, 0.0])
    ends = [published_value(r, traced, Phi + t * S) for t in (0.0, 0.5, 1.0)]
    assert ends[1] == pytest.approx(0.5 * (ends[0] + ends[2]), rel=1e-12) and 3 * 3 / 8 > 1.0


def capped(W, cap):
    """The nearest matrices with eigenvalues >= 0 and trace <= cap: the shift of the eigenvalues by bisection."""
    values, vectors = np.linalg.eigh(W)
    low, high = np.zeros(len(W)), np.maximum(values[:, -1], 0.0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        over = np.maximum(values - middle[:, None], 0.0).sum(1) > cap
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    high = np.where(np.maximum(values, 0.0).sum(1) > cap, high, 0.0)
    return (vectors * np.maximum(values - high[:, None], 0.0)[:, None]) @ vectors.swapaxes(1, 2)


def over_the_cap(r, A, cap, steps=400):
    """A model of low L + <A, sum Phi_c>, the best point of accelerated projected gradients."""
    v = np.linalg.eigh(A)[1][:, 0]
    best = here = ahead = np.tile(cap * np.outer(v, v), (3, 1, 1))
    least, k = published_value(r, A, here), 1.0
    curvature = r.classes / (2.0 * r.half_width) * np.linalg.norm(r.Z, 2) ** 2
    for step in range(steps):
        gradient = smat(r.loss(r.scores(svec(ahead)[None]))[1][0]) + A
        new = capped(ahead - gradient / curvature, cap)
        grown = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * k * k))
        ahead, here, k = new + (k - 1.0) / grown * (new - here), new, grown
        if step % 100 == 99 and (value := published_value(r, A, here)) < least:
            best, least = here, value
    return best


@pytest.mark.parametrize("cap", [100.0, pytest.param(10_000.0, marks=pytest.mark.nightly)])
def test_the_excess_lies_between_its_bounds(cap):
    """Minimisers over capped traces by another method, on records that the bounds have never seen.

    The bounds hold for every model that is no worse than all Phi_c = cap v v', which the best point found is.
    """
    r = records(n=40)
    found = pathak_raj.theorem_2_violations([cap], draws=2, seed=11)
    noise = pathak_raj.published_noise(2, 1.0, 2, generator(11, "as_printed", 0))
    traced = np.diag([1.0, 1.0, 0.0])
    zero = np.zeros((3, 3, 3))
    assert published_value(r, traced, zero) == pytest.approx(80.0)
    best = published_value(r, traced, over_the_cap(r, traced, cap))
    assert 0.0 <= best <= 80.0
    for k, b in enumerate(noise):
        Phi = over_the_cap(r, traced + b, cap)
        excess = published_value(r, traced, Phi) - best
        assert found.low[0, k] <= excess <= found.high[0, k]


def test_theorem_2_is_violated_more_often_than_it_allows():
    """Shares over 2,000 draws within 4 standard errors (6e-5) of 40 draws of another method: 0, 0, 50%, 92.5%."""
    found = pathak_raj.theorem_2_violations(draws=2_000)
    assert found.bound == pytest.approx(17446.26, abs=0.01)
    assert (found.kept[:2] == 1.0).all() and (found.violated[:2] == 0.0).all()
    assert (found.violated + found.kept <= 1.0).all() and (found.violated + found.kept)[2:].min() > 0.95
    for share, measured in zip(found.violated[2:], (0.5, 0.925), strict=True):
        assert abs(share - measured) < 4.0 * math.sqrt(measured * (1.0 - measured) * (1 / 40 + 1 / 2_000))
        assert stats.binom.sf(round(share * 2_000), 2_000, 0.1) < 1e-9  # delta = 0.1 is what the theorem allows
    # Growth is that of the cap.
    assert np.median(found.low[3]) == pytest.approx(10.0 * np.median(found.low[2]), rel=0.1)
