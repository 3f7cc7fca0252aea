"""`python -m tests.cli.full_disk BYTES COMMAND...`: the command line where no file may grow beyond so many bytes."""

import resource
import signal
import sys

from dpcore.__main__ import main

if __name__ == "__main__":
    most = int(sys.argv[1])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    main(sys.argv[2:])
