"""`python -m rayshim script.py args…`, see rayshim.cli."""

import sys

from rayshim.cli import main

if __name__ == "__main__":
    sys.exit(main())
