"""docs/tutorial.md: what it shows works, passes the tests of all mechanisms, is on the pages, and fails when broken."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dpcore
from dpcore import mechanisms
from dpcore.core.losses import LOSSES
from dpcore.core.privacy import NotApplicable
from dpcore.mechanisms import own
from dpcore.studies.decide import loss_curve

from ..audit.test_registry_audits import refuted_too_often
from ..audits import plan_for
from ..harness import ROOT
from ..mechanisms import test_mechanisms
from ..page_driver import finished, open_script, said, texts
from ..problems import BALL

TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    """The blocks of code of one kind, in their order."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


SOURCE, USE, AUDIT = blocks("python")
(PACKAGE,) = blocks("toml")
((KEY, PLACE),) = tomllib.loads(PACKAGE)["project"]["entry-points"]["dpcore.mechanisms"].items()


def broken(source: str) -> str:
    """The file with the tutorial's mistake."""
    (change,) = blocks("diff")
    right, wrong = (line[1:] for line in change.splitlines())
    assert source.count(right) == 1
    return source.replace(right, wrong)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Register a source as the tutorial's mechanism, in the place of one before; gone after the test."""
    # Its bytecode would serve for another source of the same length that is written within the same second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(source: str) -> Path:
        path = tmp_path / f"{KEY}.py"
        path.write_text(source, encoding="utf-8")
        own._FROM_FILES.clear()
        mechanisms.add_mechanisms(path)
        return path

    yield write
    own._FROM_FILES.clear()


def environment(path: Path) -> dict[str, str]:
    """With the packages of this folder, too."""
    return {**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}


def test_what_it_shows_runs(written, capsys):
    written(SOURCE)
    exec(USE + AUDIT, {})
    factor = float(capsys.readouterr().out.split()[0])
    assert 1.0 < factor < 2.0


def conformance(folder: Path) -> str:
    """What the suite of all mechanisms says of the tutorial's, which is installed in this folder."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-q",
        "-n",
        "0",
        "-m",
        "nightly or not nightly",
    ]
    done = subprocess.run(
        [*command, "tests/mechanisms/test_mechanisms.py", "-k", KEY],
        cwd=ROOT,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_the_tests_of_all_mechanisms_pass_it_untold(tmp_path):
    (tmp_path / f"{KEY}.py").write_text(SOURCE, encoding="utf-8")
    about = tmp_path / f"{KEY}-1.0.dist-info"  # what pip would leave beside it
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {KEY}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[dpcore.mechanisms]\n{KEY} = {PLACE}\n")
    said = conformance(tmp_path).splitlines()[-1]
    assert " passed" in said and " failed" not in said and " error" not in said, said
    assert int(said.split(" passed")[0]) > 50, "for every loss"


def test_the_pages_that_list_mechanisms_list_it(written, monkeypatch):
    """Papers, the attacks and the comparison of Decide."""
    written(SOURCE)
    monkeypatch.setattr(loss_curve, "SPLITS", 2)
    label = mechanisms.mechanism_class(KEY).label
    algorithms = open_script("papers/page.py", about="algorithms")
    assert label in texts(algorithms).lower()
    assert f"From the file {KEY}.py: its author states this guarantee" in texts(algorithms)
    attack = finished(open_script("audit/page.py", mechanism=KEY, version="halved_noise", runs=1_000))
    assert label in attack.selectbox(key="mechanism").options and "No audit here" not in said(attack)
    decide = finished(open_script("decide/page.py", n=200, seed=5, keep=0.5, more="compare"))
    assert label in set(decide.dataframe[0].value["mechanism"])


def test_they_would_notice(written):
    """A mechanism that does not say what is not protected, and one whose noise does not know the budget."""
    written(SOURCE.replace("Not protected:", "Notes:"))
    with pytest.raises(AssertionError, match="lacks Not protected:"):
        test_mechanisms.test_docstrings_say_what_is_guaranteed_and_what_is_not(KEY)
    written(SOURCE.replace("zcdp_rho_by_hand(budget)", "0.02"))
    with pytest.raises(AssertionError):
        test_mechanisms.test_noise_falls_with_every_resource(KEY)


def test_audits_find_nothing_in_it_and_refute_its_twin(written):
    """For every loss; false alarm below 1e-5, and half the noise escapes three audits with probability below 1e-6."""
    written(SOURCE)
    audited = set()
    for loss in LOSSES:
        try:
            plan = plan_for(KEY, loss)
        except NotApplicable:
            continue
        assert not refuted_too_often(plan, 1_000, 3, whole=True), loss
        audited.add(loss)
    assert audited == set(BALL)
    written(broken(SOURCE))
    assert [dpcore.run_audit(KEY, seed=seed).verdict for seed in range(3)] == ["contradicted"] * 3
