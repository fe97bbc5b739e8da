"""`python -m rayshim script.py args…`, see rayshim.cli."""

import sys

from rayshim.cli import main

if __name__ == "__main__":
    status = main()
    if status:  # SystemExit(0) would be shown as an error under `python -i`
        sys.exit(status)
