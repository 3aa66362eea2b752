"""``python -m tfdistribute.launch JOB.json``: the supervisor of one job, as a process of its own."""

import sys

from tfdistribute.launch.start import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
