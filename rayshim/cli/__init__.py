"""The command `rayshim`."""

from rayshim.cli.command import main, split_program

__all__ = ["main", "split_program"]
