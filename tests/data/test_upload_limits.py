"""Uploads at their limits, by night: five times the larger of a file's text and its numbers is enough memory."""

import subprocess
import sys

import pytest

from dpcore.data import sheets

from ..harness import ROOT


@pytest.mark.nightly
def test_the_largest_files_of_each_kind_take_at_most_five_times_their_size():
    command = [sys.executable, "-m", "benchmarks.upload_limits"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
    assert len(rows) > 20 and max(float(row[1]) for row in rows) * 1e6 > 0.99 * sheets.MAX_SHEET_BYTES
