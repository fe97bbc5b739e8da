"""The time for which idle threads of numeric libraries keep their cores busy.

By default, the threads of OpenMP (torch) wait busily for several milliseconds after each call, and those of OpenBLAS (numpy) for 25. That pays if no other
process wants the cores. Here, other processes of the program want them. The results are the same.
"""

import os

# GNU's OpenMP takes 300,000 turns. With 10,000, some tenths of a millisecond, threads are still awake for the next operation of a small network; with 1,000
# they often are not, and it takes 1.3 times as long on an idle machine. OpenBLAS takes 2**26 cycles. With 2**14, some microseconds, threads are still awake for
# a product that follows at once; with 2**4 they are not, and products of 128 x 128 numbers take 1.3 times as long. Beside busy processes both take the same.
_VARIABLES = {"GOMP_SPINCOUNT": "10000", "OPENBLAS_THREAD_TIMEOUT": "14"}
_CHOICES = frozenset((*_VARIABLES, "OMP_WAIT_POLICY"))  # if the program has one of these, it has chosen


def let_sleep():
    """Lets the libraries that this process loads from now on send their threads to sleep early.

    The variables are set for the libraries alone, and not in `os.environ`.
    """
    if _CHOICES.isdisjoint(os.environ):
        for name, value in _VARIABLES.items():
            os.putenv(name, value)
