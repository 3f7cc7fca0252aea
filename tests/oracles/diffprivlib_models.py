"""Models of diffprivlib's LogisticRegression, made in an environment that has it and not ours.

    OTHER/bin/python tests/oracles/diffprivlib_models.py

The first line that it reads has the two tables and the arguments, as JSON: X0, y0, X1, y1, epsilon, C. Each line after
it, "SIDE SEED", is answered by the coefficients of one model, as JSON.
"""

import json
import sys


def main():
    import numpy as np
    from diffprivlib.models import LogisticRegression

    facts = json.loads(sys.stdin.readline())
    tables = [(np.array(facts[f"X{side}"]), np.array(facts[f"y{side}"])) for side in (0, 1)]
    for line in sys.stdin:
        side, seed = map(int, line.split())
        model = LogisticRegression(
            epsilon=facts["epsilon"], data_norm=1.0, C=facts["C"], fit_intercept=False, random_state=seed
        )
        print(json.dumps(model.fit(*tables[side]).coef_.ravel().tolist()), flush=True)


if __name__ == "__main__":
    main()
