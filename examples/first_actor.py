"""A small program with an actor and a task.

    python examples/first_actor.py

A call returns a ref at once: a reference to a result that may not be ready yet. `get` waits for the result and returns it.
"""

import rayshim as ray


@ray.remote
class Account:
    """An actor has its own process. Its methods run one at a time."""

    def __init__(self, balance):
        self.balance = balance

    def deposit(self, amount):
        self.balance += amount
        return self.balance

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError(f"{amount} is more than {self.balance}")
        self.balance -= amount
        return self.balance


@ray.remote
def square(x):
    """A task runs in one of several worker processes."""
    return x * x


def main():
    ray.init(logging_level="WARNING")
    account = Account.remote(10)
    balances = [account.deposit.remote(5), account.withdraw.remote(3)]  # refs; the program does not wait for the calls
    print("balances", ray.get(balances))
    print("squares", ray.get([square.remote(x) for x in range(5)]))
    try:
        ray.get(account.withdraw.remote(100))
    except ValueError as error:  # `get` of a failed call raises the exception of the method
        print("refused", str(error).splitlines()[-1])
    ray.shutdown()


if __name__ == "__main__":
    main()
