"""docs/tutorial.md: what it shows works, passes the tests of all mechanisms, is on the pages, and fails when broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpcore
from dpcore import mechanisms
from dpcore.core.losses import LOSSES
from dpcore.core.privacy import NotApplicable
from dpcore.studies.decide import loss_curve
from pages.sources.provenance import SETTINGS

from ..audit.test_registry_audits import refuted_too_often
from ..audits import plan_for
from ..harness import ROOT
from ..mechanisms import test_mechanisms
from ..page_driver import finished, open_script, said, texts
from ..problems import BALL
from .tutorial import CLASS, KEY, blocks, module_at

SOURCE, USE, AUDIT = blocks("python")


def broken(source: str) -> str:
    """The file with the tutorial's mistake."""
    (change,) = blocks("diff")
    right, wrong = (line[1:] for line in change.splitlines())
    assert source.count(right) == 1
    return source.replace(right, wrong)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Register a source as the tutorial's mechanism; gone after the test."""
    # Its bytecode would serve for another source of the same length that is written within the same second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(source: str) -> Path:
        path = tmp_path / f"{KEY}.py"
        path.write_text(source, encoding="utf-8")
        monkeypatch.delitem(sys.modules, f"{mechanisms.__name__}.{KEY}", raising=False)
        module_at(path)
        return path

    (line,) = (block.strip() for block in blocks("text"))
    assert line == f'"{KEY}": "{CLASS}",'
    monkeypatch.setattr(mechanisms, "_CLASSES", {**mechanisms._CLASSES, KEY: CLASS})
    yield write
    sys.modules.pop(f"{mechanisms.__name__}.{KEY}", None)
    vars(mechanisms).pop(KEY, None)


def test_what_it_shows_runs(written, capsys):
    written(SOURCE)
    exec(USE + AUDIT, {})
    factor = float(capsys.readouterr().out.split()[0])
    assert 1.0 < factor < 2.0


def conformance(path: Path) -> str:
    """What the suite of all mechanisms says of the one in this file."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.docs.tutorial", "-p", "no:cacheprovider", "-q", "-n", "0"]
    command += ["-m", "nightly or not nightly"]
    done = subprocess.run(
        [*command, "tests/mechanisms/test_mechanisms.py", "-k", KEY],
        cwd=ROOT,
        env={**os.environ, "TUTORIAL": str(path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_the_tests_of_all_mechanisms_pass_it_untold(written):
    said = conformance(written(SOURCE)).splitlines()[-1]
    assert " passed" in said and " failed" not in said and " error" not in said, said
    assert int(said.split(" passed")[0]) > 50, "for every loss"


def test_the_pages_that_list_mechanisms_list_it(written, monkeypatch):
    """Sources, the attacks and Decide with its comparison: each opened on it."""
    written(SOURCE)
    monkeypatch.setattr(loss_curve, "SPLITS", 2)
    label = mechanisms.mechanism_class(KEY).label
    sources = open_script("sources/page.py", about="traces", traced=KEY)
    assert not sources.exception and said(sources).lower().startswith(label)
    assert "test_the_whole_registry_is_audited" in texts(sources), "what is asked of all is asked of it"
    assert texts(sources).count("no test yet") == len(dpcore.bounds_of(dpcore.calibrate(KEY, **SETTINGS)))
    attack = finished(open_script("audit/page.py", mechanism=KEY, version="halved_noise", runs=1_000))
    assert label in attack.selectbox(key="mechanism").options and "No audit here" not in said(attack)
    decide = finished(open_script("decide/page.py", n=200, seed=5, way=KEY, more="compare"))
    assert label in decide.selectbox(key="way").options and "privacy budget" in said(decide)
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
