"""Limit on the cores that one process uses.

A BLAS that spreads a small product over all cores waits for the slowest of them, which turned half a second into eight
beside other sessions. Parallel work belongs to the executor, which computes each cell on one thread.
"""


def one_blas_thread() -> None:
    """Limit BLAS to one thread for the rest of this process; for programs, not for libraries, to call."""
    import scipy.linalg  # noqa: F401 (the limit reaches only the BLAS copies that are loaded: numpy's and scipy's)
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")
