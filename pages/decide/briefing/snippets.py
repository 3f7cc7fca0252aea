"""Python that computes a briefing's curve again, from an empty file."""

from __future__ import annotations

import dataclasses as dc

from dpcore.core.validation import positive
from dpcore.experiments.experiment import Experiment
from dpcore.figures.style import family_of


def experiment_snippet(experiment: Experiment, *, at_most: float, epsilon: float) -> str:
    """Code that runs an experiment along epsilon with one mechanism, prints the budget and draws the points lost.

    at_most: points. epsilon: where the cursor stands.

    >>> code = experiment_snippet(Experiment(n=200), at_most=5.0, epsilon=1.0)
    >>> compile(code, "snippet", "exec") is not None
    True
    """
    positive("at_most", at_most)
    positive("epsilon", epsilon)
    if experiment.sweep.name != "epsilon" or len(experiment.mechanisms) != 1:
        raise ValueError("experiment must sweep epsilon with one mechanism, got another")
    mechanism = next(experiment.cells()).mechanism
    knobs = "".join(f", {f.name}={getattr(mechanism, f.name)!r}" for f in dc.fields(mechanism) if f.init)
    words = [
        f"    {f.name}={getattr(experiment, f.name)!r},"
        for f in dc.fields(experiment)
        if f.name not in ("mechanisms", "sweep", "epsilon")
    ]
    arguments = "\n".join(words)
    return f"""import dpcore
from dpcore.experiments.metrics import smallest_epsilon
from dpcore.figures.decide.briefing import lost_on_wall

experiment = dpcore.Experiment(
    mechanisms=(dpcore.make_mechanism({mechanism.key!r}{knobs}),),
    sweep=dpcore.Axis("epsilon", {experiment.sweep.values!r}),
{arguments}
)
table = dpcore.run(experiment)
accuracy = table[table.metric == "accuracy"]
epsilons = accuracy.x.to_numpy(float)
lost = 100 * (accuracy.reference - accuracy["mean"]).to_numpy(float)
budget = smallest_epsilon(epsilons, lost, {at_most!r})
print(f"smallest budget: {{budget}}")
figure = lost_on_wall(
    epsilons,
    lost,
    lost,
    lost,
    lost,
    at_most={at_most!r},
    budget=(budget, budget, budget),
    epsilon={epsilon!r},
    sure="no interval",
    family={family_of(mechanism.key)!r},
    learnable=100 * float((accuracy.reference - accuracy.larger_class).mean()),
)
figure.show()
"""
