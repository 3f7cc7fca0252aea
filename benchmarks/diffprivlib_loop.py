"""diffprivlib's half of `slider_move`, run by the Python of an environment that has diffprivlib and no dpcore."""

import json
import sys
import time

import numpy as np
from diffprivlib.models import LogisticRegression


def fit_all(X, y, C, epsilons, repetitions):
    """One model for each epsilon and repetition, scored on its own records."""
    for epsilon in epsilons:
        for seed in range(repetitions):
            model = LogisticRegression(
                epsilon=epsilon, data_norm=1.0, C=C, fit_intercept=False, random_state=seed, max_iter=10_000
            )
            model.fit(X, y).score(X, y)


def main():
    facts = json.loads(sys.argv[1])
    arrays = np.load(facts["task"])

    def run():
        started = time.process_time()
        fit_all(arrays["X"], arrays["y"], facts["C"], arrays["epsilons"], facts["repetitions"])
        return time.process_time() - started

    run()
    for _ in sys.stdin:
        print(run(), flush=True)


if __name__ == "__main__":
    main()
