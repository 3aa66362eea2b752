"""``python -m tfdistribute``."""

import sys

from tfdistribute.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
