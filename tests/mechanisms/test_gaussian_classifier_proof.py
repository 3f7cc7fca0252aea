"""Large-margin Gaussian classifier: what its proof uses, against plain matrices.

Sensitivity, vertices, the Hessian, the change of variables and its determinant (docs/formulas.md, "The repaired
mechanism").
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from dpcore import Spec
from dpcore.accounting.gaussian import hockey_stick
from dpcore.accounting.objective import class_vertices, objective_delta
from dpcore.mechanisms.multiclass import calibration as rules
from dpcore.mechanisms.multiclass import models
from dpcore.solvers.multiclass.objective import smat, svec
from tests.classifiers import Rows, basis_of_v, class_data, features, margins, plain_gradients, plain_hessians


def facts(classes, n=1, p=2):
    return Spec("multiclass_hinge", max(n, 2), p, 1.0, classes=classes)


# One record's gradient


def unit_models(classes, P, count, rng):
    """Symmetric families of several lengths."""
    Phi = rng.standard_normal((count, classes, P, P)) * 10.0 ** rng.uniform(-1.5, 1.5, (count, 1, 1, 1))
    return Phi + Phi.swapaxes(2, 3)


@pytest.mark.parametrize("classes, sheet", [(2, 5.657), (3, 8.485), (10, 28.28)])
def test_a_record_moves_the_gradient_by_sqrt2_c_and_no_more(classes, sheet):
    """sheet: where ||x~||^2 is 2 at most, not 1, and the sum counts, not the mean."""
    rng, most = np.random.default_rng(classes), math.sqrt(2.0) * classes
    assert 2.0 * rules.gradient_change(facts(classes)) * 2.0 == pytest.approx(sheet, rel=2e-4)
    Phi, X = unit_models(classes, 3, 1000, rng), rng.standard_normal((2, 1000, 2))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=2))[..., None]
    X[1, ::3] = X[0, ::3]
    labels = rng.integers(0, classes, (2, 1000))
    moved, longest = [], 0.0
    for k in range(1000):
        pulls = [plain_gradients(Rows(X[s, [k]], labels[s, [k]]), Phi[[k]], 0.0) for s in (0, 1)]
        assert np.abs(pulls[0].sum(1)).max() <= 1e-12, "the gradients add up to 0 over the classes"
        moved.append(np.linalg.norm(pulls[1] - pulls[0]))
        longest = max(longest, np.linalg.norm(pulls[0]))
    rounding = 1.0 + 1e-12
    assert max(moved) <= most * rounding and longest <= rules.largest_gradient(facts(classes)) * rounding
    x, zero = np.array([[0.6, 0.8]]), np.zeros((1, classes, 3, 3))
    pulls = [plain_gradients(Rows(x, np.array([label])), zero, 0.0) for label in (0, 1)]
    assert np.linalg.norm(pulls[1] - pulls[0]) == pytest.approx(most, rel=1e-12), "two labels at one x attain it"
    assert np.linalg.norm(pulls[0]) == pytest.approx(rules.largest_gradient(facts(classes)), rel=1e-12)
    assert rules.gradient_change(facts(classes, n=50)) == pytest.approx(most / 50, rel=1e-12)


def test_the_mechanism_s_gradients_are_those_of_plain_matrices():
    data, rng = class_data(7, 2, 4), np.random.default_rng(0)
    Phi = unit_models(4, 3, 5, rng)
    spec = Spec("multiclass_hinge", 7, 2, 0.3, classes=4)
    found = smat(models.gradients(spec, data, svec(Phi)))
    assert np.allclose(found, plain_gradients(data, Phi, 0.3), rtol=1e-12, atol=1e-12)


# Vertices


def strategies(classes, label):
    """g of every set of other classes whose slopes are 1, the others' 0; [2^(C - 1), C]."""
    others = [c for c in range(classes) if c != label]
    found = []
    for kept in itertools.product((0.0, 1.0), repeat=len(others)):
        g = np.zeros(classes)
        g[others] = -np.array(kept)
        g[label] = sum(kept)
        found.append(g)
    return np.array(found)


def expanded(classes):
    """The lengths in units of one X, longest first."""
    shares = [share for count, share in class_vertices(classes) for _ in range(count)]
    return math.sqrt(2.0) * classes * np.sort(shares)[::-1]


def test_class_vertices_count_sets_by_their_sizes():
    """By loops over all pairs of sets, with the formula of the docs for one x."""
    for classes in (2, 3, 4):
        counted = Counter()
        g, h = strategies(classes, 0), strategies(classes, 1)
        for one, other in itertools.product(g, h):
            counted[round(one @ one + other @ other + 2 * max(-(one @ other), 0.0))] += 1
        found = {round(2 * classes**2 * share**2): count for count, share in class_vertices(classes)}
        assert found == counted


@pytest.mark.parametrize("classes", [2, 3, 4, 5])
def test_vertices_cover_those_of_every_pair_of_records(classes):
    """Same x, opposite x (whose X are orthogonal), any x; equal labels too. At one x a fifth or more is attained."""
    rng, bound = np.random.default_rng(classes), expanded(classes)
    assert len(bound) == 4 ** (classes - 1)
    x = np.array([[0.6, 0.8]])
    pairs = [(x, x), (x, -x), (x, 0.0 * x)]
    for _ in range(20):
        X = rng.standard_normal((2, 1, 2))
        pairs.append(tuple(X / np.maximum(1.0, np.linalg.norm(X, axis=2))[..., None]))
    for (x, other), label in itertools.product(pairs, (0, 1)):
        X, Y = features(x)[0], features(other)[0]
        g, h = strategies(classes, 0), strategies(classes, label)
        v = g[:, None, :, None, None] * X - h[None, :, :, None, None] * Y
        lengths = np.sort(np.linalg.norm(v.reshape(len(g) * len(h), -1), axis=1))[::-1]
        assert np.all(lengths <= bound + 1e-12)
        if x is other and label == 1:
            assert lengths[0] == pytest.approx(bound[0], rel=1e-12)
            exact = np.isclose(np.sort(lengths), bound[::-1], atol=1e-12)
            assert exact.mean() >= 0.2


@pytest.mark.parametrize("mu", [1e-14, 1e-3, 0.05, 0.3, 0.999, 2.0])
@pytest.mark.parametrize("e", [-1.0, 0.0, 1e-9, 0.1, 3.0, 30.0])
def test_many_vertices_at_once_are_the_sum_of_each(mu, e):
    """Both ways add up what `hockey_stick` says of one vertex, with the digits that its own test asks for."""
    every = sum(n * hockey_stick(e - 0.25, share * mu) for n, share in class_vertices(10))
    assert len(class_vertices(10)) == 75
    assert objective_delta(e, mu, 0.25, class_vertices(10)) == pytest.approx(min(1.0, every), rel=1e-12, abs=1e-305)


# The Hessian and the change of variables


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_hessian_of_a_record_has_the_eigenvalues_of_a_star(classes):
    """At margins of 1 all over it is c X (x) X times the Laplacian of a star: C c once, c C - 2 times; else less."""
    data = Rows(np.array([[0.6, 0.8]]), np.zeros(1))
    one = np.zeros((1, classes, 3, 3))
    one[:, 0] = -features(data.X)
    assert margins(data, one)[0, 0] == pytest.approx([0.0] + [1.0] * (classes - 1))
    values = np.linalg.eigvalsh(plain_hessians(data, one, 0.0)[0])
    expected = np.zeros(len(values))
    expected[-(classes - 1) :] = [1.0] * (classes - 2) + [classes]
    assert values == pytest.approx(expected, abs=1e-12)
    rng = np.random.default_rng(0)
    for Phi in one + 0.7 * unit_models(classes, 3, 200, rng) / 10.0:
        assert np.all(np.linalg.eigvalsh(plain_hessians(data, Phi[None], 0.0)[0]) <= expected + 1e-12)
    spec = Spec("multiclass_hinge", 4, 2, 0.3, classes=classes)
    assert rules.volume_charge(spec, 0.3) == pytest.approx(np.log1p(expected / (4 * 0.3)).sum(), rel=1e-12)
    assert rules.smoothness(spec) == classes


@pytest.mark.parametrize("classes, p", [(2, 2), (3, 1), (4, 2)])
def test_volumes_are_those_of_differences_of_gradients(classes, p):
    """Central differences of step 1e-5 along V, exact but for rounding where no margin crosses an end of its bend."""
    data, rng = class_data(9, p, classes), np.random.default_rng(p)
    basis, lam = basis_of_v(classes, p + 1), 0.4
    Phi = models.centred(unit_models(classes, p + 1, 40, rng).reshape(40, classes, -1)).reshape(
        40, classes, p + 1, p + 1
    )
    away = np.abs(np.abs(margins(data, Phi) - 1.0) - 0.5).min((1, 2)) > 1e-4
    Phi = Phi[away][:20]
    assert len(Phi) == 20
    numeric = []
    for each in Phi:
        up, down = (plain_gradients(data, each + step * basis, lam) for step in (1e-5, -1e-5))
        hessian = np.einsum("acij,bcij->ab", basis, (up - down) / 2e-5)
        numeric.append(np.linalg.slogdet(hessian)[1])
    spec = Spec("multiclass_hinge", 9, p, lam, classes=classes)
    found = models.log_volumes(spec, data, svec(Phi))
    assert found == pytest.approx(numeric, abs=1e-6)
    assert np.linalg.slogdet(plain_hessians(data, Phi, lam))[1] == pytest.approx(numeric, abs=1e-6)
    assert np.ptp(numeric) > 0.1, "some bend more than others"


@pytest.mark.parametrize("cone", [False, True], ids=["symmetric", "cone"])
@pytest.mark.parametrize("classes, mu", [(2, 0.5), (2, 2.0), (3, 5.0), (3, 20.0)])
def test_the_map_between_noises_keeps_volumes_up_to_the_charge(classes, mu, cone):
    """T(b) = b + grad l_z - grad l_z' at the minimiser for b: 30 b, the determinant by central differences.

    Half of the b are random; half lead, where there is no cone, to models at which z bends as much as it can and z'
    not at all. There the charge is attained. The minimiser on the other records for T(b) is the same.
    Minimisers by plain projected gradients, each step of which leaves 1 - mu / smoothness of the distance: to 1e-13.
    """
    step = 1e-5
    n, rng = 5, np.random.default_rng([classes, int(10 * mu)])
    shared = class_data(n - 1, 1, classes)
    x = np.array([[1.0]])
    z, other = Rows(x, np.zeros(1)), Rows(x, np.ones(1))
    basis = basis_of_v(classes, 2)
    least = math.exp(-math.log1p(classes / mu) - (classes - 2) * math.log1p(1.0 / mu))

    def minimisers(noise, last):
        data = Rows(np.vstack([shared.X, last.X]), np.append(shared.y, last.y))
        smooth, Phi = mu + classes * n, -noise / mu
        for _ in range(int(35 * smooth / mu)):
            Phi = Phi - (n * plain_gradients(data, Phi, mu / n) + noise) / smooth
            if cone:
                values, vectors = np.linalg.eigh(Phi)
                Phi = (vectors * np.maximum(values, 0.0)[..., None, :]) @ vectors.swapaxes(-1, -2)
        return Phi

    def mapped(noise):
        Phi = minimisers(noise, z)
        return noise + plain_gradients(z, Phi, 0.0) - plain_gradients(other, Phi, 0.0), Phi

    b = np.einsum("ka,acij->kcij", 2.0 * mu**0.5 * rng.standard_normal((15, len(basis))), basis)
    X = features(x)[0]
    far = 10.0 * np.einsum("ka,acij->kcij", rng.standard_normal((15, len(basis))), basis)
    far -= np.einsum("kcij,ij->kc", far, X)[..., None, None] * X
    far[:, 0] -= X
    far -= far.mean(1, keepdims=True)
    whole = Rows(np.vstack([shared.X, z.X]), np.append(shared.y, z.y))
    b = np.concatenate([b, -n * plain_gradients(whole, far, mu / n)])
    image, Phi = mapped(b)
    assert np.abs(minimisers(image, other) - Phi).max() <= 1e-9
    assert np.abs(image.sum(1)).max() <= 1e-9, "T stays in V"
    moved = b[:, None, None] + step * np.stack([basis, -basis])
    sides = mapped(moved.reshape(-1, classes, 2, 2))[0].reshape(moved.shape)
    dets = np.linalg.det(np.einsum("acij,kbcij->kab", basis, (sides[:, 0] - sides[:, 1]) / (2.0 * step)))
    assert min(dets) >= least * (1 - 1e-6)
    assert min(dets) < (1.0 - 0.1 * (1.0 - least) if cone else least * (1 + 1e-6)), "the volume does change"
