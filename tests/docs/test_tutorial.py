"""docs/tutorial.md: what it shows works, passes the tests of all mechanisms, and is caught when it is broken."""

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

from ..audit.test_registry_audits import refuted_too_often
from ..audits import plan_for
from ..harness import ROOT
from ..mechanisms import test_mechanisms
from .tutorial import KEY, blocks, module_at

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
    assert line == f'"{KEY}": "{KEY}",'
    monkeypatch.setattr(mechanisms, "_MODULES", {**mechanisms._MODULES, KEY: KEY})
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


def test_they_would_notice(written):
    """A mechanism that does not say what is not protected, and one whose noise does not know the budget."""
    written(SOURCE.replace("Not protected:", "Notes:"))
    with pytest.raises(AssertionError, match="lacks Not protected:"):
        test_mechanisms.test_docstrings_say_what_is_promised_and_what_is_not(KEY)
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
        assert not refuted_too_often(plan, 1_000, 3), loss
        audited.add(loss)
    assert audited == {"logistic", "huber_hinge", "hinge", "squared", "huber", "absolute"}
    written(broken(SOURCE))
    assert [dpcore.run_audit(KEY, seed=seed).verdict for seed in range(3)] == ["contradicted"] * 3
