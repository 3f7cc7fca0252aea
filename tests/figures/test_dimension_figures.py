"""The figures of the page Dimension: looks, labels, and what they leave out."""

import numpy as np
import pytest

import dpcore
from dpcore.figures.dimension import dimension_figure
from dpcore.figures.style import BACKGROUND, FAMILIES
from dpcore.studies.dimension import noise_growth

from ..flat_fields import experiment_of

PS = (8, 128, 4096, 2**20)
ANSWER = ("output_gaussian", "output_gamma")
QUESTION = ("objective_gaussian", "objective_gamma")


def draw(mechanisms=ANSWER, p=128, theme="light", **changes):
    fields = {"source": "synthetic_padded", "n": 300, "lam": 0.05, "repetitions": 4} | changes
    experiment = experiment_of(mechanisms=mechanisms, sweep=dpcore.Axis("p", PS), **fields)
    table, grown = dpcore.run(experiment), noise_growth.growth_of(experiment.cells())
    figure = dimension_figure(
        table, grown, p=p, accuracy_title="people classified correctly, %", theme=theme, height=420
    )
    return table, grown, figure


def trace(figure, name, panel="y"):
    (found,) = (t for t in figure.data if t.name == name and t.yaxis == panel)
    return found


def test_damage_that_is_none_is_a_gap_on_the_logarithmic_axis():
    """Noise may lower the loss a little; a logarithmic axis cannot show that."""
    table, grown, _ = draw()
    excess = (table.metric == "excess_empirical_risk") & (table.mechanism == "output_gamma")
    table.loc[excess & (table.x == 8), "mean"] = table.noiseless - 0.001
    figure = dimension_figure(table, grown, p=8, accuracy_title="", theme="light", height=420)
    drawn = trace(figure, "Gamma noise", "y2").y
    assert np.isnan(drawn[0]) and np.isfinite(drawn[1:]).all()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_family_is_colour_and_noise_is_line_and_marker(theme):
    for family, keys, symbol in (("output", ANSWER, "circle"), ("objective", QUESTION, "square")):
        _, _, figure = draw(keys, theme=theme)
        colour = FAMILIES[theme][family]
        gaussian, gamma = trace(figure, "Gaussian noise"), trace(figure, "Gamma noise")
        assert gaussian.line.color == gamma.line.color == gamma.marker.line.color == colour
        assert (gaussian.line.dash, gamma.line.dash) == ("solid", "dashdot")
        assert gaussian.marker.symbol == gamma.marker.symbol == symbol
        assert (gaussian.marker.color, gamma.marker.color) == (colour, BACKGROUND[theme])
    assert figure.layout.paper_bgcolor == BACKGROUND[theme]
    assert "layout" not in figure.layout.template.to_plotly_json()


def test_labels_say_which_guarantee_each_noise_makes():
    _, _, figure = draw()
    texts = [a.text for a in figure.layout.annotations]
    assert "Gaussian noise,<br>guarantee (ε, δ)" in texts and "Gamma noise,<br>guarantee (pure ε)" in texts


def test_a_refusal_leaves_the_others_and_nothing_at_all_is_no_error():
    _, _, figure = draw((*ANSWER[:1], QUESTION[1]), lam=1e-4, epsilon=0.1)
    assert [t.name for t in figure.data if t.yaxis == "y"] == ["Gaussian noise", "always the larger class"]
    _, _, empty = draw(("objective_gaussian",), lam=1e-4, epsilon=0.1)
    assert [t.name for t in empty.data] == ["always the larger class", "nothing learned"]


def test_the_axes_stay_whatever_epsilon_and_the_noise_are():
    figures = [draw(epsilon=0.1)[2], draw(epsilon=10.0)[2], draw(QUESTION)[2]]
    assert len({(tuple(f.layout.yaxis.range), tuple(f.layout.yaxis2.range)) for f in figures}) == 1
    assert any(note.text.startswith("↑ Gamma noise") for note in figures[0].layout.annotations)
