"""The benchmarks that `python -m benchmarks` runs, in this order: a module of this folder each."""

SUITE = (
    "solvers",
    "slider_move",
    "frank_wolfe",
    "noisy_sgd",
    "noise",
    "calibration",
    "ellipsoids",
    "simplex",
    "lp",
    "ftrl",
    "frank_wolfe_large",
)
