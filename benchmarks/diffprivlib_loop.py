"""diffprivlib's half of `slider_move`, run by the Python of an environment that has diffprivlib and no dpcore."""

import json
import sys
import time

import numpy as np
from diffprivlib.models import LogisticRegression


def fit_all(X, y, C, epsilons, repetitions):
    """One model for each epsilon and repetition, scored on its own records; the mean score."""
    scores = []
    for epsilon in epsilons:
        for seed in range(repetitions):
            model = LogisticRegression(
                epsilon=epsilon, data_norm=1.0, C=C, fit_intercept=False, random_state=seed, max_iter=10_000
            )
            scores.append(model.fit(X, y).score(X, y))
    return float(np.mean(scores))


def main():
    arrays = np.load(sys.argv[1])
    facts = json.loads(str(arrays["facts"]))
    for _ in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        score = fit_all(arrays["X"], arrays["y"], facts["C"], arrays["epsilons"], facts["repetitions"])
        print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall, score]), flush=True)


if __name__ == "__main__":
    main()
