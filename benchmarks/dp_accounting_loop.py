"""dp-accounting's half of `calibration`, run by the Python of an environment that has it and no dpcore."""

import json
import sys
import time

import numpy as np
from dp_accounting import NeighboringRelation, calibrate_dp_mechanism, dp_event, rdp


def multiplier(rate, times, epsilon, delta):
    """The smallest noise multiplier whose `times` steps, each on a random share `rate` of the records, cost epsilon."""
    if rate == 1.0:
        # Its Gaussian event ignores the relation; a replacement moves the sum twice as far (tests/oracles).
        accountant = rdp.RdpAccountant
        event = lambda z: dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(z / 2.0), times)  # noqa: E731
    else:
        accountant = lambda: rdp.RdpAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)  # noqa: E731
        event = lambda z: dp_event.SelfComposedDpEvent(  # noqa: E731
            dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(z)), times
        )
    return calibrate_dp_mechanism(accountant, event, epsilon, delta)


def main():
    facts = json.loads(str(np.load(sys.argv[1])["facts"]))
    for _ in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        z = multiplier(**facts)
        print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall, z]), flush=True)


if __name__ == "__main__":
    main()
