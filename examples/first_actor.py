"""An actor and a task: the smallest program with both.

    python examples/first_actor.py

A ref stands for a result that may not be there yet; `get` waits for its value.
"""

import rayshim as ray


@ray.remote
class Account:
    """An actor is a process of its own. Its methods run one at a time."""

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
    """A task runs in some worker process."""
    return x * x


def main():
    ray.init(logging_level="WARNING")
    account = Account.remote(10)
    balances = [account.deposit.remote(5), account.withdraw.remote(3)]  # refs: the calls run while this goes on
    print("balances", ray.get(balances))
    print("squares", ray.get([square.remote(x) for x in range(5)]))
    try:
        ray.get(account.withdraw.remote(100))
    except ValueError as error:  # the error of the method arrives where its result is asked for
        print("refused", str(error).splitlines()[-1])
    ray.shutdown()


if __name__ == "__main__":
    main()
