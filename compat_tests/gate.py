"""A door between a test and its tasks, made of files so that it works whatever carries the tasks."""


def new_gate(directory):
    """A closed gate. The class is local, so that pickling carries it by value to processes that cannot import this."""

    import os
    import time
    import uuid

    class Gate:
        def __init__(self):
            self.directory = str(directory)
            os.makedirs(self.directory, exist_ok=True)

        def open(self):
            self.touch("open")

        def is_open(self):
            return os.path.exists(os.path.join(self.directory, "open"))

        def touch(self, name):
            with open(os.path.join(self.directory, name), "w"):
                pass

        def wait_for(self, name, seconds=40.0):
            deadline = time.monotonic() + seconds
            while not os.path.exists(os.path.join(self.directory, name)):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"nobody touched {name}")
                time.sleep(0.005)

        def enter(self):
            """Say that one more is here, and wait until the gate is open."""
            self.touch(f"here-{uuid.uuid4().hex}")
            self.wait_for("open")

        def inside(self):
            """How many have entered so far."""
            return sum(name.startswith("here-") for name in os.listdir(self.directory))

    return Gate()
