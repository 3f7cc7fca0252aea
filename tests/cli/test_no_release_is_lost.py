"""Outputs that fail, disks that are full, runs that are killed: nothing is released, or the model is kept."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpcore.__main__ import main
from dpcore.cli import release_files, releases
from dpcore.cli.signed import KEY_VARIABLE, _text
from dpcore.mechanisms import api
from dpcore.mechanisms.plan import Release
from dpcore.mechanisms.released import ReleasedModel
from dpcore.mechanisms.signed import SignedPlan
from tests.briefings import KEY, PEOPLE, signed, to_sign
from tests.cli.test_cli import call
from tests.cli.test_robustness import sentence
from tests.harness import ROOT

ROWS = "\n".join(f"{(i % 7 - 3) / 10},{(i % 5 - 2) / 10},{1 if i % 2 else -1}" for i in range(60))
TABLE = f"年齢,体重,answer\n{ROWS}\n"
SOLVE = ["solve", "output_gaussian", "--data", "people.csv", "--label", "answer", *["--epsilon", "1", "--R", "1"]]
SOLVE += ["--delta", "1e-6"]
LEDGER, UNPRINTED = "people.csv.ledger.json", "people.csv.unprinted.json"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "people.csv").write_text(TABLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def plan(folder, monkeypatch) -> list[str]:
    """Words of the release of a signed plan."""
    (folder / "signed.csv").write_bytes(PEOPLE)
    (folder / "b.json").write_text(to_sign(signed()).to_json(), encoding="utf-8")
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    return ["solve", "--plan", "b.json", "--data", "signed.csv"]


def counted(folder: Path, name: str = LEDGER) -> int:
    path = folder / name
    return len(json.loads(path.read_text())["releases"]) if path.exists() else 0


def process(words: list[str], folder: Path, **more: object) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | more.pop("env", {})  # type: ignore[operator]
    command = [sys.executable, "-m", "dpcore", *words]
    return subprocess.run(command, env=environment, cwd=folder, timeout=300, check=False, **more)  # type: ignore[call-overload]


class Written(io.TextIOWrapper):
    def __init__(self, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)

    @property
    def text(self) -> str:
        return self.buffer.getvalue().decode(self.encoding)  # type: ignore[attr-defined]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "latin-1", "cp437", "euc-jp"])
def test_a_model_is_printed_in_every_encoding(folder, monkeypatch, encoding):
    monkeypatch.setattr(sys, "stdout", out := Written(encoding))
    main(SOLVE)
    names = ["年齢", "体重"]
    if encoding not in ("utf-8", "euc-jp"):
        names = [name.encode("ascii", "backslashreplace").decode() for name in names]
    assert [line.split()[0] for line in out.text.splitlines()[2:]] == names
    assert counted(folder) == 1 and not (folder / UNPRINTED).exists()


def test_names_of_columns_give_a_terminal_no_orders(folder, monkeypatch):
    (folder / "people.csv").write_text(
        (folder / "people.csv").read_text("utf-8").replace("年齢", "\x1b[2Jage"), "utf-8"
    )
    monkeypatch.setattr(sys, "stdout", out := Written("utf-8"))
    monkeypatch.setattr(out, "isatty", lambda: True)
    main(SOLVE)
    assert out.text.splitlines()[2].startswith("\\x1b[2Jage ") and "\x1b" not in out.text


class Broken(Written):
    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_closed_pipe_leaves_the_model_in_a_file(folder, monkeypatch, capsys, plan):
    monkeypatch.setattr(sys, "stdout", Broken("utf-8"))
    for _ in range(2):
        with pytest.raises(SystemExit) as stopped:
            main(SOLVE)
        assert stopped.value.code == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and "the release was made, and is in people.csv.unprinted" in err
    kept = [json.loads((folder / name).read_text()) for name in (UNPRINTED, "people.csv.unprinted-2.json")]
    assert kept[0]["columns"] == ["年齢", "体重"] and len(kept[0]["theta"]) == 2
    assert kept[0]["theta"] != kept[1]["theta"]
    assert counted(folder) == 2
    with pytest.raises(SystemExit):
        main(plan)
    assert "b.released.json" in capsys.readouterr().err
    assert len(json.loads((folder / "b.released.json").read_text())["theta"]) == 3


def test_whatever_fails_while_a_model_is_printed_its_file_is_named(folder, monkeypatch, capsys):
    monkeypatch.setattr(releases, "_theta", lambda *a: 1 / 0)
    code, out, err = call(capsys, *SOLVE)
    assert (code, out) == (2, "") and UNPRINTED in err and json.loads((folder / UNPRINTED).read_text())["theta"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_process_whose_output_is_full_names_the_model_s_file(folder):
    with open("/dev/full", "w") as full:
        done = process(SOLVE, folder, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and UNPRINTED.encode() in done.stderr
    assert len(json.loads((folder / UNPRINTED).read_text())["theta"]) == 2


def test_without_a_standard_output_nothing_is_released(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit):
        main(SOLVE)
    assert counted(folder) == 0


@pytest.mark.parametrize("most", [0, 200])
def test_on_a_full_disk_nothing_is_released(folder, plan, monkeypatch, most):
    """Wherever the room ends before the release: of the claim, or of the ledger."""
    files = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(api, "Release", lambda *a, **k: pytest.fail("released"))
    for words in (SOLVE, plan):
        assert "cannot be used: File too large" in sentence(most, *words)
    assert {path: path.read_bytes() for path in folder.iterdir()} == files


@pytest.mark.parametrize("words", ["solve", "plan"])
def test_a_disk_that_fills_up_during_the_release_has_room_for_the_model(folder, plan, monkeypatch, words):
    make, opened, sizes = api.Release, Path.open, []
    name = UNPRINTED if words == "solve" else "b.released.json"

    def only_over_what_is_there(path: Path, mode: str = "r", *a: object, **k: object) -> object:
        if mode[0] in "wxa":
            raise OSError(28, "No space left on device")
        return opened(path, mode, *a, **k)  # type: ignore[call-overload]

    def make_then_fill(*a: object, **k: object) -> object:
        release = make(*a, **k)  # type: ignore[arg-type]
        sizes.append((folder / name).stat().st_size)
        monkeypatch.setattr(Path, "open", only_over_what_is_there)
        return release

    monkeypatch.setattr(api, "Release", make_then_fill)
    monkeypatch.setattr(sys, "stdout", Broken("utf-8"))
    with pytest.raises(SystemExit):
        main(SOLVE if words == "solve" else plan)
    assert json.loads((folder / name).read_text()).get("theta") and (folder / name).stat().st_size == sizes[0]


def test_a_model_that_cannot_be_kept_is_printed(folder, plan, monkeypatch, capsys):
    write = release_files._write

    def copies_before_it_writes(path: Path, content: bytes, mode: str) -> None:
        if mode == "r+b":
            raise OSError(28, "No space left on device")
        write(path, content, mode)

    monkeypatch.setattr(release_files, "_write", copies_before_it_writes)
    for words in (SOLVE, plan):
        code, out, err = call(capsys, *words)
        assert code == 2 and "No space left" in err and json.loads(out)["theta"]


def test_the_room_that_is_kept_is_enough_for_any_release():
    plan, rng = signed().plan(), np.random.default_rng(0)
    most = len(_text(ReleasedModel.of(release_files.longest_release(plan), signed())))
    for _ in range(200):
        numbers = rng.choice([-1.0, 1.0], 3) * np.exp(rng.uniform(-700, 700, 3))
        release = Release(numbers, plan, seeded=False)
        assert len(_text(ReleasedModel.of(release, signed()))) <= most


KILLED = """
import os, sys
from dpcore.mechanisms import api
api.Release = lambda *a, **k: os._exit(9)
from dpcore.__main__ import main
main(sys.argv[1:])
"""


def test_a_killed_run_counts_as_made(folder, plan, capsys):
    (folder / "killed.py").write_text(KILLED)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for words in (SOLVE, plan):
        done = subprocess.run([sys.executable, "killed.py", *words], env=environment, check=False, timeout=300)
        assert done.returncode == 9
    assert counted(folder) == 1 and counted(folder, "signed.csv.ledger.json") == 1
    code, out, err = call(capsys, *plan)
    assert (code, out) == (2, "") and "a release was begun and not finished; treat it as made" in err
    assert call(capsys, *plan, "--again")[0] == 0 and counted(folder, "signed.csv.ledger.json") == 2
    code, _, err = call(capsys, "predict", "b.released.json", "signed.csv")
    assert code == 2 and "treat it as made" in err


@pytest.mark.parametrize("links", [True, False])
def test_two_runs_at_once_make_one_release(folder, plan, capsys, monkeypatch, links):
    """The second one releases after the first one has looked for earlier releases; also on a disk without links."""
    check, met = SignedPlan.check, []

    def meanwhile(signed: SignedPlan, content: bytes, key: str) -> None:
        check(signed, content, key)
        if not met:
            met.append(None)
            met.append(call(capsys, *plan))

    monkeypatch.setattr(SignedPlan, "check", meanwhile)
    if not links:
        monkeypatch.setattr(os, "link", lambda *a: (_ for _ in ()).throw(PermissionError(1, "not permitted")))
    code, out, err = call(capsys, *plan)
    assert met[1][0] == 0 and (code, out) == (2, "") and "it was made" in err
    assert counted(folder, "signed.csv.ledger.json") == 1 and not [*folder.glob("*-2.json")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "must be a ledger of releases"),
        ('{"file": "other.csv", "releases": []}', "must be the ledger of people.csv, got that of 'other.csv'"),
        ('{"file": "people.csv", "releases": [{}]}', "release 1 in people.csv.ledger.json"),
    ],
)
def test_with_a_broken_or_foreign_ledger_nothing_is_released(folder, plan, capsys, content, said):
    for words, name in ((SOLVE, "people.csv"), (plan, "signed.csv")):
        (folder / f"{name}.ledger.json").write_text(content.replace("people.csv", name))
        files = {path: path.read_bytes() for path in folder.iterdir()}
        code, out, err = call(capsys, *words)
        assert (code, out, err.count("\n")) == (2, "", 1) and said.replace("people.csv", name) in err
        assert {path: path.read_bytes() for path in folder.iterdir()} == files


def test_another_run_that_counts_is_waited_for_by_the_user(folder, capsys):
    (folder / f"{LEDGER}.part").touch()
    code, out, err = call(capsys, *SOLVE)
    assert (code, out) == (2, "") and f"{LEDGER}.part must not exist" in err and counted(folder) == 0


def test_releases_without_a_plan_add_up_and_seeded_runs_do_not_count(folder, capsys):
    words = ["solve", "output_gamma", *SOLVE[2:-4], "--epsilon", "0.1", "--R", "1"]
    del words[words.index("--epsilon") : words.index("--epsilon") + 2]
    assert call(capsys, *words, "--seed", 1)[0] == 0 and counted(folder) == 0
    (folder / "link.csv").symlink_to(folder / "people.csv")
    words[words.index("people.csv")] = "link.csv"  # the same file
    told = [json.loads(call(capsys, *words, "--json")[1])["total"]["epsilon"] for _ in range(10)]
    assert told[0] == 0.1 and told[-1] >= 1.0 and counted(folder) == 10
    assert signed().fingerprint not in (folder / LEDGER).read_text()
