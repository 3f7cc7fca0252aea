"""Accuracies of the panels of Jain and Thakurta's Figure 1, and the shapes that all their records must show."""

import numpy as np
import pandas as pd

from dpcore.studies.papers.reproductions import accuracies as acc
from dpcore.studies.papers.reproductions import cod_rna as rna
from dpcore.studies.papers.reproductions import jain_thakurta as jt
from dpcore.studies.papers.reproductions import jain_thakurta_simplex as simplex


def quiet(words):
    pass


def verdicts(claims):
    return [claim.verdict for claim in claims]


def means_over(records, points, runs, protocol=jt.LINEAR):
    return acc.means_of(jt.table_of(rna.by_row(records)[0], points, runs, 0, quiet, protocol))


def on_the_simplex(records, runs):
    scaled, _ = rna.by_middle(records)
    rows = [row for run in range(runs) for row in simplex.rows_of(*acc.split(scaled, 0, run), 0, run)]
    table = pd.DataFrame(rows)
    return acc.means_of(table), acc.means_of(table.assign(right=table.projected))


def check_b(means):
    middle = means[(means.index >= 0.05) & (means.index <= 1.0)]
    for law in acc.LAWS:
        gain = middle[f"objective_{law}"] - middle[f"output_{law}"]
        assert (gain >= -1.0).all() and gain[0.05] > 4.0
    assert (means.loc[10.0] >= means.loc[10.0, acc.NONE] - 3.0).all()
    output = means["output_gamma"]
    assert output[0.001] < 70.0 < output[1.0] and means["output_gaussian"][0.001] < 75.0


def check_c(means):
    for key in ("objective_gaussian", "output_gaussian"):
        slope = np.polyfit(np.array(jt.COLUMNS) / 1e4, means[key], 1)[0]
        assert abs(slope) < 0.3 and np.ptp(means[key]) < 3.0
    output = means["output_gamma"].to_numpy()
    assert output[0] > means["none"].iloc[0] - 3.0 and output[-1] < output[0] - 10.0
    assert (means["objective_gamma"] >= means["output_gamma"] - 1.0).all()


def check_d(means, projected):
    assert (abs(means[acc.NONE] - means["simplex_sampling"]) <= 5.0).all()
    assert np.ptp(means[acc.NONE]) < 1.0
    assert (abs(means["objective_gaussian"] - means["objective_gamma"]) < 1.0).all()
    # The published fall to the share of the majority is not found, on the simplex or off it.
    assert (means["objective_gaussian"] > means["simplex_sampling"]).all()
    assert (abs(projected - means)["objective_gaussian"] > 5.0).all()
    assert np.ptp(means["objective_gaussian"]) < 1.0 and np.ptp(projected["objective_gaussian"]) < 1.0
