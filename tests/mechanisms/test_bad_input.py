"""Bad input through both faces: a ValueError of one sentence in Python, one line and exit code 2 in the shell."""

import ast
import gzip
import itertools
import json
import random
import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import dpcore
from dpcore.core.losses import LOSSES
from dpcore.data import check_learnable, read_file
from pages.ui import sidebar
from pages.ui.html import readable
from tests.cli.test_cli import call
from tests.harness import ROOT
from tests.page_driver import finished, open_app, texts

NAN, INF = float("nan"), float("inf")
X = np.array([[0.5, 0.1], [-0.3, 0.2], [0.1, -0.4], [0.2, 0.3]])
Y = [1, -1, 1, -1]
GOOD = {"epsilon": 1.0, "delta": 1e-5, "lam": 0.1, "R": 1.0}


def sparse(value: complex, column: int, pointers: tuple[int, ...] = (0, 1, 2, 2, 2)) -> csr_array:
    """Four records, two of which have an entry: this one and 0.6."""
    return csr_array((np.array([value, 0.6]), np.array([column, 0], np.int32), np.array(pointers, np.int32)), (4, 3))


# An argument, its value, and the sentence that both faces say.
ARGUMENTS = [
    *(("epsilon", value, f"epsilon must be a finite number > 0, got {float(value)}") for value in (0, -1, NAN, INF)),
    *(("delta", value, f"delta must be in [0, 1), got {float(value)}") for value in (-1e-9, 1, NAN)),
    *(("lam", value, f"lam must be a finite number >= 0, got {float(value)}") for value in (-0.1, NAN, INF)),
    *(
        (name, value, f"{name} must be a finite number > 0, got {float(value)}")
        for name in ("R", "y_max", "radius", "theta_norm")
        for value in (0, NAN)
    ),
    ("lam", 0, "needs lam > 0"),
    ("lam", "small", "lam must be a finite number >= 0 or one of auto, published, population, got 'small'"),
    ("lam", 1e-200, "lam must be between 1e-100 and 1e100, got 1e-200"),
    ("epsilon", 1e200, "epsilon must be between 1e-100 and 1e100, got 1e+200"),
    ("delta", 0.0, "Gaussian noise needs delta > 0, got delta = 0"),
    ("loss", "zero_one", f"loss must be one of {', '.join(LOSSES)}, got 'zero_one'"),
    ("accounting", "loose", "accounting must be one of tight, published, classical, kamath, got 'loose'"),
    ("seed", -1, "seed must be an integer >= 0, got -1"),
    ("R", 0.2, "X must have ||x||_2 <= R = 0.2 in every row, got 4 of 4 rows beyond it"),
    ("y_max", 0.5, "y_max must be at least 1 for labels of -1 and +1, got 0.5; leave it at 1"),
]


@pytest.fixture()
def people(tmp_path):
    lines = ["a,b,sick", *(f"{a},{b},{y}" for (a, b), y in zip(X.tolist(), Y, strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "people.csv"


def assert_refused(result: tuple[int, str, str], *parts: str) -> None:
    """Exit code 2, nothing on stdout and one line on stderr, which holds these parts of the sentence."""
    code, out, err = result
    assert code == 2 and out == ""
    assert err.startswith("Error: ") and err.count("\n") == 1 and err.endswith("\n")
    assert all(part in err for part in parts) and "Traceback" not in err, err


def solve_words(path, **changes) -> list[object]:
    options = {"label": "sick", **GOOD} | changes
    words = [(f"--{name.replace('_', '-')}", value) for name, value in options.items() if value is not None]
    return ["solve", "output_gaussian", "--data", path, *(word for pair in words for word in pair)]


def test_the_good_case_is_good_in_both_faces(capsys, people):
    """Without this every refusal below might have another reason."""
    assert dpcore.solve("output_gaussian", X, Y, **GOOD).theta.shape == (2,)
    assert call(capsys, *solve_words(people))[0] == 0


def test_classes_that_hold_a_comma_are_named_in_quotes(capsys, people):
    people.write_text('w,k\n0.1,"a, b"\n0.2,c\n0.3,c\n')
    words = f"solve gaussian_classifier --data {people} --label k --epsilon 1 --delta 1e-6 --R 1 --lam 1".split()
    code, out, err = call(capsys, *words, "--classes", '"a, b",c', "--json")
    assert code == 0 and '"classes": ["a, b", "c"]' in out, err
    assert_refused(call(capsys, *words, "--classes", "a, b,c"), "'a, b' in line 2")


@pytest.mark.parametrize("name, value, sentence", ARGUMENTS, ids=lambda value: str(value)[:24])
def test_bad_arguments_in_both_faces(capsys, people, name, value, sentence):
    with pytest.raises(ValueError) as caught:
        dpcore.solve("output_gaussian", X, Y, **(GOOD | {name: value}))
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
    assert_refused(call(capsys, *solve_words(people, **{name: value})), sentence)


RECORDS = [
    ({"epsilon": "1"}, "epsilon must be a finite number > 0, got '1'"),
    ({"epsilon": True}, "epsilon must be a finite number > 0, got True"),
    ({"epsilon": 1 + 0j}, "epsilon must be a finite number > 0, got (1+0j)"),
    ({"seed": 0.5}, "seed must be an integer >= 0, got 0.5"),
    *(({"clip": value}, "clip must be True") for value in ("no", 0, None, np.array([True, False]))),
    ({"steps": 7}, "output_gaussian has no knob 'steps'"),
    ({"y": None}, "y must be given for output_gaussian, got None"),
    ({"y": np.ones(3)}, "y must have shape (4,) to match X, got (3,)"),
    ({"y": np.ones((4, 1))}, "y must have shape (4,) to match X, got (4, 1)"),
    ({"y": [1, 0, 1, 0]}, "y must be -1 or +1 for logistic loss, got 0"),
    ({"y": ["yes"] * 4}, "y must be a rectangular table of numbers"),
    ({"y": [INF] * 4}, "y must be finite"),
    ({"X": X[:, 0]}, "X must have shape (n >= 2, p >= 1), got (4,)"),
    ({"X": X[:1], "y": Y[:1]}, "X must have shape (n >= 2, p >= 1), got (1, 2)"),
    ({"X": np.zeros((4, 2, 3))}, "X must have shape (n >= 2, p >= 1), got (4, 2, 3)"),
    ({"X": np.zeros((4, 0))}, "X must have shape (n >= 2, p >= 1), got (4, 0)"),
    *(
        ({"X": table}, "X must be a rectangular table of numbers")
        for table in (
            [[0.1, 0.2], [0.3]],
            X * 1j,
            np.array([["0.1"], ["0.2"]], dtype=object),
            [[10**400]] * 4,
            "many",
            pd.DataFrame(X).astype("datetime64[ns]"),
        )
    ),
    ({"X": np.ma.masked_less(X, 0.0)}, "X must have a value in every place, got a masked array"),
    ({"X": None}, "X must be finite, got nan"),
    ({"X": np.where(X == 0.2, NAN, X)}, "X must be finite, got nan at position (1, 1)"),
    ({"X": np.full((4, 1), 1e300)}, "got 4 of 4 rows beyond it"),
    ({"X": sparse(1j, 0)}, "X must hold numbers, got complex128 values"),
    ({"X": sparse(NAN, 0)}, "X must be finite, got nan"),
    ({"X": sparse(0.5, 3)}, "X must have column indices from 0 to 2, got 3"),
    ({"X": sparse(0.5, -1)}, "X must have column indices from 0 to 2, got -1"),
    ({"X": sparse(0.5, 0, pointers=(0, 2, 1, 2, 2))}, "X must have index pointers that never decrease"),
    ({"X": sparse(3.0, 0)}, "got 1 of 4 rows beyond it"),
    ({"X": sparse(0.6, 0, pointers=(0, 2, 2, 2, 2))}, "got 1 of 4 rows beyond it"),
]


@pytest.mark.parametrize("change, sentence", RECORDS)
def test_bad_records_in_python(change, sentence):
    with pytest.raises(ValueError) as caught:
        dpcore.solve("output_gaussian", **({"X": X, "y": Y, **GOOD} | change))
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


# A file, its content, and what its one sentence must name; tests/data has what the readers refuse.
FILES = [
    ("people.csv", "a,sick\n0.1,1\nx,-1\n", ["column 'a' of people.csv must hold a number", "got 'x' in line 3"]),
    ("people.csv", "a,sick\n0.5,yes\n0.2,no\n", ["column 'sick' of people.csv", "'yes'", "np.where(", "1, -1)"]),
    ("people.csv", "a,sick\n0.5,0\n0.2,1\n", ["y must be -1 or +1 for logistic loss, got 0", "2 * y - 1"]),
    ("people.csv", "a,sick\n0.5,1\n0.2,1\n", ["y must hold two classes, got 1 in every row"]),
    ("people.csv", "a,sick\n0.5,1\n0.5,-1\n", ["X must have a column that varies, got 1 constant column"]),
    ("people.csv", "a,sick\n1e300,1\n0.1,-1\n", ["X must have ||x||_2 <= R = 1", "got 1 of 2 rows beyond it"]),
    ("people.libsvm", "yes 1:0.5\nno 1:0.5\n", ["line 1 of people.libsvm must", "label", "'yes 1:0.5'"]),
    ("people.svm.gz", "1 1:0.5\n-1 1:x\n", ["line 2 of people.svm.gz must", "index:value", "got '-1 1:x'"]),
    ("people.svm", "1 1:2\n-1 1:0.5\n", ["X must have ||x||_2 <= R = 1", "got 1 of 2 rows beyond it"]),
]


@pytest.mark.parametrize("name, content, parts", FILES)
def test_bad_files_in_both_faces(capsys, tmp_path, name, content, parts):
    path, labelled = tmp_path / name, name.endswith(".csv")
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    with pytest.raises(ValueError) as caught:
        table = read_file(path, "sick" if labelled else None)
        check_learnable(table, classification=True)
        dpcore.solve("output_gaussian", table.data.X, table.data.y, **GOOD)
    assert all(part in str(caught.value) for part in parts) and "\n" not in str(caught.value), caught.value
    assert_refused(call(capsys, *solve_words(path, label="sick" if labelled else None)), *parts)
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "name, changes, sentence",
    [
        (
            "people.xlsx",
            {},
            "people.xlsx must be a table as text, got a spreadsheet or an archive; open it in the spreadsheet program",
        ),
        ("people.gz", {}, "a file's name must end in one of .csv, "),
        ("people.csv", {"label": None}, "label must name the column of y in people.csv, got none"),
        ("people.csv", {"p": 3}, "p must be left out for people.csv, which has the columns, got 3"),
        ("people.svm", {}, "label must be left out for a LIBSVM file, whose lines begin with y, got 'sick'"),
        ("people.txt", {"label": None, "p": 0}, "p must be an integer >= 1, got 0"),
        ("people.csv", {"epsilon": "many"}, "'many' is not a valid float"),
        ("people.csv", {"epsilon": None}, "Missing option '--epsilon'"),
        ("people.csv", {"colour": "red"}, "No such option"),
    ],
)
def test_words_that_only_the_shell_knows(capsys, people, name, changes, sentence):
    if name not in ("people.csv", "people.txt"):
        people.rename(people.with_name(name))
    if name == "people.txt":
        people.with_name(name).write_text("1 1:0.5\n-1 1:0.2\n")
    assert_refused(call(capsys, *solve_words(people.with_name(name), **changes)), sentence)


def test_commands_that_do_not_exist_end_in_one_line(capsys):
    assert_refused(call(capsys), "Missing command (see python -m dpcore --help)")
    assert_refused(call(capsys, "sovle"), "No such command")
    assert_refused(call(capsys, "info", "oracle"), "mechanism must be one of output_gaussian, ", "got 'oracle'")
    assert_refused(call(capsys, "solve"), "Missing", "(see python -m dpcore solve --help)")


EXPERIMENTS = {
    "": "an experiment must be a JSON object, got text that is none",
    "[]": "an experiment must be a JSON object, got list",
    "[" * 100_000: "an experiment must be a JSON object",
    '{"epsilom": 1}': "an experiment has no field 'epsilom'",
    '{"problem": {"n": 1}}': "n must be an integer >= 2, got 1",
    '{"problem": {"n": 1e400}}': "n must be an integer >= 2, got inf",
    '{"problem": {"n": "x"}}': "n must be an integer >= 2, got 'x'",
    '{"epsilon": 0}': "epsilon must be a finite number > 0, got 0",
    '{"epsilon": NaN}': "epsilon must be a finite number > 0, got nan",
    '{"problem": {"delta": 1}}': "delta must be in [0, 1), got 1.0",
    '{"problem": {"lam": -1}}': "lam must be a finite number >= 0, got -1.0",
    '{"problem": {"radius": 0}}': "radius must be a finite number > 0, got 0.0",
    '{"problem": {"source": "moon"}}': "source must be one of",
    '{"problem": {"source": "diabetes"}}': (
        "loss must be a regression loss (squared, huber, absolute) for source 'diabetes', got 'logistic'"
    ),
    '{"problem": {"loss": "squared"}}': "loss must be a classification loss (logistic, huber_hinge, hinge) for source",
    '{"mechanisms": 3}': "mechanisms must be a list of keys or of objects with a key, got 3",
    '{"mechanisms": [{"noise": "none"}]}': f"mechanism must be one of {', '.join(dpcore.list_mechanisms())}, got ''",
    '{"mechanisms": [{"key": "output_gamma", "noise": "none"}]}': "output_gamma has no knob 'noise'; it has accounting",
    '{"sweep": 3}': 'sweep must be an object {"name": ..., "values": [...]}, got 3',
    '{"sweep": {"name": "epsilon"}}': 'sweep must be an object {"name": ..., "values": [...]}',
    '{"sweep": {"name": "epsilon", "values": []}}': "axis values must not be empty",
    '{"sweep": {"name": "epsilon", "values": [1, "a"]}}': "axis values must be finite numbers, got 'a'",
    '{"sweep": {"name": "n", "values": [2.5]}}': "axis values must be whole numbers, got 2.5",
    '{"n": %s}' % ("9" * 5000): "an experiment must have numbers of at most 4300 digits, got a longer one",
    '{"sweep": {"name": "seed", "values": [1]}}': "axis must be one of epsilon, delta, n, p, lam, got 'seed'",
}


@pytest.mark.parametrize("text", EXPERIMENTS, ids=lambda text: text[:40])
def test_bad_experiments_in_both_faces_leave_the_output_alone(capsys, tmp_path, text):
    sentence = EXPERIMENTS[text]
    with pytest.raises(ValueError) as caught:
        dpcore.Experiment.from_json(text)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
    (tmp_path / "e.json").write_text(text)
    (tmp_path / "out.csv").write_text("precious")
    assert_refused(call(capsys, "sweep", tmp_path / "e.json", "-o", tmp_path / "out.csv"), sentence)
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["e.json", "out.csv"]


def test_an_experiment_that_fails_while_it_runs_leaves_the_output_alone(capsys, tmp_path):
    """The columns of a source are known to its loader only, long after the file was read."""
    (tmp_path / "e.json").write_text(json.dumps({"problem": {"p": 8}}))
    (tmp_path / "out.csv").write_text("precious")
    sentence = "p must be at least 31 for source 'breast_cancer', got 8"
    assert_refused(call(capsys, "sweep", tmp_path / "e.json", "-o", tmp_path / "out.csv"), sentence)
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["e.json", "out.csv"]
    (tmp_path / "e.json").write_bytes(b"\xff\xfe")
    sentence = "e.json must be a text file in UTF-8, got other bytes"
    assert_refused(call(capsys, "sweep", tmp_path / "e.json", "-o", tmp_path / "out.csv"), sentence)
    assert_refused(
        call(capsys, "sweep", tmp_path / "none.json", "-o", tmp_path / "out.csv"), "No such file or directory"
    )
    assert_refused(call(capsys, "sweep", tmp_path, "-o", tmp_path / "out.csv"), "Is a directory")


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"n": 10**400}, "n must be at most 10^15, got an integer of 401 digits"),
        ({"p": -(10**5000)}, "p must be an integer >= 1, got a huge integer"),
        ({"epsilon": pd.DataFrame({"a": [1, 2]})}, "epsilon must be a finite number > 0, got a 0 1 1 2"),
        ({"epsilon": [1.0] * 99}, "epsilon must be a finite number > 0, got [1.0, 1.0, 1.0,"),
        (
            {"accounting": np.array(["tight", "loose"])},
            "accounting must be one of tight, published, classical, kamath, got array(",
        ),
        ({"accounting": True}, "accounting must be one of tight, published, classical, kamath, got True"),
        (
            {"loss": "squared", "lam": "published", "theta_norm": 1e-100, "y_max": 1e50},
            "lam must be a number if the rule 'published' gives none between 1e-100 and 1e100",
        ),
        ({"lam": np.ones(3)}, "lam must be a finite number >= 0"),
    ],
)
def test_odd_arguments_of_any_size_are_one_line(change, sentence):
    facts = {"n": 100, "p": 2, "epsilon": 1.0, "delta": 1e-5} | change
    with pytest.raises(ValueError) as caught:
        dpcore.calibrate("output_gaussian", **facts)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


# What no reader of a page may meet: names of code, and numbers and signs as programs write them.
PROGRAM_TEXT = re.compile(
    r"dpcore\.|_|\de[+-]?\d|[<>]=|\^|\|\||(?<!\w)'|\b(inf|nan|got|lam|epsilon|delta|(?-i:ftrl))\b|[=≥≤] \d{4}", re.I
)
FIELDS = ("noisy_sgd", "ftrl", 1e-06, 2.5e-07, 8800, 8800.0, INF, NAN)


def refusals() -> set[str]:
    """All sentences with which dpcore says that something does not apply, their numbers replaced by awkward ones."""
    found = set()
    for file in (ROOT / "dpcore").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args):
                continue
            said = node.exc.args[0]
            if getattr(node.exc.func, "id", "") in ("NotApplicable", "Unconverged") and not isinstance(said, ast.Call):
                found |= {_filled(said, field) for field in FIELDS}
    return found


def _filled(said: ast.expr, field: object) -> str:
    if isinstance(said, ast.Constant):
        return str(said.value)
    assert isinstance(said, ast.JoinedStr)
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else repr(field) if part.conversion == 114 else f"{field}"  # type: ignore[attr-defined]
        for part in said.values
    )


def met_on_pages(states: int) -> set[str]:
    """What the library says at random states of the sidebar."""
    draw, found = random.Random(33), set()
    for key, _ in itertools.product(dpcore.list_mechanisms(), range(states)):
        spec = {
            "n": draw.choice(sidebar.SAMPLE_SIZES),
            "p": draw.choice(sidebar.DIMENSIONS),
            "epsilon": draw.choice(dpcore.EPSILON_GRID),
            "delta": draw.choice((*sidebar.DELTAS, 0.0)),
            "lam": draw.choice(sidebar.LAMBDAS),
            "loss": draw.choice(list(LOSSES)),
            "set": draw.choice(("ball", "simplex", "l1_ball", "box")),
        }
        try:
            dpcore.calibrate(key, **spec)
        except ValueError as error:
            found.add(str(error))
    return found


def test_no_refusal_reaches_a_page_as_program_text():
    every = refusals() | met_on_pages(40)
    assert len(every) > 300 and sum(bool(PROGRAM_TEXT.search(said)) for said in every) > 200
    left = {said: readable(said) for said in every if PROGRAM_TEXT.search(readable(said))}
    assert left == {}


@pytest.mark.parametrize(
    "said, shown",
    [
        (
            "gaussian_classifier needs lam > 0.0231 for epsilon = 0.01 and n = 2000, got 0.005: it leaks",
            "large-margin Gaussian classifier needs λ > 0.0231 for ε = 0.01 and n = 2,000 (here 0.005): it leaks",
        ),
        ("a draw at lam = 1e-06 takes n >= 8800 or 3e+05", "a draw at λ = 10⁻⁶ takes n ≥ 8,800 or 300,000"),
        (
            "a table of records, got ftrl, which plays: see dpcore.studies.selection.streaming.regret",
            "a table of records (here private FTRL, which plays)",
        ),
        (
            "ftrl needs ||x||_inf <= R, got set 'l1_ball'",
            "private FTRL needs ‖x‖∞ ≤ R (here set “L1 ball”)",
        ),
        ("column 'dose_mg', got 'lam; n = 2000'", "column “dose_mg” (here “lam; n = 2000”)"),
        ("(n ln n)^(-2/3) / sqrt(n), a population minimiser", "(n ln n)⁻²⁄³ / √n, a population minimiser"),
        ("needs q from 2 to inf; dpcore.core.sets.Polytope takes a list", "needs q from 2 to ∞"),
        ("one arm's range and another's, delta and lambda", "one arm's range and another's, δ and λ"),
    ],
)
def test_a_refusal_says_on_a_page_what_it_says_in_the_library(said, shown):
    assert readable(said) == shown


@pytest.mark.parametrize(
    "page, state",
    [
        ("overview/page.py", {"place": "output", "proof": "classical", "epsilon": 2.0}),
        ("perturbation/page.py", {"lam": 1e-4, "epsilon": 0.1, "n": 300}),
        ("dimension/page.py", {"noise_in": "objective", "lam": 1e-4, "epsilon": 0.1, "n": 200}),
        ("selection/page.py", {"tab": "simplex", "lam": 1e-4, "epsilon": 0.01}),
        pytest.param("dimension/page.py", {"topic": "sparse", "against": "n", "n": 1_000}, marks=pytest.mark.nightly),
        ("multiclass/page.py", {"lam": 0.005, "epsilon": 0.01, "n": 200}),
        ("composition/page.py", {"repeated": "sgd", "epsilon": 10.0}),
        # The library's sentences that are no refusals.
        ("papers/page.py", {"about": "errata"}),
        *(
            # Other views of pages that are seen above; Decide, whose refusals are among those of all mechanisms.
            pytest.param(page, state, marks=pytest.mark.nightly)
            for page, state in (
                ("decide/page.py", {"way": "objective_gaussian", "lam": 1e-4, "epsilon": 0.01, "n": 200}),
                ("papers/page.py", {"about": "reproductions", "reproduced": "jain-thakurta-1b"}),
            )
        ),
        ("geometry/page.py", {"p_norm": "4", "beside_geometry": "Rates"}),
    ],
)
def test_pages_show_no_program_text(page, state):
    app = finished(open_app(page, **state))
    shown = re.sub(r"<style.*?</style>|<code.*?</code>|<[^>]*>|`[^`]*`|\]\([^)]*\)", " ", texts(app), flags=re.S)
    assert not app.exception and [found[0] for found in PROGRAM_TEXT.finditer(shown)] == []
