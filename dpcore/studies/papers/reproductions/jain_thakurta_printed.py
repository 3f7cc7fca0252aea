"""What Jain and Thakurta 2014 print in Figure 1, read off its curves: right of 100, of two digits at best.

In `jain_thakurta_figure_1.csv` a level stretch is given by its two ends. Where a curve wavers, each marker of the
printed axis is a mark. Panel (d) prints shares, here times 100, and draws both laws of noise in the objective as one
curve, which ends at the share of the majority, two records of three.

Source: Jain and Thakurta 2014 (PMLR 32, jain14), Figure 1.
"""

from __future__ import annotations

from ....core.facts import facts_beside

# By panel and mechanism: (x, right of 100).
PRINTED: dict[str, dict[str, list[tuple[float, float]]]] = {}
for _row in facts_beside(__file__, "jain_thakurta_figure_1.csv"):
    _curve = PRINTED.setdefault(_row["panel"], {}).setdefault(_row["mechanism"], [])
    _curve.append((float(_row["x"]), float(_row["right"])))
