"""Holds Ray's public names and parameters against rayshim's and against these tests: `python -m compat_tests.coverage`."""
