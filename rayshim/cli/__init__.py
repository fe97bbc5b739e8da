"""The command `rayshim`."""

from rayshim.cli.command import main
from rayshim.cli.program_arguments import split_program

__all__ = ["main", "split_program"]
